//! An index and the node it was made from, as one source of transfers.
//!
//! What the index has is answered from it, the rest by the node, in block order. The
//! answer is the node's own, to the last count of its report: that is what an index is
//! tested for. Which chain is checked as for a scan: at the end every part that was used
//! must be canonical, all under one snapshot.

use crate::{
    directory::{Index, Run},
    error::Error,
    segment::Segment,
};
use alloy_primitives::{Address, B256, U256, map::HashSet};
use std::ops::ControlFlow;
use txgraph_reader::NodeSource;
use txgraph_transfers::{
    Batch, BlockRange, BlockRanges, ChainInfo, DecodeCounts, Direction, ScanReport, ScanRequest,
    SourceError, Transfer, TransferSource, Unavailable,
};

/// Rows of a batch at most, except that a block is never cut.
const BATCH_ROWS: usize = 1 << 14;

/// A search asks for one frontier after the other where the node must be read for no
/// more blocks than these each time. Beyond, one pass over everything costs less.
const REST_BLOCKS_MAX: u64 = 1024;

/// An index and its node, with `R` to answer what the index does not.
#[derive(Clone, Copy, Debug)]
pub struct Indexed<'a, R = &'a NodeSource> {
    index: &'a Index,
    node: &'a NodeSource,
    rest: R,
}

/// Blocks that are answered in one way.
struct Part<'a> {
    blocks: BlockRanges,
    /// From the index, or by the node.
    run: Option<&'a Run>,
}

/// A report under way.
#[derive(Default)]
struct Reporting {
    covered: Vec<BlockRange>,
    missing: Vec<Unavailable>,
    counts: DecodeCounts,
    /// Blocks that must have these hashes for the answer to be that of one chain.
    pins: Vec<(u64, B256)>,
}

impl<'a> Indexed<'a> {
    /// Answers from `index` what it has and by `node` the rest.
    pub const fn new(index: &'a Index, node: &'a NodeSource) -> Self {
        Self {
            index,
            node,
            rest: node,
        }
    }
}

impl<'a, R: TransferSource> Indexed<'a, R> {
    /// Answers by `rest`, which must be of `node`, what `index` has not: by a source
    /// that finds internal movements, where these are asked for.
    pub const fn with_rest(index: &'a Index, node: &'a NodeSource, rest: R) -> Self {
        Self { index, node, rest }
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
        if !self.index.tells(request) {
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
    fn pieces<'r>(
        &'r self,
        part: &'r Part<'_>,
        run: &'r Run,
    ) -> impl Iterator<Item = (&'r Segment, BlockRange)> {
        let segments = &self.index.segments[run.segments.clone()];
        part.blocks.iter().flat_map(move |range| {
            let first = segments.partition_point(|segment| segment.blocks().last < range.first);
            segments[first..]
                .iter()
                .map_while(move |segment| Some((segment, segment.blocks().intersect(&range)?)))
        })
    }

    /// Hands out what one segment has of `blocks`.
    fn answer(
        &self,
        question: &Question<'_>,
        segment: &Segment,
        blocks: BlockRange,
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
        let mut first = blocks.first;
        let mut batch: Vec<Transfer> = Vec::new();
        let mut flow = ControlFlow::Continue(());
        question.each(segment, blocks, &mut |transfer| {
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
            for (segment, blocks) in self.pieces(part, run) {
                if self
                    .answer(&question, segment, blocks, &mut report, sink)?
                    .is_break()
                {
                    break 'parts;
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

    fn report(&self, request: &ScanRequest) -> Result<Option<ScanReport>, SourceError> {
        let runs = self.canonical_runs(request)?;
        let parts = Self::parts(&request.blocks, &runs);
        let rest = parts.iter().filter(|part| part.run.is_none());
        let rest = rest.fold(0_u64, |sum, part| sum.saturating_add(part.blocks.blocks()));
        if rest > REST_BLOCKS_MAX || parts.iter().all(|part| part.run.is_none()) {
            return Ok(None);
        }
        self.check_rest(request, &parts)?;
        let question = Question::new(request);
        let mut report = Reporting::default();
        for part in &parts {
            let Some(run) = part.run else {
                let drop = &mut |_| ControlFlow::Continue(());
                let _ = self.ask_node(request, part, &mut report, drop)?;
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
        self.finish(report).map(Some)
    }

    fn hubs(&self, request: &ScanRequest, degree_max: u32) -> Result<Vec<Address>, SourceError> {
        let runs = self.canonical_runs(request)?;
        let parts = Self::parts(&request.blocks, &runs);
        let pieces: Vec<_> = parts
            .iter()
            .filter_map(|part| Some(self.pieces(part, part.run?)))
            .flatten()
            .collect();
        let question = Question::new(request);
        let mut degrees = vec![0; question.addresses.len()];
        for (segment, _) in &pieces {
            segment.degrees(&question.addresses, question.direction, &mut degrees)?;
        }
        let mut hubs = Vec::new();
        for (address, degree) in question.addresses.iter().zip(degrees) {
            // No more counterparties than rows.
            if degree > u64::from(degree_max)
                && question.has_more_counterparties(*address, &pieces, degree_max)?
            {
                hubs.push(*address);
            }
        }
        Ok(hubs)
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
        let ScanReport {
            covered,
            missing,
            counts,
            last_block_hash,
        } = self.rest.scan(&request, &mut |batch| {
            flow = sink(batch);
            flow
        })?;
        if let (Some(span), Some(hash)) = (covered.span(), last_block_hash) {
            report.pins.push((span.last, hash));
        }
        report.covered.extend(covered.iter());
        report.missing.extend(missing);
        report.counts += counts;
        Ok(flow)
    }
}

/// A request, prepared for segments.
struct Question<'a> {
    request: &'a ScanRequest,
    /// Addresses asked for, ascending: their places in a dictionary then are, too.
    addresses: Vec<Address>,
    direction: Direction,
}

impl<'a> Question<'a> {
    fn new(request: &'a ScanRequest) -> Self {
        let touching = request.filter.touching.as_ref();
        let mut addresses: Vec<Address> = touching
            .map(|touching| touching.addresses.iter().copied().collect())
            .unwrap_or_default();
        addresses.sort_unstable();
        Self {
            request,
            addresses,
            direction: touching.map_or(Direction::Both, |touching| touching.direction),
        }
    }

    /// Hands every wanted transfer of a segment's blocks to `take`.
    fn each(
        &self,
        segment: &Segment,
        blocks: BlockRange,
        take: &mut dyn FnMut(Transfer) -> Result<ControlFlow<()>, SourceError>,
    ) -> Result<(), SourceError> {
        let wanted = segment.wanted(&self.request.filter);
        if !wanted.contains(&true) {
            return Ok(());
        }
        let rows = segment.rows()?;
        let within = segment.rows_of(blocks)?;
        let mut one = |row: usize| -> Result<ControlFlow<()>, SourceError> {
            if !wanted[rows.class(row)?] {
                return Ok(ControlFlow::Continue(()));
            }
            let transfer = rows.transfer(row)?;
            if transfer.value < self.request.filter.min_value {
                return Ok(ControlFlow::Continue(()));
            }
            if !blocks.contains(transfer.block_number) {
                return Err(segment
                    .corrupt(format!("row {row} is of another block"))
                    .into());
            }
            take(transfer)
        };
        if self.request.filter.touching.is_none() {
            for row in within {
                if one(row)?.is_break() {
                    break;
                }
            }
            return Ok(());
        }
        let mut touching = Vec::new();
        segment.rows_touching(
            &self.addresses,
            self.direction,
            &wanted,
            within,
            &mut touching,
        )?;
        for row in touching {
            if one(row as usize)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// How many transfers of a segment's blocks are wanted.
    fn count(&self, segment: &Segment, blocks: BlockRange) -> Result<u64, Error> {
        let wanted = segment.wanted(&self.request.filter);
        let min_value = self.request.filter.min_value;
        if self.request.filter.touching.is_some() {
            let mut count = 0;
            self.each(segment, blocks, &mut |_| {
                count += 1;
                Ok(ControlFlow::Continue(()))
            })?;
            return Ok(count);
        }
        if min_value == U256::ZERO && blocks == segment.blocks() {
            let classes = segment.classes().iter().zip(&wanted);
            return Ok(classes
                .filter(|(_, wanted)| **wanted)
                .map(|(class, _)| class.rows)
                .sum());
        }
        let within = segment.rows_of(blocks)?;
        if min_value == U256::ZERO && !wanted.contains(&false) {
            return Ok(within.len() as u64);
        }
        let rows = segment.rows()?;
        let mut count = 0;
        for row in within {
            if wanted[rows.class(row)?]
                && (min_value == U256::ZERO || rows.value(row)? >= min_value)
            {
                count += 1;
            }
        }
        Ok(count)
    }

    /// Whether an address has more than so many counterparties.
    fn has_more_counterparties(
        &self,
        address: Address,
        pieces: &[(&Segment, BlockRange)],
        degree_max: u32,
    ) -> Result<bool, Error> {
        let mut counterparties = HashSet::<Address>::default();
        let mut touching = Vec::new();
        let min_value = self.request.filter.min_value;
        for (segment, blocks) in pieces {
            let wanted = segment.wanted(&self.request.filter);
            if !wanted.contains(&true) {
                continue;
            }
            let rows = segment.rows()?;
            let within = segment.rows_of(*blocks)?;
            segment.rows_touching(&[address], self.direction, &wanted, within, &mut touching)?;
            // Most rows of a hub lead where an earlier one has led.
            let mut seen = HashSet::<(usize, usize)>::default();
            for row in &touching {
                let row = *row as usize;
                if min_value > U256::ZERO && rows.value(row)? < min_value {
                    continue;
                }
                let (from, to) = rows.ends(row)?;
                if seen.insert((from, to)) {
                    let (from, to) = rows.addresses_of(from, to)?;
                    let other = if from == address { to } else { from };
                    if other != address
                        && counterparties.insert(other)
                        && counterparties.len() as u64 > u64::from(degree_max)
                    {
                        return Ok(true);
                    }
                }
            }
        }
        Ok(false)
    }
}
