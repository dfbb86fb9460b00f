//! A source of transfers that also tells what moved inside of transactions.

use crate::{BlockReplay, ChainRules, Error, FrameDetail, Record, ReplayOptions, Replayer, Verify};
use alloy_primitives::{Address, B256};
use std::ops::ControlFlow;
use txgraph_nodedb::{Blocks, NodeDb};
use txgraph_state::{StateDb, StateRange};
use txgraph_transfers::{
    Batch, BlockRange, BlockRanges, ChainInfo, Kind, ScanReport, ScanRequest, SourceError,
    TokenStandard, Transfer, TransferFilter, TransferSource, Unavailable,
};

/// Blocks whose transfers wait in memory for what is replayed of them.
const STRETCH: usize = 1024;

/// What another source tells, and in between what a replay of the same blocks finds:
/// native coin moved by calls, creations and destructions ([`Kind::Internal`],
/// [`Kind::Burn`]), and, where a filter names these kinds, fees ([`Kind::Fee`],
/// [`Kind::Priority`]).
///
/// Blocks whose state is gone are missing from its answers like blocks whose receipts
/// are. A replay that disagrees with a stored receipt ends the answer with an error.
pub struct WithInternal<'a> {
    source: Box<dyn TransferSource + 'a>,
    db: &'a NodeDb,
    state: StateDb,
    rules: ChainRules,
    threads: usize,
    is_cancelled: Box<dyn Fn() -> bool + 'a>,
}

impl std::fmt::Debug for WithInternal<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WithInternal")
            .field("rules", &self.rules)
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}

/// An answer under way.
struct Answer {
    report: ScanReport,
    covered: Vec<BlockRange>,
    /// The last block that was replayed, and its hash.
    last: Option<(u64, B256)>,
}

impl Answer {
    /// Refuses blocks that do not hang on to those before them: each stretch was replayed
    /// under snapshots of its own, which need not be of one branch.
    fn link(&mut self, part: &Replayed) -> Result<(), SourceError> {
        let Some((first, last)) = part.ends else {
            return Ok(());
        };
        if let Some((block, hash)) = self.last
            && block.checked_add(1) == Some(first.number)
            && hash != first.parent_hash
        {
            return Err(SourceError::Reorged { block });
        }
        self.last = Some(last);
        Ok(())
    }

    fn finish(mut self) -> ScanReport {
        self.report.covered = BlockRanges::new(self.covered);
        self.report.missing.sort_by_key(|gap| gap.blocks);
        self.report
    }
}

/// What was replayed of consecutive blocks.
#[derive(Default)]
struct Replayed {
    transfers: Vec<Transfer>,
    /// The first block, and number and hash of the last; none if there was no block.
    ends: Option<(First, (u64, B256))>,
}

/// Where a stretch hangs on to the one before.
#[derive(Clone, Copy)]
struct First {
    number: u64,
    parent_hash: B256,
}

/// Which of the replayed movements are wanted.
#[derive(Clone, Copy)]
struct Wanted {
    internal: bool,
    fees: bool,
}

impl Wanted {
    fn of(filter: &TransferFilter) -> Self {
        let native = filter.tokens.wants(None);
        let wants = |kind| native && filter.wants_sort(TokenStandard::Native, kind);
        let names = |kind| native && filter.kinds.contains(&kind);
        Self {
            internal: wants(Kind::Internal) || wants(Kind::Burn),
            fees: names(Kind::Fee) || names(Kind::Priority),
        }
    }
}

impl<'a> WithInternal<'a> {
    /// `source`, and what a replay of `db` over the states of `state` adds, on `threads`
    /// threads (0: as many as the machine has). `is_cancelled` is asked between blocks.
    pub fn new(
        source: Box<dyn TransferSource + 'a>,
        db: &'a NodeDb,
        state: StateDb,
        rules: ChainRules,
        threads: usize,
        is_cancelled: Box<dyn Fn() -> bool + 'a>,
    ) -> Self {
        Self {
            source,
            db,
            state,
            rules,
            threads,
            is_cancelled,
        }
    }

    /// The blocks of a question that can be replayed, and what is to be said of the rest.
    /// Nothing moves in block 0.
    fn replayable(&self, blocks: &BlockRanges) -> Result<(BlockRanges, Vec<Unavailable>), Error> {
        let failed = |block: u64| {
            move |source: txgraph_state::Error| Error::State {
                block,
                source: source.into(),
            }
        };
        let first = blocks.span().map_or(0, |span| span.first);
        let available = self.state.available().map_err(failed(first))?;
        let mut kept = Vec::new();
        let mut missing = Vec::new();
        // A block is executed on the state after the one before it.
        let (from, to) = match available.blocks {
            Some(Blocks { first, last }) => (
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
                let reason = format!("no state to replay it on: {reason}");
                missing.extend(
                    BlockRange::new(first, last).map(|blocks| Unavailable { blocks, reason }),
                );
            };
            let obstacle = available.obstacle.as_deref();
            if from > to {
                gap(range.first, range.last, obstacle.unwrap_or("none is there"));
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

    /// Answers for some blocks, which the state reaches.
    fn stretch(
        &self,
        replayer: &Replayer<'_, &StateRange<'_>>,
        request: &ScanRequest,
        blocks: BlockRange,
        answer: &mut Answer,
        sink: &mut dyn FnMut(Batch) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, SourceError> {
        let request = ScanRequest {
            blocks: blocks.into(),
            ..request.clone()
        };
        let mut told = Vec::new();
        let part = self.source.scan(&request, &mut |mut batch| {
            told.append(&mut batch.transfers);
            ControlFlow::Continue(())
        })?;
        let mut told = told.into_iter().peekable();
        answer.report.counts += part.counts;
        answer.report.missing.extend(part.missing);
        for covered in part.covered.iter() {
            let replayed = self.replay(replayer, &request, covered)?;
            if let (Some(span), Some(theirs), Some((_, (block, ours)))) =
                (part.covered.span(), part.last_block_hash, replayed.ends)
                && span.last == block
                && theirs != ours
            {
                return Err(SourceError::Reorged { block });
            }
            answer.link(&replayed)?;
            let found = replayed.transfers;
            answer.report.counts.transfers += found.len() as u64;
            let mut found = found.into_iter().peekable();
            let mut transfers = Vec::new();
            loop {
                let own = told
                    .peek()
                    .filter(|transfer| transfer.block_number <= covered.last);
                let next = match (own, found.peek()) {
                    (Some(own), Some(other)) if other.position() < own.position() => found.next(),
                    (None, Some(_)) => found.next(),
                    (Some(_), _) => told.next(),
                    (None, None) => break,
                };
                transfers.extend(next);
            }
            answer.covered.push(covered);
            answer.report.last_block_hash = part.last_block_hash;
            let batch = Batch {
                blocks: covered,
                transfers,
            };
            if sink(batch).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// What moved inside of the transactions of some blocks.
    fn replay(
        &self,
        replayer: &Replayer<'_, &StateRange<'_>>,
        request: &ScanRequest,
        blocks: BlockRange,
    ) -> Result<Replayed, SourceError> {
        let wanted = Wanted::of(&request.filter);
        let mut replayed = Replayed::default();
        let mut failed = None;
        // Nobody executed block 0.
        let blocks = Blocks {
            first: blocks.first.max(1),
            last: blocks.last,
        };
        replayer.range(blocks, &mut |block| {
            if (self.is_cancelled)() {
                failed = Some(SourceError::Interrupted);
            } else if let Some(mismatch) = block.mismatches.first() {
                failed = Some(SourceError::Failed(
                    format!("the replay disagrees with the node: {mismatch}").into(),
                ));
            }
            if failed.is_some() {
                return ControlFlow::Break(());
            }
            let this = First {
                number: block.number,
                parent_hash: block.parent_hash,
            };
            let first = replayed.ends.map_or(this, |(first, _)| first);
            replayed.ends = Some((first, (block.number, block.hash)));
            collect(&block, request, wanted, &mut replayed.transfers);
            ControlFlow::Continue(())
        })?;
        match failed {
            Some(error) => Err(error),
            None => Ok(replayed),
        }
    }

    fn options(&self, wanted: Wanted) -> ReplayOptions {
        ReplayOptions {
            record: Record {
                frames: wanted.internal.then_some(FrameDetail::Calls),
                ..Record::default()
            },
            verify: Verify {
                receipts: true,
                header: true,
                changes: false,
            },
            threads: self.threads,
            ..ReplayOptions::default()
        }
    }
}

fn collect(
    block: &BlockReplay,
    request: &ScanRequest,
    wanted: Wanted,
    transfers: &mut Vec<Transfer>,
) {
    for transaction in &block.transactions {
        let internal = transaction.internal_transfers(block.timestamp);
        let fees = if wanted.fees {
            // Behind the own value, which is number 0.
            let before = internal.last().map_or(0, |last| last.transfer.sub_index);
            transaction.fees(&block.environment, before + 1)
        } else {
            Vec::new()
        };
        for movement in internal.into_iter().chain(fees) {
            let mut transfer = movement.transfer;
            if !request.filter.wants(&transfer) {
                continue;
            }
            if !request.with_times {
                transfer.block_timestamp = 0;
            }
            if !request.with_hashes {
                transfer.transaction_hash = B256::ZERO;
            }
            transfers.push(transfer);
        }
    }
}

impl TransferSource for WithInternal<'_> {
    fn chain(&self) -> &ChainInfo {
        self.source.chain()
    }

    fn scan(
        &self,
        request: &ScanRequest,
        sink: &mut dyn FnMut(Batch) -> ControlFlow<()>,
    ) -> Result<ScanReport, SourceError> {
        let wanted = Wanted::of(&request.filter);
        if !wanted.internal && !wanted.fees {
            return self.source.scan(request, sink);
        }
        let (blocks, missing) = self.replayable(&request.blocks)?;
        if !missing.is_empty() && !request.allow_partial {
            let everything = BlockRange::new(0, u64::MAX).into_iter().collect();
            let (available, _) = self.replayable(&everything)?;
            return Err(SourceError::Unavailable { missing, available });
        }
        let mut answer = Answer {
            report: ScanReport {
                missing,
                ..ScanReport::default()
            },
            covered: Vec::new(),
            last: None,
        };
        let Some(span) = blocks.span() else {
            return Ok(answer.finish());
        };
        // One state for all ranges: its change sets are walked once.
        let state = self.state.range(Blocks {
            first: span.first.saturating_sub(1),
            last: span.last.saturating_sub(1),
        });
        let state = state.map_err(|source| Error::State {
            block: span.first,
            source: source.into(),
        })?;
        let options = self.options(wanted);
        let replayer = Replayer::new(self.rules.clone(), self.db, &state, options)?;
        for range in blocks.iter() {
            for first in (range.first..=range.last).step_by(STRETCH) {
                let stretch = BlockRange {
                    first,
                    last: first.saturating_add(STRETCH as u64 - 1).min(range.last),
                };
                let flow = self.stretch(&replayer, request, stretch, &mut answer, sink)?;
                if flow.is_break() {
                    return Ok(answer.finish());
                }
            }
        }
        Ok(answer.finish())
    }

    fn fill_hashes(&self, transfers: &mut [Transfer]) -> Result<(), SourceError> {
        self.source.fill_hashes(transfers)
    }

    fn hubs(&self, request: &ScanRequest, degree_max: u32) -> Result<Vec<Address>, SourceError> {
        // More transfers only make more hubs.
        self.source.hubs(request, degree_max)
    }
}

impl From<Error> for SourceError {
    fn from(error: Error) -> Self {
        match &error {
            Error::Replaced { block } => Self::Reorged { block: *block },
            Error::State { block, .. } | Error::Changes { block, .. } if error.is_stale() => {
                Self::Reorged { block: *block }
            }
            _ => Self::Failed(error.into()),
        }
    }
}
