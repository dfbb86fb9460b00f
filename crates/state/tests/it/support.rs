//! Directories, and the questions that were sent to their nodes.

use alloy_primitives::{Address, B256, Bytes, U256};
use serde_json::Value;
use std::{collections::BTreeMap, path::Path};
use txgraph_nodedb::DataDir;
use txgraph_state::{History, StateAt, StateDb, StateOptions};
use txgraph_testkit::fixtures::{Fixture, fixture};

/// Directories without recorded answers.
pub(crate) fn odd() -> Vec<Fixture> {
    [
        "odd/pruned-v1",
        "odd/pruned-v2",
        "odd/filter-v1",
        "odd/filter-v2",
        "odd/migrated-v2",
        "odd/import-v2",
    ]
    .into_iter()
    .filter_map(fixture)
    .collect()
}

pub(crate) fn open(dir: &Path, options: StateOptions) -> StateDb {
    StateDb::open(&DataDir::new(dir), options).unwrap()
}

/// Options with which ranges read the change sets, with or without an index.
pub(crate) fn walking() -> StateOptions {
    StateOptions {
        history: History::Walk,
        ..StateOptions::default()
    }
}

/// A question to a node about the state after a block, with its answer.
#[derive(Clone, Debug)]
pub(crate) enum Question {
    Balance(Address, U256),
    Nonce(Address, u64),
    Code(Address, Bytes),
    Storage(Address, B256, U256),
}

impl Question {
    /// Checks that a state gives the same answer.
    pub(crate) fn check(&self, state: &StateAt<'_>, place: &str) {
        let place = format!("{place}, block {}: {self:?}", state.block());
        let account = |address| state.account(address).unwrap();
        match self {
            Self::Balance(address, balance) => {
                let found = account(*address).map_or(U256::ZERO, |account| account.balance);
                assert_eq!(found, *balance, "{place}");
            }
            Self::Nonce(address, nonce) => {
                let found = account(*address).map_or(0, |account| account.nonce);
                assert_eq!(found, *nonce, "{place}");
            }
            Self::Code(address, code) => {
                let found = account(*address).map(|account| account.code_hash);
                let found = found.map(|hash| state.code(hash).unwrap());
                assert_eq!(found.unwrap_or_default(), *code, "{place}");
            }
            Self::Storage(address, slot, value) => {
                let found = state.storage(*address, *slot).unwrap();
                assert_eq!(found, *value, "{place}");
                if !value.is_zero() {
                    assert!(state.has_storage(*address).unwrap(), "{place}");
                }
            }
        }
    }
}

/// All recorded questions of a directory, by block.
pub(crate) fn questions(fixture: &Fixture) -> BTreeMap<u64, Vec<Question>> {
    let mut found: BTreeMap<u64, Vec<Question>> = BTreeMap::new();
    for line in fixture.lines("state") {
        let params = line["params"].as_array().unwrap();
        let address = text(&params[0]).parse().unwrap();
        let answer = text(&line["result"]);
        let question = match text(&line["method"]) {
            "eth_getBalance" => Question::Balance(address, answer.parse().unwrap()),
            "eth_getTransactionCount" => Question::Nonce(address, number(answer)),
            "eth_getCode" => Question::Code(address, answer.parse().unwrap()),
            "eth_getStorageAt" => Question::Storage(
                address,
                text(&params[1]).parse::<U256>().unwrap().into(),
                answer.parse().unwrap(),
            ),
            other => panic!("unknown question: {other}"),
        };
        let block = number(text(params.last().unwrap()));
        found.entry(block).or_default().push(question);
    }
    assert!(found.len() > 5, "{}", fixture.name);
    found
}

/// The slots for which the node's own answer is wrong: block, address, slot, its answer, and
/// the true value.
pub(crate) fn wrong_answers(fixture: &Fixture) -> Vec<(u64, Address, B256, U256, U256)> {
    let Some(listed) = fixture.chain_info["node_answers_that_are_wrong"].as_array() else {
        return Vec::new();
    };
    listed
        .iter()
        .map(|wrong| {
            let number = |field: &str| wrong[field].as_u64().unwrap();
            (
                number("block"),
                text(&wrong["address"]).parse().unwrap(),
                U256::from(number("slot")).into(),
                U256::from(number("answer")),
                U256::from(number("true")),
            )
        })
        .collect()
}

fn text(value: &Value) -> &str {
    value
        .as_str()
        .unwrap_or_else(|| panic!("not a string: {value}"))
}

fn number(text: &str) -> u64 {
    u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap()
}
