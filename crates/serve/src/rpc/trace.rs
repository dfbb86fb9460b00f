//! `trace_*`: calls of past transactions as flat lists.

use super::params::{self, Params};
use crate::{
    ask::Ask,
    fault::{Answer, Fault},
    frames::{FlatTrace, TracePlace, flat},
};
use alloy_primitives::{Address, B256};
use serde_json::Value;
use txgraph::{
    BlockRange, BlockRanges, BlockReplay, BlockSpec, Mismatch, Replay, Trace, TransactionName,
    TransactionReplay,
};

/// Refuses a replay that differs from what the node stored.
fn check(mismatches: &[Mismatch]) -> Answer<()> {
    match mismatches.first() {
        None => Ok(()),
        Some(mismatch) => Err(Fault::NotHere(format!(
            "the replay disagrees with the node: {mismatch}"
        ))),
    }
}

/// Replays blocks in order, until `each` fails. Block 0 has no transactions.
pub(crate) fn replay(
    ask: &Ask<'_>,
    blocks: &BlockRanges,
    trace: Trace,
    mut each: impl FnMut(&BlockReplay) -> Answer<()>,
) -> Answer<()> {
    let executed = BlockRange::new(1, u64::MAX).into_iter().collect();
    let blocks = blocks.intersect(&executed);
    if blocks.is_empty() {
        return Ok(());
    }
    let mut replay = ask.source.replay().trace(trace);
    for blocks in blocks.iter() {
        replay = replay.blocks(BlockSpec::through(blocks.first, blocks.last));
    }
    let mut fault = None;
    let done = replay.for_each(|block| {
        check(&block.mismatches)
            .and_then(|()| each(block))
            .map_err(|found| {
                fault = Some(found);
                // Only ends the replay; the fault is the answer.
                txgraph::Error::new(txgraph::ErrorKind::Interrupted, "enough")
            })
    });
    match fault {
        Some(fault) => Err(fault),
        None => Ok(done.map(drop)?),
    }
}

/// Replays the transaction with an index in a block.
pub(crate) fn at(
    ask: &Ask<'_>,
    (block, index): (u64, u32),
    trace: Trace,
) -> Answer<TransactionReplay> {
    let name = TransactionName::Position { block, index };
    replayed(ask.source.replay().transaction(name).trace(trace))
}

/// Replays the transaction that a query names.
pub(crate) fn replayed(query: Replay<'_>) -> Answer<TransactionReplay> {
    let (replay, mismatches) = query.one(None)?;
    check(&mismatches)?;
    Ok(replay)
}

/// Replays one transaction, which the chain has.
pub(super) fn found(
    ask: &Ask<'_>,
    hash: B256,
    trace: Trace,
) -> Answer<(TransactionReplay, TracePlace)> {
    one(ask, hash, trace)?.ok_or_else(|| no_transaction(ask, hash))
}

/// Replays one transaction; `None` if the chain does not have it.
pub(crate) fn one(
    ask: &Ask<'_>,
    hash: B256,
    trace: Trace,
) -> Answer<Option<(TransactionReplay, TracePlace)>> {
    let Some((block, index)) = ask.find_transaction(hash)? else {
        return Ok(None);
    };
    let replay = at(ask, (block, index), trace)?;
    let block_hash = ask.source.header(block)?.hash;
    let transaction = Some((replay.hash, index));
    let place = TracePlace {
        block,
        block_hash,
        transaction,
    };
    Ok(Some((replay, place)))
}

/// The fault of a transaction that is not in the chain.
pub(crate) fn no_transaction(ask: &Ask<'_>, hash: B256) -> Fault {
    let tip = ask.tip.number;
    Fault::NotHere(format!("no block up to {tip} has the transaction {hash}"))
}

pub(super) fn transaction(ask: &Ask<'_>, params: &Params<'_>) -> Answer<Value> {
    let hash = params.hash(0)?;
    let Some((replay, place)) = one(ask, hash, Trace::Call)? else {
        return ask.or_null(Err(no_transaction(ask, hash)));
    };
    let traces = flat(&replay).map(|trace| {
        ask.count(trace.bytes)?;
        Ok(trace.placed(place))
    });
    traces.collect()
}

pub(super) fn block(ask: &Ask<'_>, params: &Params<'_>) -> Answer<Value> {
    let number = match params.block(ask, 0) {
        Ok(number) => number,
        // Only a block that is not here is `null`, not one whose replay fails.
        Err(fault) => return ask.or_null(Err(fault)),
    };
    let mut found = Vec::new();
    let blocks = BlockRange::one(number).into();
    replay(ask, &blocks, Trace::Call, |block| {
        each(ask, block, &mut |trace, place| {
            ask.count(trace.bytes)?;
            found.push(trace.placed(place));
            Ok(())
        })
    })?;
    Ok(found.into())
}

/// Passes on the traces of a block, until `deliver` fails: of its transactions, and then of its
/// rewards.
fn each(
    ask: &Ask<'_>,
    block: &BlockReplay,
    deliver: &mut dyn FnMut(FlatTrace, TracePlace) -> Answer<()>,
) -> Answer<()> {
    let place = |transaction| TracePlace {
        block: block.number,
        block_hash: block.hash,
        transaction,
    };
    for replay in &block.transactions {
        for trace in flat(replay) {
            deliver(trace, place(Some((replay.hash, replay.index))))?;
        }
    }
    if block.environment.difficulty.is_zero() {
        return Ok(());
    }
    let stored = ask.source.block(block.number, false)?;
    let (reward, shares) = ask.source.block_rewards(&stored)?;
    let author = stored.header.beneficiary;
    deliver(FlatTrace::reward(author, "block", reward), place(None))?;
    for (ommer, share) in stored.ommers.iter().zip(shares) {
        let trace = FlatTrace::reward(ommer.beneficiary, "uncle", share);
        deliver(trace, place(None))?;
    }
    Ok(())
}

/// Which traces.
struct Filter {
    from: Vec<Address>,
    to: Vec<Address>,
    both: bool,
}

impl Filter {
    /// The blocks of a range that may have wanted traces.
    fn blocks(&self, ask: &Ask<'_>, blocks: BlockRange) -> Answer<BlockRanges> {
        // Before the merge, rewards are traces without a transaction.
        let first = ask.source.header(blocks.first.max(1).min(ask.tip.number))?;
        let has_addresses = !self.from.is_empty() || !self.to.is_empty();
        if !has_addresses || !first.difficulty.is_zero() {
            return Ok(blocks.into());
        }
        let of_all = |addresses: &[Address]| -> Answer<BlockRanges> {
            let mut all = Vec::new();
            for address in addresses {
                if ask.source.is_interrupted() {
                    return Err(Fault::Late);
                }
                let of_address = ask.source.transactions(*address).inside().blocks(blocks);
                all.extend(of_address.candidate_blocks()?.iter());
            }
            Ok(BlockRanges::new(all))
        };
        let (from, to) = (of_all(&self.from)?, of_all(&self.to)?);
        Ok(
            match self.both && !self.from.is_empty() && !self.to.is_empty() {
                true => from.intersect(&to),
                false => from.iter().chain(to.iter()).collect(),
            },
        )
    }

    /// Whether a trace is wanted: without addresses each is; with them one that is from or to one of
    /// them, or both if both are asked for.
    fn matches(&self, trace: &FlatTrace) -> bool {
        let is =
            |wanted: &[Address], end: Option<Address>| end.is_some_and(|end| wanted.contains(&end));
        let (from, to) = (is(&self.from, trace.from), is(&self.to, trace.to));
        match (self.from.is_empty(), self.to.is_empty()) {
            (true, true) => true,
            (false, true) => from,
            (true, false) => to,
            (false, false) if self.both => from && to,
            (false, false) => from || to,
        }
    }
}

pub(super) fn filter(ask: &Ask<'_>, params: &Params<'_>) -> Answer<Value> {
    let asked = params.get(0).and_then(Value::as_object);
    let asked = asked.ok_or_else(|| params::missing(0, "a filter"))?;
    let get = |name: &str| asked.get(name).filter(|value| !value.is_null());
    let wrong = |name: &str| Fault::Params(format!("invalid `{name}` of the filter"));
    let addresses = |name: &str| -> Answer<Vec<Address>> {
        params::addresses(get(name)).ok_or_else(|| wrong(name))
    };
    let number = |name: &str| -> Answer<Option<u64>> {
        let read = |value| params::number(Some(value)).ok_or_else(|| wrong(name));
        get(name).map(read).transpose()
    };
    let filter = Filter {
        from: addresses("fromAddress")?,
        to: addresses("toAddress")?,
        both: match get("mode").map(|mode| mode.as_str()) {
            None | Some(Some("union")) => false,
            Some(Some("intersection")) => true,
            Some(_) => return Err(wrong("mode")),
        },
    };
    let first = match get("fromBlock") {
        None => 0,
        from => ask.block(from)?,
    };
    let last = ask.block(get("toBlock"))?;
    let mut skip = number("after")?.unwrap_or(0);
    let most = number("count")?.unwrap_or(u64::MAX);
    let blocks = Ask::range(first, last)?;
    let mut found = Vec::new();
    if most == 0 {
        return Ok(found.into());
    }
    let blocks = filter.blocks(ask, blocks)?;
    let done = replay(ask, &blocks, Trace::Call, |block| {
        each(ask, block, &mut |trace, place| {
            if !filter.matches(&trace) {
                return Ok(());
            }
            if skip > 0 {
                skip -= 1;
                return Ok(());
            }
            ask.count(trace.bytes)?;
            found.push(trace.placed(place));
            // Any fault ends the replay; this one is not the answer.
            match found.len() as u64 >= most {
                true => Err(Fault::Late),
                false => Ok(()),
            }
        })
    });
    if (found.len() as u64) < most {
        done?;
    }
    Ok(found.into())
}
