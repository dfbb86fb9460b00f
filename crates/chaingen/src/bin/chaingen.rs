//! Writes a sample chain: a data directory in reth's format, from a seed.

use clap::Parser;
use std::{
    fs::File,
    io::{BufWriter, Write},
    path::PathBuf,
    process::ExitCode,
    time::Instant,
};
use txgraph_chaingen::{self as chaingen, Appender, CSV_HEADER, Config, Layout, Profile};

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
/// written.
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
    /// Blocks that hashed state stays behind, as in a node since reth 2.6 (there 30)
    #[arg(long, value_name = "N", default_value_t = 0)]
    masking: u64,
    /// Blocks per static file
    #[arg(long, value_name = "N", default_value_t = 500_000)]
    blocks_per_file: u64,
    /// Write the known answers as JSON: counts, tokens, scenarios, searches
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,
    /// Write every transfer of the chain as CSV with the columns of txgraph
    #[arg(long, value_name = "FILE")]
    truth_edges: Option<PathBuf>,
    /// Print errors only
    #[arg(short, long)]
    quiet: bool,
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
        blocks_per_file: args.blocks_per_file,
        masking_blocks: args.masking,
        truth: args.truth.is_some(),
        ..Config::default()
    };
    let chain_id = config.chain_id;
    let mut edges = match &args.truth_edges {
        Some(path) => {
            let mut file = BufWriter::new(File::create(path)?);
            writeln!(file, "{CSV_HEADER}")?;
            Some((file, path))
        }
        None => None,
    };
    let mut chain = Appender::create(&args.out, config)?;
    let tip = chain.append_with(args.blocks, &mut |transfers| {
        let Some((file, path)) = &mut edges else {
            return Ok(());
        };
        chaingen::write_csv(file, transfers, chain_id).map_err(|source| chaingen::Error::Io {
            path: path.clone(),
            action: "write",
            source,
        })
    })?;
    if let Some((file, _)) = &mut edges {
        file.flush()?;
    }
    chain.sync()?;
    if let Some(path) = &args.truth {
        let mut file = BufWriter::new(File::create(path)?);
        serde_json::to_writer_pretty(&mut file, &chain.truth())?;
        writeln!(file)?;
        file.flush()?;
    }
    if !args.quiet {
        let layout = if args.layout == Layout::V1 {
            "v1"
        } else {
            "v2"
        };
        writeln!(
            std::io::stderr(),
            "wrote blocks 0:{} with {} transactions to {} ({layout}, chain id {chain_id}, tip {}) \
             in {:.1} s",
            tip.number + 1,
            tip.transactions,
            args.out.display(),
            tip.hash,
            start.elapsed().as_secs_f64(),
        )?;
    }
    Ok(())
}
