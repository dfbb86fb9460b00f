//! Chunks of blocks whose rows are read together.

use crate::format::Piece;
use txgraph_transfers::{BlockRange, BlockRanges};

/// The rows of a chunk, if its files are sorted. About 20 MB of rows.
const ROWS_PER_CHUNK: u64 = 65_536;

/// The most rows of a chunk whose files have to be read as a whole for each chunk, because they
/// are not sorted. More are slower, because they use fewer threads.
const UNSORTED_ROWS_MAX: u64 = 2_000_000;

/// The bytes of memory per row of a chunk: a row, and the transfers of two chunks that were
/// read and not delivered yet.
const BYTES_PER_ROW: u64 = 750;

/// The rows of a chunk of files that are not sorted, for this memory of a thread.
pub(crate) fn unsorted_rows(bytes: u64) -> u64 {
    (bytes / BYTES_PER_ROW).clamp(ROWS_PER_CHUNK, UNSORTED_ROWS_MAX)
}

/// The largest share of the rows of a chunk that are read for its neighbor, too: one of this
/// many.
const REREAD_SHARE: u64 = 4;

/// Divides `blocks` so that the pieces of a chunk have few rows of other chunks.
///
/// A chunk ends where a piece begins, if few rows of other pieces cross that block. In sorted
/// files that is at each piece. Where every piece crosses every block, the rows are assumed to
/// be spread evenly over the blocks of their piece, and a chunk has about `rows_max` of them.
pub(crate) fn chunks<'p>(
    pieces: impl Iterator<Item = &'p Piece>,
    blocks: &BlockRanges,
    rows_max: u64,
) -> Vec<BlockRange> {
    let mut pieces: Vec<&Piece> = pieces.collect();
    pieces.sort_by_key(|piece| (piece.blocks.first, piece.blocks.last));
    let mut cuts = Vec::new();
    let mut rows = 0;
    // The last chunk's pieces that may reach beyond a cut.
    let mut open: Vec<&Piece> = Vec::new();
    for piece in pieces {
        let first = piece.blocks.first;
        open.retain(|open| open.blocks.last >= first);
        let crossing: u64 = open.iter().map(|open| open.rows).sum();
        if rows >= ROWS_PER_CHUNK && crossing <= rows / REREAD_SHARE {
            cuts.push((first, rows));
            rows = crossing;
        }
        rows += piece.rows;
        open.push(piece);
    }
    let mut chunks = Vec::new();
    for range in blocks.iter() {
        let mut first = range.first;
        for (cut, rows) in &cuts {
            if first < *cut && *cut <= range.last {
                let part = BlockRange::from_to(first, cut - 1);
                chunks.extend(split(part, rows.div_ceil(rows_max)));
                first = *cut;
            }
        }
        let rest = BlockRange::from_to(first, range.last);
        // Rows of the chunk in which the range ends.
        let rows = cuts
            .iter()
            .find(|(cut, _)| *cut > range.last)
            .map_or(rows, |(_, rows)| *rows);
        chunks.extend(split(rest, rows.div_ceil(rows_max)));
    }
    chunks
}

/// Divides a range into equal parts.
fn split(range: BlockRange, parts: u64) -> impl Iterator<Item = BlockRange> {
    range.chunks(range.blocks().div_ceil(parts.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn piece(first: u64, last: u64, rows: u64) -> Piece {
        Piece::for_plan(BlockRange { first, last }, rows)
    }

    fn ranges(first: u64, last: u64) -> BlockRanges {
        BlockRange { first, last }.into()
    }

    #[test]
    fn sorted_pieces_are_cut_and_unsorted_ones_are_not() {
        let sorted: Vec<_> = (0..20)
            .map(|n| piece(n * 100, n * 100 + 100, 16_384))
            .collect();
        let found = chunks(sorted.iter(), &ranges(0, 1999), UNSORTED_ROWS_MAX);
        assert!(found.len() >= 4, "{found:?}");
        let mixed: Vec<_> = (0..20).map(|_| piece(0, 1999, 16_384)).collect();
        assert_eq!(
            chunks(mixed.iter(), &ranges(0, 1999), UNSORTED_ROWS_MAX).len(),
            1
        );
        let large: Vec<_> = (0..20).map(|_| piece(0, 1999, 1_000_000)).collect();
        assert_eq!(
            chunks(large.iter(), &ranges(0, 1999), UNSORTED_ROWS_MAX).len(),
            10
        );
        // With less memory, there are more chunks.
        let rows = unsorted_rows(1 << 28);
        assert_eq!(chunks(large.iter(), &ranges(0, 1999), rows).len(), 56);
        assert_eq!(unsorted_rows(1 << 20), ROWS_PER_CHUNK);
        assert_eq!(unsorted_rows(1 << 40), UNSORTED_ROWS_MAX);
        assert_eq!(
            chunks([].iter(), &ranges(5, u64::MAX), UNSORTED_ROWS_MAX),
            [BlockRange::from_to(5, u64::MAX)]
        );
    }

    proptest! {
        #[test]
        fn chunks_cover_the_blocks_exactly(
            pieces in proptest::collection::vec((0u64..200, 0u64..50, 1u64..3_000_000), 0..20),
            wanted in proptest::collection::vec((0u64..260, 0u64..40), 1..5),
        ) {
            let pieces: Vec<_> = pieces
                .into_iter()
                .map(|(first, more, rows)| piece(first, first + more, rows))
                .collect();
            let wanted: BlockRanges = wanted
                .into_iter()
                .map(|(first, more)| BlockRange { first, last: first + more })
                .collect();
            let found = chunks(pieces.iter(), &wanted, UNSORTED_ROWS_MAX);
            prop_assert!(found.is_sorted());
            let blocks: u64 = found.iter().map(BlockRange::blocks).sum();
            prop_assert_eq!(blocks, wanted.blocks());
            prop_assert_eq!(found.into_iter().collect::<BlockRanges>(), wanted);
        }
    }
}
