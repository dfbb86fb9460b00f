//! Warnings about possible address poisoning.

use crate::output::{Terminal, listed};
use txgraph::{Poisoning, ZeroValue};

/// Groups and pairs that are printed.
const SHOWN_MAX: usize = 3;

/// Warns of addresses that look alike, and of transfers of nothing to strangers.
pub(super) fn warn(terminal: &Terminal, found: &Poisoning) {
    for group in found.lookalikes.iter().take(SHOWN_MAX) {
        let addresses = listed(group.iter().map(|address| address.to_checksum(None)));
        terminal.note(format_args!(
            "possible address poisoning: these addresses have the same first and last four \
             digits; compare every digit: {addresses}"
        ));
    }
    if let more @ 1.. = found.lookalikes.len().saturating_sub(SHOWN_MAX) {
        terminal.note(format_args!(
            "more groups of addresses that look alike: {more}"
        ));
    }
    for pair in found.zero_value.iter().take(SHOWN_MAX) {
        let ZeroValue {
            from_address,
            to_address,
            transfers,
        } = pair;
        terminal.note(format_args!(
            "possible address poisoning: zero-value transfers ({transfers}) from {from_address} \
             to {to_address}, without an earlier payment of that token in the graph"
        ));
    }
    if let more @ 1.. = found.zero_value.len().saturating_sub(SHOWN_MAX) {
        terminal.note(format_args!("more pairs with such transfers: {more}"));
    }
}
