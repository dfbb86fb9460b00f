//! `txgraph token`.

use crate::output::{print_json, print_page};
use alloy_primitives::Address;
use clap::Args;
use txgraph::{Node, Result, TokenNames, printable};

/// Ask tokens what they say of themselves: symbol, decimals, name
///
/// By calling them on the state of the node. Answers of now are kept below ~/.cache/txgraph/tokens.
/// What a token says is its own claim: anybody can call theirs USDC.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct TokenArgs {
    /// Addresses of tokens; with commas, or several; @FILE reads the first column of a file
    #[arg(required = true, value_name = "ADDRESS")]
    tokens: Vec<String>,

    /// As of the end of this block; default: now
    #[arg(long, value_name = "N")]
    block: Option<u64>,

    /// Ask again, though the answer is known
    #[arg(long)]
    refresh: bool,

    /// As JSON, by address
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples (for the small chain in testdata/):
    $ txgraph token 0xd601451207128971898aab8654521699f35222e2 \\
        --chain testdata/small/v2/genesis.json
";

/// Runs the command.
pub(crate) fn run(node: &Node, args: &TokenArgs) -> Result<()> {
    let names = txgraph::token_metadata(node, &args.tokens, args.block, args.refresh)?;
    if args.json {
        return print_json(&names);
    }
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let line = |(token, said): (&Address, &TokenNames)| {
        let decimals = said.decimals.map(|decimals| decimals.to_string());
        let words = [said.symbol.clone(), decimals, said.name.clone()].map(or_dash);
        format!("{token} {}\n", printable(&words.join(" ")))
    };
    print_page(&names.iter().map(line).collect::<String>())
}
