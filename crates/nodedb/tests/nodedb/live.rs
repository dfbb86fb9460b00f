//! Readers next to a node in another process that appends, reorganizes and prunes. Every
//! answer is right, and few need a second attempt.

use crate::roots::contradiction;
use alloy_primitives::B256;
use std::{
    ops::ControlFlow,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};
use txgraph_chaingen::{Config, Layout, LiveNode, serve_if_asked};
use txgraph_nodedb::{BlockRange, DataDir, NodeDb, Parts, Result, Scratch};

/// The number of blocks that a reader reads each time.
const DEPTH: u64 = 40;
/// Blocks that are this deep are never reorganized.
const FINALITY: u64 = 30;
/// How often in a row a reader may be stale.
const STALE_MAX: u32 = 30;

/// The process of the node.
#[test]
fn imitated_node() {
    serve_if_asked();
}

#[test]
fn next_to_a_v1_node() {
    follow(Layout::V1, false, 11);
}

#[test]
fn next_to_a_v2_node() {
    follow(Layout::V2, true, 12);
}

/// A node that does not wait for readers before it truncates. Rows of another branch may be
/// read, and must be detected.
#[test]
fn next_to_a_node_that_does_not_wait() {
    follow(Layout::V2, false, 13);
}

#[derive(Debug, Default)]
struct Seen {
    done: AtomicBool,
    reads: AtomicU64,
    blocks: AtomicU64,
    stale: AtomicU64,
    gaps: AtomicU64,
}

fn follow(layout: Layout, wait_for_readers: bool, seed: u64) {
    let rounds = std::env::var("TXGRAPH_LIVE_ROUNDS").map_or(100, |text| text.parse().unwrap());
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("node");
    let config = Config {
        txs_per_block: 4,
        blocks_per_file: 10,
        commit_blocks: 4,
        finality: FINALITY,
        wait_for_readers,
        truth: false,
        ..Config::small(seed, layout)
    };
    let mut node = LiveNode::start("live::imitated_node", &folder, config).unwrap();
    node.append(50).unwrap();
    node.set_pause(Duration::from_micros(300)).unwrap();
    let db = NodeDb::open(&DataDir::new(&folder)).unwrap();
    let seen = Seen::default();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !seen.done.load(Ordering::Relaxed) {
                    read(&db, &seen);
                }
            });
        }
        // After a panic of the writer the readers must stop too.
        let moved = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut random = seed;
            let mut highest = 0;
            for round in 0..rounds {
                random = random
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let tip = node.tip().number;
                highest = highest.max(tip);
                match (random >> 33) % 5 {
                    0 => {
                        let to = (tip - (random >> 40) % 25).max(highest - FINALITY + 1);
                        node.unwind(to.min(tip)).unwrap().number
                    }
                    1 if layout == Layout::V2 => node
                        .prune_receipts(tip.saturating_sub(35))
                        .unwrap()
                        .unwrap_or(0),
                    _ => node.append(1 + round % 7).unwrap().number,
                };
                // A reorganization is followed by new blocks.
                node.append(1 + (random >> 50) % 20).unwrap();
            }
        }));
        seen.done.store(true, Ordering::Relaxed);
        moved.unwrap();
    });
    println!("{layout:?}, waiting {wait_for_readers}: {seen:?}");
    assert!(seen.reads.into_inner() > 10 && seen.blocks.into_inner() > 400);
}

/// Reads the newest blocks until that succeeds.
fn read(db: &NodeDb, seen: &Seen) {
    for _ in 0..STALE_MAX {
        match try_read(db, seen) {
            Ok(blocks) => {
                seen.reads.fetch_add(1, Ordering::Relaxed);
                seen.blocks.fetch_add(blocks, Ordering::Relaxed);
                return;
            }
            // Missing: a jar was pruned after gaps were counted.
            Err(error) if error.is_stale() || error.is_missing() => {
                seen.stale.fetch_add(1, Ordering::Relaxed);
            }
            Err(error) => panic!("{error}"),
        }
    }
    panic!("stale {STALE_MAX} times in a row");
}

fn try_read(db: &NodeDb, seen: &Seen) -> Result<u64> {
    let snapshot = db.snapshot()?;
    let tip = snapshot.tip();
    let wanted = BlockRange::from_to(tip.saturating_sub(DEPTH), tip);
    let gaps = snapshot.gaps(wanted, Parts::ALL)?;
    seen.gaps.fetch_add(gaps.len() as u64, Ordering::Relaxed);
    let mut scratch = Scratch::default();
    let mut read = 0;
    let mut before: Option<(u64, B256)> = None;
    let mut next = wanted.first;
    let ends = gaps
        .iter()
        .map(|gap| (gap.blocks.first, gap.blocks.last + 1));
    for (end, after) in ends.chain([(tip + 1, tip + 2)]) {
        if next < end {
            let blocks = BlockRange::from_to(next, end - 1);
            let mut wrong = None;
            snapshot.for_each_block(blocks, Parts::ALL, &mut scratch, &mut |block| {
                let (number, hash) = (block.number, block.hash()?);
                if let Some((_, parent)) = before.filter(|(before, _)| before + 1 == number) {
                    assert_eq!(block.header()?.parent_hash, parent, "block {number}");
                }
                before = Some((number, hash));
                if let Some(what) = contradiction(block, 0)? {
                    wrong = Some((number, what));
                    return Ok(ControlFlow::Break(()));
                }
                for index in 0..block.body.tx_count as u32 {
                    block.sender(index)?;
                }
                read += 1;
                Ok(ControlFlow::Continue(()))
            })?;
            if let Some((number, what)) = wrong {
                panic!("block {number}: {what} is wrong");
            }
        }
        next = after;
    }
    Ok(read)
}
