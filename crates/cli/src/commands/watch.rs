//! `txgraph watch`.

use super::{Context, token_notes};
use crate::{
    args::{ColumnArgs, NameArgs, SelectionArgs, words},
    output::{check_reader, print_data},
};
use clap::Args;
use serde::Serialize;
use serde_json::json;
use txgraph::{
    Direction, Error, Result, WatchStep,
    parse::{Options, TransfersQuery},
};

/// Print the transfers of addresses as new blocks arrive
///
/// One JSON object for each transfer, with the columns of `txgraph transfers`. If the node removes
/// blocks, {"removed_from_block":N} says that the lines of block N and later ones no longer hold; the
/// lines of the blocks that take their place follow. Blocks are read when the node has stored them in
/// its data directory.
#[derive(Args, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct WatchArgs {
    /// The addresses
    ///
    /// For several, use commas or repeat the argument; @FILE reads the first column of a file.
    #[arg(value_name = "ADDRESS", required = true)]
    address: Vec<String>,

    /// Match them as sender (out), receiver (in) or both [default: both]
    #[arg(
        short, long, value_name = "out|in|both", hide_possible_values = true,
        value_parser = words(Direction::ALL, Direction::as_str), help_heading = "Which transfers"
    )]
    direction: Option<Direction>,

    /// End after the first blocks that have such a transfer
    #[arg(long)]
    #[serde(skip)]
    first: bool,

    #[command(flatten)]
    #[serde(flatten)]
    selection: SelectionArgs,

    #[command(flatten)]
    #[serde(flatten)]
    names: NameArgs,

    #[command(flatten)]
    #[serde(flatten)]
    columns: ColumnArgs,
}

const EXAMPLES: &str = "\
The blocks begin with the next one that the node stores, or with those of --blocks or --since, which
must go to the tip.

Examples:
  What an address sends from now on:
    $ txgraph watch 0x502f1f2f4b2abc8d86fc43da973c2c110206e2ba -d out

  Wait until tainted tokens move, then run a program:
    $ txgraph analyze taint -r 0x502f1f2f4b2abc8d86fc43da973c2c110206e2ba --table ends -o ends.csv
    $ txgraph watch @ends.csv -d out --first && notify-send 'moved'

  The last thousand blocks, then all new ones, to a program:
    $ txgraph watch 0x502f1f2f4b2abc8d86fc43da973c2c110206e2ba --blocks -1000: | ./handle
";

/// Runs the command.
pub(crate) fn run(args: &WatchArgs, context: &Context<'_>) -> Result<()> {
    let terminal = context.terminal;
    let source = context.open()?;
    if source.head()?.is_some() {
        return Err(Error::usage(
            "`watch` reads the blocks that the node has stored: leave out --head",
        ));
    }
    let mut query = TransfersQuery::from_table(args)?;
    query.output.format = Some("jsonl".into());
    let tip = source.tip()?;
    let (query, output) = query.on(&source)?;
    terminal.check_stdout([&output.target])?;
    if let Some(labels) = &output.labels {
        terminal.labels(labels);
    }
    let first = match args.selection.blocks.read()?.is_empty() {
        true => tip + 1,
        false => {
            let mut ranges = query.blocks().iter();
            match (ranges.next(), ranges.next()) {
                (Some(blocks), None) if blocks.last >= tip => blocks.first,
                _ => {
                    return Err(Error::usage(
                        "`watch` goes on with new blocks: name blocks that go to the tip, e.g. -100:",
                    ));
                }
            }
        }
    };
    let mut watch = query.watch(first)?;
    terminal.note(format_args!(
        "watching from block {first} on; the tip is block {tip}"
    ));
    terminal.stats.phase("prepare");
    loop {
        match watch.wait(check_reader)? {
            WatchStep::Added(added) => {
                terminal.gaps(&added.found.scan);
                if added.found.transfers.is_empty() {
                    continue;
                }
                let answer = added.query.write_found(&added.found, &output)?;
                token_notes::note(&answer.tokens, terminal);
                if args.first {
                    return Ok(());
                }
            }
            WatchStep::Removed { first_block } => {
                let line = json!({ "removed_from_block": first_block });
                print_data(format!("{line}\n").as_bytes())?;
            }
        }
    }
}
