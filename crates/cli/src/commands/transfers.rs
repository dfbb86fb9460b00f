//! `txgraph transfers`.

use super::{Context, ends, names};
use crate::args::{ColumnArgs, SelectionArgs, output, table_formats, text, words};
use clap::Args;
use std::{path::PathBuf, time::Instant};
use txgraph::{Direction, Result, text::TransfersQuery};

/// Write the transfers of a block range as a table
///
/// One row for each transfer of an ERC-20, ERC-721 or ERC-1155 token, of a wrapped coin, or of the
/// native coin, in the order in which they happened.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct TransfersArgs {
    /// Only transfers that one of these addresses sends or receives
    ///
    /// For several, use commas or repeat the option; @FILE reads the first column of a file.
    #[arg(short, long, value_name = "ADDRESS", help_heading = "Which transfers")]
    address: Vec<String>,

    /// Match --address as sender (`out`) or receiver (`in`); default: both
    #[arg(
        short, long, value_name = "WAY", requires = "address",
        value_parser = words(Direction::ALL, Direction::as_str), help_heading = "Which transfers"
    )]
    direction: Option<Direction>,

    #[command(flatten)]
    selection: SelectionArgs,

    /// File to write, or `-` for stdout; default: stdout
    ///
    /// It gets its name when it is complete. The metadata of CSV and JSONL files is written to
    /// FILE.meta.json; the other formats contain it.
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,

    /// Format; default: by the file's extension, CSV on stdout
    #[arg(short, long, value_name = "FORMAT", value_parser = table_formats(), help_heading = "Output")]
    format: Option<String>,

    /// Replace the file if it exists
    #[arg(long, help_heading = "Output")]
    overwrite: bool,

    /// Symbols and decimals of tokens: a Uniswap token list, CSV, or JSON of `txgraph token`
    ///
    /// For several files, repeat the option. Tokens that are not listed are asked for what they claim, if
    /// the source has a state.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    token_list: Vec<PathBuf>,

    #[command(flatten)]
    columns: ColumnArgs,
}

const EXAMPLES: &str = "\
Examples (for the small chain in testdata/):
  All transfers of the last ten blocks:
    $ txgraph transfers --blocks -10:

  One token, as Parquet with cryo's column names:
    $ txgraph transfers -t 0xd601451207128971898aab8654521699f35222e2 --schema cryo \\
        -o usd6.parquet

  What an address received of the native coin, without dust:
    $ txgraph transfers -a 0x502f1f2f4b2abc8d86fc43da973c2c110206e2ba -d in -t eth \\
        --min-value 1e15

  Only mints and burns, by block numbers with both ends included:
    $ txgraph transfers --kind mint,burn --from-block 10 --to-block 30 --format jsonl
";

impl From<TransfersArgs> for TransfersQuery {
    fn from(args: TransfersArgs) -> Self {
        Self {
            selection: args.selection.into(),
            token_list: args.token_list.into_iter().map(text).collect(),
            address: args.address,
            direction: args.direction,
            output: output(
                args.output.into_iter().collect(),
                args.format,
                args.overwrite,
            ),
            columns: args.columns.into(),
        }
    }
}

/// Runs the command.
pub(crate) fn run(args: TransfersArgs, context: &Context<'_>) -> Result<()> {
    ask(&args.into(), context)
}

/// Asks the question.
pub(crate) fn ask(query: &TransfersQuery, context: &Context<'_>) -> Result<()> {
    let start = Instant::now();
    let terminal = context.terminal;
    let source = context.open()?;
    let (question, output) = query.on(&source)?;
    terminal.check_stdout([&output.target])?;
    terminal.blocks(question.blocks());
    let answer = question.write(&output)?;
    terminal.gaps(&answer.scan);
    ends::unseen(&answer.unseen, terminal);
    names::note(&answer.tokens, terminal);
    terminal.written(&[answer.written]);
    terminal.scanned(&answer.scan, start.elapsed());
    Ok(())
}
