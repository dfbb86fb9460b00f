//! `account`: balances, transactions, and where the first coins came from.

use super::{
    query::Query,
    reply::{NO_TRANSACTIONS, Reply, confirmations, genesis_hash, text},
};
use crate::{
    ask::Ask,
    fault::{Answer, Fault},
    json::{address, data, selector},
};
use serde_json::{Value, json};
use std::ops::ControlFlow;
use txgraph::{Address, BlockSpec, Direction, Kind, NodeTransaction, Order, ReceiptDetail, U256};

/// The most addresses of one query.
const ADDRESSES_MAX: usize = 20;

/// Transactions that are read at a time.
const CHUNK_ROWS: usize = 256;

/// Rows of a page, if the query names no number.
pub(super) const ROWS: u64 = 10_000;

/// The place of an allocation of the genesis, which has no transactions.
const GENESIS: (u64, u32) = (0, 0);

pub(super) fn balance(ask: &Ask<'_>, query: &Query) -> Answer<Reply> {
    let (holder, block) = (query.address("address")?, query.tag(ask)?);
    Ok(Reply::Value(native(ask, holder, block)?))
}

pub(super) fn balance_history(ask: &Ask<'_>, query: &Query) -> Answer<Reply> {
    let holder = query.address("address")?;
    let block = query.block_number(ask)?;
    Ok(Reply::Value(native(ask, holder, block)?))
}

fn native(ask: &Ask<'_>, holder: Address, block: u64) -> Answer<Value> {
    let account = ask.state(block, |state| state.account(holder))?;
    Ok(text(account.balance))
}

pub(super) fn balances(ask: &Ask<'_>, query: &Query) -> Answer<Reply> {
    let holders = query.addresses("address", ADDRESSES_MAX)?;
    let block = query.tag(ask)?;
    let rows = ask.state(block, |state| {
        let row = |holder: &Address| {
            let balance = text(state.account(*holder)?.balance);
            Ok(json!({ "account": address(*holder), "balance": balance }))
        };
        holders.iter().map(row).collect()
    })?;
    Ok(Reply::Rows(rows, NO_TRANSACTIONS))
}

pub(super) fn token_balance(ask: &Ask<'_>, query: &Query, block: u64) -> Answer<Reply> {
    let (token, holder) = (query.address("contractaddress")?, query.address("address")?);
    let (_, found) = ask.source.balances(Some(block), &[(holder, Some(token))])?;
    let balance = found.first().copied().flatten().ok_or_else(|| {
        Fault::NotHere(format!(
            "{token:#x} is no ERC-20 or ERC-721 token: it does not answer balanceOf"
        ))
    })?;
    Ok(Reply::Value(text(balance)))
}

pub(super) fn transactions(ask: &Ask<'_>, query: &Query) -> Answer<Reply> {
    let wanted = query.address("address")?;
    let page = query.page(ROWS)?;
    let Some((first, last)) = query.blocks(ask, ["startblock", "endblock"])? else {
        return Ok(Reply::Rows(Vec::new(), NO_TRANSACTIONS));
    };
    let allocated = match first {
        0 => allocation(ask, wanted)?,
        _ => Some(U256::ZERO),
    };
    let has_genesis = allocated.is_some_and(|amount| !amount.is_zero());
    let (mut found, mut places) = (0, Vec::new());
    let mut take = |place: (u64, u32)| {
        found += 1;
        if found > page.skip {
            places.push(place);
        }
        match places.len() < page.rows {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    };
    let mut flow = match has_genesis && page.order == Order::OldestFirst {
        true => take(GENESIS),
        false => ControlFlow::Continue(()),
    };
    if flow.is_continue() {
        let of_address = ask.source.transactions(wanted).order(page.order);
        of_address.blocks(Ask::range(first, last)?).for_each(|it| {
            flow = take((it.block, it.transaction));
            Ok(flow)
        })?;
    }
    if flow.is_continue() && has_genesis && page.order == Order::NewestFirst {
        let _ = take(GENESIS);
    }
    let mut rows = Vec::new();
    for places in places.chunks(CHUNK_ROWS) {
        let of_blocks = places.iter().copied().filter(|place| *place != GENESIS);
        let read =
            (ask.source).transactions_at(&of_blocks.collect(), ReceiptDetail::WithoutLogs)?;
        for place in places {
            let bytes = read
                .get(place)
                .map_or(0, |it| 2 * it.transaction.input().len());
            ask.count(1000 + bytes)?;
            rows.extend(match read.get(place) {
                Some(it) => Some(transaction(ask, it)),
                None if *place == GENESIS => Some(allocated_row(ask, wanted, allocated)?),
                None => None,
            });
        }
    }
    Ok(match allocated {
        Some(_) => Reply::Rows(rows, NO_TRANSACTIONS),
        None => Reply::Partial(rows, NO_TRANSACTIONS),
    })
}

/// The coins that the genesis allocates to an address; `None` if the node does not keep that state, or
/// has no index to find it.
fn allocation(ask: &Ask<'_>, of: Address) -> Answer<Option<U256>> {
    match (ask.source.indexed_account(0, of)).map_err(Fault::from) {
        Ok(account) => Ok(Some(account.balance)),
        Err(fault) if fault.is_missing() || fault.is_elsewhere() => Ok(None),
        Err(fault) => Err(fault),
    }
}

/// The row of an allocation of the genesis, as Etherscan lists it. Numbers that it does not have are 0.
fn allocated_row(ask: &Ask<'_>, to: Address, amount: Option<U256>) -> Answer<Value> {
    let header = ask.source.header(0)?;
    Ok(json!({
        "blockNumber": "0",
        "blockHash": data(header.hash),
        "timeStamp": text(header.timestamp),
        "hash": genesis_hash(to),
        "nonce": "0",
        "transactionIndex": "0",
        "from": "GENESIS",
        "to": address(to),
        "value": text(amount.unwrap_or_default()),
        "gas": "0",
        "gasPrice": "0",
        "input": "0x",
        "methodId": "0x",
        "functionName": "",
        "contractAddress": "",
        "cumulativeGasUsed": "0",
        "txreceipt_status": "",
        "gasUsed": "0",
        "confirmations": confirmations(ask, 0),
        "isError": "0",
    }))
}

fn transaction(ask: &Ask<'_>, it: &NodeTransaction) -> Value {
    let input = it.transaction.input();
    let receipt = it.receipt.as_ref();
    let success = receipt.is_some_and(|receipt| receipt.success);
    let created = it.created().map_or_else(|| Value::from(""), address);
    json!({
        "blockNumber": text(it.header.number),
        "blockHash": data(it.header.hash),
        "timeStamp": text(it.header.timestamp),
        "hash": data(it.hash),
        "nonce": text(it.nonce()),
        "transactionIndex": text(it.index),
        "from": address(it.sender),
        "to": it.transaction.to().map_or_else(|| Value::from(""), address),
        "value": text(it.transaction.value()),
        "gas": text(it.transaction.gas_limit()),
        "gasPrice": text(it.gas_price()),
        "input": data(input),
        "methodId": data(selector(input)),
        "functionName": ask.names.functions.declaration(input).unwrap_or_default(),
        "contractAddress": created,
        "cumulativeGasUsed": text(receipt.map_or(0, |receipt| receipt.cumulative_gas_used)),
        "txreceipt_status": if success { "1" } else { "0" },
        "gasUsed": text(receipt.map_or(0, |receipt| receipt.gas_used)),
        "confirmations": confirmations(ask, it.header.number),
        "isError": if success { "0" } else { "1" },
    })
}

pub(super) fn funded_by(ask: &Ask<'_>, query: &Query) -> Answer<Reply> {
    let wanted = query.address("address")?;
    let allocated = ask.source.balances(Some(0), &[(wanted, None)])?.1;
    if allocated.into_iter().flatten().any(|it| !it.is_zero()) {
        return Err(Fault::NotHere(
            "the genesis funded this address, no transaction did".to_owned(),
        ));
    }
    // Withdrawals are no transactions.
    let transfers = ask.source.transfers().native().internal().address(wanted);
    let transfers = transfers.kind(Kind::Value).kind(Kind::Internal);
    let transfers = transfers.direction(Direction::In);
    let transfers = transfers.blocks(BlockSpec::through(0, ask.tip.number));
    let first = transfers.prepare()?.first(1)?.transfers.into_iter().next();
    let Some(funding) = first else {
        return Ok(Reply::Rows(Vec::new(), NO_TRANSACTIONS));
    };
    Ok(Reply::Value(json!({
        "block": text(funding.block_number),
        "timeStamp": text(funding.block_timestamp.map_or(0, txgraph::BlockTime::seconds)),
        "fundingAddress": address(funding.from_address),
        "fundingTxn": funding.transaction_hash.map_or_else(|| Value::from(""), data),
        "value": text(funding.value),
    })))
}
