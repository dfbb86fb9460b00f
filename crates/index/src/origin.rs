//! What an index is made from, and proved against.

use crate::error::{Error, Result};
use txgraph_reader::{BlockReader, NodeSource, Stretch};
use txgraph_transfers::{
    BlockRange, BlockRanges, InternalReader, InternalSource, InternalTransfers, ScanRequest,
    SourceError, Transfer, TransferSource,
};

/// Blocks of a stretch whose internal movements are found at a time.
const REPLAYED_MAX: u64 = 1024;

/// A node and, for an index that is to hold them, what finds movements inside of its
/// transactions.
#[derive(Clone, Copy)]
pub struct Origin<'a> {
    /// Tells what logs say.
    pub node: &'a NodeSource,
    /// Tells what they do not.
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
    /// That it can tell what an index holds or is to hold.
    pub(crate) fn check_tells(&self, internal: bool) -> Result<()> {
        match (internal, self.internal) {
            (true, None) => Err(Error::Options(
                "the index holds internal transfers, which only a replay tells".to_owned(),
            )),
            _ => Ok(()),
        }
    }

    /// Prepares to read these blocks, with internal movements if an index holds them.
    pub(crate) fn over(&self, blocks: &BlockRanges, internal: bool) -> Result<Over<'a>> {
        let source = self.internal.filter(|_| internal && !blocks.is_empty());
        let internal = source.map(|source| source.reader(blocks)).transpose()?;
        Ok(Over {
            node: self.node,
            internal,
        })
    }

    /// The same for those blocks of `request` that can still be read, and which cannot.
    pub(crate) fn over_what_is_there(
        &self,
        request: &ScanRequest,
        internal: bool,
    ) -> Result<(Over<'a>, BlockRanges)> {
        let mut gone = match self.node.check_available(request) {
            Ok(()) => BlockRanges::default(),
            Err(error) => missing(error)?,
        };
        let over = match self.over(&request.blocks.subtract(&gone), internal) {
            // Receipts are there, and the states to replay them on are not.
            Err(Error::Source(error)) => {
                let stateless = missing(error)?;
                gone = gone.iter().chain(stateless.iter()).collect();
                self.over(&request.blocks.subtract(&gone), internal)?
            }
            over => over?,
        };
        Ok((over, gone))
    }
}

/// The blocks that an error says are missing.
fn missing(error: SourceError) -> Result<BlockRanges> {
    match error {
        SourceError::Unavailable { missing, .. } => {
            Ok(missing.iter().map(|gap| gap.blocks).collect())
        }
        error => Err(error.into()),
    }
}

/// Blocks that were prepared for. Shared between threads.
pub(crate) struct Over<'a> {
    node: &'a NodeSource,
    internal: Option<Box<dyn InternalReader + 'a>>,
}

impl Over<'_> {
    /// A reader for one thread.
    pub(crate) fn reader<'a>(&'a self, request: &'a ScanRequest) -> OriginReader<'a> {
        OriginReader {
            logs: self.node.block_reader(request),
            internal: self.internal.as_deref(),
        }
    }
}

/// Reads blocks one after the other on the caller's thread.
pub(crate) struct OriginReader<'a> {
    logs: BlockReader<'a>,
    internal: Option<&'a dyn InternalReader>,
}

impl OriginReader<'_> {
    /// As [`BlockReader::read`], with internal movements between what logs tell.
    /// `None` if the blocks were replaced between one and the other.
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
        // Two runs in order, which this sort merges.
        stretch.transfers.sort_by_key(Transfer::position);
        Ok(Some(stretch))
    }
}
