//! `txgraph-evm-mainnet`: times real blocks on our interpreter and on revm.

use anyhow::{Context, Result, bail, ensure};
use serde_json::json;
use std::{
    fmt::Write as _,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
};
use txgraph_bundle::Bundle;
use txgraph_evm::{CodeCache, DecodeAfter, Evm, State, StateMemory};
use txgraph_evm_bench::{
    blocks::{BlockCase, Era, Incomplete},
    measure::{cpu_ns, geometric_mean},
    table::duration,
};
use txgraph_revm_peer::RevmCodes;

const USAGE: &str = "\
usage: txgraph-evm-mainnet --bundles FOLDER [--filter TEXT] [--rounds N] [--out FOLDER]
                           [--setup TEXT] [--own PASSES] [--decode-after TIMES]

Executes the transactions of each bundle on our interpreter and on revm, block by block in
alternation: once with an empty cache of code (one pass), and once with prepared code (warm).
The gas of both engines is compared with the header before anything is timed. `--own N` runs
only our interpreter, N passes over all blocks, for a profiler. `--decode-after TIMES` decodes
code that has executed TIMES its length.
";

struct Args {
    bundles: PathBuf,
    filter: String,
    rounds: usize,
    out: Option<PathBuf>,
    setup: String,
    own: Option<usize>,
    decode_after: DecodeAfter,
}

fn args() -> Result<Args> {
    let mut parsed = Args {
        bundles: PathBuf::new(),
        filter: String::new(),
        rounds: 11,
        out: None,
        setup: String::new(),
        own: None,
        decode_after: DecodeAfter::default(),
    };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || {
            args.next()
                .with_context(|| format!("{arg} needs a value\n{USAGE}"))
        };
        match arg.as_str() {
            "--bundles" => parsed.bundles = value()?.into(),
            "--filter" => parsed.filter = value()?,
            "--rounds" => parsed.rounds = value()?.parse().context("--rounds")?,
            "--out" => parsed.out = Some(value()?.into()),
            "--setup" => parsed.setup = value()?,
            "--decode-after" => {
                let times = value()?.parse().context("--decode-after")?;
                parsed.decode_after = DecodeAfter::executed(times);
            }
            "--own" => parsed.own = Some(value()?.parse().context("--own")?),
            _ => bail!("{USAGE}"),
        }
    }
    ensure!(parsed.bundles.exists(), "no folder of bundles\n{USAGE}");
    Ok(parsed)
}

/// What is timed, in nanoseconds of CPU time.
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

fn main() -> Result<()> {
    let args = args()?;
    let cases = open(&args)?;
    ensure!(
        !cases.is_empty(),
        "no bundle has {:?} in its name",
        args.filter
    );
    if let Some(passes) = args.own {
        return own(&cases, passes, args.decode_after);
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
            own: Own::new(&cases[0], args.decode_after),
            own_with_changes: Own::new(&cases[0], args.decode_after),
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
        let _ = write!(
            std::io::stderr(),
            "\rround {} of {}",
            round + 1,
            args.rounds
        );
    }
    let text = report(&cases, &samples, &args.setup)?;
    if let Some(out) = &args.out {
        write_results(out, &cases, &samples, &text, &args.setup)?;
    }
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

/// Opens the bundles, sorted by block number. Leaves out blocks without transactions, and says so
/// for bundles that lack state.
fn open(args: &Args) -> Result<Vec<BlockCase>> {
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
                let _ = writeln!(std::io::stderr(), "left out: {}: {error}", path.display());
            }
            Err(error) => return Err(error.context(path.display().to_string())),
        }
    }
    cases.sort_by_key(|case| case.number);
    Ok(cases)
}

/// Runs our interpreter alone.
fn own(cases: &[BlockCase], passes: usize, decode_after: DecodeAfter) -> Result<()> {
    let mut gas = 0;
    for _ in 0..passes {
        let mut own = Own::new(&cases[0], decode_after);
        for case in cases {
            gas += own.execute(case, false)?;
        }
    }
    writeln!(std::io::stdout(), "{gas} gas")?;
    Ok(())
}

/// Our interpreter with its memory and prepared code, as a thread of a replay keeps them.
struct Own {
    evm: Evm,
    memory: StateMemory,
}

impl Own {
    fn new(case: &BlockCase, decode_after: DecodeAfter) -> Self {
        let codes = CodeCache::default().with_decode_after(decode_after);
        Self {
            evm: case.evm(Arc::new(codes)),
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

/// What is kept from block to block. Each kind of run has its own, so that none warms the code
/// of another.
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
        match (turn + round) % 4 {
            0 => {
                let start = cpu_ns();
                kept.own.execute(case, false)?;
                times.own = cpu_ns() - start;
            }
            1 => {
                let transactions = case.peer_transactions();
                let start = cpu_ns();
                case.execute_on_peer(&kept.peer, transactions)?;
                times.peer = cpu_ns() - start;
            }
            2 => {
                let start = cpu_ns();
                kept.own_with_changes.execute(case, true)?;
                times.own_with_changes = cpu_ns() - start;
            }
            _ => {
                let transactions = case.peer_transactions();
                let start = cpu_ns();
                case.execute_on_peer_with_bundle(&kept.peer_with_bundle, transactions)?;
                times.peer_with_bundle = cpu_ns() - start;
            }
        }
    }
    Ok(times)
}

/// The median over the rounds of a ratio.
fn median(times: &[Times], ratio: impl Fn(&Times) -> f64) -> f64 {
    let mut ratios: Vec<f64> = times.iter().map(ratio).collect();
    ratios.sort_by(f64::total_cmp);
    ratios[ratios.len() / 2]
}

/// Our speed relative to revm: its time divided by ours.
struct Ratios {
    one_pass: f64,
    one_pass_with_bundle: f64,
    warm: f64,
    warm_with_bundle: f64,
}

impl Ratios {
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds of a short run")]
    fn of(samples: &Samples) -> Self {
        let journal = |times: &Times| times.peer as f64 / times.own as f64;
        let bundle = |times: &Times| times.peer_with_bundle as f64 / times.own_with_changes as f64;
        Self {
            one_pass: median(&samples.one_pass, journal),
            one_pass_with_bundle: median(&samples.one_pass, bundle),
            warm: median(&samples.warm, journal),
            warm_with_bundle: median(&samples.warm, bundle),
        }
    }
}

fn report(cases: &[BlockCase], samples: &[Samples], setup: &str) -> Result<String> {
    let ratios: Vec<Ratios> = samples.iter().map(Ratios::of).collect();
    let mut text = format!("# Real blocks on our interpreter and on revm\n\n{setup}\n\n");
    let head = "one pass | one pass, with changes | warm | warm, with changes |\n";
    let line = "---: | ---: | ---: | ---: |\n";
    let columns: [fn(&Ratios) -> f64; 4] = [
        |ratios| ratios.one_pass,
        |ratios| ratios.one_pass_with_bundle,
        |ratios| ratios.warm,
        |ratios| ratios.warm_with_bundle,
    ];
    writeln!(
        text,
        "Time of revm divided by ours, geometric mean over blocks of the median over rounds. \
         Without changes: revm with one journal per block. With changes: revm with `State` and \
         bundle, as in reth.\n"
    )?;
    write!(text, "| blocks | number | {head}| --- | ---: | {line}")?;
    let mut row = |name: &str, wanted: &dyn Fn(&BlockCase) -> bool| -> Result<()> {
        let chosen: Vec<&Ratios> = (cases.iter().zip(&ratios))
            .filter(|(case, _)| wanted(case))
            .map(|(_, ratios)| ratios)
            .collect();
        if chosen.is_empty() {
            return Ok(());
        }
        write!(text, "| {name} | {} |", chosen.len())?;
        for column in columns {
            let mean = geometric_mean(chosen.iter().map(|ratios| column(ratios)));
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
        for column in columns {
            write!(text, " {:.2} |", column(ratios))?;
        }
        writeln!(text)?;
    }
    Ok(text)
}

fn write_results(
    out: &Path,
    cases: &[BlockCase],
    samples: &[Samples],
    text: &str,
    setup: &str,
) -> Result<()> {
    fs::create_dir_all(out)?;
    fs::write(out.join("summary.md"), text)?;
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
    let raw = json!({ "setup": setup, "columns": columns, "blocks": rows });
    fs::write(out.join("raw.json"), serde_json::to_string(&raw)? + "\n")?;
    Ok(())
}
