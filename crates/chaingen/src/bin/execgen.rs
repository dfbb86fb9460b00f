//! Writes a sample chain whose blocks are executed.

use clap::Parser;
use std::{io::Write, path::PathBuf, process::ExitCode, time::Instant};
use txgraph_chaingen::{
    Layout,
    execgen::{CHAIN_ID, Chain, Error, Plan},
};

/// Write a contract-heavy sample chain: a data directory in reth's on-disk format
///
/// revm executes every transaction. The directory contains receipts, state, change sets and, in
/// layout v1, history indices, so that every block can be replayed. State roots above the
/// genesis block are placeholders, and what a v2 node keeps in RocksDB is not written. The same
/// arguments give the same chain. `genesis.json` is written next to the data.
#[derive(Debug, Parser)]
#[command(version)]
#[command(after_help = "Example:\n  execgen --out contracts --blocks 1000 --mgas-per-block 12")]
struct Args {
    /// Output folder; must be empty or not exist
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Number of the last block; the genesis is block 0
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    blocks: u64,
    /// Approximate gas of the transactions of a block, in millions
    #[arg(long, value_name = "N", default_value_t = 10)]
    mgas_per_block: u64,
    /// Seed of the chain
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Storage layout
    #[arg(long, value_enum, default_value_t = Layout::V1)]
    layout: Layout,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<(), Error> {
    let start = Instant::now();
    let plan = Plan::new(args.seed, args.layout, args.mgas_per_block * 1_000_000);
    let mut chain = Chain::create(&args.out, plan)?;
    let tip = chain.append(args.blocks)?;
    chain.sync()?;
    let summary = tip.summary(&args.out, CHAIN_ID, start);
    let _ = writeln!(std::io::stderr(), "{summary}");
    Ok(())
}
