//! The sources that an index is built from.

use crate::{
    BlockRange, BlockRanges, DecodeCounts, Participation, ScanRequest, SourceError, Transfer,
    TransferSource,
};
use alloy_primitives::{Address, B256};

/// A source that an index can be built from: it also reads blocks one after the other, with
/// counts for each, and knows the hash of every block.
pub trait Indexable: TransferSource + Sync {
    /// Returns the highest block that can be read now.
    fn tip(&self) -> Result<u64, SourceError>;

    /// Returns a reader for one thread. It uses the filter, the wrapped coins and
    /// `with_hashes` of `request`, but not its blocks. With `participations`, it also reads who
    /// sends, receives and is created by each transaction.
    fn block_reader<'a>(
        &'a self,
        request: &'a ScanRequest,
        participations: bool,
    ) -> Box<dyn BlockReader + 'a>;
}

/// Reads blocks sequentially on the caller's thread.
pub trait BlockReader: Send {
    /// Reads the first of `blocks`, as many as fit into one [`BlockRun`]. All must be
    /// available. The caller checks that the run follows the one before, and that it is
    /// still canonical in the end.
    fn read(&mut self, blocks: BlockRange) -> Result<BlockRun, SourceError>;
}

/// Consecutive blocks that were read together. Each block has the hash of the one before as
/// its parent hash.
#[derive(Debug)]
pub struct BlockRun {
    /// The blocks.
    pub blocks: BlockRange,
    /// Parent hash of the first block.
    pub parent_hash: B256,
    /// Hash of the last block.
    pub last_hash: B256,
    /// One summary for each block, in order.
    pub summaries: Vec<BlockSummary>,
    /// The hash of each block, in order.
    pub hashes: Vec<B256>,
    /// Anomalous logs, by block and contract, ascending.
    pub anomalies: Vec<AnomalousLogs>,
    /// The wanted transfers, in total order.
    pub transfers: Vec<Transfer>,
    /// Who takes part in the transactions, settled; none unless they were asked for.
    pub participations: Vec<Participation>,
}

/// The time of one block, and what the decoder counted in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSummary {
    /// Number of the block.
    pub number: u64,
    /// Its time in unix seconds.
    pub timestamp: u64,
    /// The counts of this block.
    pub counts: DecodeCounts,
}

/// The anomalous logs of one contract in one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnomalousLogs {
    /// Number of the block.
    pub block: u64,
    /// The contract.
    pub emitter: Address,
    /// The numbers of anomalies; other counts are zero.
    pub counts: DecodeCounts,
}

/// Movements of native coin inside of transactions ([`Kind::Internal`], and [`Kind::Burn`]
/// of native coin) that left no log, found by executing blocks again. Blocks of Amsterdam have logs
/// of them (EIP-7708), which a [`BlockReader`] decodes; here they have no transfers.
///
/// [`Kind::Internal`]: crate::Kind::Internal
/// [`Kind::Burn`]: crate::Kind::Burn
pub trait InternalSource: Sync {
    /// Prepares to read these blocks, which may take as long as reading a few of them. With
    /// `participations`, all of them are executed, and who takes part in calls is read, too.
    ///
    /// # Errors
    ///
    /// [`SourceError::Unavailable`] if some of them have to be executed and cannot be, because
    /// their state is pruned or not written yet.
    fn reader(
        &self,
        blocks: &BlockRanges,
        participations: bool,
    ) -> Result<Box<dyn InternalReader + '_>, SourceError>;
}

/// Reads internal movements of prepared blocks. Several threads may share a reader.
pub trait InternalReader: Sync {
    /// Returns the movements in consecutive blocks.
    fn read(&self, blocks: BlockRange) -> Result<InternalTransfers, SourceError>;
}

/// The movements inside of the transactions of consecutive blocks.
#[derive(Clone, Debug, Default)]
pub struct InternalTransfers {
    /// In total order, with times and transaction hashes.
    pub transfers: Vec<Transfer>,
    /// Who takes part in the transactions and in the calls inside of them, settled; none unless they
    /// were asked for.
    pub participations: Vec<Participation>,
    /// Number and hash of the last block that was executed, to check that it is the block of the
    /// caller. `None` if there was none: block 0 has no transactions.
    pub last_block: Option<(u64, B256)>,
}

/// The source of blocks that all have logs of their movements: nothing is executed.
#[derive(Clone, Copy, Debug)]
pub struct AllLogged;

impl InternalSource for AllLogged {
    fn reader(
        &self,
        _: &BlockRanges,
        _: bool,
    ) -> Result<Box<dyn InternalReader + '_>, SourceError> {
        Ok(Box::new(Self))
    }
}

impl InternalReader for AllLogged {
    fn read(&self, _: BlockRange) -> Result<InternalTransfers, SourceError> {
        Ok(InternalTransfers::default())
    }
}
