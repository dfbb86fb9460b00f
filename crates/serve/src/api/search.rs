//! `/v1/search`: what a user types.

use super::{
    named::{label_of, token_names},
    query::{Found, Query, Reply, hex},
};
use crate::{ask::parse_hash, fault::Answer};
use serde_json::{Value, json};
use txgraph::{
    Address,
    parse::{Checksum, parse_address},
    printable,
};

/// Results at most.
const RESULTS_MAX: usize = 20;

/// Answers.
pub(super) fn search(query: &Query<'_>) -> Reply {
    let ask = query.ask;
    let text = query.given.text("q");
    let mut found = Found::default();
    let mut results = Vec::new();
    let mut add = |kind: &str, value: String, text: String| {
        results.push(json!({ "kind": kind, "value": value, "text": text }));
    };
    if let Some(hash) = parse_hash(text) {
        let value = format!("{hash:#x}");
        if let Some(number) = ask.find_block(hash)? {
            add("block", value, format!("block {number}"));
        } else if let Some((block, index)) = ask.find_transaction(hash)? {
            add("transaction", value, format!("transaction {block}:{index}"));
        }
    } else if let Some(number) = block_number(text) {
        let tip = ask.tip.number;
        match number <= tip {
            true => add("block", number.to_string(), format!("block {number}")),
            false => found.lacks(format!(
                "block {number} is above {tip}, the newest block that the node has stored"
            )),
        }
    } else if let Ok(address) = parse_address(text, Checksum::Verify) {
        results.extend(of_address(query, address)?);
    } else {
        let chain_id = ask.source.chain()?.chain_id;
        let tokens = query.ask.names.tokens.with_symbol(chain_id, text);
        for token in tokens {
            let symbol = query.ask.names.tokens.symbol(chain_id, token);
            let symbol = symbol.unwrap_or(text);
            add("token", hex(token), printable(symbol).into_owned());
        }
        let labels = query.ask.names.labels.named_like(text);
        for (address, labels) in labels.take(RESULTS_MAX + 1) {
            let label = label_of(labels);
            let name = label["name"].as_str().unwrap_or_default();
            add("address", hex(address), name.to_owned());
        }
        found.lacks(
            "tokens are found by their symbol only if a token list or the table of well-known tokens has \
             them, and addresses by their label only if a file of labels has them",
        );
        if results.len() > RESULTS_MAX {
            results.truncate(RESULTS_MAX);
            found.lacks(format!("there are more than {RESULTS_MAX} results"));
        }
    }
    found.put("results", results);
    Ok(found)
}

/// A number in decimal digits, or in hexadecimal ones after `0x`. An address is none.
fn block_number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) if digits.len() > 16 => None,
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// An address, and the token that it is.
fn of_address(query: &Query<'_>, address: Address) -> Answer<Vec<Value>> {
    let label = super::named::label(query, address);
    let name = label["name"].as_str().unwrap_or("address");
    let mut results = vec![json!({ "kind": "address", "value": hex(address), "text": name })];
    if let Some(names) = token_names(query, address)?
        && let Some(symbol) = names.symbol
    {
        let text = printable(&symbol);
        results.push(json!({ "kind": "token", "value": hex(address), "text": text }));
    }
    Ok(results)
}
