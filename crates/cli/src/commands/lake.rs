//! `txgraph lake`.

use super::Context;
use crate::{
    output::{Terminal, listed, print_json, print_page},
    table::thousands,
};
use clap::{Args, Subcommand};
use std::path::{Path, PathBuf};
use txgraph::{
    BuildOptions, BuildReport, LakeStatus, Result, Source, VerifyReport, check_lake, compact_lake,
    lake_status,
    parse::{Checksum, first_block, last_block, wrapped_native},
    printable,
};

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
    /// First block, or UTC date to start at [default: 0]
    #[arg(long, value_name = "DATE|N")]
    from_block: Option<String>,

    /// Blocks of a partition [default: to hold 500,000 transfers]
    #[arg(long, value_name = "N")]
    partition_blocks: Option<u64>,

    /// Contracts that wrap the native coin [default: auto]
    #[arg(long, value_name = "auto|any|none|ADDRESS")]
    wrapped_native: Vec<String>,

    /// Also store transfers inside transactions
    ///
    /// Every block before Amsterdam is replayed.
    #[arg(long)]
    with_internal: bool,

    #[command(flatten)]
    append: AppendArgs,
}

/// Extend a lake to the tip of the node
///
/// Partitions with blocks that a reorganization replaced are written again.
#[derive(Args, Debug)]
struct AppendArgs {
    /// Directory of the lake
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// Last block, or UTC date to stop before [default: tip minus buffer]
    #[arg(long, value_name = "DATE|N")]
    to_block: Option<String>,

    /// Newest blocks that are left out [default: 64]
    ///
    /// A reorganization can replace them.
    #[arg(long, value_name = "N")]
    reorg_buffer: Option<u64>,
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

/// Runs the command.
pub(crate) fn run(args: &LakeArgs, context: &Context<'_>) -> Result<()> {
    let terminal = context.terminal;
    match &args.action {
        Action::Build(build) => {
            let source = context.open()?;
            let first = build.from_block.as_deref();
            let first = first.map(|block| first_block(&source, block)).transpose()?;
            let options = BuildOptions {
                first_block: first.unwrap_or(0),
                unit_blocks: build.partition_blocks,
                wrapped_native: wrapped_native(&build.wrapped_native, Checksum::Verify)?,
                ..build.append.options(&source)?
            };
            let lake = source.lake(&build.append.directory)?;
            let built = lake.build(&options, build.with_internal)?;
            done(&build.append.directory, &built, terminal);
        }
        Action::Append(append) => {
            let source = context.open()?;
            let lake = source.lake(&append.directory)?;
            done(
                &append.directory,
                &lake.append(&append.options(&source)?)?,
                terminal,
            );
        }
        Action::Compact(compact) => {
            let control = context.control_with_threads()?;
            let report = compact_lake(&compact.directory, &control)?;
            terminal.note(format_args!(
                "{} partitions were joined into {}, with {} transfers",
                thousands(report.replaced as u64),
                thousands(report.written as u64),
                thousands(report.transfers)
            ));
        }
        Action::Verify(verify) if verify.quick => {
            let control = context.control_with_threads()?;
            let report = check_lake(&verify.directory, &control)?;
            let partitions = thousands(report.units);
            terminal.note(format_args!("{partitions} partitions are valid"));
        }
        Action::Verify(verify) => {
            let source = context.open()?;
            verified(&source.lake(&verify.directory)?.verify()?, terminal);
        }
        Action::Status(status) => {
            let state = lake_status(&status.directory)?;
            match status.json {
                true => print_json(&state)?,
                false => print_page(&page(&state))?,
            }
        }
    }
    Ok(())
}

impl AppendArgs {
    fn options(&self, source: &Source) -> Result<BuildOptions> {
        let last = self.to_block.as_deref();
        let default = BuildOptions::default();
        Ok(BuildOptions {
            last_block: last.map(|block| last_block(source, block)).transpose()?,
            reorg_buffer: self.reorg_buffer.unwrap_or(default.reorg_buffer),
            ..default
        })
    }
}

fn done(directory: &Path, built: &BuildReport, terminal: &Terminal) {
    if built.removed_blocks > 0 {
        terminal.note(format_args!(
            "removed: partitions of {} blocks, some of which were replaced",
            thousands(built.removed_blocks)
        ));
    }
    let seconds = built.time.as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    let rate = built.read_blocks as f64 / seconds.max(1e-9);
    terminal.note(format_args!(
        "stored {} blocks with {} transfers in {seconds:.1} s ({rate:.0} blocks/s): {}",
        thousands(built.read_blocks),
        thousands(built.transfers),
        directory.display()
    ));
}

fn verified(report: &VerifyReport, terminal: &Terminal) {
    terminal.note(format_args!(
        "{} partitions are valid; {} blocks and {} transfers agree with the node",
        thousands(report.units),
        thousands(report.blocks),
        thousands(report.transfers)
    ));
    if !report.unread.is_empty() {
        terminal.note(format_args!(
            "not compared, because the node no longer has them: {}",
            listed(report.unread.iter().map(|range| range.to_string()))
        ));
    }
}

/// The human-readable page.
fn page(status: &LakeStatus) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    let per_transfer = |bytes: u64| bytes as f64 / status.transfers.max(1) as f64;
    let size = |bytes| {
        format!(
            "{} bytes, {:.2} for each transfer",
            thousands(bytes),
            per_transfer(bytes)
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
            match status.internal {
                true => format!("{}, internal ones included", thousands(status.transfers)),
                false => thousands(status.transfers),
            },
        ),
        ("addresses", thousands(status.addresses)),
        ("size", size(status.bytes)),
    ];
    for file in &status.files {
        lines.push((&file.name, size(file.bytes)));
    }
    let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let line = |(name, text): &(&str, String)| format!("{name:width$}  {}\n", printable(text));
    lines.iter().map(line).collect()
}
