//! Etherscan's interface: rows equal what the node's own answers contain, and every trap that
//! clients are known for.

mod blocks;
mod logs;
mod tokens;
mod transactions;
mod transfers;
mod words;

use crate::harness::number;
use serde_json::Value;
use std::collections::BTreeMap;
use txgraph_testkit::fixtures::Fixture;

pub(super) const TRANSFER: &str =
    "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

/// The declaration of a called function, of those that the chain calls and standards name.
pub(super) fn function_name(input: &str) -> &'static str {
    match (input.get(..10).unwrap_or_default(), input.len()) {
        ("0xa9059cbb", 138) => "transfer(address to, uint256 amount)",
        ("0x23b872dd", 202) => "transferFrom(address from, address to, uint256 amount)",
        ("0x095ea7b3", 138) => "approve(address spender, uint256 amount)",
        ("0x42966c68", 74) => "burn(uint256 amount)",
        ("0x40c10f19", 138) => "mint(address to, uint256 amount)",
        ("0x6a627842", 74) => "mint(address to)",
        ("0xd0e30db0", 10) => "deposit()",
        ("0x2e1a7d4d", 74) => "withdraw(uint256 amount)",
        _ => "",
    }
}

/// Blocks and receipts of the node, in one list.
pub(super) struct Chain {
    pub(super) blocks: Vec<(Value, Vec<Value>)>,
}

impl Chain {
    pub(super) fn of(fixture: &Fixture) -> Self {
        let receipts = fixture.lines("receipts");
        let receipts = receipts.map(|mut line| match line["receipts"].take() {
            Value::Array(receipts) => receipts,
            other => panic!("{other}"),
        });
        Self {
            blocks: fixture.lines("blocks").zip(receipts).collect(),
        }
    }

    /// Each transaction with its block and its receipt.
    pub(super) fn transactions(&self) -> impl DoubleEndedIterator<Item = (&Value, &Value, &Value)> {
        self.blocks.iter().flat_map(|(block, receipts)| {
            let transactions = block["transactions"].as_array().unwrap();
            let both = transactions.iter().zip(receipts);
            both.map(move |(transaction, receipt)| (block, transaction, receipt))
        })
    }

    /// The addresses with the most transactions, the receivers of some, and a contract.
    pub(super) fn busy(&self, most: usize) -> Vec<String> {
        let mut counts = BTreeMap::<String, usize>::new();
        for (_, transaction, receipt) in self.transactions() {
            for end in [
                &transaction["from"],
                &transaction["to"],
                &receipt["contractAddress"],
            ] {
                if let Some(end) = end.as_str() {
                    *counts.entry(end.to_owned()).or_default() += 1;
                }
            }
        }
        let mut all: Vec<_> = counts.into_iter().collect();
        all.sort_by_key(|(_, count)| usize::MAX - count);
        let rare = all.last().cloned();
        let busy = all.into_iter().take(most).chain(rare);
        busy.map(|(address, _)| address).collect()
    }
}

pub(super) fn text(value: &Value) -> Value {
    number(value).to_string().into()
}

/// An amount, which may have more than 128 bits.
pub(super) fn amount(digits: &str) -> Value {
    let number = txgraph::U256::from_str_radix(digits.trim_start_matches("0x"), 16);
    number.unwrap().to_string().into()
}

pub(super) fn or_empty(value: &Value) -> Value {
    match value {
        Value::Null => "".into(),
        value => value.clone(),
    }
}
