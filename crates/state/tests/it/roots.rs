//! The whole state after a block, built from single answers, has the state root of its
//! header.

use crate::support::{odd, open, walking};
use alloy_primitives::{Address, B256, U256};
use alloy_trie::{TrieAccount, root};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};
use txgraph_state::{BlockRange, StateAt, StateDb, StateOptions};
use txgraph_testkit::{
    fixtures::{full, partial},
    state_answers::wrong_answers,
};

/// Everything that change sets contain.
type Keys = BTreeMap<Address, BTreeSet<B256>>;

fn changed_keys(db: &StateDb, blocks: BlockRange) -> Keys {
    let mut keys = Keys::new();
    for block in blocks.first..=blocks.last {
        let changes = db.changes(block).unwrap();
        for change in &changes.accounts {
            keys.entry(change.address).or_default();
        }
        for change in &changes.storage {
            let slots = keys.entry(change.address).or_default();
            slots.insert(change.slot.into());
        }
    }
    keys
}

fn state_root(state: &StateAt<'_>, keys: &Keys) -> B256 {
    let accounts = keys.iter().filter_map(|(address, slots)| {
        let account = state.account(*address).unwrap();
        let values = slots
            .iter()
            .map(|slot| (*slot, state.storage(*address, *slot).unwrap()));
        let values: Vec<(B256, U256)> = values.filter(|(_, value)| !value.is_zero()).collect();
        assert_eq!(
            state.has_storage(*address).unwrap(),
            !values.is_empty(),
            "{address} after block {}",
            state.block()
        );
        let Some(account) = account else {
            assert!(
                values.is_empty(),
                "account {address} does not exist but has storage"
            );
            return None;
        };
        if account.code_hash != alloy_primitives::KECCAK256_EMPTY {
            state.code(account.code_hash).unwrap();
        }
        let account = TrieAccount {
            nonce: account.nonce,
            balance: account.balance,
            storage_root: root::storage_root_unhashed(values),
            code_hash: account.code_hash,
        };
        Some((*address, account))
    });
    root::state_root_unhashed(accounts)
}

/// Checks about 30 blocks and the blocks of `also`. Returns the blocks whose state does not have
/// the root of the header.
fn wrong_roots(dir: &Path, options: StateOptions, keys: &Keys, also: &[u64]) -> Vec<u64> {
    let db = open(dir, options);
    let blocks = db.available().unwrap().blocks.unwrap();
    let range = db.range(blocks).unwrap();
    let step = ((blocks.last - blocks.first) / 30).max(1);
    let chosen = (blocks.first..=blocks.last).rev().step_by(step as usize);
    let mut chosen: BTreeSet<u64> = chosen.chain(also.iter().copied()).collect();
    chosen.insert(blocks.first);
    let wrong = chosen.into_iter().filter(|block| {
        let state = range.at(*block).unwrap();
        let header = state.snapshot().header(*block).unwrap();
        state_root(&state, keys) != header.state_root
    });
    wrong.collect()
}

/// All keys of a chain. Change sets contain every account only if they go back to the
/// genesis.
fn all_keys(dir: &Path) -> Option<Keys> {
    let db = open(dir, StateOptions::default());
    let blocks = db.available().unwrap().blocks.unwrap();
    (blocks.first == 0).then(|| changed_keys(&db, blocks))
}

#[test]
fn full_chains_have_their_state_roots() {
    for fixture in full() {
        let keys = all_keys(fixture.path()).unwrap();
        let wrong: Vec<u64> = wrong_answers(&fixture)
            .iter()
            .map(|wrong| wrong.0)
            .collect();
        let near: Vec<u64> = wrong
            .iter()
            .flat_map(|block| block - 1..=block + 1)
            .collect();
        for options in [StateOptions::default(), walking()] {
            let found = wrong_roots(fixture.path(), options, &keys, &near);
            assert_eq!(found, wrong, "{}", fixture.name);
        }
    }
}

#[test]
fn partial_directories_have_their_state_roots() {
    for (partial, full) in partial() {
        let keys = all_keys(full.path()).unwrap();
        for options in [StateOptions::default(), walking()] {
            let found = wrong_roots(partial.path(), options, &keys, &[]);
            // The partial directory may lack some of the wrong values of the full chain.
            let known: Vec<u64> = wrong_answers(&full).iter().map(|wrong| wrong.0).collect();
            assert!(
                found.iter().all(|block| known.contains(block)),
                "{}: {found:?}",
                partial.name
            );
        }
    }
}

#[test]
fn other_directories_have_their_state_roots() {
    for fixture in odd() {
        let Some(keys) = all_keys(fixture.path()) else {
            assert!(fixture.name.contains("pruned"), "{}", fixture.name);
            continue;
        };
        for options in [StateOptions::default(), walking()] {
            let found = wrong_roots(fixture.path(), options, &keys, &[]);
            assert!(found.is_empty(), "{}: {found:?}", fixture.name);
        }
    }
}
