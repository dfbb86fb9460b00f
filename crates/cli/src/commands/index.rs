//! `txgraph index`.

use crate::{
    output::{Terminal, listed, print_json, print_page},
    table::thousands,
};
use clap::{Args, Subcommand};
use txgraph::{BuildReport, IndexBuild, IndexState, Node, Result, printable};

/// Make, keep and check an index: any address of any age in milliseconds
///
/// An index holds every transfer once more, by sender and by receiver, in about 40 bytes each.
/// Questions are answered from it where it reaches and from the node where it does not; the
/// answers are the same. It lies below ~/.cache/txgraph/index unless --index names a directory,
/// can be deleted at any time, and an interrupted build goes on where it was.
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

/// Make an index of the whole chain, or go on with one that was interrupted
#[derive(Args, Debug)]
struct BuildArgs {
    /// Lowest block; default: 0
    #[arg(long, value_name = "N")]
    from_block: Option<u64>,

    /// Blocks of a full segment; default: 32768
    ///
    /// More are looked into faster, and take more memory to make.
    #[arg(long, value_name = "N")]
    segment_blocks: Option<u64>,

    /// Whose Deposit and Withdrawal events wrap and unwrap the coin of the chain; default: auto
    ///
    /// Questions that mean others are answered by the node.
    #[arg(long, value_name = "auto|any|none|ADDRESS")]
    wrapped_native: Vec<String>,

    /// Hold what moves inside of transactions, too, found by replaying every block
    ///
    /// Takes the time of a replay. Questions with --with-internal are then answered from
    /// the index; all others are answered as before.
    #[arg(long)]
    with_internal: bool,

    #[command(flatten)]
    update: UpdateArgs,
}

/// Bring an index up to the tip of the node
///
/// Undoes what was replaced by a reorganisation.
#[derive(Args, Debug)]
struct UpdateArgs {
    /// Highest block; default: the tip, less the reorg buffer
    #[arg(long, value_name = "N")]
    to_block: Option<u64>,

    /// Newest blocks left to the node, as they may yet be replaced; default: 64
    #[arg(long, value_name = "N")]
    reorg_buffer: Option<u64>,
}

/// Tell what an index holds, how large it is, and how far behind the node
#[derive(Args, Debug)]
struct StatusArgs {
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Check every byte of an index, and every transfer against the database
#[derive(Args, Debug)]
struct VerifyArgs {
    /// Only the index itself: checksums and structure
    #[arg(long)]
    quick: bool,
}

const EXAMPLES: &str = "\
Examples:
    $ txgraph index build
    $ txgraph index build --with-internal --from-block 17000000
    $ txgraph index update
    $ txgraph index status
    $ txgraph index verify --quick
    $ txgraph graph -r 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0 -n 3 --index off
";

/// Runs the command.
pub(crate) fn run(node: &Node, args: &IndexArgs, terminal: &Terminal) -> Result<()> {
    match &args.action {
        Action::Build(build) => {
            let what = IndexBuild {
                from_block: build.from_block,
                segment_blocks: build.segment_blocks,
                wrapped_native: build.wrapped_native.clone(),
                internal: build.with_internal,
                ..build.update.options()
            };
            done(node, &txgraph::index_build(node, &what)?, terminal)
        }
        Action::Update(update) => done(
            node,
            &txgraph::index_update(node, &update.options())?,
            terminal,
        ),
        Action::Status(status) => {
            let state = txgraph::index_status(node)?;
            match status.json {
                true => print_json(&state),
                false => print_page(&page(&state)),
            }
        }
        Action::Verify(verify) => {
            let verified = txgraph::index_verify(node, verify.quick)?;
            let segments = thousands(verified.segments);
            match verify.quick {
                true => terminal.note(format_args!("{segments} segments are whole")),
                false => terminal.note(format_args!(
                    "{segments} segments are whole; {} blocks and {} transfers are those of the \
                     database",
                    thousands(verified.blocks),
                    thousands(verified.transfers)
                )),
            }
            if !verified.unread.is_empty() {
                terminal.note(format_args!(
                    "not compared, as the node has them no more: {}",
                    listed(verified.unread.iter().map(|range| range.to_string()))
                ));
            }
            Ok(())
        }
        Action::Drop => {
            let dropped = txgraph::index_drop(node)?;
            let folder = dropped.folder.display();
            match dropped.foreign.is_empty() {
                true => terminal.note(format_args!("deleted {folder}")),
                false => terminal.note(format_args!(
                    "deleted the index in {folder}; kept other files: {}",
                    listed(dropped.foreign.iter().map(|name| format!("{name:?}")))
                )),
            }
            Ok(())
        }
    }
}

impl UpdateArgs {
    fn options(&self) -> IndexBuild {
        IndexBuild {
            to_block: self.to_block,
            reorg_buffer: self.reorg_buffer,
            ..IndexBuild::default()
        }
    }
}

fn done(node: &Node, built: &BuildReport, terminal: &Terminal) -> Result<()> {
    if built.removed_blocks > 0 {
        terminal.note(format_args!(
            "undone: segments of {} blocks, part of which were replaced",
            thousands(built.removed_blocks)
        ));
    }
    if !built.unavailable.is_empty() {
        terminal.note(format_args!(
            "left out, as the node has them no more: {}",
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
        node.index_folder()?.display()
    ));
    Ok(())
}

/// What people want to know.
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
