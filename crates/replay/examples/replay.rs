//! Replays all blocks of a data directory that can be, and says how fast:
//! `cargo run --release -p txgraph-replay --features oracle --example replay -- \
//!  [--chain GENESIS.json] [--rounds 3] [--threads 1,2] [--engine own] [--name chain] DATADIR`
//!
//! First every engine replays everything once, with all checks, and all must come to the
//! same outcomes. Then each round runs every engine with every number of threads, one
//! after the other, so that whatever slows the machine slows them all. All engines read
//! the same states in the same way, and every transaction is held against its receipt.
//! `./bench.sh replay` calls this.

use alloy_primitives::{B256, Keccak256};
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
use txgraph_nodedb::{BlockRange, DataDir, NodeDb};
use txgraph_replay::{
    BlockReplay, ChainRules, EngineKind, RangeReport, ReplayOptions, Replayer, Verify,
};
use txgraph_state::{StateDb, StateOptions};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Engines by name.
const ENGINES: &[(&str, EngineKind)] = &[
    ("own", EngineKind::Own),
    #[cfg(feature = "oracle")]
    ("revm", EngineKind::Revm),
];

/// What was asked for.
struct Asked {
    datadir: PathBuf,
    chain: Option<PathBuf>,
    name: Option<String>,
    rounds: usize,
    threads: Vec<usize>,
    engines: Vec<(&'static str, EngineKind)>,
}

impl Asked {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self> {
        let cores = std::thread::available_parallelism()?.get();
        let mut threads = vec![1, 2, 4, cores];
        threads.retain(|threads| *threads <= cores.max(2));
        threads.sort_unstable();
        threads.dedup();
        let mut asked = Self {
            datadir: PathBuf::new(),
            chain: None,
            name: None,
            rounds: 3,
            threads,
            engines: ENGINES.to_vec(),
        };
        while let Some(word) = words.next() {
            if !word.starts_with("--") {
                asked.datadir = word.into();
                continue;
            }
            let value = words.next().ok_or("a value is missing")?;
            match word.as_str() {
                "--chain" => asked.chain = Some(value.into()),
                "--name" => asked.name = Some(value),
                "--rounds" => asked.rounds = value.parse()?,
                "--threads" => {
                    let numbers = value.split(',').map(str::parse);
                    asked.threads = numbers.collect::<std::result::Result<_, _>>()?;
                }
                "--engine" => asked.engines.retain(|(name, _)| *name == value),
                _ => return Err(format!("{word}?").into()),
            }
        }
        if asked.datadir.as_os_str().is_empty() {
            return Err("which data directory?".into());
        }
        Ok(asked)
    }
}

/// A database, opened.
struct Subject {
    db: Arc<NodeDb>,
    rules: ChainRules,
    state: StateDb,
    /// After these, states can be told.
    after: BlockRange,
}

impl Subject {
    fn open(asked: &Asked) -> Result<Self> {
        let db = Arc::new(NodeDb::open(&DataDir::new(&asked.datadir))?);
        let rules = ChainRules::of_database(&db, asked.chain.as_deref())?;
        let state = StateDb::new(Arc::clone(&db), StateOptions::default());
        let after = state.available()?.blocks.ok_or("no state can be told")?;
        Ok(Self {
            db,
            rules,
            state,
            after,
        })
    }

    /// Replays all blocks. What is timed is the replay, not the walk through change sets
    /// before it.
    fn replay(
        &self,
        engine: EngineKind,
        threads: usize,
        verify: Verify,
        each: &mut dyn FnMut(BlockReplay),
    ) -> Result<(RangeReport, Timing)> {
        let options = ReplayOptions {
            threads,
            engine,
            verify,
            ..ReplayOptions::default()
        };
        let states = self.state.range(self.after)?;
        let replayer = Replayer::new(self.rules.clone(), &self.db, states, options)?;
        let blocks = BlockRange {
            first: self.after.first + 1,
            last: self.after.last,
        };
        let (begun, busy) = (Instant::now(), cpu_time()?);
        let report = replayer.range(blocks, &mut |block| {
            each(block);
            ControlFlow::Continue(())
        })?;
        let timing = Timing {
            wall: begun.elapsed().as_secs_f64(),
            cpu: cpu_time()?.saturating_sub(busy).as_secs_f64(),
        };
        if report.mismatches > 0 {
            return Err("the replay does not agree with the node".into());
        }
        Ok((report, timing))
    }

    /// Everything checked, and all that came out in one hash.
    fn fingerprint(&self, engine: EngineKind, threads: usize) -> Result<(RangeReport, B256)> {
        let mut hasher = Keccak256::new();
        let verify = Verify::default();
        let (report, _) = self.replay(engine, threads, verify, &mut |block| {
            hasher.update(block.hash);
            for transaction in &block.transactions {
                let outcome = &transaction.outcome;
                hasher.update([u8::from(outcome.is_success())]);
                hasher.update(outcome.gas_used.to_be_bytes());
                hasher.update(&outcome.output);
                for log in &outcome.logs {
                    hasher.update(log.address);
                    log.topics().iter().for_each(|topic| hasher.update(topic));
                    hasher.update(&log.data.data);
                }
            }
        })?;
        Ok((report, hasher.finalize()))
    }
}

/// Seconds of one run.
#[derive(Clone, Copy)]
struct Timing {
    wall: f64,
    cpu: f64,
}

/// Of all threads of this process: what a busy machine cannot stretch as much.
fn cpu_time() -> Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    let micros = |time: TimeVal| Duration::from_micros(time.num_microseconds().unsigned_abs());
    Ok(micros(usage.user_time()) + micros(usage.system_time()))
}

/// The middle one, and the outermost.
fn spread(mut values: Vec<f64>) -> (f64, f64, f64) {
    values.sort_by(f64::total_cmp);
    let last = values.len() - 1;
    let middle = (values[last / 2] + values[last.div_ceil(2)]) / 2.0;
    (middle, values[0], values[last])
}

/// The fastest by the clock.
fn best(runs: &[Timing]) -> f64 {
    runs.iter().map(|run| run.wall).fold(f64::MAX, f64::min)
}

/// `1.32 (1.29 to 1.40)`: of pairs of the same round.
fn ratio(above: &[Timing], below: &[Timing], seconds: impl Fn(&Timing) -> f64) -> String {
    let pairs = above.iter().zip(below);
    let (middle, least, most) = spread(pairs.map(|(a, b)| seconds(a) / seconds(b)).collect());
    format!("{middle:.2} ({least:.2} to {most:.2})")
}

#[expect(clippy::print_stdout, reason = "an example shows its result")]
fn main() -> Result<()> {
    let asked = Asked::parse(std::env::args().skip(1))?;
    let subject = Subject::open(&asked)?;
    let threads_max = *asked.threads.iter().max().ok_or("how many threads?")?;
    let mut answers = Vec::new();
    for (name, engine) in &asked.engines {
        let (report, answer) = subject.fingerprint(*engine, threads_max)?;
        answers.push((*name, report, answer));
    }
    let (_, report, answer) = *answers.first().ok_or("which engine?")?;
    if let Some((name, ..)) = answers.iter().find(|(_, _, other)| *other != answer) {
        return Err(format!("{name} comes to other outcomes").into());
    }

    let mut runs: Vec<Vec<Timing>> = vec![Vec::new(); asked.engines.len() * asked.threads.len()];
    for _ in 0..asked.rounds {
        let mut slot = runs.iter_mut();
        for (_, engine) in &asked.engines {
            for threads in &asked.threads {
                let verify = Verify {
                    receipts: true,
                    header: false,
                    changes: false,
                };
                let (_, timing) = subject.replay(*engine, *threads, verify, &mut drop)?;
                slot.next().into_iter().for_each(|runs| runs.push(timing));
            }
        }
    }

    let name = asked.name.clone();
    let name = name.unwrap_or_else(|| asked.datadir.display().to_string());
    let is_walked = subject.state.range(subject.after)?.is_walked();
    println!(
        "## {name}\n\n{} blocks, {} transactions, {:.0} Mgas; states {}; {} rounds. Outcomes of \
         all engines: `{answer}`; without a receipt to compare: {}; without change sets: {}.\n",
        report.blocks,
        report.transactions,
        report.gas_used as f64 / 1e6,
        if is_walked { "by overlay" } else { "by index" },
        asked.rounds,
        report.without_receipt,
        report.without_changes,
    );
    println!("| engine | threads | s, median (spread) | CPU s | Mgas/s (best) | blocks/s (best) |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: |");
    let (mgas, blocks) = (report.gas_used as f64 / 1e6, report.blocks as f64);
    let mut slot = runs.iter();
    for (name, _) in &asked.engines {
        for (threads, runs) in asked.threads.iter().zip(slot.by_ref()) {
            let (wall, least, most) = spread(runs.iter().map(|run| run.wall).collect());
            let (cpu, ..) = spread(runs.iter().map(|run| run.cpu).collect());
            println!(
                "| {name} | {threads} | {wall:.3} ({least:.3} to {most:.3}) | {cpu:.3} | \
                 {:.0} ({:.0}) | {:.0} ({:.0}) |",
                mgas / wall,
                mgas / least,
                blocks / wall,
                blocks / least,
            );
        }
    }
    println!();
    let (count, times) = (asked.threads.len(), |run: &Timing| run.wall);
    for (at, threads) in asked.threads.iter().enumerate() {
        if let (Some(own), Some(peer)) = (runs.get(at), runs.get(count + at)) {
            println!(
                "- own beside revm, {threads} threads: {} by the clock, {} by CPU time",
                ratio(peer, own, times),
                ratio(peer, own, |run| run.cpu),
            );
        }
    }
    for (at, (name, _)) in asked.engines.iter().enumerate() {
        for (more, threads) in asked.threads.iter().enumerate().skip(1) {
            let (one, many) = (&runs[at * count], &runs[at * count + more]);
            println!(
                "- {name}, 1 to {threads} threads: {}, {:.2} of the best runs; the same work takes \
                 {} of the CPU time",
                ratio(one, many, times),
                best(one) / best(many),
                ratio(many, one, |run| run.cpu),
            );
        }
    }
    println!();
    Ok(())
}
