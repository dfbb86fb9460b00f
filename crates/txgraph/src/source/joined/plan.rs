//! Which source answers which blocks, and what proves that they are of one branch.

use alloy_primitives::B256;
use std::sync::{Arc, Mutex};
use txgraph_transfers::{
    BlockRange, BlockRanges, ChainInfo, FailureKind, ScanRequest, SourceError, SourceFailure,
    TransferSource, Unavailable,
};

/// Where a node's files end and its server begins.
pub(crate) trait Seam: Sync {
    /// The newest block of the first source, as its files are now.
    fn stored_tip(&self) -> Result<u64, SourceError>;

    /// Called with the last block of a request, before the server is asked what it has.
    fn before(&self, last: u64) -> Result<(), SourceError>;
}

/// Blocks that one source answers.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    pub(super) blocks: BlockRange,
    /// The sources that have all of them, in the order of their names. The first answers.
    pub(super) sources: Vec<usize>,
    /// The hash of the last block, in all sources that were asked and know it.
    pub(super) hash: Option<B256>,
    /// By source: whether it knows `hash`.
    pub(super) knows: Vec<bool>,
}

impl Segment {
    /// The source that answers.
    pub(super) fn answers(&self) -> usize {
        self.sources[0]
    }

    /// The sources whose rows have to be compared, because hashes do not show that their blocks
    /// equal the blocks of the source that answers.
    pub(super) fn unproven(&self) -> &[usize] {
        let proven = self.sources.iter().all(|source| self.knows[*source]);
        if proven { &[] } else { &self.sources[1..] }
    }
}

/// How a request is answered. Made once for each scan; a search by frontiers has one for all.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// Ascending.
    pub(super) segments: Vec<Segment>,
    /// Requested blocks that no source has.
    pub(super) missing: Vec<Unavailable>,
}

impl Plan {
    /// The segment that has a block.
    pub(super) fn segment(&self, block: u64) -> Option<&Segment> {
        let at = (self.segments).partition_point(|segment| segment.blocks.last < block);
        let segment = self.segments.get(at)?;
        segment.blocks.contains(block).then_some(segment)
    }

    /// The blocks that are answered.
    pub(super) fn present(&self) -> BlockRanges {
        self.segments.iter().map(|segment| segment.blocks).collect()
    }
}

/// The requested blocks of each source, and those that none has.
struct Survey {
    available: Vec<BlockRanges>,
    missing: Vec<Unavailable>,
    /// The last block that the first of two sources answers, whatever it has.
    seam: Option<u64>,
}

/// One of the sources.
pub(crate) struct Member<'a> {
    /// For messages.
    pub(crate) name: String,
    pub(crate) source: Box<dyn TransferSource + Sync + 'a>,
}

/// The transfers of several sources.
pub(crate) struct JoinedTransfers<'a> {
    pub(super) chain: &'a ChainInfo,
    pub(super) members: Vec<Member<'a>>,
    /// If the second of two sources is asked only for blocks that the first does not store yet.
    pub(super) seam: Option<&'a dyn Seam>,
    /// The plan of the last scan, whose transfers are completed by the same sources.
    pub(super) last: Mutex<Option<Arc<Plan>>>,
}

impl JoinedTransfers<'_> {
    /// Chooses sources, and compares what they know of the chain.
    pub(super) fn plan(&self, request: &ScanRequest) -> Result<Plan, SourceError> {
        let survey = self.survey(request)?;
        let mut segments = segments(&survey.available, self.members.len());
        self.compare(&mut segments, survey.seam)?;
        Ok(Plan {
            segments,
            missing: survey.missing,
        })
    }

    /// Refuses missing blocks.
    ///
    /// # Errors
    ///
    /// [`SourceError::Unavailable`].
    pub(super) fn check(&self, request: &ScanRequest) -> Result<(), SourceError> {
        let Survey {
            available, missing, ..
        } = self.survey(request)?;
        if missing.is_empty() || request.allow_partial {
            Ok(())
        } else {
            Err(SourceError::Unavailable {
                missing,
                available: available.iter().flat_map(BlockRanges::iter).collect(),
            })
        }
    }

    fn survey(&self, request: &ScanRequest) -> Result<Survey, SourceError> {
        let seam = self.seam.map(|seam| seam.stored_tip()).transpose()?;
        if let (Some(seam), Some(span)) = (self.seam, request.blocks.span()) {
            seam.before(span.last)?;
        }
        let mut available = Vec::new();
        let mut reasons: Vec<Unavailable> = Vec::new();
        let mut rest = request.blocks.clone();
        for (number, member) in self.members.iter().enumerate() {
            let wanted = match seam {
                None => request.blocks.clone(),
                Some(tip) => request.blocks.intersect(&side(tip, number)),
            };
            let strict = ScanRequest {
                blocks: wanted.clone(),
                allow_partial: false,
                ..request.clone()
            };
            let missing = if wanted.is_empty() {
                Vec::new()
            } else {
                match member.source.check_available(&strict) {
                    Ok(()) => Vec::new(),
                    Err(SourceError::Unavailable { missing, .. }) => missing,
                    Err(error) => return Err(error),
                }
            };
            let gaps: BlockRanges = missing.iter().map(|gap| gap.blocks).collect();
            let here = wanted.subtract(&gaps);
            rest = rest.subtract(&here);
            available.push(here);
            reasons.extend(missing);
        }
        let missing = rest.iter().map(|blocks| {
            let mut known = reasons.iter().rev();
            let known = known.find(|gap| gap.blocks.intersect(&blocks).is_some());
            let reason = known.map_or_else(String::new, |gap| gap.reason.clone());
            Unavailable { blocks, reason }
        });
        let missing: Vec<Unavailable> = missing.collect();
        if let (Some(seam), Some(tip)) = (self.seam, seam)
            && missing.iter().any(|gap| gap.blocks.first <= tip)
            && seam.stored_tip()? < tip
        {
            // Blocks were removed in between, so that they are not missing.
            return Err(SourceError::Reorged { block: tip });
        }
        Ok(Survey {
            available,
            missing,
            seam,
        })
    }

    /// Asks every source for the hash of the last block of each segment: it fixes all blocks
    /// below. A source that answers alone is not asked, since its report contains the hash.
    fn compare(&self, segments: &mut [Segment], seam: Option<u64>) -> Result<(), SourceError> {
        for (number, member) in self.members.iter().enumerate() {
            let asked =
                |segment: &&mut Segment| segment.sources.len() > 1 || segment.answers() != number;
            let mut places: Vec<&mut Segment> = segments.iter_mut().filter(asked).collect();
            let blocks: Vec<u64> = places.iter().map(|segment| segment.blocks.last).collect();
            if blocks.is_empty() {
                continue;
            }
            let hashes = member.source.canonical_hashes(&blocks)?;
            for (segment, hash) in places.iter_mut().zip(hashes) {
                let Some(hash) = hash else { continue };
                segment.knows[number] = true;
                if let Some(other) = segment.hash.replace(hash).filter(|other| *other != hash) {
                    let before = segment.knows.iter().position(|knows| *knows);
                    let before = before.unwrap_or(segment.answers());
                    return Err(self.branches(
                        segment.blocks.last,
                        (before, other),
                        (number, hash),
                    ));
                }
            }
        }
        let Some(tip) = seam else { return Ok(()) };
        let uses_server = segments.iter().any(|segment| segment.answers() > 0);
        let known = segments
            .iter()
            .any(|segment| segment.blocks.last == tip && segment.knows[1]);
        if !uses_server || known {
            return Ok(());
        }
        let [stored, served] = [0, 1].map(|number: usize| {
            let hash = self.members[number].source.canonical_hash(tip);
            hash.map(|hash| (number, hash))
        });
        match (stored?, served?) {
            ((_, Some(one)), (_, Some(other))) if one == other => Ok(()),
            ((_, Some(one)), (_, Some(other))) => Err(self.branches(tip, (0, one), (1, other))),
            ((_, None), _) => Err(SourceError::Reorged { block: tip }),
            (_, (_, None)) => Err(self.replaced(format!(
                "block {tip} is in {}, but not in {}",
                self.members[0].name, self.members[1].name
            ))),
        }
    }

    /// The error for sources of different branches.
    pub(super) fn branches(
        &self,
        block: u64,
        (one, hash): (usize, B256),
        (other, differs): (usize, B256),
    ) -> SourceError {
        self.replaced(format!(
            "block {block} is {hash} in {}, but {differs} in {}: they are of different branches",
            self.members[one].name, self.members[other].name
        ))
    }

    /// A failure that passes if blocks were being replaced.
    fn replaced(&self, why: String) -> SourceError {
        SourceFailure::new(FailureKind::Replaced, why).into()
    }
}

/// The blocks of the first source, and of all others.
fn side(tip: u64, number: usize) -> BlockRanges {
    let blocks = match number {
        0 => BlockRange::new(0, tip),
        _ => tip
            .checked_add(1)
            .and_then(|first| BlockRange::new(first, u64::MAX)),
    };
    blocks.into_iter().collect()
}

/// Divides the blocks where the set of sources that have them changes.
fn segments(available: &[BlockRanges], count: usize) -> Vec<Segment> {
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
        loop {
            let next = cuts.get(cuts.partition_point(|cut| *cut <= first));
            let last = next
                .filter(|cut| **cut <= range.last)
                .map_or(range.last, |cut| cut - 1);
            let sources = available.iter().enumerate();
            let sources = sources.filter(|(_, blocks)| blocks.contains(first));
            segments.push(Segment {
                blocks: BlockRange { first, last },
                sources: sources.map(|(number, _)| number).collect(),
                hash: None,
                knows: vec![false; count],
            });
            match last.checked_add(1) {
                Some(next) if next <= range.last => first = next,
                _ => break,
            }
        }
    }
    segments
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(list: &[(u64, u64)]) -> BlockRanges {
        list.iter()
            .map(|(first, last)| BlockRange::from_to(*first, *last))
            .collect()
    }

    #[test]
    fn segments_end_where_the_sources_change() {
        let found = segments(
            &[
                ranges(&[(0, 9), (30, u64::MAX)]),
                ranges(&[(5, 19)]),
                ranges(&[]),
            ],
            3,
        );
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
}
