//! Directories, and the queries that were sent to their nodes.

use std::{collections::BTreeMap, path::Path};
use txgraph_nodedb::DataDir;
use txgraph_state::{History, StateAt, StateDb, StateOptions};
use txgraph_testkit::{
    fixtures::{Fixture, fixture},
    state_answers::{StateAnswer, state_answers},
};

/// Directories without recorded answers.
pub(crate) fn odd() -> Vec<Fixture> {
    [
        "odd/pruned-v1",
        "odd/pruned-v2",
        "odd/filter-v1",
        "odd/filter-v2",
        "odd/migrated-v2",
        "odd/import-v2",
    ]
    .into_iter()
    .filter_map(fixture)
    .collect()
}

pub(crate) fn open(dir: &Path, options: StateOptions) -> StateDb {
    StateDb::open(&DataDir::new(dir), options).unwrap()
}

/// Options with which ranges read the change sets, with or without an index.
pub(crate) fn walking() -> StateOptions {
    StateOptions {
        history: History::Walk,
        ..StateOptions::default()
    }
}

/// Checks that a state gives the same result as the node.
pub(crate) fn check(answer: &StateAnswer, state: &StateAt<'_>, place: &str) {
    let account = |address| {
        let account = state.account(address).unwrap()?;
        let code = state.code(account.code_hash).unwrap();
        Some((account.balance, account.nonce, code))
    };
    let storage = |address, slot| {
        let value = state.storage(address, slot).unwrap();
        assert!(value.is_zero() || state.has_storage(address).unwrap());
        value
    };
    let place = format!("{place}, block {}", state.block());
    answer.check(&place, account, storage);
}

/// All recorded answers of a directory, by block.
pub(crate) fn queries(fixture: &Fixture) -> BTreeMap<u64, Vec<StateAnswer>> {
    state_answers(fixture, "state")
}
