//! A source of transfers that also tells what moved inside of transactions.

use crate::{
    Internal, Replayer,
    internal::{First, Replayed, Wanted},
};
use alloy_primitives::{Address, B256};
use std::ops::ControlFlow;
use txgraph_state::StateRange;
use txgraph_transfers::{
    Batch, BlockRange, BlockRanges, ChainInfo, ScanReport, ScanRequest, SourceError, Transfer,
    TransferFilter, TransferSource,
};

/// Blocks whose transfers wait in memory for what is replayed of them.
const STRETCH: usize = 1024;

/// What another source tells of logs, and in between what [`Internal`] finds of the same
/// blocks, where a filter asks for it ([`TransferFilter::internal`]).
///
/// Blocks whose state is gone are missing from its answers like blocks whose receipts
/// are.
#[derive(Debug)]
pub struct WithInternal<'a, S> {
    source: S,
    internal: Internal<'a>,
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
    fn link(&mut self, first: First, last: (u64, B256)) -> Result<(), SourceError> {
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
        let missing = &mut self.report.missing;
        missing.sort_by_key(|gap| gap.blocks);
        // Stretch for stretch the same.
        missing.dedup_by(|next, gap| {
            let joins = gap.blocks.last.checked_add(1) == Some(next.blocks.first)
                && gap.reason == next.reason;
            if joins {
                gap.blocks.last = next.blocks.last;
            }
            joins
        });
        self.report
    }
}

impl<'a, S: TransferSource> WithInternal<'a, S> {
    /// `source`, which must be of the same database, with what `internal` adds.
    pub const fn new(source: S, internal: Internal<'a>) -> Self {
        Self { source, internal }
    }

    /// Answers for the blocks of `of_logs`, which the state reaches.
    fn stretch(
        &self,
        replayer: &Replayer<'_, StateRange<'_>>,
        request: &ScanRequest,
        of_logs: &ScanRequest,
        answer: &mut Answer,
        sink: &mut dyn FnMut(Batch) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, SourceError> {
        let mut told = Vec::new();
        let part = self.source.scan(of_logs, &mut |mut batch| {
            told.append(&mut batch.transfers);
            ControlFlow::Continue(())
        })?;
        let mut told = told.into_iter().peekable();
        answer.report.counts += part.counts;
        answer.report.missing.extend(part.missing);
        for covered in part.covered.iter() {
            let Replayed {
                transfers: mut found,
                ends,
            } = self.internal.replay(replayer, &request.filter, covered)?;
            // The source's hash is that of its last block, which this need not be.
            let mut last_block_hash = part.last_block_hash;
            if let Some((first, (block, ours))) = ends {
                if part.covered.span().is_some_and(|span| span.last == block)
                    && part.last_block_hash.is_some_and(|theirs| theirs != ours)
                {
                    return Err(SourceError::Reorged { block });
                }
                answer.link(first, (block, ours))?;
                last_block_hash = Some(ours);
            }
            answer.report.counts.transfers += found.len() as u64;
            for transfer in &mut found {
                if !request.with_times {
                    transfer.block_timestamp = 0;
                }
                if !request.with_hashes {
                    transfer.transaction_hash = B256::ZERO;
                }
            }
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
            answer.report.last_block_hash = last_block_hash;
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
}

/// What the source is asked: an index might tell internal movements, too, and they would
/// be there twice.
fn of_logs(request: &ScanRequest) -> ScanRequest {
    ScanRequest {
        filter: TransferFilter {
            internal: false,
            ..request.filter.clone()
        },
        ..request.clone()
    }
}

impl<S: TransferSource> TransferSource for WithInternal<'_, S> {
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
            return self.source.scan(&of_logs(request), sink);
        }
        if !request.allow_partial {
            self.check_available(request)?;
        }
        let (blocks, missing) = self.internal.replayable(&request.blocks)?;
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
        let threads = self.internal.threads();
        let replayer = self.internal.replayer(span, wanted, threads)?;
        let mut of_logs = of_logs(request);
        for range in blocks.iter() {
            for first in (range.first..=range.last).step_by(STRETCH) {
                let stretch = BlockRange {
                    first,
                    last: first.saturating_add(STRETCH as u64 - 1).min(range.last),
                };
                of_logs.blocks = stretch.into();
                let flow = self.stretch(&replayer, request, &of_logs, &mut answer, sink)?;
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

    fn check_available(&self, request: &ScanRequest) -> Result<(), SourceError> {
        let wanted = Wanted::of(&request.filter);
        if wanted.internal || wanted.fees {
            self.internal.check(&request.blocks)?;
        }
        self.source.check_available(&of_logs(request))
    }

    fn hubs(&self, request: &ScanRequest, degree_max: u32) -> Result<Vec<Address>, SourceError> {
        // More transfers only make more hubs.
        self.source.hubs(&of_logs(request), degree_max)
    }
}
