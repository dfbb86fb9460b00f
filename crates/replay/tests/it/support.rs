//! Opens databases, and provides a history in memory.

use alloy_primitives::B256;
use std::{
    ops::ControlFlow,
    path::Path,
    sync::{Arc, Mutex, MutexGuard},
};
use txgraph_evm::{AccountChange, MemoryState};
use txgraph_nodedb::{BlockRange, DataDir, NodeDb};
use txgraph_replay::{
    BlockReplay, ChainRules, Genesis, NewestReplay, RangeReport, ReplayOptions, Replayer,
    StateError, StateHistory,
};
use txgraph_state::{BlockChanges, StateDb, StateOptions, StateRange};
use txgraph_testkit::fixtures::{self, Fixture, Unpacked};

pub(crate) fn database(path: &Path) -> NodeDb {
    NodeDb::open(&DataDir::new(path)).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

pub(crate) fn genesis(fixture: &Fixture) -> Genesis {
    Genesis::parse(&fixture.genesis.to_string()).unwrap_or_else(|e| panic!("{}: {e}", fixture.name))
}

/// The rules of a fixture's chain: from its genesis file, from the genesis file of another fixture
/// of the same chain, or known ones.
pub(crate) fn rules(fixture: &Fixture, db: &NodeDb) -> ChainRules {
    if fixture.name == "odd/import-v2" {
        let file = fixtures::root().unwrap().join("odd/import-genesis.json");
        return ChainRules::of_database(db, Some(&file)).unwrap();
    }
    if !fixture.genesis.is_null() {
        return genesis(fixture).rules;
    }
    match fixture.full_chain() {
        Some(full) => genesis(&full).rules,
        None => {
            ChainRules::of_database(db, None).unwrap_or_else(|e| panic!("{}: {e}", fixture.name))
        }
    }
}

/// An open database with its rules and states.
pub(crate) struct Opened {
    pub(crate) db: Arc<NodeDb>,
    pub(crate) rules: ChainRules,
    pub(crate) state: StateDb,
    /// All blocks whose parent state is available.
    pub(crate) blocks: BlockRange,
    /// Deleted when this is dropped.
    _directory: Unpacked,
}

/// Opens a copy of a fixture's database.
pub(crate) fn open(fixture: &Fixture) -> Opened {
    open_copy(fixture, fixture.unpack())
}

/// Opens a copy that may have been changed.
pub(crate) fn open_copy(fixture: &Fixture, directory: Unpacked) -> Opened {
    let db = Arc::new(database(directory.path()));
    let rules = rules(fixture, &db);
    let newest = Arc::new(NewestReplay::new(rules.clone()));
    let state = StateDb::new(Arc::clone(&db), StateOptions::default()).with_newest(newest);
    let after = state.available().unwrap().blocks.unwrap();
    Opened {
        rules,
        db,
        state,
        blocks: BlockRange::from_to(after.first + 1, after.last),
        _directory: directory,
    }
}

impl Opened {
    /// Opens a committed fixture, or a large one if it is present.
    pub(crate) fn fixture(name: &str) -> Option<Self> {
        let mut committed = fixtures::committed().into_iter();
        let committed = committed.find(|fixture| fixture.name == name);
        let fixture = committed.or_else(|| fixtures::fixture(name))?;
        Some(open(&fixture))
    }

    /// A replayer of all blocks, which also supports calls after the last one.
    pub(crate) fn replayer(&self, options: ReplayOptions) -> Replayer<'_, StateRange<'_>> {
        let after = BlockRange::from_to(self.blocks.first - 1, self.blocks.last);
        let range = self.state.range(after).unwrap();
        Replayer::new(self.rules.clone(), &*self.db, range, options).unwrap()
    }

    /// Replays all blocks, which must agree with the node, and passes each.
    pub(crate) fn replay(
        &self,
        options: ReplayOptions,
        see: &mut dyn FnMut(BlockReplay),
    ) -> RangeReport {
        let mut next = self.blocks.first;
        let report = self.replayer(options).range(self.blocks, &mut |replay| {
            let first = replay.mismatches.first();
            assert!(first.is_none(), "{}", first.unwrap());
            assert_eq!(replay.number, next);
            next += 1;
            see(replay);
            ControlFlow::Continue(())
        });
        let report = report.unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(next, self.blocks.last + 1);
        assert_eq!(report.blocks, self.blocks.blocks());
        report
    }
}

/// A history with one state, which is advanced block by block.
#[derive(Debug)]
pub(crate) struct Present {
    state: Mutex<MemoryState>,
}

impl Present {
    pub(crate) fn new(state: MemoryState) -> Self {
        Self {
            state: Mutex::new(state),
        }
    }

    pub(crate) fn get(&self) -> MutexGuard<'_, MemoryState> {
        self.state.lock().unwrap()
    }

    /// Applies the changes of the next block.
    pub(crate) fn advance(&self, number: u64, hash: B256, changes: &[AccountChange]) {
        let mut state = self.get();
        state.apply(changes);
        state.block_hashes.insert(number, hash);
    }
}

impl StateHistory for Present {
    type At<'a> = MutexGuard<'a, MemoryState>;

    fn at(&self, _: u64) -> Result<Self::At<'_>, StateError> {
        Ok(self.get())
    }

    fn changes(&self, _: u64, _: B256) -> Result<Option<BlockChanges>, StateError> {
        Ok(None)
    }
}
