//! The parts that a query did not search: more may be there.

use txgraph::{
    BlockRanges, CommonCounterparties, Continuation, LimitHit, PreparedSearch, ScanReport,
    TokenFilter, TransferFlows, TransferPaths, limit_words,
};

const OTHER_DIRECTION: &str = "the other direction";

/// The parts that a search for routes left out.
pub(super) fn in_routes(
    found: &TransferPaths,
    query: &PreparedSearch<'_>,
    continuation: Continuation,
) -> Vec<String> {
    let changes = match (&query.request().filter.tokens, continuation) {
        // A swap is seen in the transfers of both tokens.
        (TokenFilter::Only { .. }, _) => {
            Some("other tokens, and swaps for them (leave --token out)")
        }
        (TokenFilter::All, Continuation::SameToken) => {
            Some("changes of the token that are no swap in one transaction (--any-token)")
        }
        (TokenFilter::All, Continuation::AnyToken) => None,
    };
    let mut parts = parts(query, &found.limits, &found.scan, changes);
    if found.shortest.is_empty() {
        parts.push(OTHER_DIRECTION.to_owned());
    }
    parts
}

/// The parts that the largest amounts leave out.
pub(super) fn in_flows(found: &TransferFlows, query: &PreparedSearch<'_>) -> Vec<String> {
    let swaps = "swaps: amounts that went as another token, all the way or a part of it (leave --max-flow out)";
    let mut parts = parts(query, &found.limits, &found.scan, Some(swaps));
    if found.flows.is_empty() {
        parts.push(OTHER_DIRECTION.to_owned());
    }
    parts
}

/// The parts in which other counterparties can be.
pub(super) fn in_common(found: &CommonCounterparties, query: &PreparedSearch<'_>) -> Vec<String> {
    let others = match query.request().filter.tokens {
        TokenFilter::Only { .. } => Some("other tokens (leave --token out)"),
        TokenFilter::All => None,
    };
    parts(query, &found.limits, &found.scan, others)
}

/// A line for each part, after a word.
pub(super) fn lines(start: &str, parts: &[String]) -> String {
    let lines = parts.iter();
    lines
        .map(|part| format!("{start} not searched: {part}\n"))
        .collect()
}

/// The parts that every query can leave out, and `others`.
fn parts(
    query: &PreparedSearch<'_>,
    limits: &[LimitHit],
    scan: &ScanReport,
    others: Option<&str>,
) -> Vec<String> {
    let mut parts: Vec<_> = limits.iter().map(limit_words).collect();
    let missing: BlockRanges = scan.missing.iter().map(|gap| gap.blocks).collect();
    if !missing.is_empty() {
        parts.push(format!("blocks {missing}, which are missing"));
    }
    let filter = &query.request().filter;
    if !filter.internal && filter.tokens.matches(None) {
        parts.push("ETH that moves inside transactions (--with-internal)".to_owned());
    }
    parts.extend(others.map(str::to_owned));
    parts
}
