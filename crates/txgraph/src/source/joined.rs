//! Several sources of one chain as one source.

use super::{Backend, Capabilities, SourceSpec};
use crate::{Error, ErrorKind, Protected, Result};
use alloy_primitives::B256;
use std::ops::ControlFlow;
use txgraph_transfers::{
    Batch, BlockRange, BlockRanges, ChainInfo, FailureKind, Pin, ScanReport, ScanRequest,
    SourceError, SourceFailure, Transfer, TransferFilter, TransferSource, Unavailable,
    WrappedNative,
};

/// The blocks of an overlap that are compared at a time. Their transfers are in memory twice.
const OVERLAP_BLOCKS: u64 = 1000;

/// Sources of one chain. Blocks in several of them are read from each and compared.
#[derive(Debug)]
pub(crate) struct Joined {
    parts: Vec<(SourceSpec, Box<dyn Backend>)>,
    chain: ChainInfo,
    protected: Protected,
}

impl Joined {
    /// Joins open sources.
    ///
    /// # Errors
    ///
    /// If they belong to different chains.
    pub(crate) fn new(parts: Vec<(SourceSpec, Box<dyn Backend>)>) -> Result<Self> {
        let mut chain: Option<(ChainInfo, &SourceSpec)> = None;
        let mut protected = Protected::default();
        for (spec, part) in &parts {
            let found = part.chain()?;
            protected.add(part.protected());
            let Some((known, first)) = &mut chain else {
                chain = Some((found.clone(), spec));
                continue;
            };
            let differs = known.genesis_hash != found.genesis_hash
                && ![known.genesis_hash, found.genesis_hash].contains(&B256::ZERO);
            if known.chain_id != found.chain_id || differs {
                return Err(Error::usage(format!(
                    "{spec} belongs to chain {} ({}), but {first} to chain {} ({})",
                    found.chain_id, found.genesis_hash, known.chain_id, known.genesis_hash
                )));
            }
            if known.genesis_hash.is_zero() {
                *known = found.clone();
            }
        }
        let chain = chain.map(|(chain, _)| chain);
        let chain = chain.ok_or_else(|| Error::usage("no source is named"))?;
        Ok(Self {
            parts,
            chain,
            protected,
        })
    }
}

impl Backend for Joined {
    /// What all of the sources can do with transfers.
    fn capabilities(&self) -> Capabilities {
        use super::Capability as C;
        let common = [C::Transfers, C::Hashes].into_iter();
        common
            .filter(|one| {
                self.parts
                    .iter()
                    .all(|(_, part)| part.capabilities().contains(*one))
            })
            .collect()
    }

    fn chain(&self) -> Result<&ChainInfo> {
        Ok(&self.chain)
    }

    /// A node among the sources replays its blocks.
    fn has_internal(&self) -> bool {
        let replays = |part: &dyn Backend| part.capabilities().contains(super::Capability::Replay);
        let has = |part: &dyn Backend| part.has_internal() || replays(part);
        self.parts.iter().all(|(_, part)| has(part.as_ref()))
    }

    fn why_no_internal(&self) -> Option<String> {
        let mut lacking = self.parts.iter().filter(|(_, part)| {
            !part.has_internal() && !part.capabilities().contains(super::Capability::Replay)
        });
        lacking.find_map(|(spec, part)| Some(format!("{spec}: {}", part.why_no_internal()?)))
    }

    fn tip(&self) -> Result<u64> {
        let tips: Result<Vec<u64>> = self.parts.iter().map(|(_, part)| part.tip()).collect();
        Ok(tips?.into_iter().max().unwrap_or_default())
    }

    fn everything(&self) -> Result<BlockRange> {
        let parts = self.parts.iter().map(|(_, part)| part.everything());
        let parts: Vec<BlockRange> = parts.collect::<Result<_>>()?;
        let all = parts.into_iter().reduce(|one, other| BlockRange {
            first: one.first.min(other.first),
            last: one.last.max(other.last),
        });
        all.ok_or_else(|| Error::usage("no source is named"))
    }

    /// Of the first source that has it.
    fn block_time(&self, block: u64) -> Result<Option<u64>> {
        for (_, part) in &self.parts {
            match part.block_time(block) {
                Ok(None) => {}
                Err(error) if error.kind == ErrorKind::Unavailable => {}
                time => return time,
            }
        }
        Ok(None)
    }

    fn transfers(&self, filter: &TransferFilter) -> Result<Box<dyn TransferSource + Sync + '_>> {
        let sources = self
            .parts
            .iter()
            .map(|(spec, part)| Ok((spec, part.transfers(filter)?)));
        Ok(Box::new(JoinedTransfers {
            chain: &self.chain,
            sources: sources.collect::<Result<_>>()?,
        }))
    }

    fn protected(&self) -> &Protected {
        &self.protected
    }
}

/// The transfers of several sources.
struct JoinedTransfers<'a> {
    chain: &'a ChainInfo,
    sources: Vec<(&'a SourceSpec, Box<dyn TransferSource + Sync + 'a>)>,
}

/// Blocks, and the sources that have all of them.
struct Segment {
    blocks: BlockRange,
    sources: Vec<usize>,
}

impl JoinedTransfers<'_> {
    /// The requested blocks that each source has, and those that none has.
    fn survey(
        &self,
        request: &ScanRequest,
    ) -> Result<(Vec<BlockRanges>, Vec<Unavailable>), SourceError> {
        let strict = ScanRequest {
            allow_partial: false,
            ..request.clone()
        };
        let mut available = Vec::new();
        let mut reasons: Vec<Unavailable> = Vec::new();
        let mut rest = request.blocks.clone();
        for (_, source) in &self.sources {
            let missing = match source.check_available(&strict) {
                Ok(()) => Vec::new(),
                Err(SourceError::Unavailable { missing, .. }) => missing,
                Err(error) => return Err(error),
            };
            let gaps: BlockRanges = missing.iter().map(|gap| gap.blocks).collect();
            let here = request.blocks.subtract(&gaps);
            rest = rest.subtract(&here);
            available.push(here);
            reasons.extend(missing);
        }
        let missing = rest.iter().map(|blocks| {
            let known = reasons
                .iter()
                .find(|gap| gap.blocks.intersect(&blocks).is_some());
            let reason = known.map_or_else(String::new, |gap| gap.reason.clone());
            Unavailable { blocks, reason }
        });
        Ok((available, missing.collect()))
    }

    /// Reads a segment that one source has.
    fn one(
        &self,
        request: &ScanRequest,
        segment: &Segment,
        sink: &mut dyn FnMut(Batch) -> ControlFlow<()>,
    ) -> Result<ScanReport, SourceError> {
        let part = ScanRequest {
            blocks: segment.blocks.into(),
            ..request.clone()
        };
        let (_, source) = &self.sources[segment.sources[0]];
        source.scan(&part, sink)
    }

    /// Reads a segment that several sources have. Their transfers must be equal, except that
    /// one source may know times and hashes that another does not.
    fn compared(
        &self,
        request: &ScanRequest,
        segment: &Segment,
        sink: &mut dyn FnMut(Batch) -> ControlFlow<()>,
    ) -> Result<Joining, SourceError> {
        let mut joining = Joining::default();
        let mut first = segment.blocks.first;
        loop {
            let last = first
                .saturating_add(OVERLAP_BLOCKS - 1)
                .min(segment.blocks.last);
            let blocks = BlockRange { first, last };
            let part = ScanRequest {
                blocks: blocks.into(),
                ..request.clone()
            };
            let mut agreed: Option<Vec<Transfer>> = None;
            for number in &segment.sources {
                let (spec, source) = &self.sources[*number];
                let mut transfers = Vec::new();
                let report = source.scan(&part, &mut |mut batch| {
                    transfers.append(&mut batch.transfers);
                    ControlFlow::Continue(())
                })?;
                match &mut agreed {
                    None => {
                        joining.add(report);
                        agreed = Some(transfers);
                    }
                    Some(agreed) => {
                        joining.report.caveats.extend(report.caveats);
                        joining.report.notes.extend(report.notes);
                        if let Err(block) = agree(agreed, &transfers) {
                            let (one, _) = &self.sources[segment.sources[0]];
                            let why = format!(
                                "block {block}: the transfers in {one} and {spec} differ; leave \
                                 one of them out"
                            );
                            let failure = SourceFailure::new(FailureKind::Unreadable, why);
                            return Err(failure.into());
                        }
                    }
                }
            }
            let transfers = agreed.unwrap_or_default();
            if sink(Batch { blocks, transfers }).is_break() || last == segment.blocks.last {
                return Ok(joining);
            }
            first = last + 1;
        }
    }
}

/// Compares transfers, and completes the first from the second. Returns the first block that
/// differs.
fn agree(ours: &mut [Transfer], theirs: &[Transfer]) -> std::result::Result<(), u64> {
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
#[derive(Default)]
struct Joining {
    report: ScanReport,
    covered: Vec<BlockRange>,
}

impl Joining {
    fn add(&mut self, report: ScanReport) {
        self.covered.extend(report.covered.iter());
        self.report.counts += report.counts;
        self.report.caveats.extend(report.caveats);
        self.report.notes.extend(report.notes);
        self.report.pins.extend(report.pins);
        self.report.last_block_hash = report.last_block_hash;
        self.report.missing.extend(report.missing);
    }

    fn finish(mut self) -> ScanReport {
        self.report.covered = BlockRanges::new(self.covered);
        for list in [&mut self.report.caveats, &mut self.report.notes] {
            list.sort();
            list.dedup();
        }
        self.report.missing.sort_by_key(|gap| gap.blocks);
        self.report
    }
}

/// Divides the blocks where the set of sources that have them changes.
fn segments(available: &[BlockRanges]) -> Vec<Segment> {
    let ranges = available.iter().flat_map(BlockRanges::iter);
    let mut cuts: Vec<u64> = ranges
        .flat_map(|range| [Some(range.first), range.last.checked_add(1)])
        .flatten()
        .collect();
    cuts.sort_unstable();
    cuts.dedup();
    let all: BlockRanges = available.iter().flat_map(BlockRanges::iter).collect();
    let mut segments = Vec::new();
    for range in all.iter() {
        let mut first = range.first;
        while first <= range.last {
            let cut = cuts.iter().find(|cut| **cut > first && **cut <= range.last);
            let last = cut.map_or(range.last, |cut| cut - 1);
            let sources = available.iter().enumerate();
            let sources = sources.filter(|(_, blocks)| blocks.contains(first));
            let sources = sources.map(|(number, _)| number).collect();
            segments.push(Segment {
                blocks: BlockRange { first, last },
                sources,
            });
            match last.checked_add(1) {
                Some(next) => first = next,
                None => break,
            }
        }
    }
    segments
}

impl TransferSource for JoinedTransfers<'_> {
    fn chain(&self) -> &ChainInfo {
        self.chain
    }

    fn scan(
        &self,
        request: &ScanRequest,
        sink: &mut dyn FnMut(Batch) -> ControlFlow<()>,
    ) -> Result<ScanReport, SourceError> {
        let (available, missing) = self.survey(request)?;
        if !missing.is_empty() && !request.allow_partial {
            let available = available.iter().flat_map(BlockRanges::iter).collect();
            return Err(SourceError::Unavailable { missing, available });
        }
        let mut joining = Joining::default();
        joining.report.missing = missing;
        let mut stopped = false;
        for segment in segments(&available) {
            let mut sink = |batch: Batch| {
                let flow = sink(batch);
                stopped |= flow.is_break();
                flow
            };
            let report = match segment.sources.len() {
                1 => self.one(request, &segment, &mut sink)?,
                _ => self.compared(request, &segment, &mut sink)?.finish(),
            };
            joining.add(report);
            if stopped {
                break;
            }
        }
        Ok(joining.finish())
    }

    fn fill_hashes(&self, transfers: &mut [Transfer], pins: &[Pin]) -> Result<(), SourceError> {
        let blocks = transfers.iter().map(|it| it.block_number);
        let blocks = blocks
            .map(|block| BlockRange {
                first: block,
                last: block,
            })
            .collect();
        let request = ScanRequest {
            blocks,
            filter: TransferFilter::default(),
            wrapped_native: WrappedNative::Auto,
            with_times: false,
            with_hashes: false,
            allow_partial: false,
        };
        let (available, _) = self.survey(&request)?;
        for ((_, source), available) in self.sources.iter().zip(available) {
            let is_here = |it: &Transfer| available.contains(it.block_number);
            let mut here: Vec<_> = transfers.iter().filter(|it| is_here(it)).cloned().collect();
            let pins: Vec<Pin> = pins
                .iter()
                .filter(|pin| available.contains(pin.blocks.last))
                .copied()
                .collect();
            source.fill_hashes(&mut here, &pins)?;
            let places = transfers.iter_mut().filter(|it| is_here(it));
            for (place, filled) in places.zip(here) {
                *place = filled;
            }
        }
        Ok(())
    }

    fn check_available(&self, request: &ScanRequest) -> Result<(), SourceError> {
        match self.survey(request)? {
            (available, missing) if !missing.is_empty() && !request.allow_partial => {
                let available = available.iter().flat_map(BlockRanges::iter).collect();
                Err(SourceError::Unavailable { missing, available })
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(list: &[(u64, u64)]) -> BlockRanges {
        list.iter()
            .map(|(first, last)| BlockRange {
                first: *first,
                last: *last,
            })
            .collect()
    }

    #[test]
    fn segments_end_where_the_sources_change() {
        let found = segments(&[
            ranges(&[(0, 9), (30, u64::MAX)]),
            ranges(&[(5, 19)]),
            ranges(&[]),
        ]);
        let found: Vec<_> = found
            .iter()
            .map(|segment| {
                (
                    segment.blocks.first,
                    segment.blocks.last,
                    segment.sources.clone(),
                )
            })
            .collect();
        assert_eq!(
            found,
            [
                (0, 4, vec![0]),
                (5, 9, vec![0, 1]),
                (10, 19, vec![1]),
                (30, u64::MAX, vec![0]),
            ]
        );
    }

    #[test]
    fn transfers_agree_if_only_unknown_values_differ() {
        let base = txgraph_transfers::testing::transfer;
        let mut ours = vec![base(1), base(2)];
        let mut theirs = ours.clone();
        theirs[0].transaction_hash = Some(B256::repeat_byte(1));
        assert_eq!(agree(&mut ours, &theirs), Ok(()));
        assert_eq!(ours[0].transaction_hash, Some(B256::repeat_byte(1)));
        theirs[1].value += alloy_primitives::U256::ONE;
        assert_eq!(agree(&mut ours, &theirs), Err(2));
        assert_eq!(agree(&mut ours, &theirs[..1]), Err(2));
        assert_eq!(agree(&mut ours[..0], &theirs[..1]), Err(1));
    }
}
