//! `evm-test`: only the runner of public tests, which is quick to build. `txgraph evm test`
//! does the same.

use std::{io::Write, path::PathBuf, process::ExitCode};
use txgraph_evm_tools::{
    engine::OurEvm,
    fixture::{Options, run},
};

const USAGE: &str = "\
usage: evm-test [--fork FORK] [--filter TEXT] [--sample N] [--failures N] [--json] PATH…

Runs public EVM tests: `.json` files, folders of them, packed `.jsonl.zst` files.
Exit status: 0 all passed, 1 some did not, 2 wrong usage.
";

struct Args {
    options: Options,
    failures_max: usize,
    json: bool,
    paths: Vec<PathBuf>,
}

fn args() -> Result<Args, String> {
    let mut args = std::env::args().skip(1);
    let mut parsed = Args {
        options: Options::default(),
        failures_max: 20,
        json: false,
        paths: Vec::new(),
    };
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--fork" => parsed.options.fork = Some(value()?.parse().map_err(|e| format!("{e}"))?),
            "--filter" => parsed.options.filter = Some(value()?),
            "--sample" => {
                let one_of = value()?.parse().map_err(|e| format!("--sample: {e}"))?;
                parsed.options.sample = Some((one_of, 1));
            }
            "--failures" => {
                parsed.failures_max = value()?.parse().map_err(|e| format!("--failures: {e}"))?;
            }
            "--json" => parsed.json = true,
            "-h" | "--help" => return Err(String::new()),
            _ if arg.starts_with('-') => return Err(format!("unknown option {arg}")),
            _ => parsed.paths.push(arg.into()),
        }
    }
    match parsed.paths.is_empty() {
        true => Err("no tests given".to_owned()),
        false => Ok(parsed),
    }
}

fn main() -> ExitCode {
    let args = match args() {
        Ok(args) => args,
        Err(what) => {
            let _ = writeln!(std::io::stderr(), "{what}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    // A case that panics is a failure in the report; its message is not printed as well.
    std::panic::set_hook(Box::new(|_| {}));
    let report = match run(&args.paths, &args.options, OurEvm::new) {
        Ok(report) => report,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error}");
            return ExitCode::from(2);
        }
    };
    let mut out = std::io::stdout().lock();
    let _ = match args.json {
        true => writeln!(out, "{:#}", report.to_json()),
        false => write!(
            out,
            "{}\n{:.2} s\n",
            report.table(args.failures_max),
            report.time.as_secs_f64()
        ),
    };
    ExitCode::from(u8::from(!report.all_passed()))
}
