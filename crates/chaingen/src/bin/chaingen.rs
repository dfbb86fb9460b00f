//! Writes a sample chain: a data directory in reth's format, from a seed.

use clap::Parser;
use std::{
    fs::File,
    io::{BufWriter, Write},
    path::PathBuf,
    process::ExitCode,
    time::Instant,
};
use txgraph_chaingen::{Appender, CHAIN_ID, Config, Layout, Profile};

/// Write a sample chain: a data directory in reth's on-disk format, from a seed
///
/// The directory contains headers, signed transactions of all types, receipts, senders,
/// withdrawals and accounts of an invented chain that resembles mainnet: token popularity by
/// Zipf's law, hubs, swaps, airdrops, NFTs, anomalous logs, and planted scenarios (peel chains,
/// wash cycles, deposit sweeps, mixers, poisonings, ...). The same arguments give the same
/// chain. `genesis.json` is written next to the data.
///
/// No transaction is executed: logs are invented, contracts have no storage, and state roots
/// above the genesis block are placeholders. Indices that a v2 node keeps in RocksDB are not
/// written: the lookup by transaction hash, and the history of accounts.
#[derive(Debug, Parser)]
#[command(version)]
#[command(after_help = "Examples:\n  \
    chaingen --out sample --blocks 1000\n  \
    chaingen --out sample-v1 --blocks 200000 --seed 7 --layout v1 --truth truth.json")]
struct Args {
    /// Output folder; must be empty or not exist
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Number of the last block; the genesis is block 0
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    blocks: u64,
    /// Mean transactions per block
    #[arg(long, value_name = "N", default_value_t = 8)]
    txs_per_block: u64,
    /// Seed of the chain
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Storage layout
    #[arg(long, value_enum, default_value_t = Layout::V2)]
    layout: Layout,
    /// Kind of transactions
    #[arg(long, value_enum, default_value_t = Profile::Mainnet)]
    profile: Profile,
    /// Fungible tokens; the first three have half of all transfers
    #[arg(long, value_name = "N", default_value_t = 2_000)]
    tokens: u64,
    /// Write the known answers as JSON: counts, tokens, scenarios, searches
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            let _ = writeln!(std::io::stderr(), "error: {e}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<(), Box<dyn std::error::Error>> {
    let start = Instant::now();
    let config = Config {
        seed: args.seed,
        txs_per_block: args.txs_per_block,
        profile: args.profile,
        tokens: args.tokens,
        layout: args.layout,
        truth: args.truth.is_some(),
        ..Config::default()
    };
    let mut chain = Appender::create(&args.out, config)?;
    let tip = chain.append(args.blocks)?;
    chain.sync()?;
    if let Some(path) = &args.truth {
        let mut file = BufWriter::new(File::create(path)?);
        serde_json::to_writer_pretty(&mut file, &chain.truth())?;
        writeln!(file)?;
        file.flush()?;
    }
    let summary = tip.summary(&args.out, CHAIN_ID, start);
    writeln!(std::io::stderr(), "{summary}")?;
    Ok(())
}
