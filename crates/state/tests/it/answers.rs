//! Every recorded query about past state gets the node's answer: with the index, with
//! change sets, from memory and from files.

use crate::support::{check, open, queries, walking};
use alloy_primitives::{Address, B256, U256};
use std::{collections::BTreeMap, ops::ControlFlow, path::Path};
use txgraph_evm::Account;
use txgraph_state::{BlockRange, Error, Spill, StateDb, StateOptions, StateRange};
use txgraph_testkit::{
    fixtures::{Fixture, full, partial},
    state_answers::{StateAnswer, wrong_answers},
};

type Queries = BTreeMap<u64, Vec<StateAnswer>>;

/// Options with little memory, so that nearly everything goes to temporary files.
fn spilling(overlay_bytes_max: usize) -> StateOptions {
    StateOptions {
        overlay_bytes_max,
        spill: Some(Spill::default()),
        ..walking()
    }
}

fn check_range(range: &StateRange<'_>, queries: &Queries, place: &str) {
    let BlockRange { first, last } = range.blocks();
    for (block, queries) in queries.range(first..=last) {
        let state = range.at(*block).unwrap();
        for query in queries {
            check(query, &state, place);
        }
    }
}

fn check_all(dir: &Path, fixture: &Fixture, queries: &Queries) {
    let name = &fixture.name;
    let db = open(dir, StateOptions::default());
    let available = db.available().unwrap();
    println!("{name}: {available:?}");
    let blocks = available.blocks.unwrap();

    let prepared = db.range(blocks).unwrap();
    assert_eq!(prepared.is_walked(), available.indexed_from > blocks.first);
    check_range(&prepared, queries, name);
    check_changes(&db, &prepared);
    check_refusals(&db, blocks, queries);

    let walks = open(dir, walking());
    let whole = walks.range(blocks).unwrap();
    assert!(whole.is_walked());
    check_range(&whole, queries, name);
    check_prefetch(&walks, &whole, queries);
    check_changes(&walks, &whole);

    // Ranges that end below the tip.
    let middle = blocks.first + (blocks.last - blocks.first) / 2;
    for (first, last) in [
        (blocks.first, middle),
        (middle, middle),
        (middle.saturating_sub(3).max(blocks.first), blocks.last),
        (blocks.last, blocks.last),
    ] {
        let range = walks.range(BlockRange { first, last }).unwrap();
        check_range(&range, queries, name);
    }
    for bytes_max in [4_000, 100_000] {
        let files = open(dir, spilling(bytes_max));
        check_range(&files.range(blocks).unwrap(), queries, name);
        let last = middle;
        let half = BlockRange { last, ..blocks };
        let half = files.range(half).unwrap();
        check_range(&half, queries, name);
        check_changes(&files, &half);
    }
}

/// Prefetched values equal looked-up values.
fn check_prefetch(db: &StateDb, range: &StateRange<'_>, queries: &Queries) {
    let BlockRange { first, last } = range.blocks();
    for (block, queries) in queries.range(first..last) {
        let looked_up = range.at(*block).unwrap();
        let mut fetched = range.at(*block).unwrap();
        let changes = fetched.next_changes().unwrap();
        assert_eq!(changes, db.changes(block + 1).unwrap());
        fetched.prefetch(&changes);
        for change in &changes.accounts {
            let account = looked_up.account(change.address).unwrap();
            assert_eq!(account, change.before);
            assert_eq!(fetched.account(change.address).unwrap(), change.before);
            assert_eq!(changes.account(change.address), Some(change));
        }
        for change in &changes.storage {
            let (address, slot) = (change.address, change.slot.into());
            assert_eq!(looked_up.storage(address, slot).unwrap(), change.before);
            assert_eq!(fetched.storage(address, slot).unwrap(), change.before);
            assert_eq!(changes.slot(address, change.slot), Some(change));
        }
        for query in queries {
            check(query, &fetched, "with prefetched changes");
        }
    }
}

/// The change sets have the same blocks that changed an account or slot, with the value before each.
fn check_changes(db: &StateDb, range: &StateRange<'_>) {
    let BlockRange { first, last } = range.blocks();
    let mut accounts: BTreeMap<Address, Vec<(u64, Option<Account>)>> = BTreeMap::new();
    let mut slots: BTreeMap<(Address, U256), Vec<(u64, U256)>> = BTreeMap::new();
    for block in first + 1..=last {
        let changed = db.changes(block).unwrap();
        for change in changed.accounts {
            let changes = accounts.entry(change.address).or_default();
            changes.push((block, change.before));
        }
        for change in changed.storage {
            let changes = slots.entry((change.address, change.slot)).or_default();
            changes.push((block, change.before));
        }
    }
    for (address, wanted) in some_with_most(&accounts) {
        let found = first_changes(|visit| range.account_changes(*address, visit));
        assert_eq!(found, wanted[..wanted.len().min(CHANGES_MAX)], "{address}");
    }
    for ((address, slot), wanted) in some_with_most(&slots) {
        let found = first_changes(|visit| range.storage_changes(*address, (*slot).into(), visit));
        let wanted = &wanted[..wanted.len().min(CHANGES_MAX)];
        assert_eq!(found, wanted, "{address} {slot}");
    }
    let unknown = Address::repeat_byte(0xee);
    let none = first_changes(|visit| range.account_changes(unknown, visit));
    assert_eq!(none, []);
    let none = first_changes(|visit| range.storage_changes(unknown, B256::ZERO, visit));
    assert_eq!(none, []);
}

/// Changes after which a visit ends.
const CHANGES_MAX: usize = 1_000;

/// The keys with the most changes, and some others.
fn some_with_most<K, T>(all: &BTreeMap<K, Vec<T>>) -> impl Iterator<Item = (&K, &Vec<T>)> {
    let most = all.values().map(Vec::len).max().unwrap_or_default();
    let step = all.len() / 50 + 1;
    let some = all.iter().enumerate();
    some.filter(move |(at, (_, it))| at % step == 0 || it.len() == most)
        .map(|(_, found)| found)
}

/// The first changes that a visit finds.
fn first_changes<T>(
    visit: impl FnOnce(&mut dyn FnMut(u64, T) -> ControlFlow<()>) -> txgraph_state::Result<()>,
) -> Vec<(u64, T)> {
    let mut found = Vec::new();
    let mut each = |block, before| {
        found.push((block, before));
        match found.len() < CHANGES_MAX {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    };
    visit(&mut each).unwrap();
    found
}

/// BlockRange without available state are refused.
fn check_refusals(db: &StateDb, blocks: BlockRange, queries: &Queries) {
    let outside = queries.keys().filter(|block| !blocks.contains(**block));
    for block in outside.copied().chain([blocks.last + 1, u64::MAX]) {
        let error = db.at(block).unwrap_err();
        assert!(error.is_missing(), "{error}");
        let wanted = BlockRange::one(block);
        let error = db.range(wanted).unwrap_err();
        assert!(error.is_missing(), "{error}");
    }
}

#[test]
fn full_chains_give_the_answers_of_the_node() {
    for fixture in full() {
        check_all(fixture.path(), &fixture, &queries(&fixture));
    }
}

#[test]
fn partial_directories_give_the_answers_of_the_node() {
    for (partial, full) in partial() {
        check_all(partial.path(), &partial, &queries(&full));
    }
}

/// Looks up single blocks with the node's index.
#[test]
fn single_blocks_with_the_index() {
    let mut seen = 0_u32;
    for fixture in full() {
        let db = open(fixture.path(), StateOptions::default());
        let indexed_from = db.available().unwrap().indexed_from;
        for (block, queries) in queries(&fixture).range(indexed_from..) {
            let state = db.at(*block).unwrap();
            queries
                .iter()
                .for_each(|query| check(query, &state, &fixture.name));
        }
        seen += u32::from(indexed_from == 0);
    }
    assert!(seen > 0);
}

/// A checked range looks for the block that wrote a slot that is zero. A pruned index has only the
/// newer blocks. Without an executor, few slots of destroyed contracts stay unsure.
#[test]
fn checked_zeros_of_pruned_directories_are_the_answers_of_the_node() {
    let all = partial();
    let mut zeros = 0_u32;
    for (partial, full) in &all {
        let name = &partial.name;
        let db = open(partial.path(), StateOptions::default());
        let available = db.available().unwrap();
        let first = available.indexed_from;
        let last = available.blocks.unwrap().last;
        let range = db.range(BlockRange { first, last }).unwrap().checked();
        for (block, queries) in queries(full).range(first..=last) {
            let state = range.at(*block).unwrap();
            for query in queries {
                let StateAnswer::Storage(address, slot, value) = query else {
                    continue;
                };
                match state.storage(*address, *slot) {
                    Ok(found) => assert_eq!(found, *value, "{name}, block {block}"),
                    Err(Error::UnsureSlot { .. }) => continue,
                    Err(error) => panic!("{name}, block {block}: {error}"),
                }
                zeros += u32::from(value.is_zero());
            }
        }
    }
    assert_eq!(zeros > 0, !all.is_empty());
}

/// The files contain the node's wrong value, so the result is the same, or nothing if it is to be checked.
#[test]
fn wrong_values_of_the_node_are_kept() {
    for fixture in full() {
        let db = open(fixture.path(), walking());
        let blocks = db.available().unwrap().blocks.unwrap();
        let range = db.range(blocks).unwrap();
        let checked = db.range(blocks).unwrap().checked();
        for (block, address, slot, answer, truth) in wrong_answers(&fixture) {
            let found = range.at(block).unwrap().storage(address, slot).unwrap();
            println!(
                "{}: {found}, the node answers {answer}, the true value is {truth}",
                fixture.name
            );
            assert_eq!(found, answer);
            let found = checked.at(block).unwrap().storage(address, slot);
            assert!(matches!(found, Err(Error::UnsureSlot { .. })), "{found:?}");
        }
        // Only what may be wrong is refused.
        let mut refused = 0_u32;
        for (block, queries) in queries(&fixture).range(blocks.first..=blocks.last) {
            let state = checked.at(*block).unwrap();
            for query in queries {
                let StateAnswer::Storage(address, slot, value) = query else {
                    continue;
                };
                match state.storage(*address, *slot) {
                    Ok(found) => assert_eq!(found, *value, "{}, block {block}", fixture.name),
                    Err(Error::UnsureSlot { .. }) => refused += 1,
                    Err(error) => panic!("{}, block {block}: {error}", fixture.name),
                }
            }
        }
        println!("{}: {refused} answers are refused", fixture.name);
        assert!(refused < 400, "{}: {refused}", fixture.name);
        // A state alone knows the first change after it only.
        for (block, address, slot, ..) in wrong_answers(&fixture) {
            let one = db.range(BlockRange::one(block)).unwrap().checked();
            let found = one.at(block).unwrap().storage(address, slot);
            assert!(matches!(found, Err(Error::UnsureSlot { .. })), "{found:?}");
        }
    }
}
