//! `txgraph-executor`: an executor of a cluster.

use clap::Parser;
use std::process::ExitCode;
use txgraph_distributed::executor::{ExecutorArgs, run};

/// An executor of a txgraph cluster: Apache DataFusion Ballista with txgraph's operators
///
/// docs/cluster.md describes how to run and protect it.
#[derive(Debug, Parser)]
#[command(name = "txgraph-executor", version = txgraph::version(), max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    args: ExecutorArgs,
}

fn main() -> ExitCode {
    txgraph_distributed::process(run(&Cli::parse().args))
}
