//! `txgraph info`.

use super::Context;
use crate::{
    output::{aligned, listed, number, print_json, print_page},
    table::thousands,
};
use clap::Args;
use txgraph::{
    BlockRange, ChainFamily, Info, NEWEST_KNOWN, NEWEST_TESTED, Result, is_known_version,
    parse::utc,
};

/// Show what a data directory contains
///
/// Chain, layout, the versions of reth that wrote it, the tip, and which blocks of headers,
/// transactions, receipts and state exist: parts can be pruned, filtered or not written yet.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct InfoArgs {
    /// As JSON, with all details
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
    $ txgraph info
    $ txgraph info --json
";

pub(crate) fn run(args: &InfoArgs, context: &Context<'_>) -> Result<()> {
    let source = context.open()?;
    let info = source.info()?;
    let head = source.head()?;
    if let Some(version) = info.untested_version() {
        let known = if is_known_version(version) {
            format!("; the release notes up to {NEWEST_KNOWN} name no other format")
        } else {
            String::new()
        };
        tracing::warn!(
            "the directory was written by reth {version}; {NEWEST_TESTED} is the newest version \
             that was tested with this program{known}"
        );
    }
    if args.json {
        print_json(&WithHead { info: &info, head })
    } else {
        print_page(&page(&info, head))
    }
}

/// The data directory, and the newest block that its node has.
#[derive(serde::Serialize)]
struct WithHead<'a> {
    #[serde(flatten)]
    info: &'a Info,
    #[serde(skip_serializing_if = "Option::is_none")]
    head: Option<u64>,
}

/// The human-readable page.
fn page(info: &Info, head: Option<u64>) -> String {
    let mut lines: Vec<(&str, String)> = Vec::new();
    let mut line = |name, text: String| lines.push((name, text));
    line("data directory", info.path.display().to_string());
    let name = info.chain.name.unwrap_or("not a known one");
    line(
        "chain",
        match info.chain.chain_id {
            Some(id) => format!("{id} ({name})"),
            None => format!("{name}; its id is not stored: pass --chain-id"),
        },
    );
    if info.chain.family == ChainFamily::OpStack {
        line("family", "OP stack".to_owned());
    }
    line("genesis", info.chain.genesis_hash.to_string());
    line("layout", info.layout.to_owned());
    for writer in &info.written_by {
        let commit = writer.git_sha.get(..8).unwrap_or(&writer.git_sha);
        let opened = utc(writer.first_opened);
        line(
            "written by",
            format!("reth {} ({commit}), first on {opened}", writer.version),
        );
    }
    line(
        "tip",
        format!("block {}, {}", info.tip.number, utc(info.tip.timestamp)),
    );
    line("", info.tip.hash.to_string());
    if let Some(state) = info.state_block.filter(|state| *state < info.tip.number) {
        line("stored state", format!("block {state}"));
    }
    if let Some(head) = head {
        let above = head.saturating_sub(info.tip.number);
        line(
            "head",
            format!(
                "block {head}; the {} above the tip are read from the server",
                number(above, "block", "blocks")
            ),
        );
    }
    let block = |number: Option<u64>| match number {
        Some(number) => format!("block {number}"),
        None => "not known".to_owned(),
    };
    line("finalized", block(info.finalized));
    line("safe", block(info.safe));
    line("headers", ranges(&info.headers));
    line("transactions", ranges(&info.transactions));
    line("senders", ranges(&info.senders));
    line(
        "receipts",
        match info.receipts_source {
            "none" => ranges(&info.receipts),
            source => format!("{}, in {source}", ranges(&info.receipts)),
        },
    );
    let withdrawals = info
        .withdrawals
        .map(|range| format!("from block {} to {}", range.first, range.last));
    line(
        "withdrawals",
        withdrawals.unwrap_or_else(|| "none".to_owned()),
    );
    line("account state", ranges(&info.account_state));
    line("storage state", ranges(&info.storage_state));
    line("hash index", info.hash_index.clone());
    line("history index", info.history_index.clone());
    for prune in &info.prune_checkpoints {
        let up_to = match (prune.block, prune.tx) {
            (Some(block), _) => format!("up to block {block}"),
            (None, Some(tx)) => format!("up to transaction {tx}"),
            (None, None) => "nothing yet".to_owned(),
        };
        line(
            "pruned",
            format!("{} {up_to} ({})", prune.segment, prune.mode),
        );
    }
    let files = number(info.static_files.len() as u64, "file", "files");
    line("static files", files);
    for note in &info.notes {
        line("note", note.clone());
    }
    aligned(&lines)
}

fn ranges(blocks: &[BlockRange]) -> String {
    listed(
        blocks
            .iter()
            .map(|range| format!("{range} ({})", thousands(range.blocks()))),
    )
}
