//! The rows of a chunk, converted from cells.

mod convert;
mod stated;

use self::{convert::Cells, stated::Stated};
use crate::{
    Error, Role,
    file::ImportedFile,
    format::{Piece, Row},
};
use alloy_primitives::{Address, B256, Bloom, U256};
use std::{collections::BTreeMap, ops::Range};
use txgraph_stored::BloomHashes;
use txgraph_transfers::{
    BlockRange, BlockTime, FrameKind, Transfer, TransferFilter, WithdrawalView,
};

/// The file and the row that something comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct At {
    pub(crate) file: usize,
    pub(crate) row: u64,
}

/// The transaction fields of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tx {
    pub(crate) index: Option<u32>,
    pub(crate) hash: Option<B256>,
}

/// The fields of every row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) block: u64,
    pub(crate) tx: Tx,
    pub(crate) time: Option<BlockTime>,
    pub(crate) at: At,
}

/// A log, or a row that was decoded from one.
#[derive(Debug)]
pub(crate) struct Log {
    pub(crate) place: Place,
    pub(crate) index: u32,
    pub(crate) address: Address,
    topics: [[u8; 32]; 4],
    topic_count: usize,
    data: Range<usize>,
}

/// A call frame.
#[derive(Debug)]
pub(crate) struct Trace {
    pub(crate) place: Place,
    pub(crate) kind: FrameKind,
    pub(crate) from: Address,
    pub(crate) to: Address,
    pub(crate) value: U256,
    pub(crate) failed: bool,
    /// The position in the block, if the table has one.
    pub(crate) order: Option<u64>,
    /// The path below the outermost call, if the table has one.
    path: Option<Range<usize>>,
    /// The number of frames directly in this one, if the table has it.
    pub(crate) children: Option<u32>,
}

#[derive(Debug)]
pub(crate) struct Transaction {
    pub(crate) place: Place,
    pub(crate) from: Address,
    pub(crate) to: Address,
    pub(crate) value: U256,
    /// `None` if the table does not have it.
    pub(crate) success: Option<bool>,
    /// Whether it has neither a receiver nor the address of a created contract.
    pub(crate) lacks_receiver: bool,
}

/// The outcome of a transaction.
#[derive(Debug)]
pub(crate) struct Receipt {
    pub(crate) place: Place,
    /// `None` before Byzantium.
    pub(crate) success: Option<bool>,
    /// Whether it created a contract.
    pub(crate) creates: bool,
}

/// A block.
#[derive(Debug)]
pub(crate) struct Header {
    pub(crate) place: Place,
    pub(crate) hash: Option<B256>,
    pub(crate) parent_hash: Option<B256>,
    pub(crate) transactions: Option<u32>,
    pub(crate) withdrawals: Vec<WithdrawalView>,
    /// Whether it has a root of withdrawals, but no withdrawals.
    pub(crate) lacks_withdrawals: bool,
    /// The bloom filter of the logs.
    pub(crate) bloom: Option<Box<Bloom>>,
}

/// A transfer without a log that could be decoded.
#[derive(Debug)]
pub(crate) struct Direct {
    pub(crate) place: Place,
    /// Without position in the block.
    pub(crate) transfer: Transfer,
    /// The log that shows whether the row was exported twice, if its other position does not.
    pub(crate) log: Option<u32>,
    /// Whether `transfer.sub_index` comes from the file.
    pub(crate) has_sub: bool,
}

/// All rows of a chunk.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub(crate) logs: Vec<Log>,
    pub(crate) traces: Vec<Trace>,
    pub(crate) transactions: Vec<Transaction>,
    pub(crate) receipts: Vec<Receipt>,
    pub(crate) headers: Vec<Header>,
    pub(crate) direct: Vec<Direct>,
    /// The data of logs.
    data: Vec<u8>,
    /// The paths of traces.
    paths: Vec<u32>,
    /// The statements of rows about their blocks.
    pub(crate) stated: Stated,
    /// Blocks and indices of all logs, also of those that no filter wants.
    pub(crate) log_indices: Vec<(u64, u32)>,
    /// The bloom filters of all logs, if `hashes` is there.
    pub(crate) blooms: BTreeMap<u64, Bloom>,
    pub(crate) hashes: Option<BloomHashes>,
}

impl Trace {
    /// Whether its position shows when it was executed. A transfer of cryo has no path, and
    /// not every transaction has one.
    pub(crate) const fn is_ordered(&self) -> bool {
        self.order.is_some() && self.path.is_some()
    }
}

impl Log {
    pub(crate) fn topics(&self) -> &[[u8; 32]] {
        &self.topics[..self.topic_count]
    }
}

impl Rows {
    pub(crate) fn data(&self, log: &Log) -> &[u8] {
        &self.data[log.data.clone()]
    }

    pub(crate) fn path(&self, trace: &Trace) -> Option<&[u32]> {
        trace.path.clone().map(|path| &self.paths[path])
    }

    /// Removes all rows. Keeps the memory.
    pub(crate) fn clear(&mut self) {
        let Self {
            logs,
            traces,
            transactions,
            receipts,
            headers,
            direct,
            data,
            paths,
            stated,
            log_indices,
            blooms,
            hashes: _,
        } = self;
        logs.clear();
        traces.clear();
        transactions.clear();
        receipts.clear();
        headers.clear();
        direct.clear();
        data.clear();
        paths.clear();
        stated.clear();
        log_indices.clear();
        blooms.clear();
    }

    /// Converts a row of a piece, if its block is in `blocks`. Rows that the filter excludes may be
    /// left out.
    pub(crate) fn push(
        &mut self,
        file: &ImportedFile,
        number: usize,
        piece: &Piece,
        row: &Row<'_>,
        blocks: BlockRange,
        filter: &TransferFilter,
    ) -> Result<(), Error> {
        let block = file.checked(row, Role::Block, row.cell(Role::Block).u64())?;
        // A query for this block would pass over the piece.
        if !piece.blocks.contains(block) {
            return Err(piece.misplaced(&file.path, row.number, block));
        }
        if !blocks.contains(block) {
            return Ok(());
        }
        let at = At {
            file: number,
            row: row.number,
        };
        self.convert(file.table(), &Cells(row), block, at, filter)
            .map_err(|wrong| file.wrong(row.number, wrong))
    }
}
