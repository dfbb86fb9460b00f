//! `txgraph common`, compared with all transfers.

use crate::{
    address::transfers,
    harness::{Row, Sample},
    relations::as_json,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[test]
fn counterparties_in_common_are_stated_with_their_blocks_and_the_query() {
    let sample = Sample::small();
    let roots = [
        "0x10e00a14b5481339d1f70d7b0875ad3acf3c9c12",
        "0x95dc8a905bf6488bc52147ac4ebd77d3aab83dc0",
    ];
    let [one, other] = roots;
    let found = as_json(&sample, &format!("common {one} {other}"));
    assert_eq!(found["metadata"]["command"], "common");
    assert_eq!(found["metadata"]["question"]["root"], json!(roots));
    let reason = found["not_searched"][0].as_str().unwrap();
    assert!(reason.contains("--with-internal"), "{reason}");
    let none = sample.ok(&format!("common {one} {other} -b 0:5 -q"));
    assert_eq!(
        none.stdout,
        format!("no counterparty in common\n  not searched: {reason}\n")
    );

    let cut = sample.ok(&format!("common {one} {other} --limit 0 -q"));
    cut.prints("… and 1 more (--limit 1)");

    let [found] = &found["counterparties"].as_array().unwrap()[..] else {
        panic!("{found}");
    };
    let rows = transfers(&sample);
    for (root, with) in roots.iter().zip(found["with"].as_array().unwrap()) {
        let is_between = |row: &&Row| {
            let ends = [&row["from_address"], &row["to_address"]];
            let is_end = |value: &Value| {
                ends.iter()
                    .any(|end| end.eq_ignore_ascii_case(value.as_str().unwrap()))
            };
            is_end(&json!(root)) && is_end(&found["address"])
        };
        let blocks = rows.iter().filter(is_between);
        let blocks: Vec<u64> = blocks
            .map(|row| row["block_number"].parse().unwrap())
            .collect();
        assert_eq!(with["address"], *root);
        assert_eq!(with["first_block"], *blocks.iter().min().unwrap());
        assert_eq!(with["last_block"], *blocks.iter().max().unwrap());
    }
}

#[test]
fn common_counterparties_are_those_of_all_transfers() {
    for sample in Sample::full() {
        let all = transfers(&sample);
        let zero = format!("0x{}", "0".repeat(40));
        let mut sides: BTreeMap<&str, BTreeMap<&str, [u64; 2]>> = BTreeMap::new();
        for row in &all {
            let [from, to] = ["from_address", "to_address"].map(|name| row[name].as_str());
            if from != to {
                // Also counterparties without an amount have counterparties.
                let one = u64::from(row["value"] != "0");
                sides.entry(from).or_default().entry(to).or_default()[0] += one;
                sides.entry(to).or_default().entry(from).or_default()[1] += one;
            }
        }
        let mut busy: Vec<_> = sides.iter().filter(|(it, _)| **it != zero).collect();
        busy.sort_by_key(|(address, others)| (std::cmp::Reverse(others.len()), **address));
        sample.ok("index build --index idx -q");
        for roots in [[busy[0], busy[1]], [busy[1], busy[6]]] {
            let expected: BTreeMap<String, Vec<[u64; 2]>> = (roots[0].1.iter())
                .filter(|(other, _)| **other != zero)
                .filter_map(|(other, first)| {
                    let second = roots[1].1.get(other)?;
                    if *first == [0, 0] || *second == [0, 0] {
                        return None;
                    }
                    // By the address of the root.
                    let mut with = [(roots[0].0, *first), (roots[1].0, *second)];
                    with.sort();
                    Some(((*other).to_owned(), with.map(|(_, counts)| counts).to_vec()))
                })
                .collect();
            let line = format!("common {} {}", roots[0].0, roots[1].0);
            let found = as_json(&sample, &line);
            assert_eq!(found, as_json(&sample, &format!("{line} --index idx")));
            for it in found["counterparties"].as_array().unwrap() {
                let mut others = sides[it["address"].as_str().unwrap()].len() as u64;
                others = others.min(501);
                assert_eq!(it["counterparties"].as_u64().unwrap_or(501), others, "{it}");
            }
            let found: BTreeMap<_, _> = (found["counterparties"].as_array().unwrap().iter())
                .map(|it| {
                    let with = it["with"].as_array().unwrap().iter();
                    let counts = with.map(|it| {
                        ["sent_transfers", "received_transfers"]
                            .map(|name| it[name].as_u64().unwrap())
                    });
                    (
                        it["address"].as_str().unwrap().to_owned(),
                        counts.collect::<Vec<_>>(),
                    )
                })
                .collect();
            assert_eq!(found, expected, "{line}");
            let table = sample.ok(&line).stdout;
            assert!(table.contains("counterpart"), "{table}");
        }
        sample.run(&format!("common {}", busy[0].0)).ended(2);
    }
}
