//! `txgraph watch`.

use super::{Context, token_notes};
use crate::{
    args::{ColumnArgs, NameArgs, SelectionArgs, words},
    output::{Terminal, check_reader, print_data},
};
use clap::Args;
use serde::Serialize;
use serde_json::json;
use txgraph::{
    Direction, Error, MemoryFile, Result, Target, WatchStep,
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
#[command(
    after_long_help = EXAMPLES,
    mut_arg("blocks", |arg| arg.help(BLOCKS).long_help(format!("{BLOCKS}\n\n{SAME_RANGES}")))
)]
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

    /// Also send each line to this URL, as the body of an HTTP POST
    ///
    /// A line is sent after it is printed. The next one follows when the server has answered with a
    /// status of 2xx. After 31 s of attempts the command fails, and names the block to go on with.
    /// A server may get a line twice, so use block, transaction and log index as its key.
    #[cfg(feature = "rpc")]
    #[arg(long, value_name = "URL")]
    #[serde(skip)]
    webhook: Option<String>,

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

/// The help of `--blocks`, which has another default than in other commands.
const BLOCKS: &str = "Blocks up to the tip, e.g. -100:, 2024-01-01: [default: the next ones]";
const SAME_RANGES: &str =
    "`txgraph transfers --help` explains ranges. The blocks are printed on stderr.";

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

  To a server of yours:
    $ txgraph watch 0x502f1f2f4b2abc8d86fc43da973c2c110206e2ba --webhook http://localhost:9000/moved
";

pub(crate) fn run(args: &WatchArgs, context: &Context<'_>) -> Result<()> {
    let terminal = context.terminal;
    let webhook = Webhook::new(args, terminal)?;
    let source = context.open()?;
    if source.head()?.is_some() {
        return Err(Error::usage(
            "`watch` reads the blocks that the node has stored: leave out --head",
        ));
    }
    let mut query = TransfersQuery::from_table(args)?;
    query.output.format = Some("jsonl".into());
    let tip = source.tip()?;
    let (query, mut output) = query.on(&source)?;
    terminal.check_stdout([&output.target])?;
    if let Some(labels) = &output.labels {
        terminal.labels(labels);
    }
    let first = match (
        &*args.selection.blocks.read()?,
        query.blocks().iter().next(),
    ) {
        ([], _) => tip + 1,
        ([blocks], Some(range)) if blocks.goes_to_tip() => range.first,
        _ => {
            return Err(Error::usage(
                "`watch` goes on with new blocks: name blocks that go to the tip, e.g. -100:",
            ));
        }
    };
    let format = output.format;
    output
        .more
        .extend(webhook.file().map(|file| (format, file)));
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
                let first = added.found.transfers[0].block_number;
                webhook.send(&webhook.lines.take(), || {
                    format!(
                        "lines of block {first} and later ones may not have arrived: go on with \
                         --blocks {first}:"
                    )
                })?;
                if args.first {
                    return Ok(());
                }
            }
            WatchStep::Removed { first_block } => {
                let line = json!({ "removed_from_block": first_block });
                let line = format!("{line}\n");
                print_data(line.as_bytes())?;
                webhook.send(line.as_bytes(), || {
                    format!(
                        "the server may not know that block {first_block} and later ones were \
                         removed: remove their lines there, then go on with --blocks {first_block}:"
                    )
                })?;
            }
        }
    }
}

/// The server that gets the lines, too, if one is named.
struct Webhook<'a> {
    #[cfg(feature = "rpc")]
    relay: Option<txgraph::Relay>,
    terminal: &'a Terminal,
    /// The lines of the last step.
    lines: MemoryFile,
}

impl<'a> Webhook<'a> {
    #[cfg_attr(
        not(feature = "rpc"),
        expect(clippy::unnecessary_wraps, reason = "no URL that can be wrong")
    )]
    fn new(args: &WatchArgs, terminal: &'a Terminal) -> Result<Self> {
        #[cfg(not(feature = "rpc"))]
        let _ = args;
        Ok(Self {
            #[cfg(feature = "rpc")]
            relay: (args.webhook.as_deref())
                .map(|url| Ok::<_, Error>(txgraph::Relay::new(txgraph::Endpoint::parse(url)?)))
                .transpose()?,
            terminal,
            lines: MemoryFile::default(),
        })
    }

    /// The file that lines are also written to.
    fn file(&self) -> Option<Target> {
        #[cfg(feature = "rpc")]
        if self.relay.is_some() {
            return Some(Target::Memory(self.lines.clone()));
        }
        None
    }

    /// Sends lines. `hint` says how to go on if that fails.
    #[cfg_attr(
        not(feature = "rpc"),
        expect(clippy::unnecessary_wraps, reason = "nothing is sent")
    )]
    fn send(&self, lines: &[u8], hint: impl Fn() -> String) -> Result<()> {
        #[cfg(not(feature = "rpc"))]
        let _ = (self.terminal, lines, hint);
        #[cfg(feature = "rpc")]
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            let Some(relay) = &self.relay else { break };
            let cancel = &self.terminal.cancel;
            relay.deliver(line, cancel).map_err(|what| {
                let failed = match cancel.is_canceled() {
                    true => txgraph::ErrorKind::Interrupted,
                    false => txgraph::ErrorKind::Failed,
                };
                Error::new(failed, what).hint(hint())
            })?;
        }
        Ok(())
    }
}
