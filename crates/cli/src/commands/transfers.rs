//! `txgraph transfers`.

use super::{Context, branch_ends, token_notes};
use crate::{
    args::{ColumnArgs, LabelArgs, NameArgs, OutputArgs, SelectionArgs, table_formats, words},
    cluster::ClusterArgs,
    transfer_tables::{self, TerminalFormat},
};
use clap::Args;
use serde::Serialize;
use std::time::Instant;
use txgraph::{Direction, Result, Source, parse::TransfersQuery};

/// Write the transfers of a block range as a table
///
/// One row for each transfer of an ERC-20, ERC-721 or ERC-1155 token, of a wrapped coin, or of the
/// native coin, in the order in which they happened.
#[derive(Args, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct TransfersArgs {
    /// Only transfers of these addresses
    ///
    /// For several, use commas or repeat the option; @FILE reads the first column of a file.
    #[arg(short, long, value_name = "ADDRESS", help_heading = "Which transfers")]
    address: Vec<String>,

    /// Match --address as sender (out), receiver (in) or both [default: both]
    #[arg(
        short, long, value_name = "out|in|both", hide_possible_values = true, requires = "address",
        value_parser = words(Direction::ALL, Direction::as_str), help_heading = "Which transfers"
    )]
    direction: Option<Direction>,

    /// Only transfers of this transaction; repeat the option for more
    ///
    /// Instead of blocks. A hash is looked up in the node's index; without one, it is searched
    /// backwards from the tip.
    #[arg(
        long,
        value_name = "HASH|BLOCK:INDEX",
        value_delimiter = ',',
        conflicts_with_all = ["blocks", "from_block", "to_block", "since", "until"],
        help_heading = "Which transfers"
    )]
    tx: Vec<String>,

    /// Only transfers in transactions that these accounts signed
    ///
    /// The data directory of a node is needed, which knows who signed.
    #[arg(long, value_name = "ADDRESS", help_heading = "Which transfers")]
    initiated_by: Vec<String>,

    /// Only transfers whose transaction the giver did not sign
    ///
    /// The signer is a spender with an approval, a forger of events, or the caller of a contract
    /// that gives. Tables have the signer in the column `initiator`, data in `transaction_from`, which
    /// is a column on request.
    #[arg(long, help_heading = "Which transfers")]
    not_by_owner: bool,

    /// Instead, list the logs that look like transfers and are none
    ///
    /// They have the signature of a transfer and another shape. No transfer has them, and scans
    /// count them. `--token` names the contracts that emitted them. The data directory of a node is
    /// needed.
    #[arg(
        long,
        conflicts_with_all = [
            "address", "tx", "initiated_by", "not_by_owner", "min_value", "token_id", "standard",
            "kind", "wrapped_native", "with_internal", "allow_partial", "columns", "cluster",
        ],
        help_heading = "Which transfers"
    )]
    #[serde(skip)]
    pub(crate) malformed: bool,

    #[command(flatten)]
    #[serde(flatten)]
    selection: SelectionArgs,

    #[command(flatten)]
    #[serde(flatten)]
    files: OutputArgs,

    /// Format [default: by extension; on a terminal table, else csv]
    ///
    /// `table` is human-readable and has at most 1,000 rows; a note says if there are more. The
    /// metadata of CSV and JSONL files is written to FILE.meta.json; the other formats contain it.
    #[arg(short, long, value_name = "FORMAT", value_parser = table_formats(), help_heading = "Output")]
    format: Option<String>,

    #[command(flatten)]
    #[serde(flatten)]
    names: NameArgs,

    #[command(flatten)]
    #[serde(flatten)]
    columns: ColumnArgs,

    #[command(flatten)]
    #[serde(skip)]
    pub(crate) cluster: ClusterArgs,
}

const EXAMPLES: &str = "\
Examples (for the small chain that scripts/demo.sh unpacks, demo/small):
  All transfers of the last ten blocks:
    $ txgraph transfers --blocks -10:

  One token, as Parquet with cryo's column names:
    $ txgraph transfers -t 0xd601451207128971898aab8654521699f35222e2 --columns cryo \\
        -o usd6.parquet

  What an address received of the native coin, without dust:
    $ txgraph transfers -a 0x502f1f2f4b2abc8d86fc43da973c2c110206e2ba -d in -t eth \\
        --min-value 1e15

  What a transaction moved, and who sent it:
    $ txgraph transfers --tx 20:3 \\
        --columns transaction_from,method,from_address,to_address,symbol,amount

  Which tokens of an account others took, and who they are:
    $ txgraph transfers -a 0x502f1f2f4b2abc8d86fc43da973c2c110206e2ba -d out --not-by-owner

  Logs that look like transfers and are none, by contract and with the reason:
    $ txgraph transfers --malformed

  Only mints and burns, by block numbers with both ends included:
    $ txgraph transfers --kind mint,burn --from-block 10 --to-block 30 --format jsonl
";

impl TransfersArgs {
    pub(super) const fn labels(&self) -> &LabelArgs {
        &self.names.labels
    }
}

pub(crate) fn ask(query: &TransfersQuery, context: &Context<'_>) -> Result<()> {
    let start = Instant::now();
    let terminal = context.terminal;
    let source = context.open()?;
    if TerminalFormat::of_transfers(&query.output, &query.columns, terminal)?.is_some() {
        return show(query, &source, context, start);
    }
    let (prepared, output) = query.on(&source)?;
    let more = output.more.iter().map(|(_, target)| target);
    terminal.check_stdout(more.chain([&output.target]))?;
    if let Some(labels) = &output.labels {
        terminal.labels(labels);
    }
    if context.explains(&source, prepared.request())? {
        return Ok(());
    }
    let answer = prepared.write(&output)?;
    terminal.stats.phase("read and write");
    terminal.gaps(&answer.scan);
    branch_ends::unseen(&answer.unseen, terminal);
    token_notes::note(&answer.tokens, terminal);
    terminal.written(&answer.written);
    let is_indexed = source.is_indexed(prepared.request());
    terminal.scanned(&answer.scan, start.elapsed(), is_indexed);
    Ok(())
}

/// Shows the first transfers as a table.
fn show(
    query: &TransfersQuery,
    source: &Source,
    context: &Context<'_>,
    start: Instant,
) -> Result<()> {
    let terminal = context.terminal;
    let query = TransfersQuery {
        output: transfer_tables::without_data(&query.output),
        ..query.clone()
    };
    let (prepared, output) = query.on(source)?;
    terminal.check_stdout([&output.target])?;
    if context.explains(source, prepared.request())? {
        return Ok(());
    }
    let answer = prepared.first(transfer_tables::ROWS_MAX)?;
    terminal.stats.phase("read");
    terminal.gaps(&answer.scan);
    let labels = output.labels.unwrap_or_default();
    terminal.labels(&labels);
    let shown = answer.transfers.iter();
    let shown = shown.filter_map(|transfer| transfer.token_address);
    let blocks = prepared.blocks();
    let tokens = token_notes::named(output.tokens, source, shown, blocks, terminal)?;
    let view = transfer_tables::view(&tokens, &labels, source.chain()?.chain_id, terminal);
    let initiators = match query.initiated_by.is_empty() && !query.not_by_owner {
        true => None,
        false => Some(source.initiators(&answer.transfers)?),
    };
    let page = transfer_tables::transfers(&answer.transfers, initiators.as_ref(), &view);
    transfer_tables::print_first(page, answer.has_more, "transfers", terminal)?;
    let is_indexed = source.is_indexed(prepared.request());
    terminal.scanned(&answer.scan, start.elapsed(), is_indexed);
    Ok(())
}
