//! `txgraph token`.

use crate::output::stdout_error;
use clap::Args;
use std::io::{self, Write};
use txgraph::{Node, Result};

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
    let text = if args.json {
        let json = serde_json::to_string_pretty(&names);
        json.map_err(|error| stdout_error(error.into()))? + "\n"
    } else {
        let line = |(token, said): (&_, &txgraph::TokenNames)| {
            let decimals = said.decimals.map(|decimals| decimals.to_string());
            let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
            let token: &alloy_primitives::Address = token;
            format!(
                "{token} {} {} {}\n",
                or_dash(said.symbol.clone()),
                or_dash(decimals),
                or_dash(said.name.clone())
            )
        };
        names.iter().map(line).collect()
    };
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).map_err(stdout_error)
}
