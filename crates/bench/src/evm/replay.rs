//! Times the replay of all blocks of a data directory whose parent state is available.
//!
//! First, every engine replays all blocks once with all comparisons, and all outcomes must be
//! equal. Then each round runs every engine with every number of threads. All engines read the
//! same states in the same way, and every transaction is compared with its receipt.

use crate::{
    console::say,
    measure::{Cost, Spread, interleaved},
};
use alloy_primitives::{B256, Keccak256};
use anyhow::{Context, Result, ensure};
use nix::sys::resource::UsageWho;
use std::{fmt::Write as _, ops::ControlFlow, path::PathBuf, sync::Arc};
use txgraph_nodedb::{BlockRange, DataDir, NodeDb};
use txgraph_replay::{
    BlockReplay, ChainRules, EngineKind, RangeReport, ReplayOptions, Replayer, Verify,
};
use txgraph_state::{StateDb, StateOptions};
use txgraph_work::Threads;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Data directory of a node.
    datadir: PathBuf,
    /// Genesis file of the chain.
    #[arg(long)]
    chain: Option<PathBuf>,
    /// Title of the result.
    #[arg(long)]
    name: String,
    /// Rounds.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Numbers of threads.
    #[arg(long, value_delimiter = ',', default_value = "1,2")]
    threads: Vec<usize>,
    /// Run only this engine.
    #[arg(long)]
    engine: Option<EngineKind>,
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
    fn open(options: &Options) -> Result<Self> {
        let db = Arc::new(NodeDb::open(&DataDir::new(&options.datadir))?);
        let rules = ChainRules::of_database(&db, options.chain.as_deref())?;
        let state = StateDb::new(Arc::clone(&db), StateOptions::default());
        let after = state.available()?.blocks.context("no state is available")?;
        Ok(Self {
            db,
            rules,
            state,
            after,
        })
    }

    /// Replays all blocks. The cost includes the replay, but not the preceding walk through change
    /// sets.
    fn replay(
        &self,
        engine: EngineKind,
        threads: usize,
        verify: Verify,
        each: &mut dyn FnMut(BlockReplay),
    ) -> Result<(RangeReport, Cost)> {
        let options = ReplayOptions {
            threads: Threads::new(threads)?,
            engine,
            verify,
            ..ReplayOptions::default()
        };
        let states = self.state.range(self.after)?;
        let replayer = Replayer::new(self.rules.clone(), &*self.db, states, options)?;
        let blocks = BlockRange::from_to(self.after.first + 1, self.after.last);
        let (report, cost) = Cost::of(UsageWho::RUSAGE_SELF, || {
            Ok(replayer.range(blocks, &mut |block| {
                each(block);
                ControlFlow::Continue(())
            })?)
        })?;
        ensure!(report.mismatches == 0, "the replay differs from the node");
        Ok((report, cost))
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

/// The ratio of runs of the same round: median, minimum and maximum, as `1.32 (1.29 to 1.40)`.
fn ratio(above: &[Cost], below: &[Cost], seconds: impl Fn(&Cost) -> f64) -> String {
    let pairs = above.iter().zip(below);
    let spread = Spread::of(pairs.map(|(a, b)| seconds(a) / seconds(b)));
    let Spread {
        median, min, max, ..
    } = spread;
    format!("{median:.2} ({min:.2} to {max:.2})")
}

/// The spread of the elapsed time.
fn wall(runs: &[Cost]) -> Spread {
    Spread::of(runs.iter().map(|run| run.wall_s))
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let subject = Subject::open(options)?;
    let mut engines = vec![EngineKind::Txgraph, EngineKind::Revm];
    engines.retain(|engine| options.engine.is_none_or(|only| only == *engine));
    let threads_max = options.threads.iter().max();
    let threads_max = *threads_max.context("no number of threads is given")?;
    let outcomes = engines
        .iter()
        .map(|engine| subject.fingerprint(*engine, threads_max))
        .collect::<Result<Vec<_>>>()?;
    let (report, hash) = outcomes.first().context("no engine is given")?;
    for (engine, (_, other)) in engines.iter().zip(&outcomes) {
        ensure!(other == hash, "the outcomes of {engine} differ");
    }

    let threads = || options.threads.iter();
    let mut turns: Vec<(EngineKind, usize)> = engines
        .iter()
        .flat_map(|engine| threads().map(move |threads| (*engine, *threads)))
        .collect();
    let verify = Verify {
        transactions: false,
        receipts: true,
        header: false,
        changes: false,
    };
    let runs = interleaved(&mut turns, options.rounds, |(engine, threads), _| {
        Ok(subject.replay(*engine, *threads, verify, &mut drop)?.1)
    })?;

    let is_walked = subject.state.range(subject.after)?.is_walked();
    let (mgas, blocks) = (report.gas_used as f64 / 1e6, report.blocks as f64);
    let mut text = format!(
        "## {}\n\n{} blocks, {} transactions, {mgas:.0} Mgas; states {}; {} rounds. Outcomes of \
         all engines: `{hash}`; without a receipt to compare: {}; without change sets: {}.\n\n\
         | engine | threads | s, median (spread) | CPU s | Mgas/s (best) | blocks/s (best) |\n\
         | --- | ---: | ---: | ---: | ---: | ---: |\n",
        options.name,
        report.blocks,
        report.transactions,
        if is_walked { "by overlay" } else { "by index" },
        options.rounds,
        report.without_receipt,
        report.without_changes,
    );
    for ((engine, threads), runs) in turns.iter().zip(&runs) {
        let Spread {
            median, min, max, ..
        } = wall(runs);
        let cpu = Spread::of(runs.iter().map(Cost::cpu_s)).median;
        writeln!(
            text,
            "| {engine} | {threads} | {median:.3} ({min:.3} to {max:.3}) | {cpu:.3} | \
             {:.0} ({:.0}) | {:.0} ({:.0}) |",
            mgas / median,
            mgas / min,
            blocks / median,
            blocks / min,
        )?;
    }
    text.push('\n');
    let by_engine: Vec<_> = runs.chunks(options.threads.len()).collect();
    if let [own, peer] = by_engine[..] {
        for ((own, peer), threads) in own.iter().zip(peer).zip(threads()) {
            writeln!(
                text,
                "- own compared with revm, {threads} threads: {} in wall time, {} in CPU time",
                ratio(peer, own, |run| run.wall_s),
                ratio(peer, own, Cost::cpu_s),
            )?;
        }
    }
    for (engine, runs) in engines.iter().zip(by_engine) {
        for (many, threads) in runs.iter().zip(threads()).skip(1) {
            let one = &runs[0];
            writeln!(
                text,
                "- {engine}, 1 to {threads} threads: speedup {}, of the best runs {:.2}; CPU time \
                 times {}",
                ratio(one, many, |run| run.wall_s),
                wall(one).min / wall(many).min,
                ratio(many, one, Cost::cpu_s),
            )?;
        }
    }
    say(text);
    Ok(())
}
