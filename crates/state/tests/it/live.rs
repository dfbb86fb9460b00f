//! A reader next to a node in another process that appends and reorganizes: the state after
//! a past block equals the state that was current at that block.

use crate::support::{open, walking};
use alloy_primitives::{Address, B256};
use std::{
    collections::BTreeMap,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};
use txgraph_chaingen::{Config, Layout, LiveNode, serve_if_asked};
use txgraph_evm::Account;
use txgraph_state::{BlockRange, Result, StateAt, StateDb};

/// The process of the node.
#[test]
fn imitated_node() {
    serve_if_asked();
}

#[test]
fn next_to_a_v1_node() {
    follow(Layout::V1, 21);
}

#[test]
fn next_to_a_v2_node() {
    follow(Layout::V2, 22);
}

/// Accounts after a block, for each branch.
type Truth = BTreeMap<(u64, B256), BTreeMap<Address, Option<Account>>>;

/// Records the state of the tip from the current tables.
fn record(db: &StateDb, addresses: &[Address], truth: &mut Truth) {
    let tip = db.node().snapshot().unwrap().tip();
    let state = db.at(tip).unwrap();
    let hash = state.snapshot().block_hash(tip).unwrap();
    truth.insert((tip, hash), accounts(&state, addresses).unwrap());
}

fn accounts(
    state: &StateAt<'_>,
    addresses: &[Address],
) -> Result<BTreeMap<Address, Option<Account>>> {
    addresses
        .iter()
        .map(|address| Ok((*address, state.account(*address)?)))
        .collect()
}

fn follow(layout: Layout, seed: u64) {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("node");
    let config = Config {
        txs_per_block: 6,
        blocks_per_file: 10,
        commit_blocks: 1,
        finality: 30,
        truth: false,
        ..Config::small(seed, layout)
    };
    let mut node = LiveNode::start("live::imitated_node", &folder, config).unwrap();
    node.append(30).unwrap();
    let db = open(&folder, walking());
    let mut addresses: Vec<Address> = (1..=30)
        .flat_map(|block| db.changes(block).unwrap().accounts)
        .map(|change| change.address)
        .collect();
    addresses.sort();
    addresses.dedup();

    let mut truth = Truth::new();
    let mut random = seed;
    for _ in 0..25 {
        node.append(1).unwrap();
        record(&db, &addresses, &mut truth);
    }
    let truth = Mutex::new(truth);
    let (done, answers, again) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for reader in 0..2 {
            let (db, truth, addresses) = (&db, &truth, &addresses);
            let (done, answers, again) = (&done, &answers, &again);
            scope.spawn(move || {
                let mut random = seed + reader;
                while !done.load(Ordering::Relaxed) {
                    match read(db, truth, addresses, &mut random, done) {
                        Ok(read) => drop(answers.fetch_add(read, Ordering::Relaxed)),
                        Err(error) if error.is_stale() || error.is_missing() => {
                            again.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
        let moved = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for round in 0..60_u64 {
                random = random
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                if round % 4 == 3 {
                    let tip = node.tip().number;
                    node.unwind(tip - (random >> 33) % 12).unwrap();
                }
                for _ in 0..=(random >> 40) % 3 {
                    node.append(1).unwrap();
                    record(&db, &addresses, &mut truth.lock().unwrap());
                }
            }
        }));
        done.store(true, Ordering::Relaxed);
        moved.unwrap();
    });
    println!("{layout:?}: {answers:?} answers, {again:?} ranges became stale");
    assert!(answers.into_inner() > 100);
}

/// Prepares a range, and uses it until the chain is reorganized below its tip.
fn read(
    db: &StateDb,
    truth: &Mutex<Truth>,
    addresses: &[Address],
    random: &mut u64,
    done: &AtomicBool,
) -> Result<u64> {
    let tip = db.node().snapshot()?.tip();
    let blocks = BlockRange::from_to(tip - 15, tip - *random % 10);
    let range = db.range(blocks)?;
    let mut checked = 0;
    for _ in 0..200 {
        *random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let block = blocks.first + (*random >> 33) % (blocks.last - blocks.first + 1);
        let state = match range.at(block) {
            Ok(state) => state,
            Err(error) if error.is_stale() => return Ok(checked),
            Err(error) => return Err(error),
        };
        let hash = state.snapshot().block_hash(block)?;
        let known = truth.lock().unwrap().get(&(block, hash)).cloned();
        if let Some(known) = known {
            assert_eq!(accounts(&state, addresses)?, known, "block {block}, {hash}");
            checked += 1;
        }
        if done.load(Ordering::Relaxed) {
            break;
        }
    }
    Ok(checked)
}
