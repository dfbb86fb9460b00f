//! `trace_*`: calls of transactions as flat lists, with the changes of the state.

use super::{
    overrides::simulation,
    params::{self, Params},
    parity_diff::state_diff,
    replayed::{Recorded, found, no_transaction, one, replay},
    request::Request,
    simulate,
};
use crate::{
    ask::Ask,
    fault::{Answer, Fault},
    frames::{self, FlatTrace, TracePlace, flat},
    json::data,
};
use alloy_primitives::Address;
use serde_json::{Value, json};
use txgraph::{BlockRange, BlockRanges, BlockReplay, TransactionReplay};

pub(super) fn transaction(ask: &Ask<'_>, params: &Params<'_>) -> Answer<Value> {
    let hash = params.hash(0)?;
    let Some((replay, place)) = one(ask, hash, Recorded::CALLS)? else {
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
    replay(ask, &blocks, Recorded::CALLS, |block| {
        each(ask, block, &mut |trace, place| {
            ask.count(trace.bytes)?;
            found.push(trace.placed(place));
            Ok(())
        })
    })?;
    Ok(found.into())
}

/// The parts of the replay of a transaction that a client names, at `at` among the parameters.
fn parts(params: &Params<'_>, at: usize) -> Answer<Recorded> {
    let wrong = || params::missing(at, "a list of `trace`, `stateDiff`, `vmTrace`");
    let mut recorded = Recorded {
        calls: false,
        ..Recorded::CALLS
    };
    let named = params.get(at).and_then(Value::as_array);
    for part in named.ok_or_else(wrong)? {
        match part.as_str() {
            Some("trace") => recorded.calls = true,
            Some("stateDiff") => recorded.changes = true,
            Some("vmTrace") => {
                return Err(Fault::NotHere("`vmTrace` is not answered here".to_owned()));
            }
            _ => return Err(wrong()),
        }
    }
    Ok(recorded)
}

/// The parts of the replay of a transaction.
fn results(ask: &Ask<'_>, replay: &TransactionReplay, recorded: Recorded) -> Answer<Value> {
    ask.count(200 + 2 * replay.outcome.output.len())?;
    let calls = recorded.calls.then(|| flat(replay)).into_iter().flatten();
    let calls = calls.map(|trace| {
        ask.count(trace.bytes)?;
        Ok(trace.alone())
    });
    let calls: Vec<Value> = calls.collect::<Answer<_>>()?;
    let changes = match recorded.changes {
        true => {
            frames::count_changes(ask, replay)?;
            state_diff(&replay.transitions)
        }
        false => Value::Null,
    };
    Ok(json!({
        "output": data(&replay.outcome.output),
        "stateDiff": changes,
        "trace": calls,
        "vmTrace": null,
    }))
}

pub(super) fn replay_transaction(ask: &Ask<'_>, params: &Params<'_>) -> Answer<Value> {
    let (hash, recorded) = (params.hash(0)?, parts(params, 1)?);
    let (replay, _) = found(ask, hash, recorded)?;
    results(ask, &replay, recorded)
}

pub(super) fn replay_block(ask: &Ask<'_>, params: &Params<'_>) -> Answer<Value> {
    let (number, recorded) = (params.block(ask, 0)?, parts(params, 1)?);
    let mut all = Vec::new();
    replay(ask, &BlockRange::one(number).into(), recorded, |block| {
        for replay in &block.transactions {
            let mut results = results(ask, replay, recorded)?;
            results["transactionHash"] = data(replay.hash);
            all.push(results);
        }
        Ok(())
    })?;
    Ok(all.into())
}

pub(super) fn call(ask: &Ask<'_>, params: &Params<'_>) -> Answer<Value> {
    let (recorded, block) = (parts(params, 1)?, params.block(ask, 2)?);
    let simulation = simulation(block, params.get(3), params.get(4))?;
    let request = Request::read(ask, params, &simulation)?;
    let replay = simulate::one(ask, &request, &simulation, recorded.into(), None)?;
    results(ask, &replay, recorded)
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
    let done = replay(ask, &blocks, Recorded::CALLS, |block| {
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
