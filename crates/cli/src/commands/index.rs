//! `txgraph index`.

use super::{
    Context,
    stores::{self, ratio},
};
use crate::{
    output::{listed, number},
    table::thousands,
};
use clap::{Args, Subcommand};
use txgraph::{BuildOptions, IndexState, Result};

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
    /// Blocks of a full segment [default: 32768]
    ///
    /// Larger segments are searched faster, and take more memory to build.
    #[arg(long, value_name = "N")]
    segment_blocks: Option<u64>,

    /// Also store the transactions of each address
    ///
    /// The address sends them, receives them or is created by them. With --with-internal also
    /// transactions in whose calls it takes part, for which all blocks are replayed. `txgraph serve`
    /// finds them there.
    #[arg(long)]
    with_transactions: bool,

    #[command(flatten)]
    store: stores::StoreBuildArgs,
}

/// Extend an index to the tip of the node
///
/// Blocks that a reorganization replaced are indexed again.
#[derive(Args, Debug)]
struct UpdateArgs {
    #[command(flatten)]
    store: stores::StoreUpdateArgs,
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
    $ txgraph index build --with-internal --to-block 30 --index with-internal
    $ txgraph index update
    $ txgraph index status
    $ txgraph index verify --quick
    $ txgraph graph -r 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0 -n 3 --index off
";

pub(crate) fn run(args: &IndexArgs, context: &Context<'_>) -> Result<()> {
    let terminal = context.terminal;
    let source = context.open()?;
    let index = source.index()?;
    match &args.action {
        Action::Build(build) => {
            let options = BuildOptions {
                transactions: build.with_transactions,
                ..build.store.options(build.segment_blocks, &source)?
            };
            let built = index.build(&options, build.store.with_internal)?;
            stores::built(&index.directory()?, UNITS, &built, terminal);
        }
        Action::Update(update) => {
            let built = index.update(&update.store.options(&source)?)?;
            stores::built(&index.directory()?, UNITS, &built, terminal);
        }
        Action::Status(status) => {
            let state = index.status()?;
            stores::print_status(status.json, &state, &lines(&state))?;
        }
        Action::Verify(verify) => {
            let report = index.verify(verify.quick)?;
            stores::verified(UNITS, &report, verify.quick, terminal);
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
        }
    }
    Ok(())
}

/// The parts of an index.
const UNITS: [&str; 2] = ["segment", "segments"];

/// The human-readable page.
fn lines(state: &IndexState) -> [(&'static str, String); 10] {
    let status = &state.status;
    [
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
                "{} ({} behind)",
                state.tip,
                number(state.behind_blocks, "block", "blocks")
            ),
        ),
        (
            "replaced",
            match state.replaced_blocks {
                0 => "none".to_owned(),
                blocks => format!(
                    "segments of {}: `txgraph index update`",
                    number(blocks, "block", "blocks")
                ),
            },
        ),
        ("segments", thousands(status.segments as u64)),
        (
            "transfers",
            stores::transfers(status.transfers, status.internal),
        ),
        (
            "transactions",
            match (status.transactions, status.internal) {
                (true, true) => "by address, also by calls inside of them",
                (true, false) => "by address",
                (false, _) => {
                    "not by address: drop the index, then `txgraph index build --with-transactions`"
                }
            }
            .to_owned(),
        ),
        (
            "size",
            format!(
                "{}, {:.1} for each transfer",
                number(status.bytes, "byte", "bytes"),
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
    ]
}
