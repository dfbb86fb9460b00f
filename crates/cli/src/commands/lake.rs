//! `txgraph lake`.

use super::{Context, stores};
use crate::{
    output::{listed, number},
    table::thousands,
};
use clap::{Args, Subcommand};
use std::path::PathBuf;
use txgraph::{LakeStatus, Result, check_lake, compact_lake, lake_status};

/// Build and check a lake: all transfers as Parquet for any engine
///
/// A lake is a directory with the transfers by position, by sender and by receiver, their
/// addresses, transactions and blocks, in about 45 bytes for each transfer. Name it as a source with
/// --source lake:DIR: no node is needed then, and answers are the same. docs/lake.md describes the
/// files, and how DuckDB, polars and pyarrow read them.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct LakeArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Build(BuildArgs),
    Append(AppendArgs),
    Compact(CompactArgs),
    Verify(VerifyArgs),
    Status(StatusArgs),
}

/// Build a lake of the whole chain, or continue a build
#[derive(Args, Debug)]
struct BuildArgs {
    /// Directory of the lake
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// Blocks of a partition [default: to hold 500,000 transfers]
    #[arg(long, value_name = "N")]
    partition_blocks: Option<u64>,

    #[command(flatten)]
    store: stores::StoreBuildArgs,
}

/// Extend a lake to the tip of the node
///
/// Partitions with blocks that a reorganization replaced are written again.
#[derive(Args, Debug)]
struct AppendArgs {
    /// Directory of the lake
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    #[command(flatten)]
    store: stores::StoreUpdateArgs,
}

/// Join the small partitions that appending leaves at the end of a lake
///
/// Needs no node. Ids of addresses in these partitions change; others never do.
#[derive(Args, Debug)]
struct CompactArgs {
    /// Directory of the lake
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

/// Check every byte of a lake, and every transfer against the node
#[derive(Args, Debug)]
struct VerifyArgs {
    /// Directory of the lake
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// Check only the lake itself: checksums and structure. Needs no node
    #[arg(long)]
    quick: bool,
}

/// Show what a lake contains, and its size
#[derive(Args, Debug)]
struct StatusArgs {
    /// Directory of the lake
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples (for the small chain that scripts/demo.sh unpacks, demo/small):
    $ txgraph lake build transfers.lake --reorg-buffer 0
    $ txgraph lake append transfers.lake --reorg-buffer 0
    $ txgraph lake compact transfers.lake
    $ txgraph lake status transfers.lake
    $ txgraph lake verify transfers.lake
    $ txgraph graph --source lake:transfers.lake -r 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0 -n 3
";

pub(crate) fn run(args: &LakeArgs, context: &Context<'_>) -> Result<()> {
    let terminal = context.terminal;
    match &args.action {
        Action::Build(build) => {
            let source = context.open()?;
            let options = build.store.options(build.partition_blocks, &source)?;
            let lake = source.lake(&build.directory)?;
            let built = lake.build(&options, build.store.with_internal)?;
            stores::built(&build.directory, UNITS, &built, terminal);
        }
        Action::Append(append) => {
            let source = context.open()?;
            let lake = source.lake(&append.directory)?;
            let built = lake.append(&append.store.options(&source)?)?;
            stores::built(&append.directory, UNITS, &built, terminal);
        }
        Action::Compact(compact) => {
            let control = context.control_with_threads()?;
            let report = compact_lake(&compact.directory, &control)?;
            terminal.note(format_args!(
                "{} joined into {}, with {}",
                number(report.replaced as u64, "partition was", "partitions were"),
                thousands(report.written as u64),
                number(report.transfers, "transfer", "transfers")
            ));
        }
        Action::Verify(verify) if verify.quick => {
            let control = context.control_with_threads()?;
            let report = check_lake(&verify.directory, &control)?;
            stores::verified(UNITS, &report, true, terminal);
        }
        Action::Verify(verify) => {
            let source = context.open()?;
            let report = source.lake(&verify.directory)?.verify()?;
            stores::verified(UNITS, &report, false, terminal);
        }
        Action::Status(status) => {
            let state = lake_status(&status.directory)?;
            stores::print_status(status.json, &state, &lines(&state))?;
        }
    }
    Ok(())
}

/// The parts of a lake.
const UNITS: [&str; 2] = ["partition", "partitions"];

/// The human-readable page.
fn lines(status: &LakeStatus) -> Vec<(&str, String)> {
    let size = |bytes| {
        format!(
            "{}, {:.2} for each transfer",
            number(bytes, "byte", "bytes"),
            stores::ratio(bytes, status.transfers)
        )
    };
    let mut lines = vec![
        ("lake", status.path.display().to_string()),
        (
            "chain",
            format!("{} (genesis {})", status.chain_id, status.genesis_hash),
        ),
        (
            "blocks",
            listed(status.blocks.iter().map(|range| range.to_string())),
        ),
        (
            "partitions",
            match status.unsettled_partitions {
                0 => thousands(status.partitions as u64),
                small => format!(
                    "{}; `txgraph lake compact` joins the last {}",
                    thousands(status.partitions as u64),
                    thousands(small as u64)
                ),
            },
        ),
        (
            "transfers",
            stores::transfers(status.transfers, status.internal),
        ),
        ("addresses", thousands(status.addresses)),
        ("size", size(status.bytes)),
    ];
    for file in &status.files {
        lines.push((&file.name, size(file.bytes)));
    }
    lines
}
