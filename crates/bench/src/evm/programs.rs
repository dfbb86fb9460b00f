//! Times programs on our interpreter and on revm.
//!
//! Every `.prog` file runs as a transaction on our interpreter and on revm, and as a bare frame
//! on our interpreter. Gas and return data are compared with each other and with `expected.json`
//! before anything is timed.

use super::{
    bench_cases::{Codes, OurFrame, OurTransaction, RevmTransaction, plain_transfer, transaction},
    measure::{Answer, Subject, times},
    precompiles::Timing,
    table::{Kind, Row, duration, markdown},
};
use crate::console::progress;
use alloy_primitives::{Bytes, hex, keccak256};
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};
use txgraph_evm::Transaction;
use txgraph_evm_tools::{asm::assemble, program::Program};
use txgraph_revm_peer::flat::FlatState;

/// Variants of code for runs that must not execute the same code twice.
const VARIANTS: usize = 2_000;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Folder of programs.
    #[arg(long)]
    programs: PathBuf,
    /// Only programs with this text in their names.
    #[arg(long, default_value = "")]
    filter: String,
    #[command(flatten)]
    timing: Timing,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let (timing, setup) = (&options.timing, &options.timing.results.setup);
    let mut rows = Vec::new();
    for mut job in jobs(options)? {
        check(&job)?;
        let answers: Vec<Answer> = job
            .subjects
            .iter_mut()
            .map(|subject| subject.answer())
            .collect();
        // The gas of the frame lacks the intrinsic part. `check` compares it with the list.
        ensure!(
            answers[0] == answers[1],
            "{}: own {:?}, revm {:?}",
            job.name,
            short(&answers[0]),
            short(&answers[1])
        );
        let times = times(&mut job.subjects, timing.rounds, timing.ms)?;
        let names = job.subjects.iter().map(|subject| subject.name().to_owned());
        let row = Row {
            name: job.name,
            kind: job.kind,
            gas_used: answers[0].gas_used,
            engines: names.zip(times).collect(),
        };
        let shown: Vec<String> = row
            .engines
            .iter()
            .map(|(name, times)| format!("{name} {}", duration(times.min_ns)))
            .collect();
        let (name, ratio) = (&row.name, row.ratio());
        progress(format_args!(
            "{name:<40} {ratio:>6.2} ×  {}",
            shown.join("  ")
        ));
        rows.push(row);
    }
    ensure!(
        !rows.is_empty(),
        "no program has {:?} in its name",
        options.filter
    );
    let table = format!(
        "# Our interpreter compared with revm\n\n{setup}\n{}",
        markdown(&rows)
    );
    let raw = json!({ "setup": setup, "rows": rows });
    let raw = serde_json::to_string_pretty(&raw)? + "\n";
    timing.results.publish("summary.md", &table)?;
    timing.results.write("raw.json", &raw)
}

fn short(answer: &Answer) -> String {
    let hash = keccak256(&answer.output);
    let Answer {
        success,
        gas_used,
        output,
    } = answer;
    format!(
        "success {success}, gas {gas_used}, {} bytes of output, keccak {hash}",
        output.len()
    )
}

struct Job {
    name: String,
    kind: Kind,
    subjects: Vec<Box<dyn Subject>>,
    /// Expected gas and output of the frame. The output may be `keccak:` with its hash.
    expected: Option<(u64, String)>,
    program: Program,
}

/// Compares the frame with the list of expected results, if it has an entry.
fn check(job: &Job) -> Result<()> {
    let Some((gas, output)) = &job.expected else {
        return Ok(());
    };
    let answer = OurFrame::new(&job.program.call).answer();
    ensure!(answer.success, "{}: the frame failed", job.name);
    ensure!(
        answer.gas_used == *gas,
        "{}: frame gas {}, expected {gas}",
        job.name,
        answer.gas_used
    );
    let found = match output.strip_prefix("keccak:") {
        Some(_) => format!("keccak:{}", hex::encode(keccak256(&answer.output))),
        None => hex::encode(&answer.output),
    };
    ensure!(
        found == *output,
        "{}: output {found}, expected {output}",
        job.name
    );
    Ok(())
}

fn jobs(args: &Options) -> Result<Vec<Job>> {
    let expected = expected(&args.programs.join("expected.json"))?;
    let mut jobs = Vec::new();
    let wanted = |name: &str| name.contains(&args.filter);
    for program in Program::open_all(std::slice::from_ref(&args.programs))? {
        let name = program.name.clone();
        let (fresh, deployed) = (format!("{name} (fresh)"), format!("{name} (deployed)"));
        if wanted(&fresh) && FRESH.contains(&name.as_str()) {
            jobs.push(fresh_code(fresh, &program));
        }
        if wanted(&deployed) && DEPLOYED.contains(&name.as_str()) {
            jobs.push(init_code(deployed, &program)?);
        }
        if wanted(&name) {
            let (kind, expected) = (Kind::of(&name), expected.get(&name).cloned());
            jobs.push(whole(name, kind, program, expected));
        }
    }
    if wanted("transfer") {
        jobs.push(whole(
            "transfer of wei".to_owned(),
            Kind::Overhead,
            plain_transfer(),
            None,
        ));
    }
    if wanted("stop") {
        let mut program = plain_transfer();
        let call = &mut program.call;
        call.gas = 1_000;
        call.state.entry(call.to).or_default().code = Bytes::from_static(&[0]);
        jobs.push(whole(
            "call of STOP".to_owned(),
            Kind::Overhead,
            program,
            None,
        ));
    }
    Ok(jobs)
}

/// Contracts that are also timed with new code in every run.
const FRESH: [&str; 7] = [
    "real-weth",
    "real-usdc_proxy",
    "real-uniswap_v2_pair",
    "real-univ2_router",
    "real-curve-stableswap-2pool",
    "fact100",
    "ips-swap_math-received",
];

/// Contracts that are also deployed, by new init code in every run.
const DEPLOYED: [&str; 3] = [
    "real-weth",
    "real-uniswap_v2_pair",
    "real-curve-stableswap-2pool",
];

fn whole(name: String, kind: Kind, program: Program, expected: Option<(u64, String)>) -> Job {
    let (state, tx) = (
        FlatState::new(&program.call.state),
        transaction(&program.call),
    );
    let mut subjects = both(state, &tx, Codes::Same);
    subjects.push(Box::new(OurFrame::new(&program.call)));
    Job {
        name,
        kind,
        subjects,
        expected,
        program,
    }
}

/// A transaction that executes new code in every run.
fn once(name: String, program: &Program, state: FlatState, tx: &Transaction, codes: Codes) -> Job {
    Job {
        name,
        kind: Kind::Once,
        subjects: both(state, tx, codes),
        expected: None,
        program: program.clone(),
    }
}

fn both(state: FlatState, tx: &Transaction, codes: Codes) -> Vec<Box<dyn Subject>> {
    let own = OurTransaction::new(state.clone(), tx.clone(), codes.clone());
    vec![
        Box::new(own),
        Box::new(RevmTransaction::new(state, tx, codes)),
    ]
}

fn fresh_code(name: String, program: &Program) -> Job {
    let call = &program.call;
    let mut state = FlatState::new(&call.state);
    let code = call.state[&call.to].code.clone();
    // Appended to the code, where it changes only the hash.
    let variant = |variant: u64| [&code[..], &[0xfe], &variant.to_be_bytes()].concat();
    let hashes = (0..VARIANTS as u64).map(|number| state.insert_code(variant(number).into()));
    let codes = Codes::Fresh(call.to, hashes.collect());
    once(name, program, state, &transaction(call), codes)
}

fn init_code(name: String, program: &Program) -> Result<Job> {
    let code = &program.call.state[&program.call.to].code;
    let source = format!(
        "PUSH {} DUP1 PUSH code PUSH 0 CODECOPY PUSH 0 RETURN code:",
        code.len()
    );
    let prefix = assemble(&source)?;
    let inputs: Vec<Bytes> = (0..VARIANTS as u64)
        .map(|variant| [&prefix[..], code, &variant.to_be_bytes()].concat().into())
        .collect();
    let mut program = program.clone();
    program.call.gas = 30_000_000;
    let mut tx = transaction(&program.call);
    (tx.to, tx.input) = (None, inputs[0].clone());
    let state = FlatState::new(&program.call.state);
    let codes = Codes::FreshInput(inputs);
    Ok(once(name, &program, state, &tx, codes))
}

/// Reads the expected frame gas and output by program.
fn expected(path: &Path) -> Result<BTreeMap<String, (u64, String)>> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let entries: Vec<Value> = serde_json::from_str(&text)?;
    let entry = |entry: &Value| {
        let (name, gas, out) = (&entry["name"], &entry["frame_gas"], &entry["out"]);
        let parts = (name.as_str(), gas.as_u64(), out.as_str());
        let (Some(name), Some(gas), Some(out)) = parts else {
            bail!(
                "{}: an entry lacks name, frame_gas or out: {entry}",
                path.display()
            );
        };
        Ok((name.to_owned(), (gas, out.to_owned())))
    };
    entries.iter().map(entry).collect()
}
