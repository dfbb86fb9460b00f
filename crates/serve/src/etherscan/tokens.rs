//! `account` and `token`: transfers and holders of tokens.

use super::{
    account::ROWS,
    query::Query,
    reply::{NO_TRANSACTIONS, Reply, confirmations, text},
};
use crate::{
    ask::Ask,
    fault::{Answer, Fault},
    json::{address, data, selector},
};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use txgraph::{
    Address, BlockSpec, Kind, NodeTransaction, ReceiptDetail, TokenNames, TokenStandard, Transfer,
};

/// The tokens of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Erc20,
    Erc721,
    Erc1155,
}

pub(super) fn transfers(ask: &Ask<'_>, query: &Query, sort: Sort) -> Answer<Reply> {
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
    transfers = transfers.standard(match sort {
        Sort::Erc20 => TokenStandard::Erc20,
        Sort::Erc721 => TokenStandard::Erc721,
        Sort::Erc1155 => TokenStandard::Erc1155,
    });
    // Wrapping coins is no event `Transfer`.
    for kind in [Kind::Transfer, Kind::Mint, Kind::Burn] {
        transfers = transfers.kind(kind);
    }
    if let Some(holder) = holder {
        transfers = transfers.address(holder);
        transfers = transfers.direction(txgraph::Direction::Both);
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
    let names = names(ask, &found)?;
    let mut rows = Vec::with_capacity(found.len());
    for transfer in &found {
        ask.count(1000)?;
        if let Some(transaction) = transactions.get(&transfer.transaction()) {
            rows.push(row(ask, transfer, transaction, &names, sort).into());
        }
    }
    Ok(Reply::Rows(rows, NO_TRANSACTIONS))
}

fn names(ask: &Ask<'_>, transfers: &[Transfer]) -> Answer<BTreeMap<Address, TokenNames>> {
    let tokens: BTreeSet<_> = transfers.iter().filter_map(|it| it.token_address).collect();
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
    sort: Sort,
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
    match sort {
        Sort::Erc20 => put("value", text(transfer.value)),
        Sort::Erc721 => put("tokenID", id),
        Sort::Erc1155 => {
            put("tokenID", id);
            put("tokenValue", text(transfer.value))
        }
    };
    put("tokenName", named.name.unwrap_or_default().into());
    put("tokenSymbol", named.symbol.unwrap_or_default().into());
    match sort {
        Sort::Erc20 => drop(put(
            "tokenDecimal",
            text(named.decimals.unwrap_or_default()),
        )),
        Sort::Erc721 => drop(put("tokenDecimal", "0".into())),
        Sort::Erc1155 => {}
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
    put("methodId", data(selector(it.transaction.input())));
    put("functionName", "".into());
    put("confirmations", confirmations(ask, transfer.block_number));
    row
}

/// The holders of a token, the largest first.
pub(super) fn holders(ask: &Ask<'_>, query: &Query) -> Answer<Reply> {
    let token = query.address("contractaddress")?;
    let page = query.page(ROWS)?;
    let found = ask.source.holders(token).limit(page.end()).run()?;
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
