//! Notes about where the symbols of tokens come from.

use crate::output::{Terminal, number};
use txgraph::{Address, BlockRanges, Result, Source, TokenList, TokenSources, printable};

const NAMED_MAX: usize = 6;

/// Completes a list by what these tokens claim, and prints what is only a claim.
pub(crate) fn named(
    list: Option<TokenList>,
    source: &Source,
    tokens: impl IntoIterator<Item = Address>,
    blocks: &BlockRanges,
    terminal: &Terminal,
) -> Result<TokenList> {
    let mut list = for_people(list.unwrap_or_default(), terminal);
    note(&source.name_tokens(&mut list, tokens, blocks)?, terminal);
    Ok(list)
}

/// The list for texts on stdout. Addresses are copied from files and pipes.
pub(crate) fn for_people(mut list: TokenList, terminal: &Terminal) -> TokenList {
    if !terminal.is_seen() {
        list.write_whole_addresses();
    }
    list
}

/// Prints a warning for each counterfeit, and how many symbols are only claims.
pub(crate) fn note(tokens: &TokenSources, terminal: &Terminal) {
    let counterfeits = &tokens.counterfeits;
    for it in counterfeits.iter().take(NAMED_MAX) {
        let known = match it.known {
            Some(known) => format!("{} is {known}", it.symbol),
            None => format!("{} is the native coin", it.symbol),
        };
        terminal.warn(format_args!(
            "{} claims the symbol `{}`, but {known}; it is written as `{}?`",
            it.address,
            printable(&it.claimed),
            it.symbol
        ));
    }
    let more = counterfeits.len().saturating_sub(NAMED_MAX);
    if more > 0 {
        let tokens = number(more as u64, "more token claims", "more tokens claim");
        terminal.warn(format_args!("{tokens} the symbol of another"));
    }
    if tokens.claims > 0 {
        let symbols = number(tokens.claims, "symbol is", "symbols are");
        terminal.note(format_args!(
            "{symbols} only what the token itself claims; --token-list FILE names tokens that you trust"
        ));
    }
}
