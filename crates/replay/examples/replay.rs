//! Measures the replay of all blocks of a data directory whose parent state is available:
//! `cargo run --release -p txgraph-replay --features oracle --example replay -- \
//!  [--chain GENESIS.json] [--rounds 3] [--threads 1,2] [--engine own] [--name chain] DATADIR`
//!
//! First, every engine replays all blocks once with all comparisons, and all outcomes must be
//! equal. Then each round runs every engine with every number of threads in turn, so that noise of
//! the machine affects all of them. All engines read the same states in the same way, and every
//! transaction is compared with its receipt. `./bench.sh replay` runs this program.

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
use txgraph_work::Threads;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Engines by name.
const ENGINES: &[(&str, EngineKind)] = &[
    ("txgraph", EngineKind::Txgraph),
    #[cfg(feature = "oracle")]
    ("revm", EngineKind::Revm),
];

/// The command line.
struct Arguments {
    datadir: PathBuf,
    chain: Option<PathBuf>,
    name: Option<String>,
    rounds: usize,
    threads: Vec<usize>,
    engines: Vec<(&'static str, EngineKind)>,
}

impl Arguments {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self> {
        let cores = std::thread::available_parallelism()?.get();
        let mut threads = vec![1, 2, 4, cores];
        threads.retain(|threads| *threads <= cores.max(2));
        threads.sort_unstable();
        threads.dedup();
        let mut arguments = Self {
            datadir: PathBuf::new(),
            chain: None,
            name: None,
            rounds: 3,
            threads,
            engines: ENGINES.to_vec(),
        };
        while let Some(word) = words.next() {
            if !word.starts_with("--") {
                arguments.datadir = word.into();
                continue;
            }
            let value = words.next().ok_or("a value is missing")?;
            match word.as_str() {
                "--chain" => arguments.chain = Some(value.into()),
                "--name" => arguments.name = Some(value),
                "--rounds" => arguments.rounds = value.parse()?,
                "--threads" => {
                    let numbers = value.split(',').map(str::parse);
                    arguments.threads = numbers.collect::<std::result::Result<_, _>>()?;
                }
                "--engine" => arguments.engines.retain(|(name, _)| *name == value),
                _ => return Err(format!("unknown option {word}").into()),
            }
        }
        if arguments.datadir.as_os_str().is_empty() {
            return Err("no data directory is given".into());
        }
        Ok(arguments)
    }
}

/// An open database.
struct Subject {
    db: Arc<NodeDb>,
    rules: ChainRules,
    state: StateDb,
    /// The blocks with a state after them.
    after: BlockRange,
}

impl Subject {
    fn open(arguments: &Arguments) -> Result<Self> {
        let db = Arc::new(NodeDb::open(&DataDir::new(&arguments.datadir))?);
        let rules = ChainRules::of_database(&db, arguments.chain.as_deref())?;
        let state = StateDb::new(Arc::clone(&db), StateOptions::default());
        let after = state.available()?.blocks.ok_or("no state is available")?;
        Ok(Self {
            db,
            rules,
            state,
            after,
        })
    }

    /// Replays all blocks. The time includes the replay, but not the preceding walk through change
    /// sets.
    fn replay(
        &self,
        engine: EngineKind,
        threads: usize,
        verify: Verify,
        each: &mut dyn FnMut(BlockReplay),
    ) -> Result<(RangeReport, Timing)> {
        let options = ReplayOptions {
            threads: Threads::new(threads)?,
            engine,
            verify,
            ..ReplayOptions::default()
        };
        let states = self.state.range(self.after)?;
        let replayer = Replayer::new(self.rules.clone(), &*self.db, states, options)?;
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
            return Err("the replay differs from the node".into());
        }
        Ok((report, timing))
    }

    /// Replays with all comparisons and returns a hash of all outcomes.
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

/// The duration of one run in seconds.
#[derive(Clone, Copy)]
struct Timing {
    wall: f64,
    cpu: f64,
}

/// The CPU time of all threads of this process; less affected by a busy machine.
fn cpu_time() -> Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    let micros = |time: TimeVal| Duration::from_micros(time.num_microseconds().unsigned_abs());
    Ok(micros(usage.user_time()) + micros(usage.system_time()))
}

/// Median, minimum and maximum.
fn spread(mut values: Vec<f64>) -> (f64, f64, f64) {
    values.sort_by(f64::total_cmp);
    let last = values.len() - 1;
    let middle = (values[last / 2] + values[last.div_ceil(2)]) / 2.0;
    (middle, values[0], values[last])
}

/// The shortest wall time.
fn best(runs: &[Timing]) -> f64 {
    runs.iter().map(|run| run.wall).fold(f64::MAX, f64::min)
}

/// The ratio of runs of the same round: median, minimum and maximum, as `1.32 (1.29 to 1.40)`.
fn ratio(above: &[Timing], below: &[Timing], seconds: impl Fn(&Timing) -> f64) -> String {
    let pairs = above.iter().zip(below);
    let (middle, least, most) = spread(pairs.map(|(a, b)| seconds(a) / seconds(b)).collect());
    format!("{middle:.2} ({least:.2} to {most:.2})")
}

#[expect(clippy::print_stdout, reason = "the program prints its result")]
fn main() -> Result<()> {
    let arguments = Arguments::parse(std::env::args().skip(1))?;
    let subject = Subject::open(&arguments)?;
    let threads_max = *arguments
        .threads
        .iter()
        .max()
        .ok_or("no number of threads is given")?;
    let mut outcomes = Vec::new();
    for (name, engine) in &arguments.engines {
        let (report, hash) = subject.fingerprint(*engine, threads_max)?;
        outcomes.push((*name, report, hash));
    }
    let (_, report, hash) = *outcomes.first().ok_or("no engine is given")?;
    if let Some((name, ..)) = outcomes.iter().find(|(_, _, other)| *other != hash) {
        return Err(format!("the outcomes of {name} differ").into());
    }

    let mut runs: Vec<Vec<Timing>> =
        vec![Vec::new(); arguments.engines.len() * arguments.threads.len()];
    for _ in 0..arguments.rounds {
        let mut slot = runs.iter_mut();
        for (_, engine) in &arguments.engines {
            for threads in &arguments.threads {
                let verify = Verify {
                    transactions: false,
                    receipts: true,
                    header: false,
                    changes: false,
                };
                let (_, timing) = subject.replay(*engine, *threads, verify, &mut drop)?;
                slot.next().into_iter().for_each(|runs| runs.push(timing));
            }
        }
    }

    let name = arguments.name.clone();
    let name = name.unwrap_or_else(|| arguments.datadir.display().to_string());
    let is_walked = subject.state.range(subject.after)?.is_walked();
    println!(
        "## {name}\n\n{} blocks, {} transactions, {:.0} Mgas; states {}; {} rounds. Outcomes of \
         all engines: `{hash}`; without a receipt to compare: {}; without change sets: {}.\n",
        report.blocks,
        report.transactions,
        report.gas_used as f64 / 1e6,
        if is_walked { "by overlay" } else { "by index" },
        arguments.rounds,
        report.without_receipt,
        report.without_changes,
    );
    println!("| engine | threads | s, median (spread) | CPU s | Mgas/s (best) | blocks/s (best) |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: |");
    let (mgas, blocks) = (report.gas_used as f64 / 1e6, report.blocks as f64);
    let mut slot = runs.iter();
    for (name, _) in &arguments.engines {
        for (threads, runs) in arguments.threads.iter().zip(slot.by_ref()) {
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
    let (count, times) = (arguments.threads.len(), |run: &Timing| run.wall);
    for (at, threads) in arguments.threads.iter().enumerate() {
        if let (Some(own), Some(peer)) = (runs.get(at), runs.get(count + at)) {
            println!(
                "- own compared with revm, {threads} threads: {} in wall time, {} in CPU time",
                ratio(peer, own, times),
                ratio(peer, own, |run| run.cpu),
            );
        }
    }
    for (at, (name, _)) in arguments.engines.iter().enumerate() {
        for (more, threads) in arguments.threads.iter().enumerate().skip(1) {
            let (one, many) = (&runs[at * count], &runs[at * count + more]);
            println!(
                "- {name}, 1 to {threads} threads: speedup {}, of the best runs {:.2}; CPU time \
                 times {}",
                ratio(one, many, times),
                best(one) / best(many),
                ratio(many, one, |run| run.cpu),
            );
        }
    }
    println!();
    Ok(())
}
