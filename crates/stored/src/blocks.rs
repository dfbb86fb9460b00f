//! The trait that each kind of file implements.

use alloy_primitives::B256;
use std::fmt;
use txgraph_transfers::{
    BlockRange, BlockRanges, ChainInfo, DecodeCounts, ScanRequest, SourceError, SourceFailure,
    Transfer,
};

/// Blocks in files that do not change while they are read.
pub trait StoredBlocks: fmt::Debug + Sync {
    /// Buffers that a thread keeps between chunks.
    type Scratch: Default + Send;

    /// The chain of the files.
    fn chain(&self) -> &ChainInfo;

    /// The blocks that are completely in the files.
    fn available(&self) -> BlockRanges;

    /// The reason why a block is not available, e.g. "not in the files".
    fn missing_reason(&self) -> &str {
        "not in the files"
    }

    /// Refuses requests that the files cannot answer at all. The default refuses requests for
    /// movements inside of transactions.
    ///
    /// # Errors
    ///
    /// [`SourceError::Unsupported`].
    fn check(&self, request: &ScanRequest) -> Result<(), SourceError> {
        if request.filter.internal {
            return Err(SourceError::Unsupported {
                what: "a request for internal transfers",
                reason: "the files do not contain them",
            });
        }
        Ok(())
    }

    /// Returns the restrictions of a result besides missing blocks, see
    /// [`ScanReport::caveats`](txgraph_transfers::ScanReport). The default is empty.
    fn caveats(&self, request: &ScanRequest) -> Vec<String> {
        let _ = request;
        Vec::new()
    }

    /// How the files were understood, one line each, see
    /// [`ScanReport::notes`](txgraph_transfers::ScanReport). The default is empty.
    fn notes(&self) -> &[String] {
        &[]
    }

    /// Whether blocks may be replaced while they are read. Then two adjacent chunks that do not
    /// link are a reorganization. Otherwise they are an error.
    fn may_change(&self) -> bool {
        false
    }

    /// Divides available blocks into units of parallel work: ascending, disjoint, together
    /// exactly `blocks`. No chunk extends over a gap. The transfers of a few chunks per thread
    /// are in memory at a time.
    fn chunks(
        &self,
        blocks: &BlockRanges,
        request: &ScanRequest,
    ) -> Result<Vec<BlockRange>, SourceFailure>;

    /// Reads the wanted transfers of one chunk, in total order.
    fn read(
        &self,
        scratch: &mut Self::Scratch,
        chunk: BlockRange,
        request: &ScanRequest,
    ) -> Result<StoredChunk, SourceFailure>;

    /// Fills in hashes and times, see
    /// [`TransferSource::fill_hashes`](txgraph_transfers::TransferSource::fill_hashes). The
    /// default leaves the transfers as they are, for files whose rows have everything that is
    /// known.
    fn fill_hashes(&self, transfers: &mut [Transfer]) -> Result<(), SourceFailure> {
        let _ = transfers;
        Ok(())
    }
}

/// A chunk that was read.
#[derive(Debug, Default)]
pub struct StoredChunk {
    /// The wanted transfers, in total order.
    pub transfers: Vec<Transfer>,
    /// The counts of the decoder.
    pub counts: DecodeCounts,
    /// Parent hash of the first block, if the files have it.
    pub parent_hash: Option<B256>,
    /// Hash of the last block, if the files have it.
    pub last_hash: Option<B256>,
}
