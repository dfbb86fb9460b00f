//! `txgraph evm bench`.

use super::files::tool_error;
use crate::output::print_page;
use clap::Args;
use serde_json::json;
use std::{path::PathBuf, time::Duration};
use txgraph::{Error, Result};
use txgraph_evm::Fork;
use txgraph_evm_tools::{
    bench::{Timed, time_program},
    program::Program,
};

/// Time programs on the interpreter
///
/// Each program runs repeatedly as a bare frame, each time with a fresh state. `./bench.sh evm` in
/// the repository compares whole transactions with other engines.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct BenchArgs {
    /// Programs (`.prog`), or folders of them
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,

    /// Fork
    #[arg(long, value_name = "FORK", default_value_t = Fork::Cancun)]
    fork: Fork,

    /// Time for each program, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 300)]
    time: u64,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples (for the programs in testdata/):
    $ txgraph evm bench testdata/evm/programs --time 5
    $ txgraph evm bench testdata/evm/programs/fact100.prog --time 20 --json
";

pub(crate) fn run(args: BenchArgs) -> Result<()> {
    let programs = Program::open_all(&args.paths).map_err(tool_error)?;
    let time = Duration::from_millis(args.time);
    let timed = programs.iter().map(|program| {
        time_program(program, args.fork, time)
            .map_err(|error| Error::usage(program.name.clone()).because(error))
    });
    let timed: Vec<Timed> = timed.collect::<Result<_>>()?;
    let text = if args.json {
        format!(
            "{:#}\n",
            json!(timed.iter().map(Timed::to_json).collect::<Vec<_>>())
        )
    } else {
        Timed::table(&timed)
    };
    print_page(&text)
}
