//! Blocks by time and by beneficiary, and withdrawals.

use super::{
    account::ROWS,
    query::Query,
    reply::{NO_TRANSACTIONS, PageRows, Reply, text},
};
use crate::{
    ask::Ask,
    fault::{Answer, Fault},
    json::address,
};
use alloy_primitives::U256;
use serde_json::json;
use std::time::SystemTime;
use txgraph::{BlockSpec, Direction, ErrorKind, Kind, NodeBlock, Order};

/// No blocks.
const NO_BLOCKS: &str = "No blocks found";

/// Clients ask for the newest block by the time of their clock, which can differ from ours.
const NOW_SECONDS: u64 = 60;

/// The newest blocks whose times give the pace of the next ones.
const PACE_BLOCKS: u64 = 1_000;

/// The time in seconds since 1970.
fn now() -> u64 {
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    time.map_or(0, |time| time.as_secs())
}

pub(super) fn by_time(ask: &Ask<'_>, query: &Query) -> Answer<Reply> {
    let seconds = query.required_number("timestamp")?;
    let none = || Fault::Params("Error! No closest block found".to_owned());
    let before = match query.get("closest").map(str::to_ascii_lowercase).as_deref() {
        None | Some("before") => true,
        Some("after") => false,
        Some(_) => return Err(Fault::Params("Error! Invalid parameter closest".to_owned())),
    };
    let newest = ask.source.header(ask.tip.number)?.timestamp;
    if seconds >= newest {
        let now = now();
        let is_now = seconds.abs_diff(now) <= NOW_SECONDS;
        return match (seconds == newest, is_now, before) {
            (true, ..) => Ok(Reply::Value(text(ask.tip.number))),
            (_, true, true) => Ok(Reply::Passing(text(ask.tip.number))),
            (_, true, false) => Err(none()),
            (_, false, false) if seconds > now => Err(none()),
            (_, false, true) if seconds > now => Err(Fault::Params(
                "Error! The timestamp, in seconds since 1970, is in the future: which block is closest \
                 is not known yet"
                    .to_owned(),
            )),
            // The node may have newer blocks, which it has not stored yet.
            (_, false, _) => Err(Fault::missing(format!(
                "Error! The newest block that is stored, {}, is of {newest}: which block is closest is \
                 not known yet",
                ask.tip.number
            ))),
        };
    }
    // The first block at or after the time, which exists.
    let after = match ask.source.block_at(seconds) {
        Ok(block) => block,
        // It is before the first block.
        Err(error) if error.kind == ErrorKind::Unavailable => {
            return match before {
                true => Err(none()),
                false => Ok(Reply::Value(text(0))),
            };
        }
        Err(error) => return Err(error.into()),
    };
    let is_exact = ask.source.header(after)?.timestamp == seconds;
    match before && !is_exact {
        false => Ok(Reply::Value(text(after))),
        true => Ok(Reply::Value(text(after.checked_sub(1).ok_or_else(none)?))),
    }
}

/// The time until a block, estimated by the pace of the newest ones.
pub(super) fn countdown(ask: &Ask<'_>, query: &Query) -> Answer<Reply> {
    let (wanted, tip) = (query.required_number("blockno")?, ask.tip.number);
    let left = wanted.checked_sub(tip).filter(|left| *left > 0);
    let left = left.ok_or_else(|| Fault::Params("Error! Block number already pass".to_owned()))?;
    // The genesis can have any time.
    let first = tip.saturating_sub(PACE_BLOCKS).max(1);
    let blocks = tip.checked_sub(first).filter(|blocks| *blocks > 0);
    let blocks = blocks.ok_or_else(|| {
        Fault::NotHere("the time between blocks is not known: there are fewer than two".to_owned())
    })?;
    let times = (
        ask.source.header(first)?.timestamp,
        ask.source.header(tip)?.timestamp,
    );
    let seconds = times.1.saturating_sub(times.0);
    let total = u128::from(left).saturating_mul(u128::from(seconds));
    let tenths = total.saturating_mul(10) / u128::from(blocks);
    Ok(Reply::Value(json!({
        "CurrentBlock": text(tip),
        "CountdownBlock": text(wanted),
        "RemainingBlock": text(left),
        "EstimateTimeInSec": format!("{}.{}", tenths / 10, tenths % 10),
    })))
}

pub(super) fn mined(ask: &Ask<'_>, query: &Query) -> Answer<Reply> {
    let miner = query.address("address")?;
    match query
        .get("blocktype")
        .map(str::to_ascii_lowercase)
        .as_deref()
    {
        None | Some("blocks") => {}
        Some(_) => {
            return Err(Fault::Params(
                "Error! Only blocktype=blocks is answered".to_owned(),
            ));
        }
    }
    let page = query.page(ROWS)?;
    // Newest first, unless the query says otherwise.
    let order = match query.get("sort") {
        None => Order::NewestFirst,
        Some(_) => page.order,
    };
    let Some((first, last)) = query.blocks(ask, ["startblock", "endblock"])? else {
        return Ok(Reply::Rows(Vec::new(), NO_BLOCKS));
    };
    let blocks = Ask::range(first, last)?;
    let mut rows = PageRows::new(page);
    ask.source.blocks_of(miner, blocks, order, |block| {
        rows.add(ask, 200, || {
            let (reward, _) = ask.source.block_rewards(&block)?;
            Ok(json!({
                "blockNumber": text(block.header.number),
                "timeStamp": text(block.header.timestamp),
                "blockReward": text(reward + tips(&block)),
            }))
        })
    })?;
    Ok(Reply::Rows(rows.finish()?, NO_BLOCKS))
}

pub(super) fn reward(ask: &Ask<'_>, query: &Query) -> Answer<Reply> {
    let number = query.block_number(ask)?;
    let mut block = ask.source.block(number, true)?;
    let (reward, of_ommers) = ask.source.block_rewards(&block)?;
    let ommers = std::mem::take(&mut block.ommers);
    let (without_ommers, _) = ask.source.block_rewards(&block)?;
    let uncles = ommers.iter().zip(of_ommers).enumerate();
    let uncles = uncles.map(|(place, (ommer, reward))| {
        json!({
            "miner": address(ommer.beneficiary),
            "unclePosition": text(place),
            "blockreward": text(reward),
        })
    });
    Ok(Reply::Value(json!({
        "blockNumber": text(number),
        "timeStamp": text(block.header.timestamp),
        "blockMiner": address(block.header.beneficiary),
        "blockReward": text(reward + tips(&block)),
        "uncles": uncles.collect::<Vec<_>>(),
        "uncleInclusionReward": text(reward - without_ommers),
    })))
}

/// The part of the fees that the beneficiary of a block gets.
fn tips(block: &NodeBlock) -> U256 {
    let base_fee = u128::from(block.header.base_fee_per_gas.unwrap_or_default());
    let tip = |it: &txgraph::NodeTransaction| {
        let gas = it.receipt.as_ref().map_or(0, |receipt| receipt.gas_used);
        U256::from(it.gas_price().saturating_sub(base_fee)) * U256::from(gas)
    };
    let tips = block.transactions.iter().map(tip);
    tips.fold(U256::ZERO, |sum, tip| sum + tip)
}

pub(super) fn withdrawals(ask: &Ask<'_>, query: &Query) -> Answer<Reply> {
    let receiver = query.address("address")?;
    let page = query.page(ROWS)?;
    let Some((first, last)) = query.blocks(ask, ["startblock", "endblock"])? else {
        return Ok(Reply::Rows(Vec::new(), NO_TRANSACTIONS));
    };
    let transfers = ask.source.transfers().native().kind(Kind::Withdrawal);
    let transfers = transfers.address(receiver).direction(Direction::In);
    let transfers = transfers.blocks(BlockSpec::through(first, last));
    let transfers = transfers.prepare()?.numbers_only();
    let found = page.read(&transfers, |_| true)?.transfers;
    let mut rows = Vec::with_capacity(found.len());
    for of_block in found.chunk_by(|a, b| a.block_number == b.block_number) {
        let number = of_block[0].block_number;
        let (header, withdrawals) = ask.source.withdrawals(number)?;
        for transfer in of_block {
            ask.count(400)?;
            let at = usize::try_from(transfer.sub_index).unwrap_or(usize::MAX);
            let withdrawal = withdrawals.get(at).filter(|it| it.address == receiver);
            let withdrawal = withdrawal.ok_or_else(|| {
                Fault::NotHere(format!("block {number} does not have its withdrawal {at}"))
            })?;
            rows.push(json!({
                "withdrawalIndex": text(withdrawal.index),
                "validatorIndex": text(withdrawal.validator_index),
                "address": address(withdrawal.address),
                "amount": text(withdrawal.amount),
                "blockNumber": text(number),
                "timestamp": text(header.timestamp),
            }));
        }
    }
    Ok(Reply::Rows(rows, NO_TRANSACTIONS))
}
