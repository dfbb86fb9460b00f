//! Notes about where the branches of a search end, with what to ask next.

use crate::{
    hints,
    output::{Terminal, listed_of, number},
};
use txgraph::{
    BlockRanges, BranchEnd, BranchEnds, Direction, EndReason, Unseen,
    parse::{SearchArgs, SelectionArgs},
    printable,
};

/// Prints a line for each kind of end.
pub(crate) fn note(
    search: &SearchArgs,
    ends: &BranchEnds,
    blocks: &BlockRanges,
    terminal: &Terminal,
) {
    unseen(&ends.unseen, terminal);
    for (root, symbol) in &ends.token_roots {
        let name = symbol
            .as_ref()
            .map(|symbol| format!(" {}", printable(symbol)));
        terminal.note(format_args!(
            "root {root} is the contract of a token{}; {}",
            name.unwrap_or_default(),
            hints::TOKEN_ROOT
        ));
    }
    if search.root.iter().any(|root| is_zero(root)) {
        terminal.note(format_args!(
            "root {} is the zero address: its transfers are mints and burns of all tokens",
            txgraph::Address::ZERO
        ));
    }
    for (count, one, many) in [
        (ends.unchecked.roots, "root was", "roots were"),
        (
            ends.unchecked.ends,
            "end of a branch was",
            "ends of branches were",
        ),
    ] {
        if count > 0 {
            let unchecked = number(count, one, many);
            terminal.note(format_args!(
                "{unchecked} not looked up in the state: contracts or tokens may be among them"
            ));
        }
    }
    for end in &ends.ends {
        match end.reason {
            EndReason::SilentRoot => silent_roots(ends, end, terminal),
            // Printed with the limits of the search.
            EndReason::Hub | EndReason::StopList | EndReason::ZeroAddress | EndReason::Limit => {}
            EndReason::Contract => line(
                "at contracts without a further matching transfer",
                end,
                if lacks_internal(&search.selection) {
                    hints::CONTRACT_ENDS
                } else {
                    hints::CONTRACT_KEEPS
                },
                terminal,
            ),
            EndReason::NoTransfers => {
                let place = match (blocks.iter().last(), ends.direction) {
                    (_, Direction::Both) => {
                        "without another matching transfer in these blocks".to_owned()
                    }
                    (Some(range), Direction::Out) => {
                        format!(
                            "without a further matching transfer up to block {}",
                            range.last
                        )
                    }
                    _ => "without an earlier matching transfer in these blocks".to_owned(),
                };
                line(&place, end, hints::FURTHER_BLOCKS, terminal);
            }
            EndReason::LastHop => line("at the last hop", end, hints::MORE_HOPS, terminal),
        }
    }
}

/// Whether coins that contracts pass on are not read, and would match.
fn lacks_internal(selection: &SelectionArgs) -> bool {
    let mut words = selection.token.iter().flat_map(|list| list.split(','));
    let is_coin = |word: &str| {
        let word = word.trim();
        ["eth", "native", "all"]
            .iter()
            .any(|coin| word.eq_ignore_ascii_case(coin))
    };
    !selection.with_internal && (selection.token.is_empty() || words.any(is_coin))
}

/// Prints what the query names, and no transfer has.
pub(crate) fn unseen(unseen: &Unseen, terminal: &Terminal) {
    for (count, first, one, many) in [
        (unseen.tokens, &unseen.first_tokens, "token", "tokens"),
        (
            unseen.addresses,
            &unseen.first_addresses,
            "address",
            "addresses",
        ),
    ] {
        if count > 0 {
            let words = if count == 1 { one } else { many };
            terminal.note(format_args!(
                "no matching transfer of {words} {} in these blocks; {}",
                named(count, first),
                hints::UNSEEN
            ));
        }
    }
    if unseen.native {
        terminal.note(format_args!(
            "no matching transfer of the native coin in these blocks; {}",
            hints::UNSEEN_NATIVE
        ));
    }
}

fn silent_roots(ends: &BranchEnds, end: &BranchEnd, terminal: &Terminal) {
    let verb = match ends.direction {
        Direction::Out => "sent by",
        Direction::In => "received by",
        Direction::Both => "of",
    };
    let absent = ends.absent_roots.as_deref().unwrap_or_default();
    for root in end.first.iter().take(ROOTS_LISTED) {
        if ends.token_roots.iter().any(|(token, _)| token == root) {
            continue;
        }
        let (kind, hint) = match (
            absent.contains(root),
            ends.contracts.get(*root) == Some(true),
        ) {
            (true, _) => ("", hints::ABSENT_ROOT),
            (false, true) => ("contract ", hints::SILENT_CONTRACT),
            (false, false) => ("", hints::SILENT_ROOT),
        };
        terminal.note(format_args!(
            "no matching transfer {verb} root {kind}{root} in these blocks; {hint}"
        ));
    }
    let more = end.addresses.saturating_sub(ROOTS_LISTED as u64);
    if more > 0 {
        let roots = number(more, "more root", "more roots");
        terminal.note(format_args!("no matching transfer {verb} {roots}"));
    }
}

fn line(place: &str, end: &BranchEnd, hint: &str, terminal: &Terminal) {
    let verb = if end.addresses == 1 { "ends" } else { "end" };
    let contracts = match end.contracts {
        Some(count @ 1..) if end.reason != EndReason::Contract => {
            format!(" ({})", number(count, "contract", "contracts"))
        }
        _ => String::new(),
    };
    terminal.note(format_args!(
        "{} {verb} {place}{contracts}: {}; {hint}",
        number(end.addresses, "branch", "branches"),
        named(end.addresses, &end.first)
    ));
}

/// The first of some addresses, and how many more there are.
fn named(count: u64, first: &[txgraph::Address]) -> String {
    listed_of(count, first.iter().map(ToString::to_string))
}

/// Roots without transfers that are named.
const ROOTS_LISTED: usize = 6;

/// Whether a root as it was written is the zero address.
fn is_zero(root: &str) -> bool {
    let digits = root.strip_prefix("0x").unwrap_or(root);
    digits.len() == 40 && digits.bytes().all(|byte| byte == b'0')
}
