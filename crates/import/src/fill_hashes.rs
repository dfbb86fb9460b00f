//! Hashes and times of transfers that were found before.

use crate::{
    Error, ImportedFiles, Role, block::next_block, order::Indices, plan, rows::Rows, unique::sort,
};
use alloy_primitives::B256;
use std::collections::{BTreeSet, HashMap};
use txgraph_transfers::{BlockRange, BlockRanges, BlockTime, Kind, Transfer, TransferFilter};

/// Hashes and times of the rows of some blocks.
#[derive(Debug, Default)]
struct Known {
    /// By block and index of the transaction.
    hashes: HashMap<(u64, u32), B256>,
    times: HashMap<u64, BlockTime>,
}

impl ImportedFiles {
    /// Reads the blocks of transfers that lack a hash or a time again, and completes them.
    pub(crate) fn fill(&self, transfers: &mut [Transfer]) -> Result<(), Error> {
        let has = |role: Role| self.used().any(|(_, file)| file.has(role));
        let (has_hashes, has_times) = (has(Role::Transaction), has(Role::Time));
        let lacks = |it: &Transfer| {
            let hash = it.transaction_hash.is_none() && it.kind != Kind::Withdrawal;
            (hash && has_hashes) || (it.block_timestamp.is_none() && has_times)
        };
        let wanted = transfers.iter().filter(|it| lacks(it));
        let wanted: BTreeSet<u64> = wanted.map(|it| it.block_number).collect();
        let (Some(first), Some(last)) = (wanted.first(), wanted.last()) else {
            return Ok(());
        };
        let span = BlockRange::from_to(*first, *last);
        let pieces = self.used().flat_map(|(_, file)| &file.pieces);
        let mut rows = Rows::default();
        let mut known = Known::default();
        for chunk in plan::chunks(pieces, &BlockRanges::from(span), self.rows_max) {
            self.load(&mut rows, chunk, Some(&wanted))?;
            known.add(&mut rows, self)?;
        }
        for transfer in transfers.iter_mut().filter(|it| lacks(it)) {
            let block = transfer.block_number;
            if transfer.block_timestamp.is_none() {
                transfer.block_timestamp = known.times.get(&block).copied();
            }
            if transfer.transaction_hash.is_none() && transfer.kind != Kind::Withdrawal {
                let hash = known.hashes.get(&(block, transfer.transaction_index));
                transfer.transaction_hash = hash.copied();
            }
        }
        Ok(())
    }

    /// Returns the time of a block, in seconds since 1970; `None` if no row contains it.
    pub fn block_time(&self, block: u64) -> Result<Option<u64>, Error> {
        let span = BlockRange::one(block);
        let pieces = self.used().flat_map(|(_, file)| &file.pieces);
        let mut known = Known::default();
        for chunk in plan::chunks(pieces, &BlockRanges::from(span), self.rows_max) {
            let mut rows = Rows::default();
            self.load(&mut rows, chunk, Some(&BTreeSet::from([block])))?;
            known.add(&mut rows, self)?;
        }
        Ok(known.times.get(&block).map(|time| time.seconds()))
    }

    /// Returns the blocks from the first with a row to the last; `None` without rows.
    pub fn rows(&self) -> Option<BlockRange> {
        let pieces = self.used().flat_map(|(_, file)| &file.pieces);
        BlockRanges::new(pieces.map(|piece| piece.blocks).collect()).span()
    }

    /// Returns the first block with a row at or after a time, in seconds since 1970. Blocks without rows
    /// have no time.
    pub fn first_block_at(&self, seconds: u64) -> Result<Option<u64>, Error> {
        let pieces = self.used().flat_map(|(_, file)| &file.pieces);
        let all: BlockRanges = self.rows().into_iter().collect();
        for chunk in plan::chunks(pieces, &all, self.rows_max) {
            let (mut rows, mut known) = (Rows::default(), Known::default());
            self.load(&mut rows, chunk, None)?;
            known.add(&mut rows, self)?;
            let times = known.times.iter();
            let found = times.filter(|(_, time)| time.seconds() >= seconds);
            if let Some((block, _)) = found.min() {
                return Ok(Some(*block));
            }
        }
        Ok(None)
    }

    /// Reads the rows of a chunk, all or only rows of wanted blocks.
    fn load(
        &self,
        rows: &mut Rows,
        chunk: BlockRange,
        wanted: Option<&BTreeSet<u64>>,
    ) -> Result<(), Error> {
        rows.clear();
        let is_wanted = |blocks: BlockRange| {
            wanted.is_none_or(|wanted| {
                let mut found = wanted.range(blocks.first..=blocks.last);
                found.next().is_some()
            })
        };
        let filter = TransferFilter::default();
        for (number, file) in self.used() {
            for piece in &file.pieces {
                let Some(blocks) = piece.blocks.intersect(&chunk) else {
                    continue;
                };
                if !is_wanted(blocks) {
                    continue;
                }
                file.read(piece, &mut |row| {
                    let block = file.checked(row, Role::Block, row.cell(Role::Block).u64())?;
                    match chunk.contains(block) && is_wanted(BlockRange::one(block)) {
                        true => rows.push(file, number, piece, row, chunk, &filter),
                        false => Ok(()),
                    }
                })?;
            }
        }
        Ok(())
    }
}

impl Known {
    /// Adds what rows contain. Sorts them first.
    fn add(&mut self, rows: &mut Rows, files: &ImportedFiles) -> Result<(), Error> {
        sort(rows, &files.files)?;
        let mut cursors = [0; 6];
        while let Some(block) = next_block(rows, &mut cursors) {
            if let Some((time, _)) = block.time() {
                self.times.insert(block.number, time);
            }
            let indices = Indices::new(&block);
            for place in block.places() {
                if let Some(hash) = indices.hash_of(place) {
                    self.hashes.insert((block.number, indices.of(place)?), hash);
                }
            }
        }
        Ok(())
    }
}
