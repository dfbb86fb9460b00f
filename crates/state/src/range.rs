//! The state after every block of a range, for many threads.

use crate::{
    BlockChanges, Error, History, NewestState, Result, StateAt, StateDb,
    at::Past,
    overlay::{Collector, Overlay, Tip},
};
use alloy_primitives::{Address, B256, U256};
use std::{
    ops::ControlFlow,
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::{Duration, Instant},
};
use txgraph_evm::Account;
use txgraph_nodedb::{BlockRange, Snapshot};
use txgraph_work::{Ordered, Retry, Threads, ordered};

/// A walk renews its snapshot after this time: a long one delays the node.
const SNAPSHOT_TIME_MAX: Duration = Duration::from_secs(5);

/// Blocks whose changes are read at once.
const BLOCKS_AT_ONCE: u64 = 16;

/// Threads share a walk in parts of at least this many blocks. Each keeps the first change of a key in its
/// part, so small parts would keep nearly all changes.
const PART_BLOCKS_MIN: u64 = 1024;

/// The least memory of a part, in bytes. With less, changes that fit into memory together would be
/// written to files.
const PART_BYTES_MIN: usize = 128 << 20;

/// The state after every block of a range. Shared between threads.
#[derive(Debug)]
pub struct StateRange<'db> {
    db: &'db StateDb,
    blocks: BlockRange,
    /// `None`: the index is used.
    walked: Option<Walked>,
    /// Whether values that a node may have stored wrongly are executed again.
    checked: bool,
}

#[derive(Debug)]
struct Walked {
    overlay: RwLock<Arc<Overlay>>,
    /// Locked by the thread that extends the overlay.
    extending: Mutex<()>,
}

impl StateDb {
    /// Prepares the state after every block of a range. Where the index can be used this
    /// does nothing; otherwise it reads the change sets from the range up to the tip. To
    /// replay blocks `a..=b`, prepare `a - 1..=b - 1`.
    pub fn range(&self, blocks: BlockRange) -> Result<StateRange<'_>> {
        StateRange::prepare(self, blocks)
    }
}

impl<'db> StateRange<'db> {
    fn prepare(db: &'db StateDb, blocks: BlockRange) -> Result<Self> {
        let snapshot = db.node().snapshot()?;
        let available = db.available_in(&snapshot)?;
        available.check(db.path(), blocks.first)?;
        available.check(db.path(), blocks.last.max(blocks.first))?;
        let by_index =
            blocks.first >= available.indexed_from && db.options.history == History::Index;
        drop(snapshot);
        Ok(Self {
            db,
            blocks,
            walked: if by_index {
                None
            } else {
                Some(Walked {
                    overlay: RwLock::new(Arc::new(walk(db, blocks)?)),
                    extending: Mutex::default(),
                })
            },
            checked: false,
        })
    }

    /// Executes blocks again where the node may have stored a wrong value of a slot. For queries
    /// about the state, not for the execution of blocks. Without the index, such a value is an error.
    #[must_use]
    pub fn checked(self) -> Self {
        Self {
            checked: true,
            ..self
        }
    }

    /// The range.
    pub const fn blocks(&self) -> BlockRange {
        self.blocks
    }

    /// Returns whether the change sets were read in advance. Otherwise the index is used.
    pub const fn is_walked(&self) -> bool {
        self.walked.is_some()
    }

    /// Returns the state as of the end of a block of the range, on a fresh snapshot.
    pub fn at(&self, block: u64) -> Result<StateAt<'db>> {
        self.state(block, None)
    }

    /// The same, given what the blocks changed that are stored without their state, up to `block`.
    /// For the execution of these blocks.
    pub fn at_with(&self, block: u64, newest: Arc<NewestState>) -> Result<StateAt<'db>> {
        self.state(block, Some(newest))
    }

    fn state(&self, block: u64, newest: Option<Arc<NewestState>>) -> Result<StateAt<'db>> {
        let db = self.db;
        if !self.blocks.contains(block) {
            let prepared = self.blocks;
            return Err(Error::Failed(format!(
                "block {block} is outside of the prepared range {prepared}"
            )));
        }
        Retry::REREAD.run("reading a state", Error::is_stale, || {
            let newest = match &newest {
                None => db.newest_for(block)?,
                newest => newest.clone(),
            };
            let snapshot = db.node().snapshot()?;
            let Some(walked) = &self.walked else {
                let mut state = db.at_with(snapshot, block, newest)?;
                state.checked = self.checked;
                return Ok(state);
            };
            // A sync may have started in the meantime. Change sets that were pruned in the
            // meantime are still in the overlay.
            db.available_in(&snapshot)?.blocks_in(db.path())?;
            let overlay = walked.overlay_for(db, self.blocks, &snapshot)?;
            let mut state = StateAt::new(db, snapshot, block, Past::Overlay(overlay), newest)?;
            state.checked = self.checked;
            Ok(state)
        })
    }

    /// Visits the blocks after the first of the range that changed an account, ascending, with the
    /// account before each, until `visit` breaks.
    pub fn account_changes(
        &self,
        address: Address,
        visit: &mut dyn FnMut(u64, Option<Account>) -> ControlFlow<()>,
    ) -> Result<()> {
        let first = self.at(self.blocks.first)?;
        first.account_changes(address, self.blocks.last, visit)
    }

    /// Like [`Self::account_changes`], for a slot, with the values that the node stored, also where
    /// [checked](Self::checked) states have others.
    pub fn storage_changes(
        &self,
        address: Address,
        slot: B256,
        visit: &mut dyn FnMut(u64, U256) -> ControlFlow<()>,
    ) -> Result<()> {
        let first = self.at(self.blocks.first)?;
        first.storage_changes(address, slot, self.blocks.last, visit)
    }

    /// [`StateDb::changes_of`].
    pub fn changes_of(&self, block: u64, hash: B256) -> Result<BlockChanges> {
        self.db.changes_of(block, hash)
    }
}

impl Walked {
    fn overlay(&self) -> Arc<Overlay> {
        Arc::clone(&self.overlay.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the overlay, extended to the tip of a snapshot.
    fn overlay_for(
        &self,
        db: &StateDb,
        range: BlockRange,
        snapshot: &Snapshot<'_>,
    ) -> Result<Arc<Overlay>> {
        let tip = Tip::of(snapshot)?;
        let known = self.overlay();
        if known.knows(tip) {
            return Ok(known);
        }
        let extending = self
            .extending
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let known = self.overlay();
        if known.knows(tip) {
            return Ok(known);
        }
        // The extension may belong to an abandoned branch.
        let known = if known.last_tip().is_in(snapshot)? {
            Overlay::clone(&known)
        } else {
            known.base()
        };
        if !known.first_tip().is_in(snapshot)? {
            return Err(Error::Reorganized {
                block: known.first_tip().block,
            });
        }
        let blocks = BlockRange::from_to(known.last_tip().block + 1, tip.block);
        let mut collector = Collector::new(blocks, range.last, &db.options);
        for some in blocks.chunks(BLOCKS_AT_ONCE) {
            collector.add(snapshot, some)?;
        }
        let extended = Arc::new(known.extended(tip, collector.finish()?));
        if extended.extension_bytes() > db.options.overlay_bytes_max {
            return Err(Error::TooLarge {
                blocks,
                bytes_max: db.options.overlay_bytes_max as u64,
                place: "in memory, since the range was prepared",
            });
        }
        *self.overlay.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&extended);
        drop(extending);
        Ok(extended)
    }
}

/// Reads the change sets from the range up to the tip.
fn walk(db: &StateDb, range: BlockRange) -> Result<Overlay> {
    Retry::REREAD.run("walking the change sets", Error::is_stale, || {
        try_walk(db, range, PART_BLOCKS_MIN)
    })
}

fn try_walk(db: &StateDb, range: BlockRange, part_min: u64) -> Result<Overlay> {
    let begun = Instant::now();
    let snapshot = db.node().snapshot()?;
    let tip = Tip::of(&snapshot)?;
    // The node may have removed blocks since the range was checked. No extension of the overlay
    // may have blocks of the range: layers above it are merged.
    db.available_in(&snapshot)?.check(db.path(), range.last)?;
    drop(snapshot);
    // Only changes above a block are used, so the changes of the first block are not needed.
    let blocks = BlockRange::from_to(range.first + 1, tip.block);
    let parts = usize::try_from(blocks.blocks() / part_min).unwrap_or(usize::MAX);
    let parts = parts
        .min(db.options.overlay_bytes_max / PART_BYTES_MIN)
        .clamp(1, db.threads.count());
    let alone = Threads::one();
    let threads = if parts == 1 { &alone } else { &db.threads };
    let collectors = Collector::for_parts(blocks, range.last, &db.options, parts);
    let mut collected = Vec::new();
    let end = ordered(
        threads,
        parts,
        &db.cancel,
        collectors,
        || (),
        |(), (part, collector)| match collect(db, tip, part, collector) {
            Ok(collector) => ControlFlow::Continue(Ok(collector)),
            Err(error) => ControlFlow::Break(Err(error)),
        },
        |part| match part {
            Ok(part) => {
                collected.push(part);
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(error),
        },
    );
    match end.map_err(|error| Error::Failed(error.to_string()))? {
        Ordered::Done => {}
        Ordered::Broken(error) => return Err(error),
        Ordered::Canceled => return Err(Error::Interrupted),
    }
    let mut collected = collected.into_iter();
    let none = || Collector::new(blocks, range.last, &db.options);
    let mut whole = collected.next().unwrap_or_else(none);
    for later in collected {
        whole.append(later)?;
    }
    let layer = whole.finish()?;
    tracing::debug!(%blocks, parts, elapsed = ?begun.elapsed(), "read the change sets");
    Ok(Overlay::new(tip, layer))
}

/// Reads the change sets of consecutive blocks up to the tip.
fn collect(
    db: &StateDb,
    tip: Tip,
    blocks: BlockRange,
    mut collector: Collector,
) -> Result<Collector> {
    let mut snapshot = snapshot_at(db, tip)?;
    let mut taken = Instant::now();
    for some in blocks.chunks(BLOCKS_AT_ONCE) {
        if db.cancel.is_canceled() {
            return Err(Error::Interrupted);
        }
        if taken.elapsed() > SNAPSHOT_TIME_MAX {
            drop(snapshot);
            snapshot = snapshot_at(db, tip)?;
            taken = Instant::now();
        }
        collector.add(&snapshot, some)?;
    }
    Ok(collector)
}

/// Returns a new snapshot of the chain that a tip belongs to.
fn snapshot_at(db: &StateDb, tip: Tip) -> Result<Snapshot<'_>> {
    let snapshot = db.node().snapshot()?;
    if !tip.is_in(&snapshot)? {
        return Err(Error::Reorganized { block: tip.block });
    }
    Ok(snapshot)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StateOptions;
    use tempfile::TempDir;
    use txgraph_chaingen::{Appender, Config, Layout};
    use txgraph_nodedb::DataDir;
    use txgraph_work::CancelFlag;

    /// The state of a node with this many blocks after the genesis.
    fn node_of(blocks: u64) -> (TempDir, StateDb) {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("node");
        let mut node = Appender::create(&folder, Config::small(1, Layout::V2)).unwrap();
        node.append(blocks).unwrap();
        drop(node);
        let options = StateOptions {
            history: History::Walk,
            ..StateOptions::default()
        };
        let db = StateDb::open(&DataDir::new(&folder), options).unwrap();
        (dir, db)
    }

    /// If the node removes blocks between the check of a range and the walk, the tip would be in
    /// the range, and merged layers would lack changes of its blocks.
    #[test]
    fn a_walk_refuses_a_range_above_the_tip() {
        let (_dir, db) = node_of(7);
        let blocks = |last| BlockRange { first: 3, last };
        let cancel = CancelFlag::new();
        cancel.cancel();
        let stopped = StateDb::new(db.node().clone(), db.options.clone()).with_cancel(cancel);
        let error = walk(&stopped, blocks(7)).unwrap_err();
        assert!(matches!(error, Error::Interrupted), "{error}");
        let error = walk(&db, blocks(8)).unwrap_err();
        assert!(error.is_missing(), "{error}");
        assert_eq!(walk(&db, blocks(7)).unwrap().first_tip().block, 7);
    }

    #[test]
    fn threads_find_the_same_changes_as_one() {
        let (_dir, db) = node_of(60);
        let threads = Threads::new(3).unwrap();
        let several = StateDb::new(db.node().clone(), db.options.clone()).with_threads(threads);
        for (first, last) in [(0, 0), (0, 30), (20, 45), (59, 59), (60, 60)] {
            let range = BlockRange { first, last };
            let expected = format!("{:?}", try_walk(&db, range, 1).unwrap());
            assert_eq!(
                format!("{:?}", try_walk(&several, range, 1).unwrap()),
                expected
            );
        }
    }
}
