//! Directories of nodes that store states later than blocks (partial persistence).

use crate::support::{Opened, database, genesis, open};
use alloy_primitives::{Address, B256};
use std::{
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};
use txgraph_nodedb::BlockRange;
use txgraph_replay::{NewestReplay, ReplayOptions};
use txgraph_state::{History, NewestBlocks, NewestState, StateAt, StateDb, StateOptions};
use txgraph_testkit::{
    fixtures::{Fixture, fixture},
    or_skip,
    state_answers::{StateAnswer, state_answers},
};
use txgraph_work::Threads;

/// Blocks on disk, and the last one whose state is on disk in layout v2.
const TIP: u64 = 126;
const STATE: u64 = 96;

fn fixtures() -> impl Iterator<Item = Fixture> {
    ["masked/v1", "masked/v2"].into_iter().filter_map(fixture)
}

fn check(answer: &StateAnswer, state: &StateAt<'_>, place: &str) {
    let account = |address: Address| {
        let account = state.account(address).unwrap()?;
        let code = state.code(account.code_hash).unwrap();
        Some((account.balance, account.nonce, code))
    };
    let storage = |address: Address, slot: B256| {
        let value = state.storage(address, slot).unwrap();
        assert!(value.is_zero() || state.has_storage(address).unwrap());
        value
    };
    let place = format!("{place}, block {}", state.block());
    answer.check(&place, account, storage);
}

/// Every result of the node up to the tip on disk, with the index and with change sets.
#[test]
fn states_are_those_of_the_node() {
    for fixture in fixtures() {
        let opened = open(&fixture);
        assert_eq!(opened.blocks.last, TIP, "{}", fixture.name);
        let walking = StateDb::new(
            Arc::clone(&opened.db),
            StateOptions {
                history: History::Walk,
                ..StateOptions::default()
            },
        );
        let newest = Arc::new(NewestReplay::new(opened.rules.clone()));
        let walking = walking.with_newest(newest);
        let all = BlockRange::up_to(TIP);
        for (name, states) in [("index", &opened.state), ("change sets", &walking)] {
            let range = states.range(all).unwrap();
            let mut checked = 0;
            for answers in ["state", "newest-states"] {
                for (block, answers) in state_answers(&fixture, answers).range(..=TIP) {
                    let state = range.at(*block).unwrap();
                    for answer in answers {
                        check(answer, &state, &format!("{}, {name}", fixture.name));
                        checked += usize::from(*block > STATE);
                    }
                }
            }
            assert!(checked > 1_000, "{checked} answers after block {STATE}");
        }
    }
}

/// All blocks agree with receipts, headers and change sets, on several threads.
#[test]
fn the_newest_blocks_are_replayed() {
    for fixture in fixtures() {
        let opened = open(&fixture);
        for threads in [1, 3] {
            let replayer = opened.replayer(ReplayOptions {
                threads: Threads::new(threads).unwrap(),
                ..ReplayOptions::default()
            });
            let report = replayer.range(opened.blocks, &mut |replay| {
                assert_eq!(replay.mismatches, [], "{}", fixture.name);
                ControlFlow::Continue(())
            });
            let report = report.unwrap();
            assert_eq!((report.blocks, report.without_changes), (TIP, 0));
        }
    }
}

/// Without the rules of the chain, states end with the stored one, and the error says why.
#[test]
fn without_execution_states_end_with_the_stored_one() {
    for fixture in fixtures() {
        let directory = fixture.unpack();
        let db = Arc::new(database(directory.path()));
        let states = StateDb::new(db, StateOptions::default());
        let available = states.available().unwrap();
        let last = match fixture.layout() {
            Some("v1") => TIP,
            _ => STATE,
        };
        assert_eq!(available.state_block, last, "{}", fixture.name);
        assert_eq!(available.blocks, Some(BlockRange::up_to(last)));
        let range = |last| states.range(BlockRange { first: last, last });
        assert!(range(last).is_ok());
        let error = range(last + 1).unwrap_err();
        assert!(error.is_missing(), "{error}");
        if last == STATE {
            let text = error.to_string();
            assert!(text.contains("the state up to block 96 only"), "{text}");
        }
    }
}

/// Counts the executions.
#[derive(Debug)]
struct Counted(NewestReplay, AtomicUsize);

impl NewestBlocks for Counted {
    fn state(
        &self,
        states: &StateDb,
        blocks: BlockRange,
        tip: B256,
    ) -> txgraph_state::Result<Arc<NewestState>> {
        self.1.fetch_add(1, Ordering::Relaxed);
        let state = self.0.state(states, blocks, tip)?;
        assert_eq!((state.base(), blocks.last), (STATE, TIP));
        Ok(state)
    }
}

/// A state up to the stored one needs no execution, and the result of an execution is kept.
#[test]
fn blocks_are_executed_when_they_are_needed() {
    let fixture = or_skip!(fixture("masked/v2"));
    let directory = fixture.unpack();
    let db = Arc::new(database(directory.path()));
    let rules = genesis(&fixture).rules;
    let counted = Arc::new(Counted(NewestReplay::new(rules), AtomicUsize::new(0)));
    let states = StateDb::new(db, StateOptions::default()).with_newest(counted.clone());
    let range = states.range(BlockRange::up_to(TIP)).unwrap();
    let asked = |block| {
        drop(range.at(block).unwrap());
        counted.1.load(Ordering::Relaxed)
    };
    assert_eq!(
        [asked(0), asked(STATE), asked(STATE + 1), asked(TIP)],
        [0, 0, 1, 2]
    );
    let once = |_| {
        let blocks = BlockRange::from_to(STATE + 1, TIP);
        let tip = states.node().snapshot().unwrap().block_hash(TIP).unwrap();
        counted.0.state(&states, blocks, tip).unwrap()
    };
    let [one, other] = [0, 1].map(once);
    assert!(Arc::ptr_eq(&one, &other), "executed again");
}

/// The whole directory is read through the tools of the other tests.
#[test]
fn is_opened_like_any_directory() {
    let opened = or_skip!(Opened::fixture("masked/v2"));
    let info = opened.db.snapshot().unwrap().info().unwrap();
    assert_eq!((info.tip.number, info.state_block), (TIP, Some(STATE)));
    let note = info
        .notes
        .iter()
        .find(|note| note.starts_with("blocks 97:127"));
    assert!(note.is_some(), "{:?}", info.notes);
}
