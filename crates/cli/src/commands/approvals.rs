//! `txgraph approvals`: who may take the tokens of an account.

use super::{Context, names::Names};
use crate::{
    args::{BlockArgs, NameArgs, TableOutputArgs},
    output::number,
};
use clap::Args;
use txgraph::{
    AnalysisFormat, Error, Result,
    parse::{Checksum, assets, parse_address},
};

/// Open approvals: who may take which tokens of an account, and how much
///
/// Allowances of ERC-20 and of Permit2, approved items of ERC-721, and operators of ERC-721 and
/// ERC-1155. They are found by their events in all blocks. The contracts then say what is left, so
/// what was spent or revoked is not listed.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct ApprovalsArgs {
    /// The account
    #[arg(value_name = "ADDRESS")]
    address: String,

    /// The approvals that others gave to the account
    #[arg(long)]
    as_spender: bool,

    /// Only approvals of these tokens
    ///
    /// Addresses, or symbols of --token-list and of well-known tokens. Fewer blocks are read than
    /// for all tokens.
    #[arg(short, long, value_name = "TOKEN")]
    token: Vec<String>,

    /// Only unlimited approvals
    ///
    /// Approvals whose contract does not say how much is left stay in the list.
    #[arg(long)]
    unlimited: bool,

    #[command(flatten)]
    blocks: BlockArgs,

    #[command(flatten)]
    files: TableOutputArgs,

    #[command(flatten)]
    names: NameArgs,
}

const EXAMPLES: &str = "\
Examples (for the small chain that scripts/demo.sh unpacks, demo/small):
    $ txgraph approvals 0x502f1f2f4b2abc8d86fc43da973c2c110206e2ba
    $ txgraph approvals 0x502f1f2f4b2abc8d86fc43da973c2c110206e2ba --as-spender -f csv
    $ txgraph approvals 0x502f1f2f4b2abc8d86fc43da973c2c110206e2ba --unlimited
";

pub(crate) fn run(args: &ApprovalsArgs, context: &Context<'_>) -> Result<()> {
    let terminal = context.terminal;
    let source = context.open()?;
    let mut query = source.approvals(parse_address(&args.address, Checksum::Verify)?);
    if args.as_spender {
        query = query.as_spender();
    }
    let list = source.token_list(&args.names.tokens.token_list)?;
    for token in assets(&args.token, &source, list.as_ref())? {
        let token = token.ok_or_else(|| Error::usage("the native coin has no approvals"))?;
        query = query.token(token);
    }
    if args.unlimited {
        query = query.only_unlimited();
    }
    for blocks in args.blocks.read()? {
        query = query.blocks(blocks);
    }
    let outputs = args.files.read(None)?;
    terminal.check_stdout(outputs.iter().map(|output| &output.target))?;
    let labels = args.names.labels.read(&source, terminal)?;
    query.check(&outputs)?;
    let found = query.run()?;
    terminal.stats.phase("read");
    terminal.blocks(&found.blocks.into());
    terminal.notes(&found.notes);
    terminal.written(&found.write(&outputs)?);
    if (outputs.iter()).any(|output| output.format == AnalysisFormat::Tables) {
        let tokens = found.approvals.iter().map(|it| it.token);
        let blocks = found.blocks.into();
        let lists = &args.names.tokens;
        let names = Names::read(lists, labels, &source, tokens, &blocks, terminal)?;
        names.print(&[&found.table], terminal)?;
    }
    terminal.note(format_args!(
        "{} at the end of block {}: {} of {}",
        if args.unlimited { "unlimited" } else { "open" },
        found.block,
        found.approvals.len(),
        number(found.granted, "approval", "approvals")
    ));
    Ok(())
}
