//! An open data directory, as a source of state.

use crate::{
    Available, BlockChanges, Error, NewestState, Result, StateOptions, code_cache::CodeCache,
};
use alloy_primitives::B256;
use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};
use txgraph_nodedb::{BlockRange, DataDir, NodeDb, Scratch, Snapshot};
use txgraph_work::{CancelFlag, Threads};

/// The state of a data directory after its blocks. Can be shared between threads.
#[derive(Debug)]
pub struct StateDb {
    node: Arc<NodeDb>,
    pub(crate) options: StateOptions,
    pub(crate) codes: CodeCache,
    /// Executes blocks that are stored without their state.
    pub(crate) newest: Option<Arc<dyn NewestBlocks>>,
    pub(crate) cancel: CancelFlag,
    pub(crate) threads: Threads,
    /// Availability and the id of its snapshot: it is needed for every block.
    available: Mutex<Option<(u64, Arc<Available>)>>,
}

/// Executes blocks that a node has stored without their state.
pub trait NewestBlocks: std::fmt::Debug + Send + Sync {
    /// Returns what `blocks` changed: those after the stored state, up to the tip. `tip` is the
    /// hash of the last block. May keep the result for the next call.
    ///
    /// `states` has the state after every block before the next one to execute, if it is given the
    /// changes so far: [`StateRange::at_with`](crate::StateRange::at_with).
    ///
    /// # Errors
    ///
    /// [`Error::Newest`](crate::Error::Newest), also if the chain was reorganized in the meantime.
    fn state(&self, states: &StateDb, blocks: BlockRange, tip: B256) -> Result<Arc<NewestState>>;
}

impl StateDb {
    /// Opens a data directory. All users of a directory in one process share its MDBX
    /// environment.
    pub fn open(dir: &DataDir, options: StateOptions) -> Result<Self> {
        Ok(Self::new(Arc::new(NodeDb::open(dir)?), options))
    }

    /// Uses a directory that is already open.
    pub fn new(node: Arc<NodeDb>, options: StateOptions) -> Self {
        Self {
            codes: CodeCache::new(options.code_cache_bytes_max),
            node,
            options,
            newest: None,
            cancel: CancelFlag::new(),
            threads: Threads::one(),
            available: Mutex::default(),
        }
    }

    /// Makes states available after blocks that the node has stored without their state, by
    /// executing these blocks.
    #[must_use]
    pub fn with_newest(mut self, newest: Arc<dyn NewestBlocks>) -> Self {
        self.newest = Some(newest);
        self
    }

    /// Ends walks of change sets with [`Error::Interrupted`] when the flag is set.
    #[must_use]
    pub fn with_cancel(mut self, cancel: CancelFlag) -> Self {
        self.cancel = cancel;
        self
    }

    /// Walks change sets on these threads instead of the calling one.
    #[must_use]
    pub fn with_threads(mut self, threads: Threads) -> Self {
        self.threads = threads;
        self
    }

    /// Returns the open data directory.
    pub const fn node(&self) -> &Arc<NodeDb> {
        &self.node
    }

    /// Returns the blocks after which state is available, and why not after others.
    pub fn available(&self) -> Result<Available> {
        let available = self.available_in(&self.node.snapshot()?)?;
        Ok(Available::clone(&available))
    }

    /// Executes the newest blocks, if the state after `block` depends on it. No snapshot is held
    /// in the meantime.
    pub(crate) fn newest_for(&self, block: u64) -> Result<Option<Arc<NewestState>>> {
        let Some(newest) = &self.newest else {
            return Ok(None);
        };
        let snapshot = self.node.snapshot()?;
        let available = self.available_in(&snapshot)?;
        if block <= available.state_block {
            return Ok(None);
        }
        available.check(self.path(), block)?;
        let blocks = BlockRange::from_to(available.state_block + 1, snapshot.tip());
        let tip = snapshot.block_hash(blocks.last)?;
        drop(snapshot);
        newest.state(self, blocks, tip).map(Some)
    }

    /// Reads what a block changed, with the values before it.
    pub fn changes(&self, block: u64) -> Result<BlockChanges> {
        BlockChanges::of(block, &self.node.snapshot()?, &mut Scratch::default())
    }

    /// Like [`Self::changes`], but only for the block with this hash.
    ///
    /// # Errors
    ///
    /// [`Error::Reorganized`] if the block is no longer on the chain.
    pub fn changes_of(&self, block: u64, hash: B256) -> Result<BlockChanges> {
        let snapshot = self.node.snapshot()?;
        if block > snapshot.tip() || snapshot.block_hash(block)? != hash {
            return Err(Error::Reorganized { block });
        }
        BlockChanges::of(block, &snapshot, &mut Scratch::default())
    }

    pub(crate) fn available_in(&self, snapshot: &Snapshot<'_>) -> Result<Arc<Available>> {
        let mut known = self
            .available
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some((id, available)) if *id == snapshot.id() => Ok(Arc::clone(available)),
            _ => {
                let available = Arc::new(Available::of(snapshot, self.newest.is_some())?);
                *known = Some((snapshot.id(), Arc::clone(&available)));
                Ok(available)
            }
        }
    }

    /// Returns the path of the data directory, for messages.
    pub(crate) fn path(&self) -> &Path {
        &self.node.dir().root
    }
}
