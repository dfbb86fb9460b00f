//! Notes about where the trails of a search end, with what to ask next.

use crate::{
    hints,
    output::{Terminal, listed, number},
};
use txgraph::{
    Address, Direction, ErrorKind, Result, Source, TrailEnds, TransferGraph, text::GraphQuery,
};

/// Accounts that are read to find contracts. More would cost more than a small search.
const ACCOUNTS_MAX: usize = 1_000;

/// Prints a line for each kind of end.
pub(crate) fn note(
    source: &Source,
    query: &GraphQuery,
    graph: &TransferGraph,
    terminal: &Terminal,
) -> Result<()> {
    let ends = TrailEnds::of(graph);
    let verb = match graph.direction {
        Direction::Out => "sent by",
        Direction::In => "received by",
        Direction::Both => "of",
    };
    let accounts: Vec<Address> = [&ends.silent_roots, &ends.without_transfers, &ends.last_hop]
        .into_iter()
        .flatten()
        .copied()
        .take(ACCOUNTS_MAX)
        .collect();
    // The answer is complete without this, so only an interruption is an error.
    let contracts = match source.contracts_among(&accounts, None) {
        Ok(contracts) => contracts.unwrap_or_default(),
        Err(error) if error.kind == ErrorKind::Interrupted => return Err(error),
        Err(_) => Vec::new(),
    };
    for root in ends.silent_roots.iter().take(ROOTS_LISTED) {
        let (kind, hint) = match contracts.contains(root) {
            true => ("contract ", hints::SILENT_CONTRACT),
            false => ("", hints::SILENT_ROOT),
        };
        terminal.note(format_args!(
            "no matching transfer {verb} root {kind}{root} in these blocks; {hint}"
        ));
    }
    let more = ends.silent_roots.len().saturating_sub(ROOTS_LISTED);
    if more > 0 {
        let roots = number(more as u64, "more root", "more roots");
        terminal.note(format_args!("no matching transfer {verb} {roots}"));
    }
    let internal = query.search.selection.with_internal;
    let at_contracts: Vec<_> = contracts
        .iter()
        .filter(|address| !ends.silent_roots.contains(address))
        .collect();
    if !at_contracts.is_empty() && !internal {
        let addresses = at_contracts.iter().map(ToString::to_string);
        terminal.note(format_args!(
            "{} at {}: {}; {}",
            trails(at_contracts.len()),
            if at_contracts.len() == 1 {
                "a contract"
            } else {
                "contracts"
            },
            listed(addresses),
            hints::CONTRACT_ENDS
        ));
    }
    for (addresses, place, hint) in [
        (
            &ends.without_transfers,
            "without a further matching transfer",
            hints::FURTHER_BLOCKS,
        ),
        (&ends.last_hop, "at the last hop", hints::MORE_HOPS),
    ] {
        if !addresses.is_empty() {
            terminal.note(format_args!(
                "{} {place}: {}; {hint}",
                trails(addresses.len()),
                listed(addresses.iter().map(ToString::to_string))
            ));
        }
    }
    Ok(())
}

/// Roots without transfers that are named.
const ROOTS_LISTED: usize = 6;

fn trails(count: usize) -> String {
    let verb = if count == 1 { "ends" } else { "end" };
    format!("{} {verb}", number(count as u64, "trail", "trails"))
}
