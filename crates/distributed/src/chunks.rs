//! How blocks are divided.

use crate::wire::Chunk;
use txgraph_stored::units;
use txgraph_transfers::{BlockRange, BlockRanges};

/// Some blocks that are stored together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    pub(crate) last: u64,
    pub(crate) transfers: u64,
}

/// Divides blocks into about `wanted` chunks: at cuts, so that they have about equally many
/// transfers, or into equally many blocks if there is none.
pub(crate) fn divide(blocks: &BlockRanges, cuts: &[Cut], wanted: u64) -> Vec<Chunk> {
    let wanted = wanted.max(1);
    let ranges: Vec<BlockRange> = if cuts.is_empty() {
        let size = blocks.blocks().div_ceil(wanted).max(1);
        units(blocks, size).into()
    } else {
        at_cuts(blocks, cuts, wanted)
    };
    let mut before: Option<BlockRange> = None;
    let mut chunks = Vec::with_capacity(ranges.len());
    for (number, blocks) in (0..).zip(ranges) {
        let follows = before.is_some_and(|before| before.last.checked_add(1) == Some(blocks.first));
        before = Some(blocks);
        chunks.push(Chunk {
            follows,
            ..Chunk::new(number, blocks)
        });
    }
    chunks
}

/// Divides blocks at cuts, so that chunks have about equally many transfers.
fn at_cuts(blocks: &BlockRanges, cuts: &[Cut], wanted: u64) -> Vec<BlockRange> {
    let all: u64 = cuts.iter().map(|cut| cut.transfers).sum();
    let enough = all.div_ceil(wanted).max(1);
    let mut ends = Vec::new();
    let mut transfers = 0;
    for cut in cuts {
        transfers += cut.transfers;
        if transfers >= enough {
            ends.push(cut.last);
            transfers = 0;
        }
    }
    let mut ranges = Vec::new();
    for range in blocks.iter() {
        let mut first = range.first;
        for end in &ends {
            if *end >= first && *end < range.last {
                ranges.push(BlockRange { first, last: *end });
                first = *end + 1;
            }
        }
        ranges.push(BlockRange::from_to(first, range.last));
    }
    ranges
}
