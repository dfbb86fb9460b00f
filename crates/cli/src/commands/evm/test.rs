//! `txgraph evm test`.

use super::files::tool_error;
use crate::output::{number, print_page};
use clap::Args;
use std::path::PathBuf;
use txgraph::{Error, ErrorKind, Result};
use txgraph_evm::Fork;
use txgraph_evm_tools::{
    engine::OurEvm,
    fixture::{self, Options},
};

/// Run public EVM tests
///
/// State tests, blockchain tests and VM tests: JSON files as published, folders of them, and
/// packed files (`.jsonl.zst`, one `[file, name, test]` a line). Compares state roots, hashes of
/// logs, gas, return data and headers of blocks, and checks that invalid blocks are refused.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct TestArgs {
    /// Files and folders
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,

    /// Only tests whose suite, file or name contains this
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,

    /// Only this fork
    #[arg(long, value_name = "FORK")]
    fork: Option<Fork>,

    /// Only one of N tests, always the same ones
    #[arg(long, value_name = "N")]
    sample: Option<u64>,

    /// Number of failures to show
    #[arg(long, value_name = "N", default_value_t = 20)]
    failures: usize,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Exit status: 0 if all tests passed, 1 if not, 2 if a path contains no tests.

Examples (for the tests in testdata/):
    $ txgraph evm test testdata/evm/state
    $ txgraph evm test testdata/evm/state --fork Cancun --json
";

pub(crate) fn run(args: TestArgs) -> Result<()> {
    let TestArgs { filter, fork, .. } = args;
    let options = Options {
        filter,
        fork,
        sample: args.sample.map(|one_of| (one_of, 1)),
    };
    let report = fixture::run(&args.paths, &options, OurEvm::new).map_err(tool_error)?;
    let text = if args.json {
        format!("{:#}\n", report.to_json())
    } else {
        format!(
            "{}\n{:.1} s\n",
            report.table(args.failures),
            report.time.as_secs_f64()
        )
    };
    print_page(&text)?;
    let total = report.total();
    match report.all_passed() {
        true => Ok(()),
        false if total.passed + total.failed + total.skipped == 0 => Err(Error::usage(
            "no test is left: see --filter, --fork and --sample",
        )),
        false => Err(Error::new(
            ErrorKind::Failed,
            format!(
                "{} failed, {} not run, {} not checked",
                number(total.failed, "test", "tests"),
                number(total.skipped, "was", "were"),
                number(
                    report.unchecked.values().sum(),
                    "refusal was",
                    "refusals were"
                )
            ),
        )),
    }
}
