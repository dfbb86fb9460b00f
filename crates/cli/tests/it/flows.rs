//! `txgraph path --max-flow`: how much can have gone, against augmenting paths over all transfers.

use crate::{address::transfers, harness::Sample};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use txgraph_testkit::fixtures;

type Row = BTreeMap<String, String>;

/// An address at a place among the transfers.
type Node<'a> = (&'a str, usize);

/// The maximum flow of one token in time order: transfers by their place, each with what is left of its
/// amount, and augmenting paths found breadth first. An address at a place is a node. Tokens wait there
/// without a limit.
fn maximum(rows: &[&Row], from: &str, to: &str) -> u128 {
    let zero = format!("0x{}", "0".repeat(40));
    let mut left: Vec<u128> = rows
        .iter()
        .map(|row| row["value"].parse().unwrap())
        .collect();
    let mut back = vec![0u128; rows.len()];
    // What waits at an address before a place can be given back, if later transfers carry it.
    let mut waiting: BTreeMap<Node<'_>, u128> = BTreeMap::new();
    let mut total = 0;
    loop {
        // A node, and how it was reached.
        let start = (from, 0);
        let mut reached: BTreeMap<Node<'_>, Option<(Node<'_>, Step)>> = BTreeMap::new();
        reached.insert(start, None);
        let mut open = vec![start];
        while let Some(node) = open.pop() {
            let (at, place) = node;
            let mut next = Vec::new();
            if at == from {
                let all = (0..rows.len()).filter(|row| rows[*row]["from_address"] == from);
                next.extend(all.map(|row| (Step::Along(row), end(rows, row))));
            } else if at != to {
                if place < rows.len() {
                    next.push((Step::Wait, (at, place + 1)));
                    if rows[place]["from_address"] == at {
                        next.push((Step::Along(place), end(rows, place)));
                    }
                }
                if let Some(before) = place.checked_sub(1) {
                    if waiting.get(&(at, before)).is_some_and(|it| *it > 0) {
                        next.push((Step::Back, (at, before)));
                    }
                    if rows[before]["to_address"] == at {
                        let sender = rows[before]["from_address"].as_str();
                        let node = if sender == from {
                            start
                        } else {
                            (sender, before)
                        };
                        next.push((Step::Undo(before), node));
                    }
                }
            }
            for (step, node) in next {
                let has_room = match step {
                    Step::Along(row) => left[row] > 0,
                    Step::Undo(row) => back[row] > 0,
                    Step::Wait | Step::Back => true,
                };
                let node = if node.0 == to { (to, 0) } else { node };
                if has_room && node.0 != zero && !reached.contains_key(&node) {
                    reached.insert(node, Some(((at, place), step)));
                    open.push(node);
                }
            }
        }
        let Some(Some(_)) = reached.get(&(to, 0)) else {
            return total;
        };
        let mut path = Vec::new();
        let mut node = (to, 0);
        while let Some((before, step)) = reached[&node] {
            path.push((before, node, step));
            node = before;
        }
        let rooms = path.iter().map(|(_, after, step)| match step {
            Step::Along(row) => left[*row],
            Step::Undo(row) => back[*row],
            Step::Back => waiting[after],
            Step::Wait => u128::MAX,
        });
        let room = rooms.min().unwrap();
        for (before, after, step) in path {
            match step {
                Step::Along(row) => {
                    left[row] -= room;
                    back[row] += room;
                }
                Step::Undo(row) => {
                    left[row] += room;
                    back[row] -= room;
                }
                Step::Wait => *waiting.entry(before).or_default() += room,
                Step::Back => *waiting.get_mut(&after).unwrap() -= room,
            }
        }
        total += room;
    }
}

#[derive(Clone, Copy)]
enum Step {
    /// A transfer carries more.
    Along(usize),
    /// It carries less.
    Undo(usize),
    /// More waits at an address.
    Wait,
    /// Less does.
    Back,
}

/// Where a transfer arrives.
fn end<'a>(rows: &[&'a Row], row: usize) -> Node<'a> {
    (rows[row]["to_address"].as_str(), row + 1)
}

#[test]
fn amounts_are_maximum_flows_of_all_transfers() {
    let mut positive = 0;
    for fixture in fixtures::full() {
        let sample = Sample::new(fixture);
        let all = transfers(&sample);
        let edges = &sample.fixture.truth["scenarios"]["peel-chain-token"]["edges"];
        let edges = edges.as_array().unwrap();
        let text = |edge: &Value, name: &str| edge[name].as_str().unwrap().to_lowercase();
        let from = text(&edges[0], "from");
        let mut ends: BTreeSet<String> = edges.iter().map(|edge| text(edge, "to")).collect();
        let others = all.iter().map(|row| row["to_address"].clone());
        ends.extend(others.step_by(all.len() / 5));
        ends.remove(&from);
        ends.remove(&format!("0x{}", "0".repeat(40)));
        sample.ok("index build --index idx -q");
        let mut tokens: BTreeMap<[&str; 2], Vec<&Row>> = BTreeMap::new();
        for row in all
            .iter()
            .filter(|row| row["from_address"] != row["to_address"])
        {
            let token = ["token_address", "token_id"].map(|name| row[name].as_str());
            if row["value"].parse::<u128>().is_ok() {
                tokens.entry(token).or_default().push(row);
            }
        }
        let sent: BTreeSet<_> = (all.iter().filter(|row| row["from_address"] == from))
            .map(|row| ["token_address", "token_id"].map(|name| row[name].as_str()))
            .collect();
        for to in &ends {
            let line = format!("path {from} {to} -n all --max-flow --json -q");
            let found = sample.ok(&line).stdout;
            assert_eq!(
                found,
                sample.ok(&format!("{line} --index idx")).stdout,
                "{line}"
            );
            let found: Value = serde_json::from_str(&found).unwrap();
            let number = |value: &Value| -> u128 { value.as_str().unwrap().parse().unwrap() };
            let amounts: BTreeMap<_, _> = (found["flows"].as_array().unwrap().iter())
                .map(|flow| {
                    let part = |name: &str| flow[name].as_str().unwrap_or_default();
                    let cut = flow["cut"].as_array().unwrap().iter();
                    let cut: u128 = cut.map(|it| number(&it["value"])).sum();
                    assert_eq!(cut, number(&flow["at_most"]), "{line}");
                    (["token_address", "token_id"].map(part), cut)
                })
                .collect();
            let wanted = tokens.iter().filter(|(token, _)| sent.contains(*token));
            let wanted = wanted.map(|(token, rows)| (*token, maximum(rows, &from, to)));
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
    let ends = "0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0 \
                0x5149f9591ad4bba78320c6e8f09fca122bd2441e";
    let found = sample.ok(&format!("path {ends} --max-flow"));
    let title = "At most 2,940.59514 USD6 can have gone, bounded by 1 transfer\n";
    assert!(found.stdout.starts_with(title), "{found:?}");
    found.prints("note: 6 transfers can have carried it");
    let back: Vec<_> = ends.split_whitespace().rev().collect();
    let none = sample.ok(&format!("path {} --max-flow", back.join(" ")));
    none.prints("nothing can have gone from 0x5149");
    none.prints("not searched: changes of the token");
    let both = sample.run(&format!("path {ends} --max-flow --any-token"));
    both.ended(2).says("--any-token");
}
