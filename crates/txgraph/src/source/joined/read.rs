//! Reads what was planned, and checks that it is of one branch.

use super::plan::{JoinedTransfers, Member, Plan, Seam, Segment};
use alloy_primitives::{Address, B256};
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::ControlFlow,
    sync::{Arc, Mutex, PoisonError},
};
use txgraph_stored::CachedSource;
use txgraph_transfers::{
    Batch, BlockAnchor, BlockRange, BlockRanges, ByFrontier, ChainInfo, FailureKind, Kind,
    ScanReport, ScanRequest, Sink, SourceError, SourceFailure, Transfer, TransferSource, Wrapper,
};

/// The blocks of an overlap whose rows are compared at a time. They are in memory twice.
const OVERLAP_BLOCKS: u64 = 1000;

/// The blocks that a search by frontiers reads once from sources that scan them as a whole: at
/// most this many, or this part of all blocks. With more, one pass over everything costs less.
const REST_BLOCKS_MAX: u64 = 1024;
const REST_PART: u64 = 4;

/// A function that reads one segment of a plan, by its number.
type ReadSegment<'r> =
    dyn FnMut(usize, &ScanRequest, &mut Sink<'_>) -> Result<ScanReport, SourceError> + 'r;

impl<'a> JoinedTransfers<'a> {
    pub(crate) fn new(
        chain: &'a ChainInfo,
        members: Vec<Member<'a>>,
        seam: Option<&'a dyn Seam>,
    ) -> Self {
        Self {
            chain,
            members,
            seam,
            last: Mutex::new(None),
        }
    }

    /// Plans a scan and remembers the plan.
    fn planned(&self, request: &ScanRequest) -> Result<Arc<Plan>, SourceError> {
        let plan = Arc::new(self.plan(request)?);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some(Arc::clone(&plan));
        if plan.missing.is_empty() || request.allow_partial {
            return Ok(plan);
        }
        Err(SourceError::Unavailable {
            missing: plan.missing.clone(),
            available: plan.present(),
        })
    }

    /// The plan of the last scan, if it has all of these blocks.
    fn remembered(&self, mut blocks: impl Iterator<Item = u64>) -> Option<Arc<Plan>> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let plan = last.as_ref()?;
        blocks
            .all(|block| plan.segment(block).is_some())
            .then(|| Arc::clone(plan))
    }

    fn source(&self, segment: &Segment) -> &(dyn TransferSource + Sync + 'a) {
        &*self.members[segment.answers()].source
    }

    /// Reads the segments of a plan in order, and links them.
    fn read(
        &self,
        plan: &Plan,
        request: &ScanRequest,
        read: &mut ReadSegment<'_>,
        sink: &mut Sink<'_>,
    ) -> Result<ScanReport, SourceError> {
        let mut joining = Joining {
            of: self,
            report: ScanReport {
                missing: plan.missing.clone(),
                ..ScanReport::default()
            },
            blocks: BTreeMap::new(),
            unlinked: BTreeSet::new(),
            before: None,
        };
        let mut stopped = false;
        for (number, segment) in plan.segments.iter().enumerate() {
            let part = ScanRequest {
                blocks: segment.blocks.into(),
                ..request.clone()
            };
            let report = read(number, &part, &mut |batch| {
                let flow = sink(batch);
                stopped |= flow.is_break();
                flow
            })?;
            joining.add(segment, report)?;
            if stopped {
                break;
            }
        }
        Ok(joining.finish())
    }

    /// Reads a segment from the source that answers it. The transfers of others that hashes do not
    /// prove equal are compared.
    fn segment(
        &self,
        segment: &Segment,
        request: &ScanRequest,
        sink: &mut Sink<'_>,
    ) -> Result<ScanReport, SourceError> {
        let source = self.source(segment);
        let others = segment.unproven();
        if others.is_empty() {
            return source.scan(request, sink);
        }
        let mut all = ScanReport::default();
        let mut covered = Vec::new();
        for blocks in segment.blocks.chunks(OVERLAP_BLOCKS) {
            let part = ScanRequest {
                blocks: blocks.into(),
                ..request.clone()
            };
            let (mut transfers, report) = collect(source, &part)?;
            covered.extend(report.covered.iter());
            all.counts += report.counts;
            all.anchors.extend(report.anchors);
            all.last_block_hash = report.last_block_hash;
            all.missing.extend(report.missing);
            all.caveats.extend(report.caveats);
            all.notes.extend(report.notes);
            for other in others {
                let (theirs, report) = collect(&*self.members[*other].source, &part)?;
                all.caveats.extend(report.caveats);
                all.notes.extend(report.notes);
                if let Err(block) = agree(&mut transfers, &theirs) {
                    let why = format!(
                        "block {block}: the transfers in {} and {} differ; leave one of them out",
                        self.members[segment.answers()].name,
                        self.members[*other].name
                    );
                    return Err(SourceFailure::new(FailureKind::Unreadable, why).into());
                }
            }
            if sink(Batch { blocks, transfers }).is_break() {
                break;
            }
        }
        all.covered = BlockRanges::new(covered);
        Ok(all)
    }
}

fn collect(
    source: &dyn TransferSource,
    request: &ScanRequest,
) -> Result<(Vec<Transfer>, ScanReport), SourceError> {
    let mut transfers = Vec::new();
    let report = source.scan(request, &mut |mut batch| {
        transfers.append(&mut batch.transfers);
        ControlFlow::Continue(())
    })?;
    Ok((transfers, report))
}

/// Compares transfers, and completes the first from the second. Returns the first block that
/// differs.
fn agree(ours: &mut [Transfer], theirs: &[Transfer]) -> Result<(), u64> {
    for (one, other) in ours.iter_mut().zip(theirs) {
        one.block_timestamp = one.block_timestamp.or(other.block_timestamp);
        one.transaction_hash = one.transaction_hash.or(other.transaction_hash);
        let same = Transfer {
            block_timestamp: other.block_timestamp.or(one.block_timestamp),
            transaction_hash: other.transaction_hash.or(one.transaction_hash),
            ..other.clone()
        };
        if *one != same {
            return Err(one.block_number.min(other.block_number));
        }
    }
    let longer = if ours.len() > theirs.len() {
        &*ours
    } else {
        theirs
    };
    match longer.get(ours.len().min(theirs.len())) {
        Some(extra) => Err(extra.block_number),
        None => Ok(()),
    }
}

/// A report that is being collected.
struct Joining<'r, 'a> {
    of: &'r JoinedTransfers<'a>,
    report: ScanReport,
    /// The blocks that were read, by source.
    blocks: BTreeMap<usize, Vec<BlockRange>>,
    /// Pairs of sources between whose blocks no hash is known.
    unlinked: BTreeSet<(usize, usize)>,
    before: Option<Before>,
}

/// The end of the segment before.
struct Before {
    segment: Segment,
    /// If it was read, and its hash is known.
    hash: Option<B256>,
}

impl Joining<'_, '_> {
    fn add(&mut self, segment: &Segment, report: ScanReport) -> Result<(), SourceError> {
        let number = segment.answers();
        let BlockRange { first, last } = segment.blocks;
        let of_block = |block| move |anchor: &&BlockAnchor| anchor.blocks.last == block;
        let hash = report
            .anchors
            .iter()
            .find(of_block(last))
            .map(|anchor| anchor.hash);
        if let (Some(hash), Some(known)) = (hash, segment.hash)
            && hash != known
        {
            let other = segment.knows.iter().position(|knows| *knows);
            let other = other.unwrap_or(number);
            return Err(self.of.branches(last, (number, hash), (other, known)));
        }
        self.report.counts += report.counts;
        self.report.caveats.extend(report.caveats);
        self.report.notes.extend(report.notes);
        self.report.missing.extend(report.missing);
        if report.covered.is_empty() {
            return Ok(());
        }
        let parent = report
            .anchors
            .iter()
            .find(|anchor| anchor.blocks.first == first);
        self.link(segment, parent.and_then(|anchor| anchor.parent_hash))?;
        let unproven = segment.unproven().iter();
        self.unlinked.extend(unproven.map(|other| (number, *other)));
        self.before = Some(Before {
            segment: segment.clone(),
            hash,
        });
        self.blocks
            .entry(number)
            .or_default()
            .extend(report.covered.iter());
        self.report.anchors.extend(report.anchors);
        self.report.last_block_hash = report.last_block_hash;
        Ok(())
    }

    /// Checks that a segment continues the one before it.
    fn link(&mut self, segment: &Segment, parent: Option<B256>) -> Result<(), SourceError> {
        let Some(before) = &self.before else {
            return Ok(());
        };
        let (one, other) = (before.segment.answers(), segment.answers());
        let last = before.segment.blocks.last;
        let follows = last.checked_add(1) == Some(segment.blocks.first);
        if let (true, Some(hash), Some(parent)) = (follows, before.hash, parent) {
            return if hash == parent {
                Ok(())
            } else {
                Err(self.of.branches(last, (one, hash), (other, parent)))
            };
        }
        let known = before.segment.knows[other] || segment.knows[one];
        if one != other && !known {
            self.unlinked.insert((one, other));
        }
        Ok(())
    }

    fn finish(self) -> ScanReport {
        let Self {
            of,
            mut report,
            blocks,
            unlinked,
            ..
        } = self;
        let name = |number: usize| of.members[number].name.as_str();
        report
            .caveats
            .extend(unlinked.into_iter().map(|(one, other)| {
                format!(
                    "no hash of a block shows that {} and {} are of the same branch",
                    name(one),
                    name(other)
                )
            }));
        for list in [&mut report.caveats, &mut report.notes] {
            list.sort();
            list.dedup();
        }
        let mut covered = Vec::new();
        let mut notes = Vec::new();
        for (number, ranges) in blocks {
            covered.extend_from_slice(&ranges);
            notes.push(format!(
                "blocks {} from {}",
                BlockRanges::new(ranges),
                name(number)
            ));
        }
        notes.append(&mut report.notes);
        report.notes = notes;
        report.covered = BlockRanges::new(covered);
        report.missing.sort_by_key(|gap| gap.blocks);
        report
    }
}

impl TransferSource for JoinedTransfers<'_> {
    fn chain(&self) -> &ChainInfo {
        self.chain
    }

    fn scan(&self, request: &ScanRequest, sink: &mut Sink<'_>) -> Result<ScanReport, SourceError> {
        let plan = self.planned(request)?;
        self.read(
            &plan,
            request,
            &mut |number, part, sink| self.segment(&plan.segments[number], part, sink),
            sink,
        )
    }

    /// Asks the sources that the transfers came from.
    fn fill_hashes(
        &self,
        transfers: &mut [Transfer],
        anchors: &[BlockAnchor],
    ) -> Result<(), SourceError> {
        let blocks = || transfers.iter().map(|it| it.block_number);
        let plan = match self.remembered(blocks()) {
            Some(plan) => plan,
            None => self.planned(&ScanRequest {
                blocks: blocks().map(BlockRange::one).collect(),
                ..ScanRequest::default()
            })?,
        };
        for (number, member) in self.members.iter().enumerate() {
            let lacks = |it: &Transfer| {
                it.block_timestamp.is_none()
                    || (it.transaction_hash.is_none() && it.kind != Kind::Withdrawal)
            };
            let is_here = |it: &Transfer| {
                let segment = plan.segment(it.block_number);
                segment.is_some_and(|segment| {
                    segment.answers() == number || (segment.sources.contains(&number) && lacks(it))
                })
            };
            let places: Vec<usize> = (0..transfers.len())
                .filter(|at| is_here(&transfers[*at]))
                .collect();
            if places.is_empty() {
                continue;
            }
            let mut here: Vec<_> = places.iter().map(|at| transfers[*at].clone()).collect();
            let answers = |anchor: &&BlockAnchor| {
                let segment = plan.segment(anchor.blocks.last);
                segment.is_some_and(|segment| segment.answers() == number)
            };
            let anchors: Vec<BlockAnchor> = anchors.iter().filter(answers).copied().collect();
            member.source.fill_hashes(&mut here, &anchors)?;
            for (at, filled) in places.into_iter().zip(here) {
                transfers[at] = filled;
            }
        }
        Ok(())
    }

    fn check_available(&self, request: &ScanRequest) -> Result<(), SourceError> {
        self.check(request)
    }

    /// Takes each hash from the first source that knows the block.
    fn canonical_hashes(&self, blocks: &[u64]) -> Result<Vec<Option<B256>>, SourceError> {
        let mut hashes = vec![None; blocks.len()];
        for member in &self.members {
            let places: Vec<usize> = (0..blocks.len())
                .filter(|at| hashes[*at].is_none())
                .collect();
            let asked: Vec<u64> = places.iter().map(|at| blocks[*at]).collect();
            if asked.is_empty() {
                break;
            }
            let found = member.source.canonical_hashes(&asked)?;
            for (at, hash) in places.into_iter().zip(found) {
                hashes[at] = hash;
            }
        }
        Ok(hashes)
    }

    fn by_frontier(&self, request: &ScanRequest) -> Result<Option<ByFrontier<'_>>, SourceError> {
        let plan = self.planned(request)?;
        let total = plan.present().blocks();
        let rest_max = REST_BLOCKS_MAX.max(total / REST_PART);
        let mut rest = 0;
        let mut prepared = Vec::new();
        for segment in &plan.segments {
            let part = ScanRequest {
                blocks: segment.blocks.into(),
                ..request.clone()
            };
            let hops = if segment.unproven().is_empty() {
                self.source(segment).by_frontier(&part)?
            } else {
                None
            };
            let hops = hops.and_then(|hops| Some((hops.report?, hops.source)));
            if hops.is_none() {
                rest += segment.blocks.blocks();
                if rest > rest_max {
                    return Ok(None);
                }
            }
            prepared.push(hops);
        }
        if prepared.iter().all(Option::is_none) {
            return Ok(None);
        }
        let mut reports = Vec::new();
        let mut parts: Vec<Box<dyn TransferSource + '_>> = Vec::new();
        for (segment, hops) in plan.segments.iter().zip(prepared) {
            let (report, source) = match hops {
                Some(hops) => hops,
                None => {
                    let mut cached = CachedSource::new(OneSegment {
                        of: self,
                        segment: segment.clone(),
                    });
                    let report = cached.read(request, &segment.blocks.into())?;
                    (report, Box::new(cached) as Box<dyn TransferSource + '_>)
                }
            };
            reports.push(report);
            parts.push(source);
        }
        let report = self.read(
            &plan,
            request,
            &mut |number, _, _| Ok(std::mem::take(&mut reports[number])),
            &mut |_| ControlFlow::Continue(()),
        )?;
        Ok(Some(ByFrontier {
            report: Some(report),
            source: Box::new(Hops {
                of: self,
                plan,
                parts,
            }),
        }))
    }

    fn hubs(&self, request: &ScanRequest, degree_max: u32) -> Result<Vec<Address>, SourceError> {
        let ends = request.blocks.iter().flat_map(|it| [it.first, it.last]);
        let plan = match self.remembered(ends) {
            Some(plan) => plan,
            None => self.planned(request)?,
        };
        let parts = plan.segments.iter();
        let parts = parts.map(|segment| self.source(segment) as &dyn TransferSource);
        hubs(&plan, request, degree_max, parts)
    }
}

/// Counterparties in a part of the blocks are counterparties in all of them.
fn hubs<'s>(
    plan: &Plan,
    request: &ScanRequest,
    degree_max: u32,
    parts: impl Iterator<Item = &'s dyn TransferSource>,
) -> Result<Vec<Address>, SourceError> {
    let mut hubs = BTreeSet::new();
    for (segment, part) in plan.segments.iter().zip(parts) {
        let request = ScanRequest {
            blocks: request.blocks.intersect(&segment.blocks.into()),
            ..request.clone()
        };
        if !request.blocks.is_empty() {
            hubs.extend(part.hubs(&request, degree_max)?);
        }
    }
    Ok(hubs.into_iter().collect())
}

/// One segment as a source.
struct OneSegment<'a> {
    of: &'a JoinedTransfers<'a>,
    segment: Segment,
}

impl<'a> Wrapper for OneSegment<'a> {
    type Inner = JoinedTransfers<'a>;

    fn inner(&self) -> &Self::Inner {
        self.of
    }

    fn scan(&self, request: &ScanRequest, sink: &mut Sink<'_>) -> Result<ScanReport, SourceError> {
        self.of.segment(&self.segment, request, sink)
    }

    fn check_available(&self, request: &ScanRequest) -> Result<(), SourceError> {
        self.of.source(&self.segment).check_available(request)
    }

    fn canonical_hashes(&self, blocks: &[u64]) -> Result<Vec<Option<B256>>, SourceError> {
        self.of.source(&self.segment).canonical_hashes(blocks)
    }
}

/// The sources that were prepared for the frontiers of one search, one for each segment.
struct Hops<'a> {
    of: &'a JoinedTransfers<'a>,
    plan: Arc<Plan>,
    parts: Vec<Box<dyn TransferSource + 'a>>,
}

impl<'a> Wrapper for Hops<'a> {
    type Inner = JoinedTransfers<'a>;

    fn inner(&self) -> &Self::Inner {
        self.of
    }

    fn scan(&self, request: &ScanRequest, sink: &mut Sink<'_>) -> Result<ScanReport, SourceError> {
        self.of.read(
            &self.plan,
            request,
            &mut |number, part, sink| self.parts[number].scan(part, sink),
            sink,
        )
    }

    fn hubs(&self, request: &ScanRequest, degree_max: u32) -> Result<Vec<Address>, SourceError> {
        let parts = self.parts.iter().map(|part| &**part as &dyn TransferSource);
        hubs(&self.plan, request, degree_max, parts)
    }
}

#[cfg(test)]
mod tests;
