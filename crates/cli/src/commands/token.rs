//! `txgraph token`.

use super::Context;
use crate::output::{print_json, print_page};
use clap::Args;
use txgraph::{
    Address, Result, TokenNames, printable,
    text::{Checksum, addresses},
};

/// Ask tokens for their symbol, decimals and name
///
/// Calls the contracts on the state of the node. Answers at the newest block are cached in
/// ~/.cache/txgraph/tokens. Any contract can return any name: a token called USDC need not be USDC.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct TokenArgs {
    /// Addresses of tokens, separated by blanks or commas; @FILE reads the first column of a file
    #[arg(required = true, value_name = "ADDRESS")]
    tokens: Vec<String>,

    /// Block at whose end they are asked; default: the newest with a state
    #[arg(long, value_name = "N")]
    block: Option<u64>,

    /// Ask again, even if the answer is cached
    #[arg(long)]
    refresh: bool,

    /// Print JSON, by address
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples (for the small chain in testdata/):
    $ txgraph token 0xd601451207128971898aab8654521699f35222e2 \\
        --chain testdata/small/v2/genesis.json
";

/// Runs the command.
pub(crate) fn run(args: &TokenArgs, context: &Context<'_>) -> Result<()> {
    let source = context.open()?;
    let mut tokens = source.tokens(addresses(&args.tokens, Checksum::Verify)?);
    if let Some(block) = args.block {
        tokens = tokens.block(block);
    }
    if args.refresh {
        tokens = tokens.refresh();
    }
    let names = tokens.run()?;
    if args.json {
        return print_json(&names);
    }
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let line = |(token, names): (&Address, &TokenNames)| {
        let decimals = names.decimals.map(|decimals| decimals.to_string());
        let words = [names.symbol.clone(), decimals, names.name.clone()].map(or_dash);
        format!("{token} {}\n", printable(&words.join(" ")))
    };
    print_page(&names.iter().map(line).collect::<String>())
}
