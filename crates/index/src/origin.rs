//! The source that an index is built from and verified against.

use crate::error::{Error, Result};
use txgraph_reader::{BlockReader, NodeSource, Stretch};
use txgraph_transfers::{
    BlockRange, BlockRanges, InternalReader, InternalSource, InternalTransfers, ScanRequest,
    SourceError, Transfer, TransferSource,
};

/// The maximum number of blocks that are replayed at a time.
const REPLAYED_MAX: u64 = 1024;

/// A node and, for an index with movements inside of transactions, the source of these.
#[derive(Clone, Copy)]
pub struct Origin<'a> {
    /// The source of blocks.
    pub node: &'a NodeSource,
    /// The source of movements that left no log.
    pub internal: Option<&'a dyn InternalSource>,
}

impl<'a> From<&'a NodeSource> for Origin<'a> {
    fn from(node: &'a NodeSource) -> Self {
        Self {
            node,
            internal: None,
        }
    }
}

impl<'a> Origin<'a> {
    /// Checks that movements inside of transactions can be found if an index has them.
    pub(crate) fn check_internal(&self, internal: bool) -> Result<()> {
        match (internal, self.internal) {
            (true, None) => Err(Error::Options(
                "the index has internal transfers, which only a replay finds".to_owned(),
            )),
            _ => Ok(()),
        }
    }

    /// Prepares to read these blocks, with internal movements if `internal`.
    pub(crate) fn prepare(
        &self,
        blocks: &BlockRanges,
        internal: bool,
    ) -> Result<PreparedOrigin<'a>> {
        let source = self.internal.filter(|_| internal && !blocks.is_empty());
        let internal = source.map(|source| source.reader(blocks)).transpose()?;
        Ok(PreparedOrigin {
            node: self.node,
            internal,
        })
    }

    /// Prepares to read those blocks of `request` that are available. Returns the others, too.
    pub(crate) fn prepare_available(
        &self,
        request: &ScanRequest,
        internal: bool,
    ) -> Result<(PreparedOrigin<'a>, BlockRanges)> {
        let mut gone = match self.node.check_available(request) {
            Ok(()) => BlockRanges::default(),
            Err(error) => missing(error)?,
        };
        let prepared = match self.prepare(&request.blocks.subtract(&gone), internal) {
            // The receipts are available, but not the states to replay the blocks.
            Err(Error::Source(error)) => {
                let stateless = missing(error)?;
                gone = gone.iter().chain(stateless.iter()).collect();
                self.prepare(&request.blocks.subtract(&gone), internal)?
            }
            prepared => prepared?,
        };
        Ok((prepared, gone))
    }
}

/// Returns the blocks that are missing according to an error.
fn missing(error: SourceError) -> Result<BlockRanges> {
    match error {
        SourceError::Unavailable { missing, .. } => {
            Ok(missing.iter().map(|gap| gap.blocks).collect())
        }
        error => Err(error.into()),
    }
}

/// Blocks that are ready to be read. Shared between threads.
pub(crate) struct PreparedOrigin<'a> {
    node: &'a NodeSource,
    internal: Option<Box<dyn InternalReader + 'a>>,
}

impl PreparedOrigin<'_> {
    /// Returns a reader for one thread.
    pub(crate) fn reader<'a>(&'a self, request: &'a ScanRequest) -> OriginReader<'a> {
        OriginReader {
            logs: self.node.block_reader(request),
            internal: self.internal.as_deref(),
        }
    }
}

/// Reads blocks sequentially on the caller's thread.
pub(crate) struct OriginReader<'a> {
    logs: BlockReader<'a>,
    internal: Option<&'a dyn InternalReader>,
}

impl OriginReader<'_> {
    /// Reads like [`BlockReader::read`], and merges internal movements into the transfers.
    /// Returns `None` if the blocks were replaced between the two.
    pub(crate) fn read(&mut self, mut blocks: BlockRange) -> Result<Option<Stretch>, SourceError> {
        let Some(internal) = self.internal else {
            return self.logs.read(blocks).map(Some);
        };
        blocks.last = blocks
            .last
            .min(blocks.first.saturating_add(REPLAYED_MAX - 1));
        let mut stretch = self.logs.read(blocks)?;
        let InternalTransfers {
            mut transfers,
            last_block_hash,
        } = internal.read(stretch.blocks)?;
        if last_block_hash.is_some_and(|hash| hash != stretch.hash) {
            return Ok(None);
        }
        for account in &mut stretch.accounts {
            let of_block = transfers.partition_point(|it| it.block_number <= account.number)
                - transfers.partition_point(|it| it.block_number < account.number);
            account.counts.transfers += of_block as u64;
        }
        stretch.transfers.append(&mut transfers);
        // Both runs are sorted, so this sort merges them in linear time.
        stretch.transfers.sort_by_key(Transfer::position);
        Ok(Some(stretch))
    }
}
