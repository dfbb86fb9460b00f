//! Transfers of a transaction, and columns with facts about it.

use crate::harness::{ROOT, Sample};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use txgraph::number;

const COLUMNS: &str = "transaction_hash,transaction_from,transaction_to,status,method,kind";

/// The node's receipts by the hash of their transaction.
fn receipts(sample: &Sample) -> BTreeMap<String, Value> {
    let mut all = BTreeMap::new();
    for line in sample.fixture.lines("receipts") {
        for receipt in line["receipts"].as_array().unwrap() {
            let hash = receipt["transactionHash"].as_str().unwrap();
            all.insert(hash.to_owned(), receipt.clone());
        }
    }
    all
}

#[test]
fn columns_of_transactions_are_those_of_receipts() {
    for sample in Sample::full() {
        let receipts = receipts(&sample);
        let found = sample.rows(&format!("transfers -q --columns {COLUMNS}"));
        let mut methods = BTreeSet::new();
        for row in &found {
            if row["transaction_hash"].is_empty() {
                assert!(row["kind"] == "withdrawal", "{row:?}");
                assert!(row.values().filter(|value| !value.is_empty()).count() == 1);
                continue;
            }
            let receipt = &receipts[&row["transaction_hash"]];
            let text = |name: &str| receipt[name].as_str().unwrap_or_default().to_lowercase();
            assert_eq!(row["transaction_from"].to_lowercase(), text("from"));
            assert_eq!(row["transaction_to"].to_lowercase(), text("to"));
            assert_eq!(format!("0x{}", row["status"]), text("status"));
            methods.insert(row["method"].clone());
        }
        assert!(methods.contains("transfer(address,uint256)"), "{methods:?}");
        let is_selector = |text: &String| text.len() == 10 && text.starts_with("0x");
        assert!(methods.iter().any(is_selector), "{methods:?}");
        // A graph has the same facts.
        let half = found.iter().skip(found.len() / 2);
        let mut senders = half.map(|row| &row["transaction_from"]);
        let root = senders.find(|sender| !sender.is_empty()).unwrap();
        let graph = sample.rows(&format!("graph -q -r {root} -n 2 --columns {COLUMNS}"));
        assert!(graph.len() > 1);
        for row in graph {
            assert!(found.contains(&row), "{row:?}");
        }
    }
}

#[test]
fn transfers_of_a_transaction() {
    for sample in Sample::full() {
        let all = sample.rows("transfers -q");
        let named: Vec<_> = all
            .iter()
            .filter(|row| !row["transaction_hash"].is_empty())
            .collect();
        for row in named.iter().step_by(named.len() / 6) {
            let hash = &row["transaction_hash"];
            let of_it: Vec<_> = named
                .iter()
                .filter(|it| it["transaction_hash"] == *hash)
                .collect();
            let place = format!("{}:{}", row["block_number"], row["transaction_index"]);
            for name in [hash, &place] {
                let answer = sample.ok(&format!("transfers --tx {name}"));
                let found = answer.rows();
                assert_eq!(
                    found.iter().collect::<Vec<_>>(),
                    of_it.iter().map(|row| **row).collect::<Vec<_>>()
                );
                let count = number(
                    of_it.len() as u64,
                    "matching transfer",
                    "matching transfers",
                );
                answer.says(&count);
            }
        }
        let [first, last] = [named[0], named[named.len() - 1]].map(|row| &row["transaction_hash"]);
        let both = sample.rows(&format!("transfers -q --tx {last} --tx {first}"));
        let expected = named
            .iter()
            .filter(|row| [first, last].contains(&&row["transaction_hash"]));
        assert_eq!(
            both.iter().collect::<Vec<_>>(),
            expected.copied().collect::<Vec<_>>()
        );
    }
}

#[test]
fn transactions_that_do_not_exist_are_refused() {
    let sample = Sample::small();
    for (line, status, message) in [
        ("transfers --tx 20:9999", 3, "block 20 has "),
        ("transfers --tx nonsense", 2, "is not a transaction"),
        ("transfers --tx 20:0 --blocks 20", 2, "cannot be used with"),
        (
            &format!("graph -r {ROOT} --tx 20:0"),
            2,
            "unexpected argument",
        ),
    ] {
        sample.fails(line, status, message);
    }
}
