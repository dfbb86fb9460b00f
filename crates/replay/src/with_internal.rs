//! A source of transfers that adds transfers inside transactions to another source.

use crate::{
    Internal, Replayer,
    internal::{FirstBlock, Movements, collect},
};
use alloy_primitives::{Address, B256};
use std::ops::ControlFlow;
use txgraph_state::StateRange;
use txgraph_transfers::{
    Batch, BlockAnchor, BlockRange, BlockRanges, ScanReport, ScanRequest, Sink, SourceError,
    Transfer, TransferFilter, TransferSource, Wrapper,
};

/// Blocks that are scanned and replayed at a time. Their transfers are kept in memory.
const RUN_BLOCKS: u64 = 1024;

/// Merges the transfers of another source with those that [`Internal`] finds in the same
/// blocks, if the filter requests them ([`TransferFilter::internal`]). These have times and
/// transaction hashes, requested or not, because a replay knows them.
///
/// Blocks of Amsterdam have logs of them, which the other source decodes. They are replayed for
/// fees only, and then for both.
///
/// Blocks without a state to replay them on are reported as missing, as blocks without
/// receipts are.
#[derive(Debug)]
pub struct WithInternal<'a, S> {
    source: S,
    internal: Internal<'a>,
}

/// The result of the blocks so far.
struct Progress {
    report: ScanReport,
    covered: Vec<BlockRange>,
    /// Number and hash of the last replayed block.
    last: Option<(u64, B256)>,
}

impl Progress {
    /// Checks that blocks continue those before them. Each run of blocks was replayed under its
    /// own snapshots, which may belong to different branches. Returns whether they follow
    /// directly.
    fn link(&mut self, first: FirstBlock, last: (u64, B256)) -> Result<bool, SourceError> {
        let before = self.last.replace(last);
        match before.filter(|(block, _)| block.checked_add(1) == Some(first.number)) {
            Some((block, hash)) if hash != first.parent_hash => Err(SourceError::Reorged { block }),
            before => Ok(before.is_some()),
        }
    }

    /// Adds an anchor of the source. `is_linked`: its blocks follow the blocks of the anchor before.
    fn anchor(&mut self, anchor: BlockAnchor, is_linked: bool) {
        match self.report.anchors.last_mut() {
            Some(last)
                if is_linked && last.blocks.last.checked_add(1) == Some(anchor.blocks.first) =>
            {
                last.blocks.last = anchor.blocks.last;
                last.hash = anchor.hash;
            }
            _ => self.report.anchors.push(anchor),
        }
    }

    /// Adds the report of blocks that were not replayed, after those that were.
    fn add(&mut self, part: ScanReport) {
        self.report.counts += part.counts;
        self.report.missing.extend(part.missing);
        self.report.anchors.extend(part.anchors);
        self.report.caveats.extend(part.caveats);
        self.report.notes.extend(part.notes);
        self.report.last_block_hash = part.last_block_hash.or(self.report.last_block_hash);
        self.covered.extend(part.covered.iter());
    }

    fn finish(mut self) -> ScanReport {
        self.report.covered = BlockRanges::new(self.covered);
        let missing = &mut self.report.missing;
        missing.sort_by_key(|gap| gap.blocks);
        // Each run reports the same gaps.
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
    /// Adds the transfers of `internal` to `source`. Both must read the same database.
    pub const fn new(source: S, internal: Internal<'a>) -> Self {
        Self { source, internal }
    }

    /// The blocks of a request that are replayed, and those whose logs report the transfers that
    /// are wanted. Neither has any if no such transfers are wanted.
    fn divide(&self, request: &ScanRequest) -> Result<[BlockRanges; 2], SourceError> {
        let wanted = Movements::of(&request.filter);
        match (wanted.internal, wanted.fees) {
            (false, false) => Ok(Default::default()),
            (_, true) => Ok([request.blocks.clone(), BlockRanges::default()]),
            (true, false) => self.internal.by_logs(&request.blocks),
        }
    }

    /// Scans and replays the blocks of `scan`, all of which can be replayed.
    fn run(
        &self,
        replayer: &Replayer<'_, StateRange<'_>>,
        request: &ScanRequest,
        scan: &ScanRequest,
        progress: &mut Progress,
        sink: &mut Sink<'_>,
    ) -> Result<ControlFlow<()>, SourceError> {
        let mut scanned = Vec::new();
        let part = self.source.scan(scan, &mut |mut batch| {
            scanned.append(&mut batch.transfers);
            ControlFlow::Continue(())
        })?;
        let mut scanned = scanned.into_iter().peekable();
        progress.report.counts += part.counts;
        progress.report.missing.extend(part.missing);
        let mut found = Vec::new();
        let ends = self.internal.replay(replayer, &part.covered, |block| {
            collect(block, &request.filter, &mut found);
        })?;
        progress.report.counts.transfers += found.len() as u64;
        let mut found = found.into_iter().peekable();
        let mut ends = ends.into_iter().peekable();
        for covered in part.covered.iter() {
            // The source's hash belongs to its last block, which may be a later one.
            let mut last_block_hash = part.last_block_hash;
            let mut is_linked = false;
            let ends = ends.next_if(|(first, _)| covered.contains(first.number));
            if let Some((first, (block, replayed))) = ends {
                if part.covered.span().is_some_and(|span| span.last == block)
                    && part
                        .last_block_hash
                        .is_some_and(|scanned| scanned != replayed)
                {
                    return Err(SourceError::Reorged { block });
                }
                is_linked = progress.link(first, (block, replayed))?;
                last_block_hash = Some(replayed);
            }
            let mut transfers = Vec::new();
            let is_in = |transfer: &&Transfer| transfer.block_number <= covered.last;
            loop {
                let other = scanned.peek().filter(is_in);
                let next = match (other, found.peek().filter(is_in)) {
                    (Some(other), Some(internal)) if internal.position() < other.position() => {
                        found.next()
                    }
                    (None, Some(_)) => found.next(),
                    (Some(_), _) => scanned.next(),
                    (None, None) => break,
                };
                transfers.extend(next);
            }
            progress.covered.push(covered);
            let anchors = part.anchors.iter();
            for anchor in anchors.filter(|anchor| covered.contains(anchor.blocks.last)) {
                progress.anchor(*anchor, is_linked);
            }
            progress.report.last_block_hash = last_block_hash;
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

/// The request for the other source. An index may contain internal transfers, which would
/// otherwise be returned twice.
fn without_internal(request: &ScanRequest) -> ScanRequest {
    ScanRequest {
        filter: TransferFilter {
            internal: false,
            ..request.filter.clone()
        },
        ..request.clone()
    }
}

/// The request for some of its blocks.
fn of_blocks(request: &ScanRequest, blocks: BlockRanges) -> ScanRequest {
    ScanRequest {
        blocks,
        ..request.clone()
    }
}

/// Joins errors about missing blocks: a block is available if all parts of it are.
fn one_error(checks: impl IntoIterator<Item = Result<(), SourceError>>) -> Result<(), SourceError> {
    let mut gaps = None;
    for error in checks.into_iter().filter_map(Result::err) {
        let (mut missing, mut available): (Vec<_>, BlockRanges) = match error {
            SourceError::Unavailable { missing, available } => (missing, available),
            other => return Err(other),
        };
        if let Some((others, common)) = gaps {
            missing.extend(others);
            available = available.intersect(&common);
        }
        gaps = Some((missing, available));
    }
    let Some((mut missing, available)) = gaps else {
        return Ok(());
    };
    missing.sort_by_key(|gap| gap.blocks);
    Err(SourceError::Unavailable { missing, available })
}

/// Divides blocks into runs of at most [`RUN_BLOCKS`], each with as many ranges as fit.
fn runs(blocks: &BlockRanges) -> Vec<BlockRanges> {
    let pieces = blocks.iter().flat_map(|range| range.chunks(RUN_BLOCKS));
    let mut runs: Vec<Vec<BlockRange>> = Vec::new();
    let mut room = 0;
    for piece in pieces {
        match runs.last_mut().filter(|_| piece.blocks() <= room) {
            Some(run) => run.push(piece),
            None => {
                runs.push(vec![piece]);
                room = RUN_BLOCKS;
            }
        }
        room -= piece.blocks();
    }
    runs.into_iter().map(BlockRanges::new).collect()
}

impl<S: TransferSource> Wrapper for WithInternal<'_, S> {
    type Inner = S;

    fn inner(&self) -> &Self::Inner {
        &self.source
    }

    fn scan(&self, request: &ScanRequest, sink: &mut Sink<'_>) -> Result<ScanReport, SourceError> {
        let wanted = Movements::of(&request.filter);
        if !wanted.internal && !wanted.fees {
            return self.source.scan(&without_internal(request), sink);
        }
        if !request.allow_partial {
            Wrapper::check_available(self, request)?;
        }
        let [replayed, logged] = self.divide(request)?;
        let (blocks, missing) = self.internal.replayable(&replayed)?;
        let mut progress = Progress {
            report: ScanReport {
                missing,
                ..ScanReport::default()
            },
            covered: Vec::new(),
            last: None,
        };
        if let Some(span) = blocks.span() {
            let threads = self.internal.threads().clone();
            let replayer = self.internal.replayer(span, wanted, threads)?;
            let mut scan = without_internal(request);
            for run in runs(&blocks) {
                scan.blocks = run;
                let flow = self.run(&replayer, request, &scan, &mut progress, sink)?;
                if flow.is_break() {
                    return Ok(progress.finish());
                }
            }
        }
        if !logged.is_empty() {
            progress.add(self.source.scan(&of_blocks(request, logged), sink)?);
        }
        Ok(progress.finish())
    }

    fn check_available(&self, request: &ScanRequest) -> Result<(), SourceError> {
        let [replayed, logged] = self.divide(request)?;
        let rest = of_blocks(&without_internal(request), request.blocks.subtract(&logged));
        let checks = [
            self.internal.check(&replayed),
            self.source.check_available(&rest),
            match logged.is_empty() {
                true => Ok(()),
                false => self.source.check_available(&of_blocks(request, logged)),
            },
        ];
        one_error(checks)
    }

    fn hubs(&self, request: &ScanRequest, degree_max: u32) -> Result<Vec<Address>, SourceError> {
        // Additional transfers never turn a hub into a smaller account.
        self.source.hubs(&without_internal(request), degree_max)
    }
}
