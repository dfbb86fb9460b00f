//! The state of a data directory, block by block.

use crate::{
    Available, BlockChanges, Error, Result, StateAt, StateOptions, StateRange, at::Past,
    code_cache::CodeCache,
};
use alloy_primitives::B256;
use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};
use txgraph_nodedb::{BlockRange, DataDir, NodeDb, Scratch, Snapshot};

/// The state of a data directory, block by block. Shared between threads.
#[derive(Debug)]
pub struct StateDb {
    node: Arc<NodeDb>,
    pub(crate) options: StateOptions,
    pub(crate) codes: CodeCache,
    /// What the newest snapshot told, by its id: asked with every block.
    available: Mutex<Option<(u64, Arc<Available>)>>,
}

impl StateDb {
    /// Opens a data directory. All users of a directory in a process share its
    /// environment.
    pub fn open(dir: &DataDir, options: StateOptions) -> Result<Self> {
        Ok(Self::new(Arc::new(NodeDb::open(dir)?), options))
    }

    /// The state of a directory that is open.
    pub fn new(node: Arc<NodeDb>, options: StateOptions) -> Self {
        Self {
            codes: CodeCache::new(options.code_cache_bytes_max),
            node,
            options,
            available: Mutex::default(),
        }
    }

    /// The data directory.
    pub const fn node(&self) -> &Arc<NodeDb> {
        &self.node
    }

    /// After which blocks state can be told, and why not after others.
    pub fn available(&self) -> Result<Available> {
        let available = self.available_in(&self.node.snapshot()?)?;
        Ok(Available::clone(&available))
    }

    /// The state as of the end of a block, on a fresh snapshot. Without a usable index
    /// only that of the tip; see [`StateDb::range`].
    pub fn at(&self, block: u64) -> Result<StateAt<'_>> {
        let snapshot = self.node.snapshot()?;
        let past = self.look_up(&snapshot, block)?;
        Ok(StateAt::new(self, snapshot, block, past))
    }

    /// How the state after a block is found without an overlay.
    pub(crate) fn look_up(&self, snapshot: &Snapshot<'_>, block: u64) -> Result<Past> {
        let available = self.available_in(snapshot)?;
        available.check(self.path(), block)?;
        if block == snapshot.tip() {
            return Ok(Past::Current);
        }
        match &available.index_obstacle {
            Some(reason) if block < available.indexed_from => Err(Error::NoIndex {
                path: self.path().to_path_buf(),
                block,
                reason: reason.clone(),
            }),
            _ => Ok(Past::Index),
        }
    }

    /// Prepares the state after every block of a range: nothing to do where the index
    /// can be used, else one walk through the change sets from the tip down to the
    /// range. To replay blocks `a..=b`, prepare `a - 1..=b - 1`.
    pub fn range(&self, blocks: BlockRange) -> Result<StateRange<'_>> {
        StateRange::prepare(self, blocks)
    }

    /// What a block changed, with the values from before it.
    pub fn changes(&self, block: u64) -> Result<BlockChanges> {
        BlockChanges::of(block, &self.node.snapshot()?, &mut Scratch::default())
    }

    /// The same, of the block with this hash and no other.
    ///
    /// # Errors
    ///
    /// [`Error::Reorganised`] when the block is no longer on the chain.
    pub fn changes_of(&self, block: u64, hash: B256) -> Result<BlockChanges> {
        let snapshot = self.node.snapshot()?;
        if block > snapshot.tip() || snapshot.block_hash(block)? != hash {
            return Err(Error::Reorganised { block });
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
                let available = Arc::new(Available::of(snapshot)?);
                *known = Some((snapshot.id(), Arc::clone(&available)));
                Ok(available)
            }
        }
    }

    /// The data directory, for messages.
    pub(crate) fn path(&self) -> &Path {
        &self.node.dir().root
    }
}
