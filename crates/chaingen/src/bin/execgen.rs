//! Writes a sample chain whose blocks are executed.

use clap::Parser;
use std::{io::Write, path::PathBuf, process::ExitCode, time::Instant};
use txgraph_chaingen::{
    Layout,
    execgen::{Chain, Error, Memory, Plan},
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
    /// Stop like a node since reth 2.6 that was killed: the newest blocks are only in memory, and
    /// hashed state is N blocks behind those on disk [default without N: 30]
    #[arg(
        long,
        value_name = "N",
        num_args = 0..=1,
        default_value_t = 0,
        default_missing_value = "30",
        hide_default_value = true
    )]
    masking: u64,
    /// With --masking: blocks in memory that a node has before it writes
    #[arg(long, value_name = "N", default_value_t = Memory::RETH.threshold)]
    persistence_threshold: u64,
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
    let mut plan = Plan::new(args.seed, args.layout, args.mgas_per_block * 1_000_000);
    if args.masking > 0 {
        plan.storage.masking_blocks = args.masking;
        plan.memory = Memory {
            threshold: args.persistence_threshold,
            ..Memory::RETH
        };
    }
    let mut chain = Chain::create(&args.out, plan)?;
    let tip = chain.append(args.blocks)?;
    chain.sync()?;
    let _ = writeln!(
        std::io::stderr(),
        "wrote blocks 0:{} and state up to {} with {} transactions to {} (chain id {}, tip {}) \
         in {:.1} s",
        tip.number + 1,
        chain.state_block(),
        tip.transactions,
        args.out.display(),
        plan.chain_id,
        tip.hash,
        start.elapsed().as_secs_f64(),
    );
    Ok(())
}
