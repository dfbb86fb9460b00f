//! `txgraph index`.

use super::Context;
use crate::{
    output::{Terminal, listed, print_json, print_page},
    table::thousands,
};
use clap::{Args, Subcommand};
use txgraph::{
    BuildOptions, BuildReport, IndexHandle, IndexState, Result, Source,
    parse::{Checksum, first_block, last_block, wrapped_native},
    printable,
};

/// Build and check an index, which finds any address in milliseconds
///
/// An index contains every transfer again, by sender and by receiver, in about 40 bytes each.
/// Queries about its blocks are answered from it, all others from the node; the answers are the
/// same. It is in ~/.cache/txgraph/index unless --index names a directory, and can be deleted at
/// any time. A build that was interrupted continues where it stopped.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct IndexArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Build(BuildArgs),
    Update(UpdateArgs),
    Status(StatusArgs),
    Verify(VerifyArgs),
    /// Delete the index
    Drop,
}

/// Build an index of the whole chain, or continue a build
#[derive(Args, Debug)]
struct BuildArgs {
    /// First block, or UTC date to start at [default: 0]
    #[arg(long, value_name = "DATE|N")]
    from_block: Option<String>,

    /// Blocks of a full segment [default: 32768]
    ///
    /// Larger segments are searched faster, and take more memory to build.
    #[arg(long, value_name = "N")]
    segment_blocks: Option<u64>,

    /// Contracts that wrap the native coin [default: auto]
    ///
    /// Queries about others are answered from the node.
    #[arg(long, value_name = "auto|any|none|ADDRESS")]
    wrapped_native: Vec<String>,

    /// Also index transfers inside transactions
    ///
    /// Every block before Amsterdam is replayed, which takes as long as a replay. Queries with --with-internal are then answered from the index;
    /// all others are answered as before.
    #[arg(long)]
    with_internal: bool,

    #[command(flatten)]
    update: UpdateArgs,
}

/// Extend an index to the tip of the node
///
/// Blocks that a reorganization replaced are indexed again.
#[derive(Args, Debug)]
struct UpdateArgs {
    /// Last block, or UTC date to stop before [default: tip minus buffer]
    #[arg(long, value_name = "DATE|N")]
    to_block: Option<String>,

    /// Newest blocks that are left to the node [default: 64]
    ///
    /// A reorganization can replace them.
    #[arg(long, value_name = "N")]
    reorg_buffer: Option<u64>,
}

/// Show content and size of an index, and how far the node is ahead
#[derive(Args, Debug)]
struct StatusArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Check every byte of an index, and every transfer against the database
#[derive(Args, Debug)]
struct VerifyArgs {
    /// Check only the index itself: checksums and structure
    #[arg(long)]
    quick: bool,
}

const EXAMPLES: &str = "\
Examples (for the small chain that scripts/demo.sh unpacks, demo/small):
    $ txgraph index build
    $ txgraph index build --with-internal --to-block 30 --index with-internal \\
        --chain testdata/small/v2/genesis.json
    $ txgraph index update
    $ txgraph index status
    $ txgraph index verify --quick
    $ txgraph graph -r 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0 -n 3 --index off
";

/// Runs the command.
pub(crate) fn run(args: &IndexArgs, context: &Context<'_>) -> Result<()> {
    let terminal = context.terminal;
    let source = context.open()?;
    let index = source.index()?;
    match &args.action {
        Action::Build(build) => {
            let first = build.from_block.as_deref();
            let first = first.map(|block| first_block(&source, block)).transpose()?;
            let options = BuildOptions {
                first_block: first.unwrap_or(0),
                unit_blocks: build.segment_blocks,
                wrapped_native: wrapped_native(&build.wrapped_native, Checksum::Verify)?,
                ..build.update.options(&source)?
            };
            let built = index.build(&options, build.with_internal)?;
            done(index, &built, terminal)
        }
        Action::Update(update) => done(index, &index.update(&update.options(&source)?)?, terminal),
        Action::Status(status) => {
            let state = index.status()?;
            match status.json {
                true => print_json(&state),
                false => print_page(&page(&state)),
            }
        }
        Action::Verify(verify) => {
            let verified = index.verify(verify.quick)?;
            let segments = thousands(verified.units);
            match verify.quick {
                true => terminal.note(format_args!("{segments} segments are valid")),
                false => terminal.note(format_args!(
                    "{segments} segments are valid; {} blocks and {} transfers agree with the \
                     database",
                    thousands(verified.blocks),
                    thousands(verified.transfers)
                )),
            }
            if !verified.unread.is_empty() {
                terminal.note(format_args!(
                    "not compared, because the node no longer has them: {}",
                    listed(verified.unread.iter().map(|range| range.to_string()))
                ));
            }
            Ok(())
        }
        Action::Drop => {
            let deleted = index.delete()?;
            let directory = deleted.directory.display();
            match deleted.foreign.is_empty() {
                true => terminal.note(format_args!("deleted {directory}")),
                false => terminal.note(format_args!(
                    "deleted the index in {directory}; kept other files: {}",
                    listed(deleted.foreign.iter().map(|name| format!("{name:?}")))
                )),
            }
            Ok(())
        }
    }
}

impl UpdateArgs {
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

fn done(index: IndexHandle<'_>, built: &BuildReport, terminal: &Terminal) -> Result<()> {
    if built.removed_blocks > 0 {
        terminal.note(format_args!(
            "removed: segments of {} blocks, some of which were replaced",
            thousands(built.removed_blocks)
        ));
    }
    if !built.unavailable.is_empty() {
        terminal.note(format_args!(
            "left out, because the node no longer has them: {}",
            listed(built.unavailable.iter().map(|range| range.to_string()))
        ));
    }
    let seconds = built.time.as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    let rate = built.read_blocks as f64 / seconds.max(1e-9);
    terminal.note(format_args!(
        "indexed {} blocks with {} transfers in {seconds:.1} s ({rate:.0} blocks/s): {}",
        thousands(built.read_blocks),
        thousands(built.transfers),
        index.directory()?.display()
    ));
    Ok(())
}

/// The human-readable page.
fn page(state: &IndexState) -> String {
    let status = &state.status;
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    let ratio = |a: u64, b: u64| a as f64 / b.max(1) as f64;
    let lines = [
        ("index", status.path.display().to_string()),
        (
            "chain",
            format!("{} (genesis {})", status.chain_id, status.genesis_hash),
        ),
        (
            "blocks",
            listed(status.blocks.iter().map(|range| range.to_string())),
        ),
        (
            "tip of the node",
            format!(
                "{} ({} blocks behind)",
                state.tip,
                thousands(state.behind_blocks)
            ),
        ),
        (
            "replaced",
            match state.replaced_blocks {
                0 => "none".to_owned(),
                blocks => format!(
                    "segments of {} blocks: `txgraph index update`",
                    thousands(blocks)
                ),
            },
        ),
        ("segments", thousands(status.segments as u64)),
        (
            "transfers",
            match status.internal {
                true => format!("{}, internal ones included", thousands(status.transfers)),
                false => thousands(status.transfers),
            },
        ),
        (
            "size",
            format!(
                "{} bytes, {:.1} for each transfer",
                thousands(status.bytes),
                ratio(status.bytes, status.transfers)
            ),
        ),
        (
            "built at",
            format!(
                "{:.0} blocks/s",
                1000.0 * ratio(status.read_blocks, status.read_time_ms)
            ),
        ),
    ];
    let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let line = |(name, text): &(&str, String)| format!("{name:width$}  {}\n", printable(text));
    lines.iter().map(line).collect()
}
