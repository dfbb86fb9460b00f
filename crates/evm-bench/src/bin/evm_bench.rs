//! `txgraph-evm-bench`: times programs on our interpreter and on revm.

use alloy_primitives::{Bytes, keccak256};
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};
use txgraph_evm_bench::{
    measure::{Answer, Subject, interleaved},
    subjects::{Codes, OurFrame, OurTransaction, RevmTransaction, plain_transfer, transaction},
    table::{Kind, Row, duration, markdown},
};
use txgraph_evm_tools::{asm::assemble, program::Program};
use txgraph_revm_peer::flat::FlatState;

const USAGE: &str = "\
usage: txgraph-evm-bench --programs FOLDER [--filter TEXT] [--rounds N] [--ms N]
                         [--out FOLDER] [--setup TEXT]

Times every `.prog` file of the folder as a transaction on our interpreter and on revm, and
as a bare frame on our interpreter. Gas and return data are compared with each other and
with `expected.json` before anything is timed.
";

/// Variants of code for runs that must not execute the same code twice.
const VARIANTS: usize = 2_000;

struct Args {
    programs: PathBuf,
    filter: String,
    rounds: usize,
    round_ms: u64,
    out: Option<PathBuf>,
    setup: String,
}

fn args() -> Result<Args> {
    let mut parsed = Args {
        programs: PathBuf::new(),
        filter: String::new(),
        rounds: 5,
        round_ms: 100,
        out: None,
        setup: String::new(),
    };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || {
            args.next()
                .with_context(|| format!("{arg} needs a value\n{USAGE}"))
        };
        match arg.as_str() {
            "--programs" => parsed.programs = value()?.into(),
            "--filter" => parsed.filter = value()?,
            "--rounds" => parsed.rounds = value()?.parse().context("--rounds")?,
            "--ms" => parsed.round_ms = value()?.parse().context("--ms")?,
            "--out" => parsed.out = Some(value()?.into()),
            "--setup" => parsed.setup = value()?,
            _ => bail!("{USAGE}"),
        }
    }
    ensure!(parsed.programs.is_dir(), "no folder of programs\n{USAGE}");
    Ok(parsed)
}

fn main() -> Result<()> {
    let args = args()?;
    let mut rows = Vec::new();
    for mut job in jobs(&args)? {
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
        let times = interleaved(&mut job.subjects, args.rounds, args.round_ms);
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
        eprintln_row(&row.name, &shown.join("  "), row.ratio());
        rows.push(row);
    }
    ensure!(
        !rows.is_empty(),
        "no program has {:?} in its name",
        args.filter
    );
    let table = format!(
        "# Our interpreter compared with revm\n\n{}\n{}",
        args.setup,
        markdown(&rows)
    );
    if let Some(out) = &args.out {
        fs::create_dir_all(out)?;
        fs::write(out.join("summary.md"), &table)?;
        let raw = json!({ "setup": args.setup, "rows": rows });
        fs::write(
            out.join("raw.json"),
            serde_json::to_string_pretty(&raw)? + "\n",
        )?;
    }
    std::io::Write::write_all(&mut std::io::stdout(), table.as_bytes())?;
    Ok(())
}

fn eprintln_row(name: &str, times: &str, ratio: f64) {
    let line = format!("{name:<40} {ratio:>6.2} ×  {times}\n");
    // Only progress: ignore a closed standard error.
    let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
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
        Some(_) => format!(
            "keccak:{}",
            alloy_primitives::hex::encode(keccak256(&answer.output))
        ),
        None => alloy_primitives::hex::encode(&answer.output),
    };
    ensure!(
        found == *output,
        "{}: output {found}, expected {output}",
        job.name
    );
    Ok(())
}

fn jobs(args: &Args) -> Result<Vec<Job>> {
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
    let subjects: Vec<Box<dyn Subject>> = vec![
        Box::new(OurTransaction::new(state.clone(), tx.clone(), Codes::Same)),
        Box::new(RevmTransaction::new(state, &tx, Codes::Same)),
        Box::new(OurFrame::new(&program.call)),
    ];
    Job {
        name,
        kind,
        subjects,
        expected,
        program,
    }
}

fn fresh_code(name: String, program: &Program) -> Job {
    let (mut state, tx) = (
        FlatState::new(&program.call.state),
        transaction(&program.call),
    );
    let call = &program.call;
    let code = call.state[&call.to].code.clone();
    // Appended to the code, where it changes only the hash.
    let variant = |variant: u64| [&code[..], &[0xfe], &variant.to_be_bytes()].concat();
    let hashes = (0..VARIANTS as u64).map(|number| state.insert_code(variant(number).into()));
    let codes = Codes::Fresh(call.to, hashes.collect());
    let subjects: Vec<Box<dyn Subject>> = vec![
        Box::new(OurTransaction::new(
            state.clone(),
            tx.clone(),
            codes.clone(),
        )),
        Box::new(RevmTransaction::new(state, &tx, codes)),
    ];
    Job {
        name,
        kind: Kind::Once,
        subjects,
        expected: None,
        program: program.clone(),
    }
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
    let subjects: Vec<Box<dyn Subject>> = vec![
        Box::new(OurTransaction::new(
            state.clone(),
            tx.clone(),
            Codes::FreshInput(inputs.clone()),
        )),
        Box::new(RevmTransaction::new(state, &tx, Codes::FreshInput(inputs))),
    ];
    Ok(Job {
        name,
        kind: Kind::Once,
        subjects,
        expected: None,
        program,
    })
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
