//! The blocks that a replay executes.

use crate::{ChainRules, Result, StoredBlock};
use txgraph_nodedb::{BlockRange, Header, NodeDb, Scratch};

/// Blocks to replay. Shared between threads.
pub trait BlockSource: Sync {
    /// Checks that the blocks belong to the chain of these rules.
    ///
    /// # Errors
    ///
    /// [`Error::WrongChain`](crate::Error::WrongChain), or the source cannot be read.
    fn check_chain(&self, rules: &ChainRules) -> Result<()>;

    /// Reads the header of a block.
    ///
    /// # Errors
    ///
    /// There is no such block, or it cannot be read.
    fn header(&self, number: u64) -> Result<Header>;

    /// Reads consecutive blocks of one branch and appends them to `read`. After an error, `read`
    /// contains the blocks before the one that failed. `verify` proves transactions and senders.
    ///
    /// # Errors
    ///
    /// As for [`header`](Self::header), and if a block is damaged.
    fn read(
        &self,
        blocks: BlockRange,
        scratch: &mut Scratch,
        verify: bool,
        read: &mut Vec<StoredBlock>,
    ) -> Result<()>;
}

/// Reads under one short-lived snapshot.
impl BlockSource for NodeDb {
    fn check_chain(&self, rules: &ChainRules) -> Result<()> {
        rules.check_genesis(self, self.chain()?.genesis_hash)
    }

    fn header(&self, number: u64) -> Result<Header> {
        Ok(self.snapshot()?.header(number)?)
    }

    fn read(
        &self,
        blocks: BlockRange,
        scratch: &mut Scratch,
        verify: bool,
        read: &mut Vec<StoredBlock>,
    ) -> Result<()> {
        StoredBlock::read(&self.snapshot()?, blocks, scratch, verify, read)
    }
}
