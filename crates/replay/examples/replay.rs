//! Replays all blocks of a data directory that can be, and says how fast:
//! `cargo run --release -p txgraph-replay --features oracle --example replay -- \
//!  DATADIR [GENESIS.json [ROUNDS]]`
//!
//! Each round runs every engine with every number of threads, one after the other, so
//! that whatever slows the machine slows them all; the best round counts. All engines
//! read the same states in the same way, and every transaction is held against its
//! receipt.

use nix::sys::{
    resource::{UsageWho, getrusage},
    time::{TimeVal, TimeValLike},
};
use std::{
    ops::ControlFlow,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};
use txgraph_nodedb::{Blocks, DataDir, NodeDb};
use txgraph_replay::{ChainRules, EngineKind, ReplayOptions, Replayer, Verify};
use txgraph_state::{StateDb, StateOptions};

/// Engines by name.
const ENGINES: &[(&str, EngineKind)] = &[
    ("own", EngineKind::Own),
    #[cfg(feature = "oracle")]
    ("revm", EngineKind::Revm),
];

#[expect(clippy::print_stdout, reason = "an example shows its result")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let datadir = words.next().ok_or("which data directory?")?;
    let chain_file = words.next().map(PathBuf::from);
    let rounds = words.next().map_or(Ok(3), |rounds| rounds.parse::<u32>())?;
    let db = Arc::new(NodeDb::open(&DataDir::new(datadir))?);
    let rules = ChainRules::of_database(&db, chain_file.as_deref())?;
    let state = StateDb::new(Arc::clone(&db), StateOptions::default());
    let available = state.available()?;
    let after = available.blocks.ok_or("no state can be told")?;
    let range = state.range(after)?;
    println!("by index: {}", !range.is_walked());
    drop(range);

    let cores = std::thread::available_parallelism()?.get();
    let mut threads = vec![1, 2, 4, cores];
    threads.retain(|threads| *threads <= cores.max(2));
    threads.sort_unstable();
    threads.dedup();
    let mut best = vec![(Duration::MAX, Duration::MAX); ENGINES.len() * threads.len()];
    let mut report = None;
    for _ in 0..rounds {
        let mut slot = best.iter_mut();
        for (_, engine) in ENGINES {
            for threads in &threads {
                let options = ReplayOptions {
                    threads: *threads,
                    engine: *engine,
                    verify: Verify {
                        receipts: true,
                        header: false,
                        changes: false,
                    },
                    ..ReplayOptions::default()
                };
                let range = state.range(after)?;
                let replayer = Replayer::new(rules.clone(), &db, range, options)?;
                let blocks = Blocks {
                    first: after.first + 1,
                    last: after.last,
                };
                let (begun, busy) = (Instant::now(), cpu_time()?);
                let found = replayer.range(blocks, &mut |_| ControlFlow::Continue(()))?;
                if let Some((wall, cpu)) = slot.next() {
                    *wall = begun.elapsed().min(*wall);
                    *cpu = cpu_time()?.saturating_sub(busy).min(*cpu);
                }
                if found.mismatches > 0 {
                    return Err("the replay does not agree with the node".into());
                }
                report = Some(found);
            }
        }
    }
    let report = report.ok_or("nothing was replayed")?;
    println!(
        "{} blocks, {} transactions, {:.1} Mgas; best of {rounds}",
        report.blocks,
        report.transactions,
        report.gas_used as f64 / 1e6
    );
    println!("engine threads  seconds  CPU s  blocks/s  transactions/s  Mgas/s");
    let mut slot = best.iter();
    for (name, _) in ENGINES {
        for threads in &threads {
            let Some((wall, cpu)) = slot.next() else {
                continue;
            };
            let seconds = wall.as_secs_f64();
            println!(
                "{name:6} {threads:7} {seconds:8.3} {:6.3} {:9.0} {:15.0} {:7.1}",
                cpu.as_secs_f64(),
                report.blocks as f64 / seconds,
                report.transactions as f64 / seconds,
                report.gas_used as f64 / 1e6 / seconds,
            );
        }
    }
    Ok(())
}

/// Of all threads of this process: what a busy machine cannot stretch.
fn cpu_time() -> Result<Duration, Box<dyn std::error::Error>> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    let micros = |time: TimeVal| Duration::from_micros(time.num_microseconds().unsigned_abs());
    Ok(micros(usage.user_time()) + micros(usage.system_time()))
}
