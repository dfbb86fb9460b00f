//! `txgraph token`.

use super::Context;
use crate::{
    args::StateBlockArgs,
    exit,
    output::{print_json, print_page},
};
use clap::Args;
use std::collections::BTreeMap;
use txgraph::{
    Address, Error, ErrorKind, Result, Source, TokenNames,
    parse::{Checksum, addresses},
    printable,
};

/// Print symbol, decimals and name of tokens
///
/// Calls the contracts on the state of the node. Results at the newest block are cached in
/// ~/.cache/txgraph/tokens. Any contract can return any name: a token called USDC may not be USDC.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct TokenArgs {
    /// Tokens; @FILE reads the first column of a file
    #[arg(required = true, value_name = "ADDRESS")]
    tokens: Vec<String>,

    #[command(flatten)]
    block: StateBlockArgs,

    /// Call the contracts even if the result is cached
    #[arg(long)]
    refresh: bool,

    /// Print JSON, by address
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples (for the small chain that scripts/demo.sh unpacks, demo/small):
    $ txgraph token 0xd601451207128971898aab8654521699f35222e2
";

pub(crate) fn run(args: &TokenArgs, context: &Context<'_>) -> Result<()> {
    let source = context.open()?;
    let asked = addresses(&args.tokens, Checksum::Verify)?;
    let mut tokens = source.tokens(asked.iter().copied());
    let block = args.block.read(&source)?;
    if let Some(block) = block {
        tokens = tokens.block(block);
    }
    if args.refresh {
        tokens = tokens.refresh();
    }
    let names = tokens.run()?;
    let wrong = not_tokens(&names, &source, block)?;
    if args.json {
        print_json(&names)?;
    } else {
        print_page(&page(&asked, &names))?;
    }
    exit::last_of(wrong)
}

/// A line for each token, in the order of the query.
fn page(asked: &[Address], names: &BTreeMap<Address, TokenNames>) -> String {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let line = |token: &Address| {
        let names = names.get(token)?;
        let decimals = names.decimals.map(|decimals| decimals.to_string());
        let words = [names.symbol.clone(), decimals, names.name.clone()].map(or_dash);
        Some(format!("{token} {}\n", printable(&words.join(" "))))
    };
    asked.iter().filter_map(line).collect()
}

/// An error for each address that is no token: it answers nothing.
fn not_tokens(
    names: &BTreeMap<Address, TokenNames>,
    source: &Source,
    block: Option<u64>,
) -> Result<Vec<Error>> {
    let silent = names
        .iter()
        .filter(|(_, names)| **names == TokenNames::default());
    let silent: Vec<Address> = silent.map(|(token, _)| *token).collect();
    if silent.is_empty() {
        return Ok(Vec::new());
    }
    let contracts = source.contracts_among(&silent, block)?;
    let is_sample = source.is_sample_chain()?;
    let error = |token: Address| {
        let has_code = contracts.as_ref().is_none_or(|it| it.contains(&token));
        let why = if has_code {
            "names no token: the contract answers neither name() nor symbol() nor decimals(), which \
             ERC-1155 tokens need not have"
        } else {
            "is not a token: the account has no code"
        };
        let error = Error::new(ErrorKind::Failed, format!("{token} {why}"));
        if is_sample && !has_code {
            error.hint("this is a sample chain, whose contracts have code only if execgen wrote it")
        } else {
            error
        }
    };
    Ok(silent.into_iter().map(error).collect())
}
