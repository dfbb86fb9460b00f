//! Transfers inside transactions, found by re-executing blocks. Blocks of Amsterdam have logs of
//! them (EIP-7708) and are not re-executed.

use crate::{
    BlockReplay, ChainRules, Error, FrameDetail, Record, ReplayOptions, Replayer, StateHistory,
    Verify,
};
use alloy_primitives::B256;
use std::ops::ControlFlow;
use txgraph_nodedb::NodeDb;
use txgraph_state::{StateDb, StateRange};
use txgraph_transfers::{
    BlockRange, BlockRanges, FailureKind, InternalReader, InternalSource, InternalTransfers,
    Participation, SourceError, SourceFailure, Transfer, TransferFilter, Unavailable,
};
use txgraph_work::{CancelFlag, Retry, Threads};

/// Finds, by replaying blocks, the native coin moved by calls, creations and destructions
/// ([`Internal`](txgraph_transfers::Kind::Internal), [`Burn`](txgraph_transfers::Kind::Burn)). Also
/// finds [fees](txgraph_transfers::Kind::FEES) if the filter names these kinds.
///
/// A replay that differs from a stored receipt is an error.
#[derive(Debug)]
pub struct Internal<'a> {
    db: &'a NodeDb,
    state: StateDb,
    rules: ChainRules,
    threads: Threads,
    cancel: CancelFlag,
}

/// The first of consecutive blocks, and number and hash of the last.
pub(crate) type Ends = (FirstBlock, (u64, B256));

/// The first of consecutive blocks, with its link to the block before.
#[derive(Clone, Copy)]
pub(crate) struct FirstBlock {
    pub(crate) number: u64,
    pub(crate) parent_hash: B256,
}

/// The movements that a filter selects.
#[derive(Clone, Copy)]
pub(crate) struct Movements {
    pub(crate) internal: bool,
    pub(crate) fees: bool,
}

impl Movements {
    pub(crate) fn of(filter: &TransferFilter) -> Self {
        Self {
            internal: filter.needs_traces(),
            fees: filter.needs_fees(),
        }
    }
}

impl<'a> Internal<'a> {
    /// Replays blocks of `db` on the states of `state`, on `threads`, until `cancel` is set.
    pub fn new(
        db: &'a NodeDb,
        state: StateDb,
        rules: ChainRules,
        threads: Threads,
        cancel: CancelFlag,
    ) -> Self {
        Self {
            db,
            state,
            rules,
            threads,
            cancel,
        }
    }

    /// Returns which of `blocks` can be replayed, and the others with the reason. Block 0 counts
    /// as replayable if the state after it exists: it has no movements.
    pub(crate) fn replayable(
        &self,
        blocks: &BlockRanges,
    ) -> Result<(BlockRanges, Vec<Unavailable>), Error> {
        if blocks.is_empty() {
            return Ok(Default::default());
        }
        let failed = |block: u64| move |source: txgraph_state::Error| Error::state(block, source);
        let first = blocks.span().map_or(0, |span| span.first);
        let available = self.state.available().map_err(failed(first))?;
        let mut kept = Vec::new();
        let mut missing = Vec::new();
        // A block is executed on the state after its parent.
        let (from, to) = match available.blocks {
            Some(BlockRange { first, last }) => (
                if first == 0 {
                    0
                } else {
                    first.saturating_add(1)
                },
                last.saturating_add(1),
            ),
            None => (1, 0),
        };
        for range in blocks.iter() {
            let mut gap = |first, last, reason: &str| {
                let reason = format!("no state to replay them on: {reason}");
                missing.extend(
                    BlockRange::new(first, last).map(|blocks| Unavailable { blocks, reason }),
                );
            };
            let obstacle = available.obstacle.as_deref();
            if from > to {
                gap(
                    range.first,
                    range.last,
                    obstacle.unwrap_or("the node stores none"),
                );
                continue;
            }
            if range.first < from {
                gap(range.first, range.last.min(from - 1), &available.below);
            }
            kept.extend(BlockRange::new(range.first.max(from), range.last.min(to)));
            if range.last > to {
                gap(range.first.max(to + 1), range.last, &available.above);
            }
        }
        Ok((BlockRanges::new(kept), missing))
    }

    /// Divides blocks into those before Amsterdam, which have to be replayed, and the others, whose
    /// logs report transfers inside of transactions.
    pub(crate) fn by_logs(&self, blocks: &BlockRanges) -> Result<[BlockRanges; 2], SourceError> {
        let first = Retry::REREAD.run("headers", |_| true, || self.db.snapshot()?.amsterdam());
        let logged = first.map_err(Error::from)?;
        let logged = logged.and_then(|first| BlockRange::new(first, u64::MAX));
        let logged = blocks.intersect(&logged.into_iter().collect());
        Ok([blocks.subtract(&logged), logged])
    }

    /// Checks that all of these blocks can be replayed.
    pub(crate) fn check(&self, blocks: &BlockRanges) -> Result<(), SourceError> {
        let (_, missing) = self.replayable(blocks)?;
        match missing.is_empty() {
            true => Ok(()),
            false => Err(self.unavailable(missing)?),
        }
    }

    /// The error for blocks that cannot be replayed, with the blocks that can.
    pub(crate) fn unavailable(&self, missing: Vec<Unavailable>) -> Result<SourceError, Error> {
        let tip = self.db.snapshot()?.tip();
        let everything = BlockRange::new(0, tip).into_iter().collect();
        let (available, _) = self.replayable(&everything)?;
        Ok(SourceError::Unavailable { missing, available })
    }

    /// A replayer for all of these blocks, which walks their change sets once.
    pub(crate) fn replayer(
        &self,
        blocks: BlockRange,
        wanted: Movements,
        threads: Threads,
    ) -> Result<Replayer<'_, StateRange<'_>>, Error> {
        let state = self.state.range(BlockRange::from_to(
            blocks.first.saturating_sub(1),
            blocks.last.saturating_sub(1),
        ));
        let state = state.map_err(|source| Error::state(blocks.first, source))?;
        let options = ReplayOptions {
            record: Record {
                frames: wanted.internal.then_some(FrameDetail::Calls),
                ..Record::default()
            },
            verify: Verify {
                transactions: false,
                receipts: true,
                header: true,
                changes: false,
            },
            threads,
            cancel: self.cancel.clone(),
            ..ReplayOptions::default()
        };
        Replayer::new(self.rules.clone(), self.db, state, options)
    }

    pub(crate) const fn threads(&self) -> &Threads {
        &self.threads
    }

    /// Passes replayed blocks to `each`, in order. Returns the ends of each run of consecutive blocks.
    pub(crate) fn replay<H: StateHistory>(
        &self,
        replayer: &Replayer<'_, H>,
        blocks: &BlockRanges,
        mut each: impl FnMut(&BlockReplay),
    ) -> Result<Vec<Ends>, SourceError> {
        let mut all: Vec<Ends> = Vec::new();
        let mut failed = None;
        // Block 0 has no transactions.
        let executed = BlockRange::new(1, u64::MAX).into_iter().collect();
        replayer.range(blocks.intersect(&executed), &mut |block| {
            if let Some(mismatch) = block.mismatches.first() {
                let why = format!("the replay differs from the node: {mismatch}");
                failed = Some(SourceFailure::new(FailureKind::Unreadable, why).into());
            }
            if failed.is_some() {
                return ControlFlow::Break(());
            }
            let this = (block.number, block.hash);
            match all.last_mut() {
                Some((_, last)) if last.0.checked_add(1) == Some(block.number) => *last = this,
                _ => {
                    let first = FirstBlock {
                        number: block.number,
                        parent_hash: block.parent_hash,
                    };
                    all.push((first, this));
                }
            }
            each(&block);
            ControlFlow::Continue(())
        })?;
        match failed {
            Some(error) => Err(error),
            None => Ok(all),
        }
    }
}

/// Adds the transfers inside the transactions of a block, with hashes.
pub(crate) fn collect(block: &BlockReplay, filter: &TransferFilter, transfers: &mut Vec<Transfer>) {
    let wanted = Movements::of(filter);
    for transaction in &block.transactions {
        let internal = transaction.internal_transfers(block.timestamp);
        let fees = if wanted.fees {
            // After the internal movements; number 0 is the transaction value.
            let before = internal.last().map_or(0, |last| last.transfer.sub_index);
            transaction.fees(&block.environment, before + 1)
        } else {
            Vec::new()
        };
        for movement in internal.into_iter().chain(fees) {
            if filter.matches(&movement.transfer) {
                transfers.push(movement.transfer);
            }
        }
    }
}

/// A replayer that uses the thread of its caller.
struct Reader<'a> {
    internal: &'a Internal<'a>,
    /// The blocks that are replayed.
    replayed: BlockRanges,
    /// The blocks whose logs report transfers inside of transactions.
    logged: BlockRanges,
    /// Whether to return who takes part in transactions.
    participations: bool,
    /// `None` if no blocks are replayed.
    replayer: Option<Replayer<'a, StateRange<'a>>>,
}

impl InternalSource for Internal<'_> {
    fn reader(
        &self,
        blocks: &BlockRanges,
        participations: bool,
    ) -> Result<Box<dyn InternalReader + '_>, SourceError> {
        let [unlogged, logged] = self.by_logs(blocks)?;
        // No log reports calls without value.
        let replayed = if participations {
            blocks.clone()
        } else {
            unlogged
        };
        self.check(&replayed)?;
        let wanted = Movements {
            internal: true,
            fees: false,
        };
        // Callers read from several threads themselves.
        let replayer = |span| self.replayer(span, wanted, Threads::one());
        Ok(Box::new(Reader {
            internal: self,
            replayer: replayed.span().map(replayer).transpose()?,
            replayed,
            logged,
            participations,
        }))
    }
}

impl Reader<'_> {
    /// Adds what a replayed block shows.
    fn add(&self, block: &BlockReplay, filter: &TransferFilter, read: &mut InternalTransfers) {
        if !self.logged.contains(block.number) {
            collect(block, filter, &mut read.transfers);
        }
        if self.participations {
            for transaction in &block.transactions {
                let all = transaction.participants().into_iter();
                read.participations.extend(all.map(|(address, roles)| {
                    Participation::new(transaction.block, transaction.index, address, roles)
                }));
            }
        }
    }
}

impl InternalReader for Reader<'_> {
    fn read(&self, blocks: BlockRange) -> Result<InternalTransfers, SourceError> {
        let filter = TransferFilter::with_internal(true);
        let mut read = InternalTransfers::default();
        let Some(replayer) = &self.replayer else {
            return Ok(read);
        };
        let blocks = self.replayed.intersect(&blocks.into());
        let ends = self.internal.replay(replayer, &blocks, |block| {
            self.add(block, &filter, &mut read);
        })?;
        read.last_block = ends.last().map(|(_, last)| *last);
        Ok(read)
    }
}

impl From<Error> for SourceError {
    fn from(error: Error) -> Self {
        match &error {
            Error::Replaced { block } => Self::Reorged { block: *block },
            Error::Interrupted => Self::Interrupted,
            // Its message says what changed: blocks, or a file.
            Error::State { .. } | Error::Changes { .. } if error.is_stale() => {
                SourceFailure::new(FailureKind::Replaced, error).into()
            }
            _ => SourceFailure::new(FailureKind::Unreadable, error).into(),
        }
    }
}
