//! `account` and `token`: transfers and holders of tokens, and what tokens state.

use super::{
    account::ROWS,
    query::Query,
    reply::{NO_TRANSACTIONS, Reply, confirmations, text},
};
use crate::{
    ask::{Ask, Ending},
    fault::{Answer, Fault},
    json::{address, data, selector},
};
use serde_json::{Map, Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::ControlFlow,
};
use txgraph::{
    Address, BlockSpec, Direction, Kind, NodeTransaction, ReceiptDetail, Status, TokenNames,
    TokenStandard, Transfer, U256,
};

pub(super) fn transfers(ask: &Ask<'_>, query: &Query, standard: TokenStandard) -> Answer<Reply> {
    let holder = query.optional_address("address")?;
    let token = query.optional_address("contractaddress")?;
    if holder.is_none() && token.is_none() {
        return Err(Fault::Params(
            "Error! Missing address or contract address".to_owned(),
        ));
    }
    let page = query.page(ROWS)?;
    let Some((first, last)) = query.blocks(ask, ["startblock", "endblock"])? else {
        return Ok(Reply::Rows(Vec::new(), NO_TRANSACTIONS));
    };
    let mut transfers = ask.source.transfers();
    transfers = transfers.blocks(BlockSpec::through(first, last));
    transfers = transfers.standard(standard);
    // Wrapping coins is no event `Transfer`.
    for kind in [Kind::Transfer, Kind::Mint, Kind::Burn] {
        transfers = transfers.kind(kind);
    }
    if let Some(holder) = holder {
        transfers = transfers.address(holder);
        transfers = transfers.direction(Direction::Both);
    }
    if let Some(token) = token {
        transfers = transfers.token(token);
    }
    // The rows have the hashes and times of their transactions.
    let transfers = transfers.prepare()?.numbers_only();
    let found = page.read(&transfers, |_| true)?.transfers;
    let places: BTreeSet<_> = found.iter().map(Transfer::transaction).collect();
    let detail = ReceiptDetail::WithoutLogs;
    let transactions = ask.source.transactions_at(&places, detail)?;
    let names = names(ask, found.iter().filter_map(|it| it.token_address))?;
    let mut rows = Vec::with_capacity(found.len());
    for transfer in &found {
        ask.count(1000)?;
        if let Some(transaction) = transactions.get(&transfer.transaction()) {
            rows.push(row(ask, transfer, transaction, &names, standard).into());
        }
    }
    Ok(Reply::Rows(rows, NO_TRANSACTIONS))
}

fn names(
    ask: &Ask<'_>,
    tokens: impl Iterator<Item = Address>,
) -> Answer<BTreeMap<Address, TokenNames>> {
    let tokens: BTreeSet<_> = tokens.collect();
    match tokens.is_empty() {
        true => Ok(BTreeMap::new()),
        false => Ok(ask.source.tokens(tokens).run()?),
    }
}

fn row(
    ask: &Ask<'_>,
    transfer: &Transfer,
    it: &NodeTransaction,
    names: &BTreeMap<Address, TokenNames>,
    standard: TokenStandard,
) -> Map<String, Value> {
    let token = transfer.token_address.unwrap_or_default();
    let named = names.get(&token).cloned().unwrap_or_default();
    let receipt = it.receipt.as_ref();
    let mut row = Map::new();
    let mut put = |name: &str, value| row.insert(name.to_owned(), value);
    put("blockNumber", text(transfer.block_number));
    put("timeStamp", text(it.header.timestamp));
    put("hash", data(it.hash));
    put("nonce", text(it.nonce()));
    put("blockHash", data(it.header.hash));
    put("from", address(transfer.from_address));
    put("contractAddress", address(token));
    put("to", address(transfer.to_address));
    let id = text(transfer.token_id.unwrap_or_default());
    match standard {
        TokenStandard::Erc721 => drop(put("tokenID", id)),
        TokenStandard::Erc1155 => {
            put("tokenID", id);
            put("tokenValue", text(transfer.value));
        }
        _ => drop(put("value", text(transfer.value))),
    }
    put("tokenName", named.name.unwrap_or_default().into());
    put("tokenSymbol", named.symbol.unwrap_or_default().into());
    let decimals = match standard {
        TokenStandard::Erc721 => Some(0),
        TokenStandard::Erc1155 => None,
        _ => Some(named.decimals.unwrap_or_default()),
    };
    if let Some(decimals) = decimals {
        put("tokenDecimal", text(decimals));
    }
    put("transactionIndex", text(it.index));
    put("gas", text(it.transaction.gas_limit()));
    put("gasPrice", text(it.gas_price()));
    put(
        "gasUsed",
        text(receipt.map_or(0, |receipt| receipt.gas_used)),
    );
    put(
        "cumulativeGasUsed",
        text(receipt.map_or(0, |receipt| receipt.cumulative_gas_used)),
    );
    put("input", "deprecated".into());
    let calldata = it.transaction.input();
    put("methodId", data(selector(calldata)));
    let function = ask.names.functions.declaration(calldata);
    put("functionName", function.unwrap_or_default().into());
    put("confirmations", confirmations(ask, transfer.block_number));
    row
}

/// The tokens of a standard that an address received, and still has as they state.
pub(super) fn held(ask: &Ask<'_>, query: &Query, standard: TokenStandard) -> Answer<Reply> {
    let holder = query.address("address")?;
    let page = query.page(ROWS)?;
    let received = ask.source.transfers().standard(standard);
    let received = received.address(holder).direction(Direction::In);
    let received = received.blocks(BlockSpec::through(0, ask.tip.number));
    let (mut tokens, mut ending) = (BTreeSet::new(), Ending::new());
    received.prepare()?.numbers_only().for_each(|batch| {
        for token in batch.transfers.iter().filter_map(|it| it.token_address) {
            if tokens.insert(token) && ending.note(ask.count(400)).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    })?;
    ending.finish()?;
    let wanted: Vec<_> = tokens.iter().map(|token| (holder, Some(*token))).collect();
    let (_, balances) = ask.source.balances(Some(ask.tip.number), &wanted)?;
    let held = tokens.into_iter().zip(balances);
    let held = held.filter_map(|(token, balance)| Some((token, balance?)));
    let held = held.filter(|(_, balance)| !balance.is_zero());
    let held: Vec<_> = held.skip(page.skip).take(page.rows).collect();
    let names = names(ask, held.iter().map(|(token, _)| *token))?;
    let rows = held.iter().map(|(token, balance)| {
        let named = names.get(token).cloned().unwrap_or_default();
        let mut row = json!({
            "TokenAddress": address(*token),
            "TokenName": named.name.unwrap_or_default(),
            "TokenSymbol": named.symbol.unwrap_or_default(),
            "TokenQuantity": text(balance),
        });
        if standard == TokenStandard::Erc20 {
            row["TokenDivisor"] = text(named.decimals.unwrap_or_default());
        }
        row
    });
    Ok(Reply::Rows(rows.collect(), "No tokens found"))
}

/// The facts that a token states. Fields that only the site of Etherscan knows are absent.
pub(super) fn info(ask: &Ask<'_>, query: &Query) -> Answer<Reply> {
    let token = query.address("contractaddress")?;
    let facts = ask.source.contract_facts(token, ask.tip.number)?;
    let kind = match facts.names.decimals {
        Some(_) => Some("ERC20"),
        None if supports(ask, token, 0x80ac_58cd)? => Some("ERC721"),
        None if supports(ask, token, 0xd9b6_7a26)? => Some("ERC1155"),
        None => None,
    };
    let kind = kind.ok_or_else(|| {
        Fault::NotHere(format!(
            "{token:#x} is not known as a token: it answers neither decimals nor supportsInterface"
        ))
    })?;
    let mut row = json!({
        "contractAddress": address(token),
        "tokenName": facts.names.name.unwrap_or_default(),
        "symbol": facts.names.symbol.unwrap_or_default(),
        "divisor": text(facts.names.decimals.unwrap_or_default()),
        "tokenType": kind,
    });
    if let Some(supply) = facts.total_supply {
        row["totalSupply"] = text(supply);
    }
    Ok(Reply::Rows(vec![row], ""))
}

/// Whether a contract says that it has an interface (ERC-165).
fn supports(ask: &Ask<'_>, contract: Address, interface: u32) -> Answer<bool> {
    // supportsInterface(bytes4)
    let mut calldata = [0; 36];
    calldata[..4].copy_from_slice(&0x01ff_c9a7_u32.to_be_bytes());
    calldata[4..8].copy_from_slice(&interface.to_be_bytes());
    let call = ask.source.call(contract).data(calldata.to_vec());
    let outcome = call.block(ask.tip.number).run()?.outcome;
    let is_true = U256::try_from_be_slice(&outcome.output) == Some(U256::ONE);
    Ok(is_true && outcome.status == Status::Success)
}

/// The number of the holders of a token, by its transfers.
pub(super) fn holder_count(ask: &Ask<'_>, query: &Query) -> Answer<Reply> {
    let token = query.address("contractaddress")?;
    let blocks = BlockSpec::through(0, ask.tip.number);
    let found = ask.source.holders(token).blocks(blocks).limit(0).run()?;
    Ok(Reply::Value(text(found.more)))
}

/// The holders of a token, the largest first.
pub(super) fn holders(ask: &Ask<'_>, query: &Query) -> Answer<Reply> {
    let token = query.address("contractaddress")?;
    let page = query.page(ROWS)?;
    let blocks = BlockSpec::through(0, ask.tip.number);
    let found = ask
        .source
        .holders(token)
        .blocks(blocks)
        .limit(page.end())
        .run()?;
    let mut rows = Vec::new();
    for holder in found.holders.iter().skip(page.skip) {
        ask.count(100)?;
        rows.push(json!({
            "TokenHolderAddress": address(holder.address),
            "TokenHolderQuantity": text(holder.amount),
        }));
    }
    Ok(Reply::Rows(rows, "No holders found"))
}
