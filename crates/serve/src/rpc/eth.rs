//! `eth_*`: blocks, transactions, receipts and logs.

use super::{
    params::{self, Params},
    replayed::no_transaction,
};
use crate::{
    ask::{Ask, Ending, parse_hash},
    fault::{Answer, Fault},
    json::{self, data, quantity},
};
use alloy_primitives::{B256, U256};
use serde_json::Value;
use txgraph::{Header, LogFilter, NodeTransaction, ReceiptDetail};

pub(super) fn block(ask: &Ask<'_>, number: Answer<u64>, params: &Params<'_>) -> Answer<Value> {
    let full = params.flag(1)?;
    ask.or_null(number.and_then(|number| {
        let block = ask.source.block(number, false)?;
        Ok(json::block(&block, full).into())
    }))
}

pub(super) fn block_receipts(ask: &Ask<'_>, params: &Params<'_>) -> Answer<Value> {
    ask.or_null(params.block(ask, 0).and_then(|number| {
        let block = ask.source.block(number, true)?;
        let price = blob_price(ask, &block.header, &block.transactions)?;
        let receipts = block.transactions.iter();
        Ok(receipts
            .map(|it| Value::Object(json::receipt(it, price)))
            .collect())
    }))
}

/// The price of blob gas, if one of the transactions needs it.
pub(super) fn blob_price(
    ask: &Ask<'_>,
    header: &Header,
    transactions: &[NodeTransaction],
) -> Answer<Option<U256>> {
    let has_blobs = |it: &NodeTransaction| alloy_consensus::Typed2718::ty(&it.transaction) == 3;
    match transactions.iter().any(has_blobs) {
        true => Ok(ask.source.blob_base_fee(header)?),
        false => Ok(None),
    }
}

pub(super) fn transaction_count(
    ask: &Ask<'_>,
    number: Answer<u64>,
    _: &Params<'_>,
) -> Answer<Value> {
    let count = number.and_then(|number| Ok(ask.source.transaction_count(number)?));
    ask.or_null(count.map(quantity))
}

pub(super) fn ommer_count(ask: &Ask<'_>, number: Answer<u64>, _: &Params<'_>) -> Answer<Value> {
    let ommers = number.and_then(|number| Ok(ask.source.ommers(number)?));
    ask.or_null(ommers.map(|ommers| quantity(ommers.len())))
}

/// A header of an ommer, in the form of a block without a body.
pub(super) fn ommer(ask: &Ask<'_>, number: Answer<u64>, params: &Params<'_>) -> Answer<Value> {
    let index = params.number(1)?;
    ask.or_null(number.and_then(|number| {
        let mut ommers = (0..).zip(ask.source.ommers(number)?);
        let found = ommers.find(|(at, _)| *at == index);
        Ok(found.map_or(Value::Null, |(_, ommer)| {
            json::block_without_transactions(&ommer.into()).into()
        }))
    }))
}

fn place(ask: &Ask<'_>, hash: B256) -> Answer<(u64, u32)> {
    let place = ask.find_transaction(hash)?;
    place.ok_or_else(|| no_transaction(ask, hash))
}

/// A transaction, with as much of its receipt as `detail` says.
pub(crate) fn find(ask: &Ask<'_>, hash: B256, detail: ReceiptDetail) -> Answer<NodeTransaction> {
    at(ask, place(ask, hash)?, detail)
}

fn at(ask: &Ask<'_>, place: (u64, u32), detail: ReceiptDetail) -> Answer<NodeTransaction> {
    let mut found = ask.source.transactions_at(&[place].into(), detail)?;
    let found = found.pop_first().map(|(_, found)| found);
    found.ok_or_else(|| Fault::NotHere("the transaction was not read".to_owned()))
}

/// A transaction without its receipt, which may be pruned.
fn find_plain(ask: &Ask<'_>, hash: B256) -> Answer<NodeTransaction> {
    find(ask, hash, ReceiptDetail::None)
}

pub(super) fn transaction(ask: &Ask<'_>, params: &Params<'_>) -> Answer<Value> {
    let hash = params.hash(0)?;
    ask.or_null(find_plain(ask, hash).map(|it| json::transaction(&it).into()))
}

pub(super) fn raw_transaction(ask: &Ask<'_>, params: &Params<'_>) -> Answer<Value> {
    let hash = params.hash(0)?;
    ask.or_null(find_plain(ask, hash).map(|it| data(it.transaction.envelope())))
}

pub(super) fn transaction_at(
    ask: &Ask<'_>,
    number: Answer<u64>,
    params: &Params<'_>,
) -> Answer<Value> {
    let index = params.number(1)?;
    ask.or_null(number.and_then(|number| {
        let count = ask.source.transaction_count(number)?;
        match u32::try_from(index) {
            Ok(index) if u64::from(index) < count => {
                let found = at(ask, (number, index), ReceiptDetail::None)?;
                Ok(json::transaction(&found).into())
            }
            _ => Ok(Value::Null),
        }
    }))
}

pub(super) fn receipt(ask: &Ask<'_>, params: &Params<'_>) -> Answer<Value> {
    let hash = params.hash(0)?;
    ask.or_null(find(ask, hash, ReceiptDetail::Whole).and_then(|it| {
        let price = blob_price(ask, &it.header, std::slice::from_ref(&it))?;
        Ok(json::receipt(&it, price).into())
    }))
}

pub(super) fn logs(ask: &Ask<'_>, params: &Params<'_>) -> Answer<Value> {
    let asked = params.get(0).and_then(Value::as_object);
    let asked = asked.ok_or_else(|| params::missing(0, "a filter"))?;
    let get = |name: &str| asked.get(name).filter(|value| !value.is_null());
    let (first, last) = match (get("blockHash"), get("fromBlock"), get("toBlock")) {
        (Some(hash), None, None) => {
            let hash = hash.as_str().and_then(parse_hash);
            let hash = hash.ok_or_else(|| Fault::Params("invalid blockHash".to_owned()))?;
            let block = ask.block_by_hash(hash)?;
            (block, block)
        }
        (Some(_), ..) => {
            return Err(Fault::Params(
                "blockHash excludes fromBlock and toBlock".to_owned(),
            ));
        }
        (None, from, to) => (ask.block(from)?, ask.block(to)?),
    };
    let blocks = Ask::range(first, last)?;
    let filter = log_filter(get("address"), get("topics"))?;
    let (mut found, mut ending) = (Vec::new(), Ending::new());
    ask.source.logs(blocks, &filter, |log| {
        let done = ask.count(json::log_bytes(&log));
        if done.is_ok() {
            found.push(json::log(&log));
        }
        Ok(ending.note(done))
    })?;
    ending.finish()?;
    Ok(found.into())
}

/// The filter in the form of `eth_getLogs`.
pub(super) fn log_filter(address: Option<&Value>, topics: Option<&Value>) -> Answer<LogFilter> {
    let wrong = |what: &str| Fault::Params(format!("invalid {what} of the filter"));
    let mut filter = LogFilter {
        addresses: params::addresses(address).ok_or_else(|| wrong("address"))?,
        ..LogFilter::default()
    };
    let one_topic = |value: &Value| {
        let topic = value.as_str().and_then(parse_hash);
        topic.ok_or_else(|| wrong("topics"))
    };
    let given: &[Value] = match topics {
        None => &[],
        Some(Value::Array(all)) if all.len() <= filter.topics.len() => all,
        Some(_) => return Err(wrong("topics")),
    };
    for (wanted, given) in filter.topics.iter_mut().zip(given) {
        match given {
            Value::Null => {}
            // One that is `null` matches everything.
            Value::Array(all) if all.contains(&Value::Null) => {}
            Value::Array(all) => *wanted = all.iter().map(one_topic).collect::<Answer<_>>()?,
            value => wanted.push(one_topic(value)?),
        }
    }
    Ok(filter)
}
