//! `txgraph era`.

use super::Context;
use crate::{args::BlockArgs, output::number};
use clap::{Args, Subcommand};
use std::{path::PathBuf, time::Instant};
use txgraph::Result;

/// Write archives of blocks (.ere), which replace a node as a source
///
/// Archives are read with --source era:PATH, a file or a directory of files. Archives of other
/// programs are read, too: .ere and .era1 with receipts (docs/sources.md).
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct EraArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Export(ExportArgs),
}

/// Write blocks of a node as .ere files of up to 8192 blocks
///
/// The files contain headers, bodies and receipts (profile noproofs). Each block is proven before it
/// is written. Blocks before Byzantium cannot be written: reth does not store the state roots in
/// their receipts.
#[derive(Args, Debug)]
struct ExportArgs {
    #[command(flatten, next_help_heading = "What")]
    blocks: BlockArgs,

    /// Directory for the files, created if it does not exist
    ///
    /// Each file gets its name when it is complete. The name contains the hash of the last block.
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    output: PathBuf,

    /// Replace files that exist
    #[arg(long, help_heading = "Output")]
    overwrite: bool,
}

const EXAMPLES: &str = "\
Examples (for the small chain that scripts/demo.sh unpacks, demo/small):
    $ txgraph era export -o archive
    $ txgraph transfers --source era:archive -t eth
    $ txgraph era export --blocks 10:20 -o part
";

pub(crate) fn run(args: &EraArgs, context: &Context<'_>) -> Result<()> {
    let Action::Export(args) = &args.action;
    let start = Instant::now();
    let source = context.open()?;
    let mut export = source.export_era().overwrite(args.overwrite);
    for blocks in args.blocks.read()? {
        export = export.blocks(blocks);
    }
    let written = export.write(&args.output)?;
    let seconds = start.elapsed().as_secs_f64();
    context.terminal.note(format_args!(
        "wrote {} into {} ({seconds:.1} s)",
        number(written.blocks, "block", "blocks"),
        args.output.display()
    ));
    for file in &written.files {
        context.terminal.note(format_args!("{}", file.display()));
    }
    Ok(())
}
