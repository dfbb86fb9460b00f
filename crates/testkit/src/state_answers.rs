//! A node's answers about the state after its blocks.

use crate::fixtures::Fixture;
use alloy_primitives::{Address, B256, Bytes, U256};
use serde_json::Value;
use std::collections::BTreeMap;

/// A query about the state after a block, with the answer of the node.
#[derive(Clone, Debug)]
pub enum StateAnswer {
    /// `eth_getBalance`.
    Balance(Address, U256),
    /// `eth_getTransactionCount`.
    Nonce(Address, u64),
    /// `eth_getCode`.
    Code(Address, Bytes),
    /// `eth_getStorageAt`.
    Storage(Address, B256, U256),
}

/// An account as a test reads it: balance, nonce and code.
pub type ReadAccount = (U256, u64, Bytes);

impl StateAnswer {
    /// Checks that a state gives the same answer.
    pub fn check(
        &self,
        place: &str,
        account: impl Fn(Address) -> Option<ReadAccount>,
        storage: impl Fn(Address, B256) -> U256,
    ) {
        let account = |address| account(address).unwrap_or_default();
        match self {
            Self::Balance(address, balance) => {
                assert_eq!(account(*address).0, *balance, "{place}: {self:?}");
            }
            Self::Nonce(address, nonce) => {
                assert_eq!(account(*address).1, *nonce, "{place}: {self:?}");
            }
            Self::Code(address, code) => {
                assert_eq!(account(*address).2, *code, "{place}: {self:?}");
            }
            Self::Storage(address, slot, value) => {
                assert_eq!(storage(*address, *slot), *value, "{place}: {self:?}");
            }
        }
    }
}

/// All answers in `<name>.jsonl.zst` of a fixture, by block.
pub fn state_answers(fixture: &Fixture, name: &str) -> BTreeMap<u64, Vec<StateAnswer>> {
    let mut found: BTreeMap<u64, Vec<StateAnswer>> = BTreeMap::new();
    for line in fixture.lines(name) {
        let params = line["params"].as_array().unwrap();
        let address = text(&params[0]).parse().unwrap();
        let answer = text(&line["result"]);
        let parsed = match text(&line["method"]) {
            "eth_getBalance" => StateAnswer::Balance(address, answer.parse().unwrap()),
            "eth_getTransactionCount" => StateAnswer::Nonce(address, number(answer)),
            "eth_getCode" => StateAnswer::Code(address, answer.parse().unwrap()),
            "eth_getStorageAt" => StateAnswer::Storage(
                address,
                text(&params[1]).parse::<U256>().unwrap().into(),
                answer.parse().unwrap(),
            ),
            other => panic!("unknown query: {other}"),
        };
        let block = number(text(params.last().unwrap()));
        found.entry(block).or_default().push(parsed);
    }
    assert!(found.len() > 5, "{}", fixture.name);
    found
}

/// The slots for which the node's own answer is wrong: block, address, slot, its answer, and
/// the true value.
pub fn wrong_answers(fixture: &Fixture) -> Vec<(u64, Address, B256, U256, U256)> {
    let Some(listed) = fixture.chain_info["node_answers_that_are_wrong"].as_array() else {
        return Vec::new();
    };
    let read = |wrong: &Value| {
        let number = |field: &str| wrong[field].as_u64().unwrap();
        (
            number("block"),
            text(&wrong["address"]).parse().unwrap(),
            U256::from(number("slot")).into(),
            U256::from(number("answer")),
            U256::from(number("true")),
        )
    };
    listed.iter().map(read).collect()
}

fn text(value: &Value) -> &str {
    value
        .as_str()
        .unwrap_or_else(|| panic!("not a string: {value}"))
}

fn number(text: &str) -> u64 {
    u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap()
}
