//! Gaps that the tables show in each other.

use crate::{
    Error, Role, Table,
    block::Block,
    file::ImportedFile,
    native_transfers::Frames,
    rows::{Rows, Transaction},
    unique::describe,
};
use alloy_primitives::Bloom;
use txgraph_transfers::{BlockRange, Gaps, Kind, TokenStandard, TransferFilter};

/// The tables that are read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tables {
    blocks: bool,
    logs: bool,
    /// Whether the logs of a block can be compared with a bloom filter.
    pub(crate) blooms: bool,
    traces: bool,
    /// Whether a table has movements of the native coin, so that none may be missing.
    natives: bool,
}

impl Tables {
    pub(crate) fn of<'f>(files: impl Iterator<Item = &'f ImportedFile>) -> Self {
        let mut all = Self::default();
        let mut blooms = false;
        for file in files {
            match file.table() {
                Table::Blocks => {
                    all.blocks = true;
                    blooms |= file.has(Role::Bloom);
                }
                Table::Logs => all.logs = true,
                Table::Traces => {
                    all.traces = true;
                    all.natives = true;
                }
                Table::Transactions | Table::NativeTransfers => all.natives = true,
                _ => {}
            }
        }
        all.blooms = blooms && all.logs;
        all
    }
}

/// The gaps of a chunk whose rows are sorted, except gaps of transactions.
pub(crate) fn of_chunk(
    rows: &mut Rows,
    files: &[ImportedFile],
    tables: Tables,
    chunk: BlockRange,
    filter: &TransferFilter,
) -> Result<Gaps, Error> {
    let mut gaps = Gaps::default();
    if tables.blocks {
        gaps.blocks = chunk.blocks().saturating_sub(rows.headers.len() as u64);
    }
    if filter.needs_withdrawals() {
        let lacking = rows.headers.iter().filter(|it| it.lacks_withdrawals);
        gaps.withdrawals = lacking.count() as u64;
    }
    let is_native = |standard: &TokenStandard| *standard == TokenStandard::Native;
    if !filter.standards.is_empty() && filter.standards.iter().all(is_native) {
        return Ok(gaps);
    }
    rows.log_indices.sort_unstable();
    rows.log_indices.dedup();
    for block in rows.log_indices.chunk_by(|one, other| one.0 == other.0) {
        let last = block.last().map_or(0, |(_, index)| u64::from(*index));
        gaps.logs += last + 1 - block.len() as u64;
    }
    if !tables.blooms {
        return Ok(gaps);
    }
    for header in &rows.headers {
        let Some(bloom) = &header.bloom else {
            continue;
        };
        let block = header.place.block;
        let found = rows.blooms.get(&block).unwrap_or(&Bloom::ZERO);
        if !bloom.contains(found) {
            return Err(Error::Contradiction {
                block,
                what: "the bloom filter of the logs".to_owned(),
                one: describe(files, header.place.at),
                other: "the table of logs".to_owned(),
            });
        }
        gaps.blooms += u64::from(**bloom != *found);
    }
    Ok(gaps)
}

/// The rows found for the transactions of one block.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Transactions with a row of their own, or with their outermost call.
    whole: u64,
    /// Transactions with call frames.
    traced: u64,
    /// Transactions with a value and an unknown outcome.
    unknown: u64,
    /// Call frames that others count or are in.
    frames: u64,
}

impl Seen {
    pub(crate) fn add(&mut self, own: Option<&Transaction>, is_known: bool, frames: &Frames<'_>) {
        let has_value = own.is_some_and(|own| !own.value.is_zero());
        self.whole += u64::from(own.is_some() || frames.root().is_some());
        self.traced += u64::from(!frames.is_empty());
        self.unknown += u64::from(has_value && !is_known);
        self.frames += frames.missing();
    }

    /// Adds what is missing of a block. `next` is the index after its last transaction with rows.
    pub(crate) fn finish(
        &self,
        block: &Block<'_>,
        next: u32,
        tables: Tables,
        filter: &TransferFilter,
        gaps: &mut Gaps,
    ) {
        let header = block.headers.first();
        let count = header.and_then(|header| header.transactions);
        let count = u64::from(count.unwrap_or(next));
        if filter.matches_native(Kind::Value) && tables.natives {
            gaps.transactions += count.saturating_sub(self.whole);
            gaps.outcomes += self.unknown;
        }
        if filter.needs_traces() && tables.traces {
            gaps.untraced += count.saturating_sub(self.traced);
            gaps.frames += self.frames;
        }
    }
}
