//! Past transactions, executed again and compared with what the node stored.

use crate::{
    ask::Ask,
    fault::{Answer, Fault},
    frames::TracePlace,
};
use alloy_primitives::B256;
use txgraph::{
    BlockRange, BlockRanges, BlockReplay, BlockSpec, FrameDetail, Inspector, Mismatch, Record,
    Replay, Trace, TransactionName, TransactionReplay,
};

/// The parts of a replay to record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recorded {
    pub(super) calls: bool,
    pub(super) changes: bool,
    pub(super) touched: bool,
}

impl Recorded {
    /// Calls with everything that they say.
    pub(crate) const CALLS: Self = Self {
        calls: true,
        changes: false,
        touched: false,
    };

    fn of(self, replay: Replay<'_>) -> Replay<'_> {
        let replay = replay.trace(match self.calls {
            true => Trace::Call,
            false => Trace::Diff,
        });
        let replay = match self.changes {
            true => replay.with_changes(),
            false => replay,
        };
        match self.touched {
            true => replay.with_touched(),
            false => replay,
        }
    }
}

impl From<Recorded> for Record {
    fn from(recorded: Recorded) -> Self {
        Self {
            frames: recorded.calls.then_some(FrameDetail::Everything),
            transitions: recorded.changes,
            touched: recorded.touched,
            ..Self::default()
        }
    }
}

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
    recorded: Recorded,
    mut each: impl FnMut(&BlockReplay) -> Answer<()>,
) -> Answer<()> {
    let executed = BlockRange::new(1, u64::MAX).into_iter().collect();
    let blocks = blocks.intersect(&executed);
    if blocks.is_empty() {
        return Ok(());
    }
    let mut replay = recorded.of(ask.source.replay());
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
    recorded: Recorded,
) -> Answer<TransactionReplay> {
    let name = TransactionName::Position { block, index };
    replayed(recorded.of(ask.source.replay().transaction(name)))
}

/// Replays the transaction with a hash, which the chain has, observed by `inspector`.
pub(super) fn observed(
    ask: &Ask<'_>,
    hash: B256,
    recorded: Recorded,
    inspector: Option<&mut dyn Inspector>,
) -> Answer<TransactionReplay> {
    let place = ask.find_transaction(hash)?;
    let (block, index) = place.ok_or_else(|| no_transaction(ask, hash))?;
    let name = TransactionName::Position { block, index };
    checked(
        recorded.of(ask.source.replay().transaction(name)),
        inspector,
    )
}

/// Replays the transaction that a query names.
pub(crate) fn replayed(query: Replay<'_>) -> Answer<TransactionReplay> {
    checked(query, None)
}

fn checked(query: Replay<'_>, inspector: Option<&mut dyn Inspector>) -> Answer<TransactionReplay> {
    let (replay, mismatches) = query.one(inspector)?;
    check(&mismatches)?;
    Ok(replay)
}

/// Replays one transaction, which the chain has.
pub(super) fn found(
    ask: &Ask<'_>,
    hash: B256,
    recorded: Recorded,
) -> Answer<(TransactionReplay, TracePlace)> {
    one(ask, hash, recorded)?.ok_or_else(|| no_transaction(ask, hash))
}

/// Replays one transaction; `None` if the chain does not have it.
pub(crate) fn one(
    ask: &Ask<'_>,
    hash: B256,
    recorded: Recorded,
) -> Answer<Option<(TransactionReplay, TracePlace)>> {
    let Some((block, index)) = ask.find_transaction(hash)? else {
        return Ok(None);
    };
    let replay = at(ask, (block, index), recorded)?;
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
