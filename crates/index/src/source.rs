//! An index and the node it was made from, as one source of transfers.
//!
//! What the index has is answered from it, the rest by the node, in block order. The
//! answer is the node's own, to the last count of its report: that is what an index is
//! tested for. Which chain is checked as for a scan: at the end every part that was used
//! must be canonical, all under one snapshot.

use crate::{
    cached_rest::CachedRest,
    directory::{Index, Run},
    error::Error,
    question::{BATCH_ROWS, Found, Question},
    segment::Segment,
};
use alloy_primitives::{Address, B256};
use rayon::prelude::*;
use std::ops::ControlFlow;
use txgraph_reader::NodeSource;
use txgraph_transfers::{
    Batch, BlockRange, BlockRanges, ByFrontier, ChainInfo, DecodeCounts, ScanReport, ScanRequest,
    SourceError, Transfer, TransferSource, Unavailable,
};

/// Pieces that are looked up before the first of them is handed out, for each thread, and
/// at most: they wait with a batch of transfers or a list of rows each.
const PIECES_AHEAD: usize = 4;
const PIECES_AHEAD_MAX: usize = 16;

/// A search asks for one frontier after the other where the node must be read for no
/// more blocks than these each time. Beyond, one pass over everything costs less.
const REST_BLOCKS_MAX: u64 = 1024;
/// The same where the rest is replayed each time.
const REST_REPLAYED_MAX: u64 = 128;

/// An index and its node, with `R` to answer what the index does not.
#[derive(Clone, Copy, Debug)]
pub struct Indexed<'a, R = &'a NodeSource> {
    index: &'a Index,
    node: &'a NodeSource,
    rest: R,
    /// Whether `rest` tells what moves inside of transactions.
    tells_internal: bool,
}

/// Blocks that are answered in one way.
struct Part<'a> {
    blocks: BlockRanges,
    /// From the index, or by the node.
    run: Option<&'a Run>,
}

/// Asked blocks, all in one segment.
type Piece<'a> = (&'a Segment, BlockRange);

/// A report under way.
#[derive(Default)]
struct Reporting {
    covered: Vec<BlockRange>,
    missing: Vec<Unavailable>,
    counts: DecodeCounts,
    /// Blocks that must have these hashes for the answer to be that of one chain.
    pins: Vec<(u64, B256)>,
}

impl Reporting {
    /// Adds the report of another source.
    fn add(&mut self, report: ScanReport) {
        let ScanReport {
            covered,
            missing,
            counts,
            last_block_hash,
        } = report;
        if let (Some(span), Some(hash)) = (covered.span(), last_block_hash) {
            self.pins.push((span.last, hash));
        }
        self.covered.extend(covered.iter());
        self.missing.extend(missing);
        self.counts += counts;
    }
}

impl<'a> Indexed<'a> {
    /// Answers from `index` what it has and by `node` the rest.
    pub const fn new(index: &'a Index, node: &'a NodeSource) -> Self {
        Self {
            index,
            node,
            rest: node,
            tells_internal: false,
        }
    }
}

impl<'a, R: TransferSource> Indexed<'a, R> {
    /// Answers by `rest`, which must be of `node`, what `index` has not: by a source
    /// that finds internal movements, where these are asked for.
    pub const fn with_rest(index: &'a Index, node: &'a NodeSource, rest: R) -> Self {
        Self {
            index,
            node,
            rest,
            tells_internal: true,
        }
    }

    /// Of the blocks of a question, those that the index answers now.
    pub fn answers(&self, request: &ScanRequest) -> Result<BlockRanges, SourceError> {
        let runs = self.canonical_runs(request)?;
        let have: BlockRanges = runs.iter().map(|run| run.blocks).collect();
        Ok(request.blocks.intersect(&have))
    }

    /// The runs that hold asked blocks and are of the chain of now. What was
    /// reorganised is left out, from the last segment on down.
    fn canonical_runs(&self, request: &ScanRequest) -> Result<Vec<Run>, SourceError> {
        let mut usable = Vec::new();
        // All of it or nothing: not from a part of the blocks only.
        if !self.index.tells(request) || (request.filter.internal && !self.tells_internal) {
            return Ok(usable);
        }
        let Some(span) = request.blocks.span() else {
            return Ok(usable);
        };
        for run in self.index.runs() {
            if run.blocks.intersect(&span).is_none() {
                continue;
            }
            for last in run.segments.clone().rev() {
                let info = &self.index.segments()[last];
                if self.node.canonical_hash(info.blocks.last)? == Some(info.last_hash) {
                    usable.push(Run {
                        blocks: BlockRange {
                            first: run.blocks.first,
                            last: info.blocks.last,
                        },
                        last_hash: info.last_hash,
                        segments: run.segments.start..last + 1,
                    });
                    break;
                }
                tracing::debug!(blocks = %info.blocks, "indexed, but no longer canonical");
            }
        }
        Ok(usable)
    }

    /// Who answers for what, in block order.
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

    /// That the node can answer for the parts that are left to it. Before anything is
    /// handed out, as a scan does.
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

    /// Pieces of asked blocks, each in one segment.
    fn pieces<'r>(&'r self, part: &'r Part<'_>, run: &'r Run) -> impl Iterator<Item = Piece<'r>> {
        let segments = &self.index.segments[run.segments.clone()];
        part.blocks.iter().flat_map(move |range| {
            let first = segments.partition_point(|segment| segment.blocks().last < range.first);
            segments[first..]
                .iter()
                .map_while(move |segment| Some((segment, segment.blocks().intersect(&range)?)))
        })
    }

    /// Looks up several pieces on all threads.
    fn look_up(
        &self,
        question: &Question<'_>,
        pieces: &[Piece<'_>],
    ) -> Result<Vec<Found>, SourceError> {
        let find = |(segment, blocks): &Piece<'_>| question.find(segment, *blocks);
        if pieces.len() == 1 || self.node.threads() == 1 {
            return pieces.iter().map(find).collect();
        }
        self.node.install(|| pieces.par_iter().map(find).collect())
    }

    /// Hands out what one segment has of `blocks`.
    fn answer(
        &self,
        question: &Question<'_>,
        (segment, blocks): Piece<'_>,
        found: Found,
        report: &mut Reporting,
        sink: &mut dyn FnMut(Batch) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, SourceError> {
        let mut emit = |blocks: BlockRange, mut transfers: Vec<Transfer>| {
            if self.node.options().cancel.is_cancelled() {
                return Err(SourceError::Interrupted);
            }
            if question.request.with_hashes {
                self.node.fill_hashes(&mut transfers)?;
            }
            report.counts += DecodeCounts {
                transfers: transfers.len() as u64,
                ..segment.counts_of(blocks, &question.request.filter.tokens)?
            };
            report.covered.push(blocks);
            Ok(sink(Batch { blocks, transfers }))
        };
        let selected = match found {
            Found::Transfers(transfers) => return emit(blocks, transfers),
            Found::Rows(selected) => selected,
            Found::Many => question.select(segment, blocks)?,
        };
        let mut first = blocks.first;
        let mut batch: Vec<Transfer> = Vec::new();
        let mut flow = ControlFlow::Continue(());
        question.each(segment, blocks, &selected, &mut |transfer| {
            let block = transfer.block_number;
            let ends = batch.last().is_some_and(|last| last.block_number < block);
            if ends
                && batch.len() >= BATCH_ROWS
                && let Some(full) = block
                    .checked_sub(1)
                    .and_then(|last| BlockRange::new(first, last))
            {
                flow = emit(full, std::mem::take(&mut batch))?;
                first = block;
            }
            batch.push(transfer);
            Ok(flow)
        })?;
        if flow.is_break() {
            return Ok(flow);
        }
        let rest = BlockRange {
            first,
            last: blocks.last,
        };
        emit(rest, batch)
    }

    /// The report, if what was read is of one chain.
    fn finish(&self, mut report: Reporting) -> Result<ScanReport, SourceError> {
        let covered: BlockRanges = BlockRanges::new(report.covered);
        let last = covered.span().map(|span| span.last);
        report.pins.sort_unstable();
        let mut blocks: Vec<u64> = report.pins.iter().map(|(block, _)| *block).collect();
        blocks.extend(last);
        let mut now = self.node.canonical_hashes(&blocks)?;
        let last_block_hash = last.and_then(|_| now.pop().flatten());
        for ((block, hash), now) in report.pins.into_iter().zip(now) {
            if now != Some(hash) {
                return Err(SourceError::Reorged { block });
            }
        }
        Ok(ScanReport {
            covered,
            missing: report.missing,
            counts: report.counts,
            last_block_hash,
        })
    }
}

impl<R: TransferSource> TransferSource for Indexed<'_, R> {
    fn chain(&self) -> &ChainInfo {
        self.node.chain()
    }

    fn scan(
        &self,
        request: &ScanRequest,
        sink: &mut dyn FnMut(Batch) -> ControlFlow<()>,
    ) -> Result<ScanReport, SourceError> {
        let runs = self.canonical_runs(request)?;
        let parts = Self::parts(&request.blocks, &runs);
        if parts.iter().all(|part| part.run.is_none()) {
            return self.rest.scan(request, sink);
        }
        self.check_rest(request, &parts)?;
        let question = Question::new(request);
        let mut report = Reporting::default();
        'parts: for part in &parts {
            let Some(run) = part.run else {
                if self.ask_node(request, part, &mut report, sink)?.is_break() {
                    break;
                }
                continue;
            };
            report.pins.push((run.blocks.last, run.last_hash));
            self.node.pin(run.blocks, run.last_hash);
            let pieces: Vec<_> = self.pieces(part, run).collect();
            let ahead = (PIECES_AHEAD * self.node.threads()).clamp(1, PIECES_AHEAD_MAX);
            for pieces in pieces.chunks(ahead) {
                let found = self.look_up(&question, pieces)?;
                for (piece, found) in pieces.iter().zip(found) {
                    let flow = self.answer(&question, *piece, found, &mut report, sink)?;
                    if flow.is_break() {
                        break 'parts;
                    }
                }
            }
        }
        self.finish(report)
    }

    fn fill_hashes(&self, transfers: &mut [Transfer]) -> Result<(), SourceError> {
        self.node.fill_hashes(transfers)
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
            false => REST_BLOCKS_MAX,
        };
        if rest > rest_max || parts.iter().all(|part| part.run.is_none()) {
            return Ok(None);
        }
        self.check_rest(request, &parts)?;
        let question = Question::new(request);
        let mut report = Reporting::default();
        let mut rest = CachedRest::new(&self.rest);
        for part in &parts {
            let Some(run) = part.run else {
                report.add(rest.read(request, &part.blocks)?);
                continue;
            };
            report.pins.push((run.blocks.last, run.last_hash));
            self.node.pin(run.blocks, run.last_hash);
            for (segment, blocks) in self.pieces(part, run) {
                report.counts += DecodeCounts {
                    transfers: question.count(segment, blocks)?,
                    ..segment.counts_of(blocks, &question.request.filter.tokens)?
                };
                report.covered.push(blocks);
            }
        }
        Ok(Some(ByFrontier {
            report: self.finish(report)?,
            source: Box::new(Indexed {
                index: self.index,
                node: self.node,
                rest,
                tells_internal: self.tells_internal,
            }),
        }))
    }

    fn hubs(&self, request: &ScanRequest, degree_max: u32) -> Result<Vec<Address>, SourceError> {
        let runs = self.canonical_runs(request)?;
        let parts = Self::parts(&request.blocks, &runs);
        // With what is wanted of each, and only where that is anything.
        let pieces: Vec<_> = parts
            .iter()
            .filter_map(|part| Some(self.pieces(part, part.run?)))
            .flatten()
            .map(|(segment, blocks)| (segment, blocks, segment.wanted(&request.filter)))
            .filter(|(_, _, wanted)| wanted.contains(&true))
            .collect();
        let question = Question::new(request);
        let addresses = &question.addresses;
        let none = || vec![0; addresses.len()];
        // No more counterparties than rows; only of those with many are they counted.
        let hubs = || {
            let share = pieces.len().div_ceil(self.node.threads().max(1)).max(1);
            let degrees = pieces.par_chunks(share).map(|pieces| {
                let mut degrees = none();
                for (segment, ..) in pieces {
                    segment.degrees(addresses, question.direction, &mut degrees)?;
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
                let is_hub = question.has_more_counterparties(*address, &pieces, degree_max)?;
                Ok(is_hub.then_some(*address))
            });
            hubs.filter_map(Result::transpose).collect()
        };
        let hubs: Result<Vec<_>, Error> = self.node.install(hubs);
        Ok(hubs?)
    }
}

impl<R: TransferSource> Indexed<'_, R> {
    /// Has the node answer a part.
    fn ask_node(
        &self,
        request: &ScanRequest,
        part: &Part<'_>,
        report: &mut Reporting,
        sink: &mut dyn FnMut(Batch) -> ControlFlow<()>,
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
