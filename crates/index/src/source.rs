//! An index and the source it was built from, as one source of transfers.
//!
//! Indexed blocks are answered from the index and other blocks by the source, in block order.
//! The result equals the result of the source, including every count of its report; the tests
//! compare them. The chain is checked as for a scan: at the end every run that was used must be
//! canonical, all under one snapshot.

use crate::{
    directory::{Index, Run},
    error::Error,
    query::{PieceResult, Query, RowPart},
    segment::Segment,
};
use alloy_primitives::{Address, B256};
use rayon::prelude::*;
use std::{fmt, ops::ControlFlow};
use txgraph_stored::CachedSource;
use txgraph_transfers::{
    Batch, BlockAnchor, BlockRange, BlockRanges, ByFrontier, DecodeCounts, Indexable, ScanReport,
    ScanRequest, Sink, SourceError, Transfer, TransferSource, Unavailable, Wrapper,
};
use txgraph_work::{Ordered, WorkContext, ordered};

/// The number of pieces that are looked up before the first of them is delivered, for each
/// thread and at most. Each waits with a batch of transfers or a list of rows.
const PIECES_AHEAD: usize = 4;
const PIECES_AHEAD_MAX: usize = 16;

/// The number of batches of a large piece that are decoded before the first of them is delivered, for
/// each thread.
const BATCHES_AHEAD: usize = 2;

/// The maximum number of blocks without an index for a search by frontier. With more, one
/// pass over everything costs less.
const UNINDEXED_BLOCKS_MAX: u64 = 1024;
/// The same if these blocks are replayed.
const REST_REPLAYED_MAX: u64 = 128;

/// An index and its source, with `R` for the blocks that the index does not have.
#[derive(Clone)]
pub struct Indexed<'a, R = &'a dyn Indexable> {
    index: &'a Index,
    source: &'a dyn Indexable,
    work: WorkContext,
    rest: R,
    /// Whether `rest` finds movements inside of transactions.
    has_internal: bool,
}

/// Blocks that are answered together.
struct Part<'a> {
    blocks: BlockRanges,
    /// The run of the index that has them; `None` for blocks without an index.
    run: Option<&'a Run>,
}

/// Requested blocks in one segment.
type Piece<'a> = (&'a Segment, BlockRange);

/// A report that is being collected.
#[derive(Default)]
struct ReportBuilder {
    covered: Vec<BlockRange>,
    missing: Vec<Unavailable>,
    counts: DecodeCounts,
    caveats: Vec<String>,
    notes: Vec<String>,
    /// Blocks that must have these hashes, so that the result belongs to one chain.
    hashes: Vec<(u64, B256)>,
}

impl ReportBuilder {
    /// Adds the report of another source.
    fn add(&mut self, report: ScanReport) {
        let ScanReport {
            covered,
            missing,
            counts,
            caveats,
            notes,
            last_block_hash,
            anchors,
        } = report;
        if let (Some(span), Some(hash)) = (covered.span(), last_block_hash) {
            self.hashes.push((span.last, hash));
        }
        self.hashes.extend(
            anchors
                .iter()
                .map(|anchor| (anchor.blocks.last, anchor.hash)),
        );
        self.covered.extend(covered.iter());
        self.missing.extend(missing);
        self.counts += counts;
        for (all, more) in [(&mut self.caveats, caveats), (&mut self.notes, notes)] {
            all.extend(more);
            all.sort();
            all.dedup();
        }
    }
}

impl<R> fmt::Debug for Indexed<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Indexed")
            .field("index", self.index)
            .field("has_internal", &self.has_internal)
            .finish_non_exhaustive()
    }
}

impl<'a> Indexed<'a> {
    /// Answers from `index`, and from `source` for other blocks.
    pub fn new(index: &'a Index, source: &'a dyn Indexable) -> Self {
        Self {
            index,
            source,
            work: WorkContext::default(),
            rest: source,
            has_internal: false,
        }
    }
}

impl<'a, R: TransferSource> Indexed<'a, R> {
    /// Answers from `index`, and from `rest` for other blocks. `rest` reads from `source`, too,
    /// and also finds movements inside of transactions.
    pub fn with_rest(index: &'a Index, source: &'a dyn Indexable, rest: R) -> Self {
        Self {
            index,
            source,
            work: WorkContext::default(),
            rest,
            has_internal: true,
        }
    }

    /// Uses these threads and this cancel flag instead of the default ones.
    #[must_use]
    pub fn on(mut self, work: WorkContext) -> Self {
        self.work = work;
        self
    }

    /// Returns the blocks of a request that the index answers now.
    pub fn answers(&self, request: &ScanRequest) -> Result<BlockRanges, SourceError> {
        let runs = self.canonical_runs(request)?;
        let have: BlockRanges = runs.iter().map(|run| run.blocks).collect();
        Ok(request.blocks.intersect(&have))
    }

    /// Returns the runs that have requested blocks and are canonical.
    fn canonical_runs(&self, request: &ScanRequest) -> Result<Vec<Run>, SourceError> {
        // Whether the index is used depends on the request only, not on its blocks.
        let is_used = self.index.covers(request) && (self.has_internal || !request.filter.internal);
        match request.blocks.span().filter(|_| is_used) {
            Some(span) => self.index.canonical_runs(self.source, span),
            None => Ok(Vec::new()),
        }
    }

    /// Divides blocks into indexed parts and others, in block order.
    fn parts<'r>(blocks: &BlockRanges, runs: &'r [Run]) -> Vec<Part<'r>> {
        let mut parts = Vec::new();
        let mut rest = blocks.clone();
        let mut add = |blocks: BlockRanges, run| {
            if !blocks.is_empty() {
                parts.push(Part { blocks, run });
            }
        };
        for run in runs {
            let below = run.blocks.first.checked_sub(1);
            let below = below.and_then(|last| BlockRange::new(0, last));
            add(rest.intersect(&below.into_iter().collect()), None);
            add(rest.intersect(&run.blocks.into()), Some(run));
            let above = run.blocks.last.checked_add(1);
            let above = above.and_then(|first| BlockRange::new(first, u64::MAX));
            rest = rest.intersect(&above.into_iter().collect());
        }
        add(rest, None);
        parts
    }

    /// Checks that the blocks without an index are available. Like a scan, before anything is
    /// delivered.
    fn check_rest(&self, request: &ScanRequest, parts: &[Part<'_>]) -> Result<(), SourceError> {
        if request.allow_partial {
            return Ok(());
        }
        let rest = parts.iter().filter(|part| part.run.is_none());
        let blocks = rest.flat_map(|part| part.blocks.iter()).collect();
        let request = ScanRequest {
            blocks,
            ..request.clone()
        };
        if request.blocks.is_empty() {
            return Ok(());
        }
        match self.rest.check_available(&request) {
            Err(SourceError::Unavailable { missing, available }) => Err(SourceError::Unavailable {
                missing,
                available: available.iter().chain(self.index.blocks().iter()).collect(),
            }),
            checked => checked,
        }
    }

    /// Divides the blocks of a part into pieces, each in one segment.
    fn pieces<'r>(&'r self, part: &'r Part<'_>, run: &'r Run) -> impl Iterator<Item = Piece<'r>> {
        let segments = &self.index.segments[run.segments.clone()];
        part.blocks.iter().flat_map(move |range| {
            let first = segments.partition_point(|segment| segment.blocks().last < range.first);
            segments[first..]
                .iter()
                .map_while(move |segment| Some((&**segment, segment.blocks().intersect(&range)?)))
        })
    }

    /// Reads pieces on all threads.
    fn read_each<'p, T: Send>(
        &self,
        pieces: &'p [Piece<'p>],
        read: impl Fn(&'p Piece<'p>) -> Result<T, SourceError> + Send + Sync,
    ) -> Result<Vec<T>, SourceError> {
        let threads = &self.work.threads;
        if pieces.len() == 1 || threads.count() == 1 {
            return pieces.iter().map(read).collect();
        }
        let found = threads.install(|| pieces.par_iter().map(read).collect());
        found.map_err(Error::from)?
    }

    /// Delivers the wanted transfers of a piece.
    fn answer(
        &self,
        query: &Query<'_>,
        (segment, blocks): Piece<'_>,
        run: &Run,
        found: PieceResult<'_>,
        report: &mut ReportBuilder,
        sink: &mut Sink<'_>,
    ) -> Result<ControlFlow<()>, SourceError> {
        let mut emit = |blocks: BlockRange, mut transfers: Vec<Transfer>| {
            if self.work.cancel.is_canceled() {
                return Err(SourceError::Interrupted);
            }
            if query.request.with_hashes {
                self.source.fill_hashes(&mut transfers, &[run.anchor()])?;
            }
            report.counts += DecodeCounts {
                transfers: transfers.len() as u64,
                ..segment.counts_of(blocks, &query.request.filter.tokens)?
            };
            report.covered.push(blocks);
            Ok(sink(Batch { blocks, transfers }))
        };
        let selected = match found {
            PieceResult::Transfers(transfers) => return emit(blocks, transfers),
            PieceResult::Rows(selected) => selected,
            PieceResult::TooMany => query.select(segment, blocks)?,
        };
        let decode = |(): &mut (), part: RowPart| {
            let blocks = part.0;
            match query.transfers(segment, &selected, part) {
                Ok(transfers) => ControlFlow::Continue(Ok((blocks, transfers))),
                Err(error) => ControlFlow::Break(Err(error)),
            }
        };
        let end = ordered(
            &self.work.threads,
            BATCHES_AHEAD * self.work.threads.count(),
            &self.work.cancel,
            selected.divide(segment, blocks)?,
            || (),
            decode,
            |found| match found.and_then(|(blocks, transfers)| emit(blocks, transfers)) {
                Ok(ControlFlow::Continue(())) => ControlFlow::Continue(()),
                Ok(ControlFlow::Break(())) => ControlFlow::Break(Ok(ControlFlow::Break(()))),
                Err(error) => ControlFlow::Break(Err(error)),
            },
        );
        match end.map_err(Error::from)? {
            Ordered::Done => Ok(ControlFlow::Continue(())),
            Ordered::Broken(flow) => flow,
            Ordered::Canceled => Err(SourceError::Interrupted),
        }
    }

    /// Returns the report, after checking that everything belongs to one chain.
    fn finish(&self, mut report: ReportBuilder) -> Result<ScanReport, SourceError> {
        let covered: BlockRanges = BlockRanges::new(report.covered);
        report.hashes.sort_unstable();
        report.hashes.dedup();
        let mut blocks: Vec<u64> = report.hashes.iter().map(|(block, _)| *block).collect();
        let span = covered.span();
        let ends = span.map(|it| [it.first.saturating_sub(1), it.last]);
        blocks.extend(ends.into_iter().flatten());
        let now = self.source.canonical_hashes(&blocks)?;
        let (then, ends) = now.split_at(report.hashes.len());
        for ((block, hash), now) in report.hashes.into_iter().zip(then) {
            if *now != Some(hash) {
                return Err(SourceError::Reorged { block });
            }
        }
        // Everything is canonical, so one anchor is enough: thousands of single blocks can be requested, and the
        // hash of each is a lookup at a random place of the database.
        let anchor = match (span, ends) {
            (Some(blocks), [before, Some(hash)]) => Some(BlockAnchor {
                blocks,
                // Block 0 has none, which headers write as zero.
                parent_hash: before.map(|hash| match blocks.first {
                    0 => B256::ZERO,
                    _ => hash,
                }),
                hash: *hash,
            }),
            (Some(BlockRange { last, .. }), _) => return Err(SourceError::Reorged { block: last }),
            (None, _) => None,
        };
        Ok(ScanReport {
            covered,
            missing: report.missing,
            counts: report.counts,
            caveats: report.caveats,
            notes: report.notes,
            last_block_hash: anchor.map(|anchor| anchor.hash),
            anchors: anchor.into_iter().collect(),
        })
    }
}

impl<'a, R: TransferSource> Wrapper for Indexed<'a, R> {
    type Inner = dyn Indexable + 'a;

    fn inner(&self) -> &Self::Inner {
        self.source
    }

    fn scan(&self, request: &ScanRequest, sink: &mut Sink<'_>) -> Result<ScanReport, SourceError> {
        let runs = self.canonical_runs(request)?;
        let parts = Self::parts(&request.blocks, &runs);
        if parts.iter().all(|part| part.run.is_none()) {
            return self.rest.scan(request, sink);
        }
        self.check_rest(request, &parts)?;
        let query = Query::new(request);
        let mut report = ReportBuilder::default();
        'parts: for part in &parts {
            let Some(run) = part.run else {
                if self.scan_rest(request, part, &mut report, sink)?.is_break() {
                    break;
                }
                continue;
            };
            report.hashes.push((run.blocks.last, run.last_hash));
            let pieces: Vec<_> = self.pieces(part, run).collect();
            let ahead = (PIECES_AHEAD * self.work.threads.count()).clamp(1, PIECES_AHEAD_MAX);
            for pieces in pieces.chunks(ahead) {
                let found =
                    self.read_each(pieces, |(segment, blocks)| query.find(segment, *blocks))?;
                for (piece, found) in pieces.iter().zip(found) {
                    let flow = self.answer(&query, *piece, run, found, &mut report, sink)?;
                    if flow.is_break() {
                        break 'parts;
                    }
                }
            }
        }
        self.finish(report)
    }

    fn check_available(&self, request: &ScanRequest) -> Result<(), SourceError> {
        let runs = self.canonical_runs(request)?;
        self.check_rest(request, &Self::parts(&request.blocks, &runs))
    }

    fn by_frontier(&self, request: &ScanRequest) -> Result<Option<ByFrontier<'_>>, SourceError> {
        let runs = self.canonical_runs(request)?;
        let parts = Self::parts(&request.blocks, &runs);
        let rest = parts.iter().filter(|part| part.run.is_none());
        let rest = rest.fold(0_u64, |sum, part| sum.saturating_add(part.blocks.blocks()));
        let rest_max = match request.filter.internal {
            true => REST_REPLAYED_MAX,
            false => UNINDEXED_BLOCKS_MAX,
        };
        if rest > rest_max || parts.iter().all(|part| part.run.is_none()) {
            return Ok(None);
        }
        self.check_rest(request, &parts)?;
        let query = Query::new(request);
        let mut report = ReportBuilder::default();
        let mut rest = CachedSource::new(&self.rest as &dyn TransferSource);
        for part in &parts {
            let Some(run) = part.run else {
                report.add(rest.read(request, &part.blocks)?);
                continue;
            };
            report.hashes.push((run.blocks.last, run.last_hash));
            let pieces: Vec<_> = self.pieces(part, run).collect();
            let cancel = &self.work.cancel;
            let count = |(segment, blocks): &Piece<'_>| {
                if cancel.is_canceled() {
                    return Err(SourceError::Interrupted);
                }
                Ok(DecodeCounts {
                    transfers: query.count(segment, *blocks)?,
                    ..segment.counts_of(*blocks, &query.request.filter.tokens)?
                })
            };
            let counts = self.read_each(&pieces, count)?;
            report.counts += counts.into_iter().sum::<DecodeCounts>();
            report
                .covered
                .extend(pieces.iter().map(|(_, blocks)| *blocks));
        }
        Ok(Some(ByFrontier {
            report: Some(self.finish(report)?),
            source: Box::new(Indexed {
                index: self.index,
                source: self.source,
                work: self.work.clone(),
                rest,
                has_internal: self.has_internal,
            }),
        }))
    }

    fn hubs(&self, request: &ScanRequest, degree_max: u32) -> Result<Vec<Address>, SourceError> {
        let runs = self.canonical_runs(request)?;
        let parts = Self::parts(&request.blocks, &runs);
        let query = Query::new(request);
        let addresses = &query.addresses;
        let pieces = parts
            .iter()
            .filter_map(|part| Some(self.pieces(part, part.run?)));
        let pieces: Vec<Piece<'_>> = pieces.flatten().collect();
        // With the wanted classes of each; those without any are left out.
        let pieces = self.read_each(&pieces, |(segment, blocks)| {
            let wanted = segment.wanted(&request.filter, addresses.len())?;
            Ok(wanted.any().then_some((*segment, *blocks, wanted)))
        })?;
        let pieces: Vec<_> = pieces.into_iter().flatten().collect();
        let threads = &self.work.threads;
        let none = || vec![0; addresses.len()];
        // There are no more counterparties than rows, so they are counted only for addresses
        // with many rows.
        let hubs = || {
            let share = pieces.len().div_ceil(threads.count()).max(1);
            let degrees = pieces.par_chunks(share).map(|pieces| {
                let mut degrees = none();
                for (segment, ..) in pieces {
                    segment.degrees(addresses, query.direction, &mut degrees)?;
                }
                Ok::<_, Error>(degrees)
            });
            let degrees = degrees.try_reduce(none, |mut sum, more| {
                sum.iter_mut()
                    .zip(more)
                    .for_each(|(sum, more)| *sum += more);
                Ok(sum)
            })?;
            let busy = addresses
                .par_iter()
                .zip(degrees)
                .filter(|(_, degree)| *degree > u64::from(degree_max));
            let hubs = busy.map(|(address, _)| {
                let is_hub = query.has_more_counterparties(*address, &pieces, degree_max)?;
                Ok(is_hub.then_some(*address))
            });
            hubs.filter_map(Result::transpose).collect()
        };
        let hubs: Result<Result<Vec<_>, Error>, _> = threads.install(hubs);
        Ok(hubs.map_err(Error::from)??)
    }
}

impl<R: TransferSource> Indexed<'_, R> {
    /// Delivers a part without an index.
    fn scan_rest(
        &self,
        request: &ScanRequest,
        part: &Part<'_>,
        report: &mut ReportBuilder,
        sink: &mut Sink<'_>,
    ) -> Result<ControlFlow<()>, SourceError> {
        let request = ScanRequest {
            blocks: part.blocks.clone(),
            ..request.clone()
        };
        let mut flow = ControlFlow::Continue(());
        report.add(self.rest.scan(&request, &mut |batch| {
            flow = sink(batch);
            flow
        })?);
        Ok(flow)
    }
}
