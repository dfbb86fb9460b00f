//! Execution witnesses made from a complete state, with the tries of `alloy-trie`.

use alloy_primitives::{B256, Bytes, U256, keccak256, map::B256HashMap};
use alloy_trie::{HashBuilder, Nibbles, TrieAccount, proof::ProofRetainer};
use serde_json::{Value, json};
use std::{collections::BTreeMap, path::Path};
use txgraph_bundle::{Bundle, Missing, TrieError, to_json};
use txgraph_evm::{AccountChange, MemoryState};
use txgraph_nodedb::NodeDb;
use txgraph_replay::RecordedBlock;

/// A trie: its keys and values, by `alloy-trie`.
type Trie = BTreeMap<B256, Vec<u8>>;

/// The root of a trie, and the nodes on the paths to `targets`.
fn nodes_of(trie: &Trie, targets: impl Iterator<Item = B256>) -> (B256, Vec<Bytes>) {
    let targets = targets.map(|key| Nibbles::unpack(key)).collect();
    let mut builder = HashBuilder::default().with_proof_retainer(ProofRetainer::new(targets));
    for (key, value) in trie {
        builder.add_leaf(Nibbles::unpack(key), value);
    }
    let root = builder.root();
    let nodes = builder.take_proof_nodes().into_inner();
    (root, nodes.into_values().collect())
}

fn hashed(key: &U256) -> B256 {
    keccak256(key.to_be_bytes::<32>())
}

/// Bundles a block as an execution witness: the nodes that it visits in `state`, the state before
/// it, and those that `changes` need.
pub(crate) fn json(
    recorded: &RecordedBlock,
    state: &MemoryState,
    changes: &[AccountChange],
    db: &NodeDb,
) -> Value {
    let mut all: B256HashMap<Bytes> = B256HashMap::default();
    let mut visited = Vec::new();
    let mut accounts = Trie::new();
    for (address, account) in &state.accounts {
        let slots = state.storage.get(address).into_iter().flatten();
        let storage: Trie = slots
            .map(|(key, value)| (hashed(key), alloy_rlp::encode(value)))
            .collect();
        let (storage_root, nodes) = nodes_of(&storage, storage.keys().copied());
        all.extend(nodes.into_iter().map(|node| (keccak256(&node), node)));
        if let Some(Some(read)) = recorded.state.accounts.get(address) {
            let targets = read.storage.keys().map(hashed);
            visited.extend(nodes_of(&storage, targets).1);
        }
        let value = TrieAccount {
            nonce: account.nonce,
            balance: account.balance,
            storage_root,
            code_hash: account.code_hash,
        };
        accounts.insert(keccak256(address), alloy_rlp::encode(value));
    }
    let (root, nodes) = nodes_of(&accounts, accounts.keys().copied());
    all.extend(nodes.into_iter().map(|node| (keccak256(&node), node)));
    let targets = recorded.state.accounts.keys().map(keccak256);
    visited.extend(nodes_of(&accounts, targets).1);
    visited.sort();
    visited.dedup();

    let number = recorded.block.header.number;
    let parent = db.snapshot().unwrap().header(number - 1).unwrap();
    assert_eq!(root, parent.state_root, "the state before block {number}");
    let flat = to_json(&recorded.chain, &recorded.block, &recorded.state).unwrap();
    let mut json: Value = serde_json::from_slice(&flat).unwrap();
    let file = json.as_object_mut().unwrap();
    file.remove("pre").unwrap();
    let witness = json!({
        "state": visited,
        "codes": file.remove("codes").unwrap(),
        "keys": [],
        "headers": [Bytes::from(alloy_rlp::encode(&parent.fields))],
    });
    file.insert("witness".to_owned(), witness);
    // The siblings that removed keys need.
    loop {
        let bundle = Bundle::parse(json.to_string().as_bytes(), Path::new("witness")).unwrap();
        let hash = match bundle.state_root_after(changes) {
            Ok(_) => return json,
            Err(Missing::AccountNode { source, .. } | Missing::SlotNode { source, .. }) => {
                match source {
                    TrieError::Missing { hash, .. } => hash,
                    malformed => panic!("{malformed}"),
                }
            }
            Err(error) => panic!("{error}"),
        };
        let nodes = json["witness"]["state"].as_array_mut().unwrap();
        nodes.push(json!(all[&hash]));
    }
}
