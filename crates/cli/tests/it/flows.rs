//! `txgraph path --max-flow`: how much can have gone, against a maximum flow over all transfers.

use crate::harness::{PEEL, Row, Sample, USD6};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use txgraph::{Address, Transfer};
use txgraph_graph::testing::maximum_flow;

/// Reads a row of CSV, without what a flow does not use.
fn transfer(row: &Row) -> Transfer {
    let index = |name: &str| row[name].parse().ok();
    Transfer {
        block_number: row["block_number"].parse().unwrap(),
        block_timestamp: None,
        transaction_index: index("transaction_index").unwrap(),
        log_index: index("log_index"),
        sub_index: index("sub_index").unwrap(),
        transaction_hash: None,
        token_address: row["token_address"].parse().ok(),
        from_address: row["from_address"].parse().unwrap(),
        to_address: row["to_address"].parse().unwrap(),
        value: row["value"].parse().unwrap(),
        token_id: (!row["token_id"].is_empty()).then(|| row["token_id"].parse().unwrap()),
        token_standard: row["token_standard"].parse().unwrap(),
        kind: row["kind"].parse().unwrap(),
    }
}

#[test]
fn amounts_are_maximum_flows_of_all_transfers() {
    let mut positive = 0;
    for sample in Sample::full() {
        let all: Vec<Transfer> = sample.rows("transfers -q").iter().map(transfer).collect();
        let edges = &sample.fixture.truth["scenarios"]["peel-chain-token"]["edges"];
        let edges = edges.as_array().unwrap();
        let end = |edge: &Value, name: &str| -> Address {
            let text = edge[name].as_str().unwrap();
            text.parse().unwrap()
        };
        let from = end(&edges[0], "from");
        let mut ends: BTreeSet<Address> = edges.iter().map(|edge| end(edge, "to")).collect();
        let others = all.iter().map(|it| it.to_address);
        ends.extend(others.step_by(all.len() / 5));
        ends.retain(|end| *end != from && !end.is_zero());
        sample.ok("index build --index idx -q");
        let token = |it: &Transfer| {
            let id = it.token_id.map(|id| id.to_string());
            [it.token_address.map(|it| format!("{it:?}")), id].map(Option::unwrap_or_default)
        };
        let sent: BTreeSet<_> = (all.iter().filter(|it| it.from_address == from))
            .map(token)
            .collect();
        let mut tokens: BTreeMap<[String; 2], Vec<&Transfer>> = BTreeMap::new();
        for it in &all {
            let moves = it.from_address != it.to_address && u128::try_from(it.value).is_ok();
            if moves && sent.contains(&token(it)) {
                tokens.entry(token(it)).or_default().push(it);
            }
        }
        for to in ends {
            let line = format!("path {from} {to} -n all --max-flow --json -q");
            let found = sample.json(&line);
            assert_eq!(found, sample.json(&format!("{line} --index idx")), "{line}");
            let number = |value: &Value| -> u128 { value.as_str().unwrap().parse().unwrap() };
            let amounts: BTreeMap<_, _> = (found["flows"].as_array().unwrap().iter())
                .map(|flow| {
                    let part = |name: &str| flow[name].as_str().unwrap_or_default().to_lowercase();
                    let cut = flow["cut"].as_array().unwrap().iter();
                    let cut: u128 = cut.map(|it| number(&it["value"])).sum();
                    assert_eq!(cut, number(&flow["at_most"]), "{line}");
                    (["token_address", "token_id"].map(part), cut)
                })
                .collect();
            let wanted = tokens.iter();
            let wanted =
                wanted.map(|(token, all)| (token.clone(), maximum_flow(all, from, to, true)));
            let wanted: BTreeMap<_, _> = wanted.filter(|(_, amount)| *amount > 0).collect();
            assert_eq!(amounts, wanted, "{line}");
            positive += wanted.len();
        }
    }
    assert!(positive > 10, "{positive}");
}

#[test]
fn amounts_are_shown_to_people() {
    let sample = Sample::small();
    let found = sample.ok(&format!("path {PEEL} --max-flow"));
    let title = "At most 2,940.59514 USD6 can have gone without swaps within 6 transfers, bounded by 1 transfer\n";
    assert!(found.stdout.starts_with(title), "{found:?}");
    found.prints("note: 6 transfers can have carried it");
    found.prints("note: not searched: swaps");
    found.prints("note: not searched: ETH that moves inside transactions");
    let all = sample.ok(&format!("path {PEEL} -n all --max-flow -t {USD6}"));
    all.prints("At most 2,940.59514 USD6 can have gone without swaps, bounded by 1 transfer\n");
    assert!(!all.stdout.contains("ETH"), "{all:?}");
    let any_order = sample.ok(&format!("path {PEEL} --max-flow --any-order"));
    any_order.prints("without swaps within 6 transfers, in any order, bounded by 1 transfer\n");
    any_order.prints("note: 6 transfers would carry it, if each was after the one before");
    let back: Vec<_> = PEEL.split_whitespace().rev().collect();
    let none = sample.ok(&format!("path {} --max-flow", back.join(" ")));
    none.prints(
        "nothing can have gone without swaps from 0x5149f9591aD4bBa78320C6E8F09fcA122bd2441E to ",
    );
    none.prints("not searched: the other direction");
    none.prints("not searched: swaps");
    assert!(!none.stdout.contains("--any-token"), "{none:?}");
    let both = sample.run(&format!("path {PEEL} --max-flow --any-token"));
    both.ended(2).says("--any-token");
}
