//! Times real blocks on our interpreter and on revm.
//!
//! Executes the transactions of each bundle, block by block in alternation: once with an empty
//! cache of code (one pass), and once with prepared code (warm). The gas of both engines is
//! compared with the header before anything is timed.

use super::{
    blocks::{BlockCase, Era, Incomplete},
    measure::{cpu_ns, geometric_mean},
    table::duration,
};
use crate::{
    console::{progress, say},
    measure::Spread,
    report::Results,
};
use anyhow::{Result, ensure};
use serde_json::json;
use std::{fmt::Write as _, path::PathBuf};
use txgraph_bundle::Bundle;
use txgraph_evm::{Evm, State, StateMemory};
use txgraph_revm_peer::RevmCodes;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Folder of bundles.
    #[arg(long)]
    bundles: PathBuf,
    /// Only bundles with this text in their names.
    #[arg(long, default_value = "")]
    filter: String,
    /// Rounds.
    #[arg(long, default_value_t = 11)]
    rounds: usize,
    #[command(flatten)]
    results: Results,
    /// Run only our interpreter, with this number of passes over all blocks, for a profiler.
    #[arg(long, value_name = "PASSES")]
    own: Option<usize>,
    /// Keep prepared code from pass to pass.
    #[arg(long, requires = "own")]
    warm: bool,
}

/// The timed parts, in nanoseconds of CPU time.
#[derive(Clone, Copy, Default)]
struct Times {
    own: u64,
    own_with_changes: u64,
    peer: u64,
    peer_with_bundle: u64,
}

/// Times of one block, one for each round.
#[derive(Default)]
struct Samples {
    one_pass: Vec<Times>,
    warm: Vec<Times>,
}

pub(crate) fn run(args: &Options) -> Result<()> {
    let cases = open(args)?;
    ensure!(
        !cases.is_empty(),
        "no bundle has {:?} in its name",
        args.filter
    );
    if let Some(passes) = args.own {
        return own(&cases, passes, args.warm);
    }
    for case in &cases {
        let (codes, transactions) = (RevmCodes::default(), case.peer_transactions());
        let gas = case.execute_on_peer(&codes, transactions)?;
        ensure!(
            gas == case.gas_used,
            "block {}: revm used {gas} gas",
            case.number
        );
    }
    let mut samples: Vec<Samples> = cases.iter().map(|_| Samples::default()).collect();
    for round in 0..args.rounds.max(1) {
        // One pass over all blocks: contracts are prepared when the first block calls them.
        let mut kept = Kept {
            own: Own::new(&cases[0]),
            own_with_changes: Own::new(&cases[0]),
            peer: RevmCodes::default(),
            peer_with_bundle: RevmCodes::default(),
        };
        for (case, samples) in cases.iter().zip(&mut samples) {
            samples.one_pass.push(time(case, &mut kept, round)?);
        }
        // Another pass, because code is decoded in later runs.
        for case in &cases {
            time(case, &mut kept, round)?;
        }
        for (case, samples) in cases.iter().zip(&mut samples) {
            samples.warm.push(time(case, &mut kept, round)?);
        }
        progress(format_args!("round {} of {}", round + 1, args.rounds));
    }
    let text = report(&cases, &samples, &args.results.setup)?;
    args.results.publish("summary.md", &text)?;
    let raw = raw(&cases, &samples, &args.results.setup);
    let raw = serde_json::to_string(&raw)? + "\n";
    args.results.write("raw.json", &raw)
}

/// Opens the bundles, sorted by block number. Leaves out blocks without transactions, and says so
/// for bundles that lack state.
fn open(args: &Options) -> Result<Vec<BlockCase>> {
    let mut cases: Vec<BlockCase> = Vec::new();
    for path in Bundle::list(&args.bundles)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !name.contains(&args.filter) {
            continue;
        }
        match BlockCase::open(&path) {
            Ok(case) => {
                // Several files may contain the same block.
                let seen = cases.iter().any(|seen| seen.number == case.number);
                if !seen && case.transactions() > 0 {
                    cases.push(case);
                }
            }
            Err(error) if error.is::<Incomplete>() => {
                progress(format_args!("left out: {}: {error}", path.display()));
            }
            Err(error) => return Err(error.context(path.display().to_string())),
        }
    }
    cases.sort_by_key(|case| case.number);
    Ok(cases)
}

/// Runs our interpreter alone.
fn own(cases: &[BlockCase], passes: usize, warm: bool) -> Result<()> {
    let (mut gas, mut own) = (0, Own::new(&cases[0]));
    for _ in 0..passes {
        if !warm {
            own = Own::new(&cases[0]);
        }
        for case in cases {
            gas += own.execute(case, false)?;
        }
    }
    say(format_args!("{gas} gas"));
    Ok(())
}

/// Our interpreter with its memory and prepared code, as a thread of a replay keeps them.
struct Own {
    evm: Evm,
    memory: StateMemory,
}

impl Own {
    fn new(case: &BlockCase) -> Self {
        Self {
            evm: case.evm(),
            memory: StateMemory::default(),
        }
    }

    /// Executes a block, and collects its changes if they are wanted. Returns the gas.
    fn execute(&mut self, case: &BlockCase, with_changes: bool) -> Result<u64> {
        let memory = std::mem::take(&mut self.memory);
        let mut state = State::with_memory(case.before(), memory);
        let gas = case.execute(&mut self.evm, &mut state)?;
        if with_changes {
            std::hint::black_box(state.changes());
        }
        self.memory = state.into_memory();
        Ok(gas)
    }
}

/// State that is kept from block to block. Each kind of run has its own, so that none warms the
/// code of another.
struct Kept {
    own: Own,
    own_with_changes: Own,
    peer: RevmCodes,
    peer_with_bundle: RevmCodes,
}

/// Times a block on all engines, in an order that changes with the round.
fn time(case: &BlockCase, kept: &mut Kept, round: usize) -> Result<Times> {
    let mut times = Times::default();
    for turn in 0..4 {
        let transactions = case.peer_transactions();
        let start = cpu_ns();
        let time = match (turn + round) % 4 {
            0 => {
                kept.own.execute(case, false)?;
                &mut times.own
            }
            1 => {
                case.execute_on_peer(&kept.peer, transactions)?;
                &mut times.peer
            }
            2 => {
                kept.own_with_changes.execute(case, true)?;
                &mut times.own_with_changes
            }
            _ => {
                case.execute_on_peer_with_bundle(&kept.peer_with_bundle, transactions)?;
                &mut times.peer_with_bundle
            }
        };
        *time = cpu_ns() - start;
    }
    Ok(times)
}

/// The median over the rounds of a figure.
fn median(times: &[Times], figure: impl Fn(&Times) -> f64) -> f64 {
    Spread::of(times.iter().map(figure)).median
}

/// Time of revm divided by ours, without and with changes.
#[expect(clippy::cast_precision_loss, reason = "nanoseconds of a short run")]
fn ratios(times: &[Times]) -> [f64; 2] {
    [
        median(times, |it| it.peer as f64 / it.own as f64),
        median(times, |it| {
            it.peer_with_bundle as f64 / it.own_with_changes as f64
        }),
    ]
}

fn report(cases: &[BlockCase], samples: &[Samples], setup: &str) -> Result<String> {
    let ratios: Vec<[f64; 4]> = (samples.iter())
        .map(|it| {
            let ([a, b], [c, d]) = (ratios(&it.one_pass), ratios(&it.warm));
            [a, b, c, d]
        })
        .collect();
    let mut text = format!("# Real blocks on our interpreter and on revm\n\n{setup}\n\n");
    let head = "one pass | one pass, with changes | warm | warm, with changes |\n";
    let line = "---: | ---: | ---: | ---: |\n";
    writeln!(
        text,
        "Time of revm divided by ours, geometric mean over blocks of the median over rounds. \
         Without changes: revm with one journal per block. With changes: revm with `State` and \
         bundle, as in reth.\n"
    )?;
    write!(text, "| blocks | number | {head}| --- | ---: | {line}")?;
    let mut row = |name: &str, wanted: &dyn Fn(&BlockCase) -> bool| -> Result<()> {
        let chosen: Vec<&[f64; 4]> = (cases.iter().zip(&ratios))
            .filter(|(case, _)| wanted(case))
            .map(|(_, ratios)| ratios)
            .collect();
        if chosen.is_empty() {
            return Ok(());
        }
        write!(text, "| {name} | {} |", chosen.len())?;
        for column in 0..4 {
            let mean = geometric_mean(chosen.iter().map(|ratios| ratios[column]));
            write!(text, " **{mean:.2}** |")?;
        }
        writeln!(text)?;
        Ok(())
    };
    for (era, name) in Era::ALL {
        row(name, &|case| case.era() == era)?;
    }
    row("all", &|_| true)?;
    let head = format!("| block | fork | transactions | Mgas | own, one pass | own, warm | {head}");
    write!(
        text,
        "\n{head}| ---: | --- | ---: | ---: | ---: | ---: | {line}"
    )?;
    for ((case, samples), ratios) in cases.iter().zip(samples).zip(&ratios) {
        #[expect(clippy::cast_precision_loss, reason = "gas and nanoseconds of a block")]
        let own = |times: &[Times]| duration(median(times, |times| times.own as f64));
        #[expect(clippy::cast_precision_loss, reason = "gas and nanoseconds of a block")]
        let mgas = case.gas_used as f64 / 1e6;
        write!(
            text,
            "| {} | {} | {} | {mgas:.2} | {} | {} |",
            case.number,
            case.fork(),
            case.transactions(),
            own(&samples.one_pass),
            own(&samples.warm),
        )?;
        for ratio in ratios {
            write!(text, " {ratio:.2} |")?;
        }
        writeln!(text)?;
    }
    Ok(text)
}

fn raw(cases: &[BlockCase], samples: &[Samples], setup: &str) -> serde_json::Value {
    let times = |times: &[Times]| -> Vec<_> {
        let each = times.iter();
        each.map(|t| [t.own, t.peer, t.own_with_changes, t.peer_with_bundle])
            .collect()
    };
    let rows: Vec<_> = (cases.iter().zip(samples))
        .map(|(case, samples)| {
            json!({
                "block": case.number,
                "gas": case.gas_used,
                "one_pass_ns": times(&samples.one_pass),
                "warm_ns": times(&samples.warm),
            })
        })
        .collect();
    let columns = ["own", "revm", "own with changes", "revm with bundle"];
    json!({ "setup": setup, "columns": columns, "blocks": rows })
}
