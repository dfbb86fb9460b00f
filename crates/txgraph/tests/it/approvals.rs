//! Open approvals: against the logs that the node returned, and calls by signature.

use crate::executed;
use std::collections::BTreeMap;
use txgraph::{Address, ApprovalKind, B256, Method, Source, U256};
use txgraph_testkit::fixtures::{self, Fixture};

const APPROVAL: &str = "0x8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925";

/// Token, owner, spender, and id of an item.
type Key = (Address, Address, Address, Option<U256>);

/// All `Approval` events by the answers of the node, each with its last block.
fn granted(fixture: &Fixture) -> BTreeMap<Key, u64> {
    let mut all = BTreeMap::new();
    for line in fixture.lines("receipts") {
        let block = line["block"].as_u64().unwrap();
        for receipt in line["receipts"].as_array().unwrap() {
            for log in receipt["logs"].as_array().unwrap() {
                let topics = log["topics"].as_array().unwrap().iter();
                let topics: Vec<&str> = topics.map(|it| it.as_str().unwrap()).collect();
                if topics.len() < 3 || topics[0] != APPROVAL {
                    continue;
                }
                let topic = |at: usize| topics[at].parse::<B256>().unwrap();
                let id = (topics.len() == 4).then(|| U256::from_be_bytes(topic(3).0));
                let token: Address = log["address"].as_str().unwrap().parse().unwrap();
                let [owner, spender] = [1, 2].map(|at| Address::from_word(topic(at)));
                all.insert((token, owner, spender, id), block);
            }
        }
    }
    all
}

/// The first word that a function returns.
fn word(source: &Source, token: Address, signature: &str, arguments: &[String]) -> Option<U256> {
    let method = Method::parse(signature).unwrap();
    let call = source.call(token).function(&method, arguments).unwrap();
    let result = call.run().unwrap();
    let output = result.output().ok()?;
    Some(match output.first_chunk::<32>() {
        Some(word) => U256::from_be_bytes(*word),
        None => U256::ZERO,
    })
}

#[test]
fn approvals_are_those_of_the_contracts() {
    for name in ["small/v2", "dev-v1", "dev-v2", "long-v2"] {
        let Some(fixture) = fixtures::fixture(name) else {
            continue;
        };
        let folder = fixture.unpack();
        let source = executed(folder.path(), name);
        let mut wanted = BTreeMap::new();
        for ((token, owner, spender, id), block) in granted(&fixture) {
            let left = match id {
                None => {
                    let accounts = [owner, spender].map(|it| it.to_string());
                    word(
                        &source,
                        token,
                        "allowance(address,address)(uint256)",
                        &accounts,
                    )
                }
                Some(id) => {
                    let approved = "getApproved(uint256)(address)";
                    let approved = word(&source, token, approved, &[id.to_string()]);
                    let spender = U256::from_be_bytes(spender.into_word().0);
                    let is_it = !spender.is_zero() && approved == Some(spender);
                    Some(U256::from(u8::from(is_it)))
                }
            };
            if left != Some(U256::ZERO) {
                wanted.insert((token, owner, spender, id), (left, block));
            }
        }
        assert!(wanted.len() > 5, "{name}: {wanted:?}");
        let mut seen = 0;
        let owners = wanted.keys().map(|(_, owner, ..)| *owner);
        let spenders = wanted.keys().map(|(_, _, spender, _)| *spender);
        let mut all: Vec<_> = owners.map(|it| (it, false)).collect();
        all.extend(spenders.map(|it| (it, true)));
        all.sort_unstable();
        all.dedup();
        for (address, as_spender) in all {
            let mut query = source.approvals(address);
            if as_spender {
                query = query.as_spender();
            }
            let found = query.run().unwrap();
            let found = found
                .approvals
                .iter()
                .filter(|it| matches!(it.kind, ApprovalKind::Allowance | ApprovalKind::Item));
            let found: BTreeMap<_, _> = found
                .map(|it| {
                    let key = (it.token, it.owner, it.spender, it.token_id);
                    (key, (it.amount, it.last.0))
                })
                .collect();
            let own = wanted.iter().filter(|((_, owner, spender, _), _)| {
                address == if as_spender { *spender } else { *owner }
            });
            let own: BTreeMap<_, _> = own.map(|(key, value)| (*key, *value)).collect();
            assert_eq!(found, own, "{name} {address}");
            seen += own.len();
        }
        assert_eq!(seen, 2 * wanted.len());
    }
}
