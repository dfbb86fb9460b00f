//! Histories of slots: against the state after every block.

use crate::executed;
use alloy_primitives::{Address, B256, U256};
use std::collections::BTreeSet;
use txgraph::{ErrorKind, SlotChanges, Source};
use txgraph_testkit::{
    fixtures::{self, Fixture},
    state_answers::{StateAnswer, state_answers, wrong_answers},
};

/// The slots that a node was asked for, and those for which its answer is wrong.
fn asked(fixture: &Fixture) -> BTreeSet<(Address, B256)> {
    let answers = state_answers(fixture, "state").into_values().flatten();
    let slots = answers.filter_map(|answer| match answer {
        StateAnswer::Storage(address, slot, _) => Some((address, slot)),
        _ => None,
    });
    let wrong = wrong_answers(fixture).into_iter();
    slots
        .chain(wrong.map(|(_, address, slot, ..)| (address, slot)))
        .collect()
}

/// The value after each block, by the history and by the state.
fn check(source: &Source, found: &SlotChanges<'_>, step: usize) {
    let mut value = found.opening.value;
    let mut changes = found.changes.iter().peekable();
    let mut first = true;
    for block in found.blocks.first..=found.blocks.last {
        let changed = changes.next_if(|it| it.block == block);
        if let Some(change) = changed {
            assert_eq!(change.before, value, "{} {block}", found.address);
            assert_ne!(change.before, change.after);
            assert_eq!(change.timestamp, source.header(block).unwrap().timestamp);
            value = change.after;
        }
        // Around each change, and others.
        let is_next = changes.peek().is_some_and(|it| it.block == block + 1);
        if changed.is_none() && !is_next && !first && block % step as u64 != 0 {
            continue;
        }
        first = false;
        let state = source.with_state(Some(block), |state| {
            state.storage(found.address, found.slot)
        });
        let state = state.unwrap();
        let (address, slot) = (found.address, found.slot);
        assert_eq!(state.value, value, "{address} {slot:#x} after {block}");
        assert_eq!(state.caveat, None);
    }
    assert_eq!(changes.next(), None);
    assert_eq!(found.notes, Vec::<String>::new());
}

#[test]
fn a_history_has_the_value_after_every_block() {
    let (mut slots, mut changes) = (0, 0);
    for fixture in fixtures::committed() {
        let source = executed(fixture.path(), &fixture.name);
        for (address, slot) in asked(&fixture) {
            let history = source.slot_history(address, slot.into());
            let found = history.run().unwrap();
            assert_eq!((found.blocks.first, found.blocks.last), (1, 40));
            check(&source, &found, 1);
            slots += 1;
            changes += found.changes.len();
            // A part has the same changes.
            let part = source.slot_history(address, slot.into()).blocks(11..31);
            let part = part.run().unwrap();
            let wanted = found.changes.iter();
            let wanted = wanted.filter(|it| (11..31).contains(&it.block));
            assert!(part.changes.iter().eq(wanted));
            check(&source, &part, 1);
        }
    }
    assert!(slots > 10 && changes > 100, "{slots} {changes}");
}

/// Also where the node has lost a value, and where its state is behind its blocks.
#[test]
fn histories_of_large_chains_are_those_of_their_states() {
    for name in ["dev-v1", "dev-v2", "long-v2"] {
        let Some(fixture) = fixtures::fixture(name) else {
            continue;
        };
        let source = executed(fixture.path(), &fixture.name);
        let wrong = wrong_answers(&fixture);
        let is_wrong = |it: &(Address, B256)| {
            let mut wrong = wrong.iter();
            wrong.any(|(_, address, slot, ..)| (*address, *slot) == *it)
        };
        let asked = asked(&fixture);
        let some = asked.len() / 12 + 1;
        let mut changes = 0;
        for (at, it) in asked.iter().enumerate() {
            if at % some != 0 && !is_wrong(it) {
                continue;
            }
            let found = source.slot_history(it.0, it.1.into()).run().unwrap();
            changes += found.changes.len();
            check(&source, &found, 97);
        }
        assert!(changes > 10, "{name}: {changes}");
        for (block, address, slot, _, truth) in wrong {
            let found = source.slot_history(address, slot.into()).run().unwrap();
            let mut before = found.changes.iter().filter(|it| it.block <= block);
            assert_eq!(before.next_back().map(|it| it.after), Some(truth), "{name}");
        }
    }
}

/// The state of a default node is behind its blocks, which are executed, and said to be.
#[test]
fn changes_behind_the_stored_state_are_executed() {
    for name in ["masked/v1", "masked/v2"] {
        let Some(fixture) = fixtures::fixture(name) else {
            continue;
        };
        let source = executed(fixture.path(), &fixture.name);
        // Balances of tokens that moved in the newest blocks.
        let transfers = source.transfers().blocks(98..127).collect().unwrap();
        let mut found = 0;
        for transfer in transfers.iter().filter(|it| it.token_id.is_none()) {
            let Some(token) = transfer.token_address else {
                continue;
            };
            for base in 0..8 {
                let key = [
                    B256::left_padding_from(transfer.to_address.as_slice()).0,
                    U256::from(base).to_be_bytes(),
                ];
                let slot: U256 = alloy_primitives::keccak256(key.concat()).into();
                let history = source.slot_history(token, slot).blocks(90..127);
                let history = history.run().unwrap();
                let mut value = history.opening.value;
                for change in &history.changes {
                    assert_eq!(change.before, value);
                    value = change.after;
                    let state =
                        source.with_state(Some(change.block), |state| state.storage(token, slot));
                    assert_eq!(state.unwrap().value, value, "{name} {}", change.block);
                    found += 1;
                }
                let is_behind = name == "masked/v2";
                assert_eq!(
                    history.notes.iter().any(|note| note.contains("executed")),
                    is_behind
                );
            }
        }
        assert!(found > 0, "{name}");
    }
}

/// A pruned node refuses blocks whose change sets it has not, and has the same changes of others.
#[test]
fn a_range_without_change_sets_is_refused() {
    for (name, first) in [
        ("pruned/dev-v2-distance", 450),
        ("pruned/long-v2-full", 2931),
    ] {
        let Some(fixture) = fixtures::fixture(name) else {
            continue;
        };
        let full = fixture.full_chain().unwrap();
        let [pruned, whole] = [&fixture, &full].map(|it| executed(it.path(), &full.name));
        let asked = asked(&full);
        let some = asked.len() / 30 + 1;
        let mut changes = 0;
        for (address, slot) in asked.iter().step_by(some) {
            let [pruned, whole] =
                [&pruned, &whole].map(|source| source.slot_history(*address, (*slot).into()));
            let error = pruned.clone().run().unwrap_err();
            assert_eq!(error.kind, ErrorKind::Unavailable, "{name}: {error}");
            assert!(error.hint.is_some());
            let error = pruned.clone().blocks(first - 1..).run().unwrap_err();
            assert_eq!(error.kind, ErrorKind::Unavailable, "{name}: {error}");
            let pruned = pruned.blocks(first..).run().unwrap();
            let whole = whole.run().unwrap();
            let after = whole.changes.iter().filter(|it| it.block >= first);
            assert!(pruned.changes.iter().eq(after), "{name}: {address} {slot}");
            changes += pruned.changes.len();
        }
        assert!(changes > 0, "{name}");
    }
}
