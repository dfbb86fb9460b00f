//! Fees of the newest blocks: `eth_gasPrice`, `eth_maxPriorityFeePerGas`, `eth_blobBaseFee` and `eth_feeHistory`.

use super::params::{self, Params};
use crate::{
    ask::Ask,
    fault::{Answer, Fault},
    json::quantity,
};
use serde_json::{Value, json};
use txgraph::{Header, StoredTransaction};

/// The blocks that a price follows from, as at geth.
const BLOCKS: u64 = 20;
/// The cheapest transactions of each.
const CHEAPEST: usize = 3;
/// The percentile of their fees.
const PERCENTILE: usize = 60;
/// The most blocks of a history.
const HISTORY: u64 = 1_024;

/// The price of a unit of gas.
pub(super) fn price(ask: &Ask<'_>) -> Answer<Value> {
    let base_fee = base_fee(&ask.source.header(ask.tip.number)?);
    Ok(quantity(priority_fee(ask)?.saturating_add(base_fee)))
}

/// The part of the price above the base fee.
pub(super) fn priority(ask: &Ask<'_>) -> Answer<Value> {
    priority_fee(ask).map(quantity)
}

/// The price of a unit of blob gas in the newest block, as at geth; `null` if its fork has no blobs.
pub(super) fn blob(ask: &Ask<'_>) -> Answer<Value> {
    let fee = ask
        .source
        .blob_base_fee(&ask.source.header(ask.tip.number)?)?;
    Ok(fee.map_or(Value::Null, quantity))
}

/// The fees of some blocks, without blobs.
pub(super) fn history(ask: &Ask<'_>, params: &Params<'_>) -> Answer<Value> {
    let (count, newest) = (params.number(0)?, params.block(ask, 1)?);
    let shares = shares(params.get(2))?;
    let count = count.clamp(1, HISTORY).min(newest + 1);
    let oldest = newest + 1 - count;
    let (mut base_fees, mut used, mut rewards) = (Vec::new(), Vec::new(), Vec::new());
    for number in oldest..=newest {
        ask.count(0)?;
        let header = ask.source.header(number)?;
        base_fees.push(quantity(base_fee(&header)));
        used.push(header.gas_used as f64 / header.gas_limit.max(1) as f64);
        if !shares.is_empty() {
            rewards.push(paid_at(ask, number, &shares)?);
        }
    }
    let next = match newest < ask.tip.number {
        true => base_fee(&ask.source.header(newest + 1)?),
        false => next_base_fee(ask)?,
    };
    base_fees.push(quantity(next));
    let mut answer = json!({
        "oldestBlock": quantity(oldest),
        "baseFeePerGas": base_fees,
        "gasUsedRatio": used,
    });
    if !shares.is_empty() {
        answer["reward"] = rewards.into();
    }
    Ok(answer)
}

/// The percentages of the gas of a block that a client asks for, ascending.
fn shares(given: Option<&Value>) -> Answer<Vec<f64>> {
    let wrong = || params::missing(2, "an ascending list of up to 100 percentages");
    let Some(given) = given else {
        return Ok(Vec::new());
    };
    let all = given.as_array().ok_or_else(wrong)?;
    let all: Option<Vec<f64>> = all.iter().map(Value::as_f64).collect();
    let all = all.ok_or_else(wrong)?;
    let is_within = all.iter().all(|share| (0.0..=100.0).contains(share));
    match all.len() <= 100 && all.is_sorted() && is_within {
        true => Ok(all),
        false => Err(wrong()),
    }
}

/// The fees above the base fee that cheaper transactions with these shares of the gas of a block paid.
fn paid_at(ask: &Ask<'_>, number: u64, shares: &[f64]) -> Answer<Value> {
    let block = ask.source.block(number, true)?;
    let base_fee = base_fee(&block.header);
    let paid = block.transactions.iter().map(|it| {
        let gas = it.receipt.as_ref().map_or(0, |receipt| receipt.gas_used);
        (it.gas_price().saturating_sub(base_fee), gas)
    });
    let mut paid: Vec<_> = paid.collect();
    paid.sort_unstable();
    let (mut at, mut gas) = (0, paid.first().map_or(0, |it| it.1));
    let fees = shares.iter().map(|share| {
        let wanted = (block.header.gas_used as f64 * share / 100.0).floor();
        while (gas as f64) < wanted && at + 1 < paid.len() {
            at += 1;
            gas += paid[at].1;
        }
        quantity(paid.get(at).map_or(0, |it| it.0))
    });
    Ok(fees.collect())
}

/// The base fee of the block after the newest one.
fn next_base_fee(ask: &Ask<'_>) -> Answer<u128> {
    let block = ask.source.block(ask.tip.number, false)?;
    let first = block.transactions.first().map(|it| &it.transaction);
    // Each chain of the OP stack has other parameters.
    if matches!(first, Some(StoredTransaction::Deposit(_))) {
        let what = "the base fee of the next block of a rollup is known to the node only";
        return Err(Fault::NodeOnly(what.to_owned()));
    }
    let header = &block.header;
    Ok(next(base_fee(header), header.gas_used, header.gas_limit))
}

/// The base fee of the next block, by EIP-1559.
fn next(base_fee: u128, used: u64, limit: u64) -> u128 {
    let (used, target) = (u128::from(used), u128::from(limit / 2).max(1));
    let change = base_fee * used.abs_diff(target) / target / 8;
    match used > target && base_fee > 0 {
        true => base_fee + change.max(1),
        false => base_fee.saturating_sub(change),
    }
}

/// The base fee of a block; zero before there was one.
fn base_fee(header: &Header) -> u128 {
    header.base_fee_per_gas.unwrap_or_default().into()
}

fn priority_fee(ask: &Ask<'_>) -> Answer<u128> {
    let last = ask.tip.number;
    let mut all = Vec::new();
    for number in last.saturating_sub(BLOCKS - 1)..=last {
        let block = ask.source.block(number, false)?;
        let base_fee = base_fee(&block.header);
        // Its own transactions cost the beneficiary nothing.
        let beneficiary = block.header.beneficiary;
        let others = block.transactions.iter();
        let others = others.filter(|it| it.sender != beneficiary);
        let paid = others.map(|it| it.gas_price().saturating_sub(base_fee));
        let mut paid: Vec<_> = paid.filter(|fee| *fee > 0).collect();
        paid.sort_unstable();
        paid.truncate(CHEAPEST);
        all.append(&mut paid);
    }
    all.sort_unstable();
    let at = all.len().saturating_sub(1) * PERCENTILE / 100;
    Ok(all.get(at).copied().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::next;

    #[test]
    fn the_base_fee_follows_the_gas() {
        for (used, expected) in [(0, 875), (15, 1000), (30, 1125), (16, 1008)] {
            assert_eq!(next(1000, used, 30), expected);
        }
        assert_eq!(next(7, 16, 30), 8);
        assert_eq!(next(0, 30, 30), 0);
    }
}
