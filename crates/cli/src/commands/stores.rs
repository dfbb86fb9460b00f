//! The common part of `txgraph index` and `txgraph lake`.

use crate::{
    output::{Terminal, aligned, listed, number, print_json, print_page},
    table::thousands,
    units::rate,
};
use clap::Args;
use serde::Serialize;
use std::path::Path;
use txgraph::{
    BlockRanges, BuildOptions, BuildReport, Result, Source, VerifyReport,
    parse::{Checksum, first_block, last_block, wrapped_native},
};

/// How a store is made.
#[derive(Args, Debug)]
pub(super) struct StoreBuildArgs {
    /// First block, or UTC date to start at [default: 0]
    #[arg(long, value_name = "DATE|N")]
    from_block: Option<String>,

    /// Contracts that wrap the native coin [default: auto]
    ///
    /// Queries about others are answered from the node.
    #[arg(long, value_name = "auto|any|none|ADDRESS")]
    wrapped_native: Vec<String>,

    /// Also store transfers inside transactions
    ///
    /// Every block before Amsterdam is replayed, which takes as long as a replay. Queries with
    /// --with-internal are then answered from what is stored; all others are answered as before.
    #[arg(long)]
    pub(super) with_internal: bool,

    #[command(flatten)]
    update: StoreUpdateArgs,
}

/// Where a store ends.
#[derive(Args, Debug)]
pub(super) struct StoreUpdateArgs {
    /// Last block, or UTC date to stop before [default: tip minus buffer]
    #[arg(long, value_name = "DATE|N")]
    to_block: Option<String>,

    /// Newest blocks that are left out [default: 64]
    ///
    /// A reorganization can replace them.
    #[arg(long, value_name = "N")]
    reorg_buffer: Option<u64>,
}

impl StoreBuildArgs {
    pub(super) fn options(&self, unit: Option<u64>, source: &Source) -> Result<BuildOptions> {
        let first = self.from_block.as_deref();
        let first = first.map(|block| first_block(source, block)).transpose()?;
        Ok(BuildOptions {
            first_block: first.unwrap_or(0),
            unit_blocks: unit,
            wrapped_native: wrapped_native(&self.wrapped_native, Checksum::Verify)?,
            ..self.update.options(source)?
        })
    }
}

impl StoreUpdateArgs {
    pub(super) fn options(&self, source: &Source) -> Result<BuildOptions> {
        let last = self.to_block.as_deref();
        let default = BuildOptions::default();
        Ok(BuildOptions {
            last_block: last.map(|block| last_block(source, block)).transpose()?,
            reorg_buffer: self.reorg_buffer.unwrap_or(default.reorg_buffer),
            ..default
        })
    }
}

/// Says what was built. `units`: the word for the parts of the store, for
/// one and for more.
pub(super) fn built(
    directory: &Path,
    [_, units]: [&str; 2],
    report: &BuildReport,
    terminal: &Terminal,
) {
    if report.removed_blocks > 0 {
        terminal.note(format_args!(
            "removed: {units} of {}, some of which were replaced",
            number(report.removed_blocks, "block", "blocks")
        ));
    }
    note_absent("left out", &report.unavailable, terminal);
    if report.read_blocks == 0 {
        terminal.note(format_args!(
            "nothing new to store; --reorg-buffer is how many of the newest blocks are left out, \
             because others can replace them"
        ));
    }
    let seconds = report.time.as_secs_f64();
    terminal.note(format_args!(
        "stored {} with {} in {seconds:.1} s ({:.0} blocks/s): {}",
        number(report.read_blocks, "block", "blocks"),
        number(report.transfers, "transfer", "transfers"),
        rate(report.read_blocks, seconds),
        directory.display()
    ));
}

/// Says what was checked: the store itself and, unless `quick`, its transfers.
pub(super) fn verified(
    [unit, units]: [&str; 2],
    report: &VerifyReport,
    quick: bool,
    terminal: &Terminal,
) {
    let (one, many) = (format!("{unit} is valid"), format!("{units} are valid"));
    let valid = number(report.units, &one, &many);
    match quick {
        true => terminal.note(format_args!("{valid}")),
        false => terminal.note(format_args!(
            "{valid}; {} and {} agree with the node",
            number(report.blocks, "block", "blocks"),
            number(report.transfers, "transfer", "transfers")
        )),
    }
    note_absent("not compared", &report.unread, terminal);
}

fn note_absent(what: &str, blocks: &BlockRanges, terminal: &Terminal) {
    if !blocks.is_empty() {
        let blocks = listed(blocks.iter().map(|range| range.to_string()));
        terminal.note(format_args!(
            "{what}, because the node no longer has them: {blocks}"
        ));
    }
}

/// A number of transfers.
pub(super) fn transfers(count: u64, internal: bool) -> String {
    match internal {
        true => format!("{}, internal ones included", thousands(count)),
        false => thousands(count),
    }
}

/// How large a store is for each of its `count` parts.
pub(super) fn ratio(amount: u64, count: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
    let ratio = amount as f64 / count.max(1) as f64;
    ratio
}

/// Prints the status of a store: as JSON, or as lines of a name and a text.
pub(super) fn print_status(
    json: bool,
    status: &impl Serialize,
    lines: &[(&str, String)],
) -> Result<()> {
    match json {
        true => print_json(status),
        false => print_page(&aligned(lines)),
    }
}
