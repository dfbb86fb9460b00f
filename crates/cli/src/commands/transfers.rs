//! `txgraph transfers`.

use crate::{
    args::{ColumnArgs, SelectionArgs, output, table_formats, words},
    output::Terminal,
};
use clap::Args;
use std::{path::PathBuf, time::Instant};
use txgraph::{Direction, Node, Result, TransfersQuery};

/// Write the token and coin transfers of a block range as a table
///
/// One row for each movement of an ERC-20, ERC-721 or ERC-1155 token, of a wrapped coin, or of the
/// coin of the chain itself, in the order in which they happened.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct TransfersArgs {
    /// Only transfers with one of these addresses at an end
    ///
    /// Several: with commas, or give the option again; @FILE reads the first column of a file.
    #[arg(short, long, value_name = "ADDRESS", help_heading = "Which transfers")]
    address: Vec<String>,

    /// The end at which --address stands: `out` as sender, `in` as receiver; default: both
    #[arg(
        short, long, value_name = "WAY", requires = "address",
        value_parser = words(Direction::ALL, Direction::as_str), help_heading = "Which transfers"
    )]
    direction: Option<Direction>,

    #[command(flatten)]
    selection: SelectionArgs,

    /// File to write, or `-` for stdout; default: stdout
    ///
    /// It gets its name when it is complete. Beside CSV and JSONL files the origin of the answer is
    /// written as FILE.meta.json; the other formats hold it themselves.
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,

    /// Format; default: by the file's extension, CSV on stdout
    #[arg(short, long, value_name = "FORMAT", value_parser = table_formats(), help_heading = "Output")]
    format: Option<String>,

    /// Replace the file if it exists
    #[arg(long, help_heading = "Output")]
    overwrite: bool,

    #[command(flatten)]
    columns: ColumnArgs,
}

const EXAMPLES: &str = "\
Examples (for the small chain in testdata/):
  Everything that moved in the last ten blocks:
    $ txgraph transfers --blocks -10:

  One token, as Parquet with cryo's column names:
    $ txgraph transfers -t 0xd601451207128971898aab8654521699f35222e2 --schema cryo \\
        -o usd6.parquet

  What an address received of the coin of the chain, without dust:
    $ txgraph transfers -a 0x502f1f2f4b2abc8d86fc43da973c2c110206e2ba -d in -t eth \\
        --min-value 1e15

  Only mints and burns, by block numbers with both ends included:
    $ txgraph transfers --kind mint,burn --from-block 10 --to-block 30 --format jsonl
";

impl From<TransfersArgs> for TransfersQuery {
    fn from(args: TransfersArgs) -> Self {
        Self {
            selection: args.selection.into(),
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
pub(crate) fn run(node: &Node, query: &TransfersQuery, terminal: &Terminal) -> Result<()> {
    let start = Instant::now();
    let request = query.request(node)?;
    terminal.blocks(&request.blocks);
    let answer = txgraph::write_transfers(node, query, &request)?;
    terminal.gaps(&answer.scan);
    terminal.written(&[answer.written]);
    terminal.scanned(&answer.scan, start.elapsed());
    Ok(())
}
