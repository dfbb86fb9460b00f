//! `ots_*`: the interface of Otterscan, level 8, as Erigon answers it.

use super::{
    eth::blob_price,
    params::Params,
    replayed::{Recorded, found},
};
use crate::{
    ask::Ask,
    fault::{Answer, Fault},
    frames::{ends, steps},
    json::{self, address, data, quantity},
};
use alloy_primitives::{Address, U256};
use serde_json::{Map, Value, json};
use std::{collections::BTreeSet, ops::ControlFlow};
use txgraph::{BlockRange, Creation, FrameKind, NodeTransaction, Order, ReceiptDetail, delegate};

/// The most transactions of one page.
const PAGE_MAX: u64 = 1000;

pub(super) fn header(ask: &Ask<'_>, params: &Params<'_>) -> Answer<Value> {
    ask.or_null(params.block(ask, 0).and_then(|number| {
        let header = ask.source.header(number)?;
        Ok(json::header(&header).into())
    }))
}

pub(super) fn has_code(ask: &Ask<'_>, params: &Params<'_>) -> Answer<Value> {
    let (address, block) = (params.address(0)?, params.block(ask, 1)?);
    let code = ask.state(block, |state| state.code(address))?;
    Ok((!code.is_empty()).into())
}

pub(super) fn block_details(ask: &Ask<'_>, number: Answer<u64>, _: &Params<'_>) -> Answer<Value> {
    ask.or_null(number.and_then(|number| {
        let block = ask.source.block(number, true)?;
        let (reward, shares) = ask.source.block_rewards(&block)?;
        let for_ommers = shares.iter().fold(U256::ZERO, |sum, share| sum + share);
        let fee = |it: &NodeTransaction| {
            let gas = it.receipt.as_ref().map_or(0, |receipt| receipt.gas_used);
            U256::from(gas) * U256::from(it.gas_price())
        };
        let fees = block.transactions.iter().map(fee);
        let fees = fees.fold(U256::ZERO, |sum, fee| sum + fee);
        let mut shown = json::block_without_transactions(&block);
        shown.insert(
            "transactionCount".to_owned(),
            block.transactions.len().into(),
        );
        Ok(json!({
            "block": shown,
            "issuance": {
                "blockReward": quantity(reward),
                "uncleReward": quantity(for_ommers),
                "issuance": quantity(reward + for_ommers),
            },
            "totalFees": quantity(fees),
        }))
    }))
}

pub(super) fn block_transactions(ask: &Ask<'_>, params: &Params<'_>) -> Answer<Value> {
    let (page, size) = (params.number(1)?, page_size(params)?);
    ask.or_null(params.block(ask, 0).and_then(|number| {
        let block = ask.source.block(number, true)?;
        let count = block.transactions.len() as u64;
        // Pages are counted from the end of the block.
        let end = count.saturating_sub(page.saturating_mul(size));
        let start = end.saturating_sub(size);
        let wanted = block.transactions.iter();
        let wanted: Vec<_> = wanted
            .filter(|it| (start..end).contains(&u64::from(it.index)))
            .collect();
        let transactions = wanted.iter().map(|it| {
            let mut map = json::transaction(it);
            let input = json::selector(it.transaction.input());
            map.insert("input".to_owned(), data(input));
            Value::Object(map)
        });
        let price = blob_price(ask, &block.header, &block.transactions)?;
        let receipts = wanted.iter().map(|it| {
            let mut map = receipt(it, price);
            map.insert("logs".to_owned(), json!([]));
            map.insert("logsBloom".to_owned(), Value::Null);
            Value::Object(map)
        });
        let receipts: Vec<_> = receipts.collect();
        let mut shown = json::block_without_transactions(&block);
        shown.insert("transactions".to_owned(), transactions.collect());
        shown.insert("transactionCount".to_owned(), count.into());
        Ok(json!({ "fullblock": shown, "receipts": receipts }))
    }))
}

/// A receipt with the time of its block.
fn receipt(it: &NodeTransaction, price: Option<U256>) -> Map<String, Value> {
    let mut map = json::receipt(it, price);
    map.insert("timestamp".to_owned(), quantity(it.header.timestamp));
    map
}

pub(super) fn internal_operations(ask: &Ask<'_>, params: &Params<'_>) -> Answer<Value> {
    let hash = params.hash(0)?;
    let (replay, _) = found(ask, hash, Recorded::CALLS)?;
    let mut all = Vec::new();
    for step in steps(&replay).into_iter().skip(1) {
        let frame = step.frame;
        let (from, to) = ends(frame);
        let operation = match (step.is_destruction, frame.destruction, frame.kind) {
            (true, Some(it), _) => Some((1, frame.address, it.beneficiary, it.amount)),
            (true, None, _) => None,
            (false, _, FrameKind::Call) if frame.value.is_zero() => None,
            (false, _, FrameKind::Call) => Some((0, from, to, frame.value)),
            (false, _, FrameKind::Create) => Some((2, from, to, frame.value)),
            (false, _, FrameKind::Create2) => Some((3, from, to, frame.value)),
            (false, ..) => None,
        };
        if let Some((kind, from, to, value)) = operation.filter(|_| !frame.is_reverted) {
            ask.count(300)?;
            all.push(json!({
                "type": kind,
                "from": address(from),
                "to": address(to),
                "value": quantity(value),
            }));
        }
    }
    Ok(all.into())
}

pub(super) fn trace(ask: &Ask<'_>, params: &Params<'_>) -> Answer<Value> {
    let hash = params.hash(0)?;
    let (replay, _) = found(ask, hash, Recorded::CALLS)?;
    let mut all = Vec::new();
    for step in steps(&replay) {
        let (frame, depth) = (step.frame, step.path.len());
        if let Some(destruction) = frame.destruction.filter(|_| step.is_destruction) {
            ask.count(400)?;
            all.push(json!({
                "type": "SELFDESTRUCT",
                "depth": depth,
                "from": address(frame.address),
                "to": address(destruction.beneficiary),
                "value": quantity(destruction.amount),
                "input": "0x",
                "output": "0x",
            }));
            continue;
        }
        let (from, to) = ends(frame);
        let has_value = !matches!(frame.kind, FrameKind::DelegateCall | FrameKind::StaticCall);
        ask.count(400 + 2 * (frame.input.len() + frame.output.len()))?;
        all.push(json!({
            "type": frame.kind.name(),
            "depth": depth,
            "from": address(from),
            "to": address(to),
            "value": if has_value { quantity(frame.value) } else { Value::Null },
            "input": data(&frame.input),
            "output": data(&frame.output),
        }));
    }
    Ok(all.into())
}

pub(super) fn transaction_error(ask: &Ask<'_>, params: &Params<'_>) -> Answer<Value> {
    let hash = params.hash(0)?;
    let (replay, _) = found(ask, hash, Recorded::CALLS)?;
    Ok(match replay.outcome.status {
        txgraph::Status::Revert => data(&replay.outcome.output),
        _ => "0x".into(),
    })
}

pub(super) fn by_sender_and_nonce(ask: &Ask<'_>, params: &Params<'_>) -> Answer<Value> {
    Ok(sent(ask, params)?.map_or(Value::Null, |it| data(it.hash)))
}

/// The whole transaction, for `eth_getTransactionBySenderAndNonce`.
pub(super) fn sent_transaction(ask: &Ask<'_>, params: &Params<'_>) -> Answer<Value> {
    Ok(sent(ask, params)?.map_or(Value::Null, |it| json::transaction(&it).into()))
}

/// The transaction of a sender with a nonce.
fn sent(ask: &Ask<'_>, params: &Params<'_>) -> Answer<Option<NodeTransaction>> {
    let (sender, nonce) = (params.address(0)?, params.number(1)?);
    let after = |block: u64| -> Answer<u64> {
        if let Some(nonce) = ask.source.indexed_nonce(sender, block)? {
            return Ok(nonce);
        }
        let account = ask.state(block, |state| state.account(sender))?;
        Ok(account.nonce)
    };
    if after(ask.tip.number)? <= nonce {
        return Ok(None);
    }
    // The first block after which the nonce was used, of those whose state is stored: of a pruned
    // node, the newest ones.
    let (mut first, mut last) = (0, ask.tip.number);
    let mut unknown = None;
    while first < last {
        let middle = first.midpoint(last);
        match after(middle) {
            Ok(next) if next > nonce => last = middle,
            Ok(_) => first = middle + 1,
            Err(fault) if fault.is_missing() => {
                unknown = Some(fault);
                first = middle + 1;
            }
            Err(fault) => return Err(fault),
        }
    }
    let block = ask.source.block(first, false)?;
    let mut found = block.transactions.into_iter();
    let found = found.find(|it| it.sender == sender && it.nonce() == nonce);
    match (found, unknown) {
        (None, Some(fault)) => Err(fault),
        (found, _) => Ok(found),
    }
}

pub(super) fn contract_creator(ask: &Ask<'_>, params: &Params<'_>) -> Answer<Value> {
    let contract = params.address(0)?;
    // Contracts of the genesis have no creator.
    let by = creation(ask, contract)?.and_then(|creation| creation.by);
    Ok(by.map_or(
        Value::Null,
        |by| json!({ "hash": data(by.hash), "creator": address(by.creator) }),
    ))
}

/// Where a contract was created, and by what unless it is in the genesis; `None` for an account without
/// code, or that delegates to a contract.
pub(crate) fn creation(ask: &Ask<'_>, contract: Address) -> Answer<Option<Creation>> {
    let code = ask.state(ask.tip.number, |state| state.code(contract))?;
    if code.is_empty() || delegate(&code).is_some() {
        return Ok(None);
    }
    let Some(creation) = ask.source.creation_of(contract)? else {
        return Err(Fault::missing(format!(
            "{contract} was created before the first block whose changes the node keeps"
        )));
    };
    match (creation.by, &creation.without_creator) {
        (None, Some(why)) => Err(Fault::missing(format!(
            "the creation of {contract} is not known: {why}"
        ))),
        _ => Ok(Some(creation)),
    }
}

pub(super) fn search_before(ask: &Ask<'_>, params: &Params<'_>) -> Answer<Value> {
    let (wanted, size) = (params.address(0)?, page_size(params)?);
    let block = params.number(1)?;
    let tip = ask.tip.number;
    // 0 is above the tip.
    let next = match block {
        0 => Some(tip),
        block => Some(block.saturating_sub(1).min(tip)),
    };
    let is_first = block == 0 || block > tip;
    let mut found = Vec::new();
    let mut is_last = true;
    if let Some(last) = next {
        let blocks = Ask::range(0, last)?;
        is_last = fill(ask, wanted, blocks, Order::NewestFirst, size, &mut found)?;
    }
    page(ask, &found, is_first, is_last)
}

pub(super) fn search_after(ask: &Ask<'_>, params: &Params<'_>) -> Answer<Value> {
    let (wanted, size) = (params.address(0)?, page_size(params)?);
    let block = params.number(1)?;
    let tip = ask.tip.number;
    // 0 is before the first block.
    let first = match block {
        0 => 0,
        block => block.saturating_add(1),
    };
    let mut found = Vec::new();
    let mut is_first = true;
    if first <= tip {
        let blocks = Ask::range(first, tip)?;
        is_first = fill(ask, wanted, blocks, Order::OldestFirst, size, &mut found)?;
    }
    // Newest first, in both directions.
    found.reverse();
    page(ask, &found, is_first, block == 0)
}

fn page_size(params: &Params<'_>) -> Answer<u64> {
    match params.number(2)? {
        size @ 1..=PAGE_MAX => Ok(size),
        _ => Err(Fault::Params(format!("the page size is 1 to {PAGE_MAX}"))),
    }
}

/// Fills a page with transactions in which an address takes part. A page never ends inside of a
/// block. Returns whether there are no others.
fn fill(
    ask: &Ask<'_>,
    wanted: Address,
    blocks: BlockRange,
    order: Order,
    size: u64,
    found: &mut Vec<(u64, u32)>,
) -> Answer<bool> {
    let mut is_end = true;
    let of_address = ask.source.transactions(wanted).inside();
    of_address.blocks(blocks).order(order).for_each(|it| {
        let is_full = found.len() as u64 >= size;
        is_end = !(is_full && found.last().is_some_and(|(block, _)| *block != it.block));
        Ok(match is_end {
            true => {
                found.push((it.block, it.transaction));
                ControlFlow::Continue(())
            }
            false => ControlFlow::Break(()),
        })
    })?;
    Ok(is_end)
}

fn page(ask: &Ask<'_>, found: &[(u64, u32)], is_first: bool, is_last: bool) -> Answer<Value> {
    let places: BTreeSet<_> = found.iter().copied().collect();
    let read = (ask.source).transactions_at(&places, ReceiptDetail::Whole)?;
    let (mut transactions, mut receipts) = (Vec::new(), Vec::new());
    for place in found {
        let Some(it) = read.get(place) else { continue };
        let logs = it.receipt.iter().flat_map(|receipt| &receipt.logs);
        let bytes: usize = logs.map(|log| 600 + 2 * log.data.data.len()).sum();
        ask.count(2000 + 2 * it.transaction.input().len() + bytes)?;
        let price = blob_price(ask, &it.header, std::slice::from_ref(it))?;
        transactions.push(Value::Object(json::transaction(it)));
        receipts.push(Value::Object(receipt(it, price)));
    }
    Ok(json!({
        "txs": transactions,
        "receipts": receipts,
        "firstPage": is_first,
        "lastPage": is_last,
    }))
}
