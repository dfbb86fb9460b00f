//! The sparse trie compared with the full tries of `alloy-trie`.

use alloy_primitives::{B256, Bytes, hex, keccak256};
use alloy_trie::{EMPTY_ROOT_HASH, HashBuilder, Nibbles, proof::ProofRetainer};
use proptest::prelude::*;
use std::collections::BTreeMap;
use txgraph_bundle::{Nodes, SparseTrie, TrieError};

type Map = BTreeMap<B256, Vec<u8>>;

/// The root of a trie, and the nodes on the paths to `targets`, by `alloy-trie`.
fn full(map: &Map, targets: impl IntoIterator<Item = B256>) -> (B256, Vec<Bytes>) {
    let targets = targets.into_iter().map(|key| Nibbles::unpack(key));
    let mut builder =
        HashBuilder::default().with_proof_retainer(ProofRetainer::new(targets.collect()));
    for (key, value) in map {
        builder.add_leaf(Nibbles::unpack(key), value);
    }
    let root = builder.root();
    let nodes = builder.take_proof_nodes().into_inner();
    (root, nodes.into_values().collect())
}

/// Keys that share prefixes of many lengths.
fn key() -> impl Strategy<Value = B256> {
    let nibble = prop_oneof![4 => Just(0u8), 1 => 0u8..16];
    prop::collection::vec(nibble, 64).prop_map(|nibbles| {
        let bytes: Vec<u8> = nibbles.chunks(2).map(|two| two[0] << 4 | two[1]).collect();
        B256::from_slice(&bytes)
    })
}

/// Keys that differ in their last nibbles only, so that nodes are shorter than a hash.
fn close_key() -> impl Strategy<Value = B256> {
    any::<u8>().prop_map(|last| B256::with_last_byte(last & 0x77))
}

fn any_key() -> impl Strategy<Value = B256> {
    prop_oneof![
        3 => key(),
        2 => close_key(),
        1 => any::<[u8; 32]>().prop_map(B256::from),
    ]
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(vec![1]),
        prop::collection::vec(any::<u8>(), 1..=33),
        prop::collection::vec(any::<u8>(), 60..=110),
    ]
}

fn map() -> impl Strategy<Value = Map> {
    prop::collection::btree_map(any_key(), value(), 0..40)
}

/// Changes: new keys, and changes of every key at the given places of the map.
fn changes() -> impl Strategy<Value = Vec<(prop::sample::Index, Option<B256>, Option<Vec<u8>>)>> {
    let change = (
        any::<prop::sample::Index>(),
        prop::option::of(any_key()),
        prop::option::weighted(0.5, value()),
    );
    prop::collection::vec(change, 0..20)
}

fn keyed(
    map: &Map,
    changes: Vec<(prop::sample::Index, Option<B256>, Option<Vec<u8>>)>,
) -> BTreeMap<B256, Option<Vec<u8>>> {
    let keys: Vec<B256> = map.keys().copied().collect();
    changes
        .into_iter()
        .map(|(at, key, value)| match key {
            None if !keys.is_empty() => (*at.get(&keys), value),
            key => (key.unwrap_or_default(), value),
        })
        .collect()
}

/// Applies changes: insertions first, as the documentation of `remove` demands.
fn apply(
    trie: &mut SparseTrie<'_>,
    changes: &BTreeMap<B256, Option<Vec<u8>>>,
) -> Result<(), TrieError> {
    for (key, value) in changes {
        if let Some(value) = value {
            trie.insert(*key, value.clone())?;
        }
    }
    for (key, value) in changes {
        if value.is_none() {
            trie.remove(*key)?;
        }
    }
    Ok(())
}

fn changed(map: &Map, changes: &BTreeMap<B256, Option<Vec<u8>>>) -> Map {
    let mut after = map.clone();
    for (key, value) in changes {
        match value {
            Some(value) => drop(after.insert(*key, value.clone())),
            None => drop(after.remove(key)),
        }
    }
    after
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// With all nodes, every look-up and every change agrees with the full trie.
    #[test]
    fn agrees_with_the_full_trie(map in map(), changes in changes(), absent in any_key()) {
        let (root, nodes) = full(&map, map.keys().copied());
        let nodes: Nodes = nodes.into_iter().collect();
        let mut trie = SparseTrie::new(&nodes, root);
        prop_assert_eq!(trie.root(), root);
        for (key, value) in &map {
            prop_assert_eq!(trie.get(*key).unwrap(), Some(value.clone()));
        }
        prop_assert_eq!(trie.get(absent).unwrap(), map.get(&absent).cloned());
        let changes = keyed(&map, changes);
        apply(&mut trie, &changes).unwrap();
        let after = changed(&map, &changes);
        prop_assert_eq!(trie.root(), full(&after, []).0);
        for key in map.keys().chain(changes.keys()) {
            prop_assert_eq!(trie.get(*key).unwrap(), after.get(key).cloned());
        }
        // A trie without keys is empty again.
        for key in after.keys() {
            trie.remove(*key).unwrap();
        }
        prop_assert_eq!(trie.root(), EMPTY_ROOT_HASH);
    }

    /// Any order of changes leads to the same trie.
    #[test]
    fn order_of_changes_does_not_matter(map in map(), changes in changes()) {
        let (root, nodes) = full(&map, map.keys().copied());
        let nodes: Nodes = nodes.into_iter().collect();
        let changes = keyed(&map, changes);
        let mut trie = SparseTrie::new(&nodes, root);
        for (key, value) in changes.iter().rev() {
            match value {
                Some(value) => trie.insert(*key, value.clone()).unwrap(),
                None => trie.remove(*key).unwrap(),
            }
        }
        prop_assert_eq!(trie.root(), full(&changed(&map, &changes), []).0);
    }

    /// The nodes on the paths to the changed keys suffice, unless a removal merges a branch.
    /// Without a node that is needed there is an error, never another root or value.
    #[test]
    fn missing_nodes_are_errors(
        map in map(),
        changes in changes(),
        lost in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let changes = keyed(&map, changes);
        let (root, mut nodes) = full(&map, changes.keys().copied());
        if let Some(lost) = lost && !nodes.is_empty() {
            nodes.remove(lost.index(nodes.len()));
        }
        let known: Vec<B256> = nodes.iter().map(keccak256).collect();
        let nodes: Nodes = nodes.into_iter().collect();
        let mut trie = SparseTrie::new(&nodes, root);
        for key in map.keys().chain(changes.keys()) {
            if let Ok(value) = trie.get(*key) {
                prop_assert_eq!(value, map.get(key).cloned());
            }
        }
        match apply(&mut trie, &changes) {
            Ok(()) => prop_assert_eq!(trie.root(), full(&changed(&map, &changes), []).0),
            Err(TrieError::Missing { hash, .. }) => prop_assert!(!known.contains(&hash)),
            Err(error) => prop_assert!(false, "{error}"),
        }
        if lost.is_none() && changes.values().all(Option::is_some) {
            prop_assert_eq!(trie.root(), full(&changed(&map, &changes), []).0);
        }
    }

    /// After an error the trie is unchanged.
    #[test]
    fn failed_changes_have_no_effect(map in map(), changes in changes()) {
        let changes = keyed(&map, changes);
        let (root, nodes) = full(&map, map.keys().copied().step_by(2));
        let nodes: Nodes = nodes.into_iter().collect();
        let mut trie = SparseTrie::new(&nodes, root);
        let mut after = map.clone();
        for (key, value) in &changes {
            let done = match value {
                Some(value) => trie.insert(*key, value.clone()),
                None => trie.remove(*key),
            };
            if done.is_ok() {
                after = changed(&after, &BTreeMap::from([(*key, value.clone())]));
            }
            prop_assert_eq!(trie.root(), full(&after, []).0);
        }
    }

    /// Bytes of a node that were not written by a trie are errors: nothing panics.
    #[test]
    fn malformed_nodes_are_errors(
        map in map(),
        at in any::<prop::sample::Index>(),
        byte in any::<prop::sample::Index>(),
        xor in 1u8..,
        key in any_key(),
    ) {
        let (_, nodes) = full(&map, map.keys().copied());
        prop_assume!(!nodes.is_empty());
        let mut node = at.get(&nodes).to_vec();
        let byte = byte.index(node.len());
        node[byte] ^= xor;
        let root = keccak256(&node);
        let nodes: Nodes = nodes.into_iter().chain([node.into()]).collect();
        let mut trie = SparseTrie::new(&nodes, root);
        for key in map.keys().chain([&key]) {
            let _ = trie.get(*key);
            let _ = trie.remove(*key);
            let _ = trie.insert(*key, vec![7]);
            let _ = trie.root();
        }
    }
}

#[test]
fn empty_trie_needs_no_nodes() {
    let nodes = Nodes::default();
    let mut trie = SparseTrie::new(&nodes, EMPTY_ROOT_HASH);
    assert_eq!(trie.get(B256::ZERO), Ok(None));
    trie.remove(B256::ZERO).unwrap();
    assert_eq!(trie.root(), EMPTY_ROOT_HASH);
    trie.insert(B256::ZERO, vec![1]).unwrap();
    let expected = full(&BTreeMap::from([(B256::ZERO, vec![1])]), []).0;
    assert_eq!(trie.root(), expected);
}

/// Two keys below one branch: removing one merges the branch with the other, which must be known.
#[test]
fn removal_needs_the_sibling() {
    let (one, two) = (B256::repeat_byte(0x11), B256::repeat_byte(0x12));
    let map = BTreeMap::from([(one, vec![1; 40]), (two, vec![2; 40])]);
    let (root, nodes) = full(&map, [one]);
    let nodes: Nodes = nodes.into_iter().collect();
    let mut trie = SparseTrie::new(&nodes, root);
    let error = trie.remove(one).unwrap_err();
    let TrieError::Missing { path, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!(path.to_vec(), [1, 2]);
    assert!(
        error
            .to_string()
            .contains("at path 12 is not in the witness"),
        "{error}"
    );
    // A key inserted before keeps the branch.
    let three = B256::repeat_byte(0x13);
    trie.insert(three, vec![3]).unwrap();
    trie.remove(one).unwrap();
    let after = BTreeMap::from([(two, vec![2; 40]), (three, vec![3])]);
    assert_eq!(trie.root(), full(&after, []).0);
}

#[test]
fn rejects_nodes_of_impossible_tries() {
    for (node, what) in [
        // A leaf and an extension whose keys are too short and too long, and a branch with one child.
        (hex!("c22001").to_vec(), "64 nibbles"),
        (hex!("c20080").to_vec(), "extension"),
        ([&hex!("d101")[..], &[0x80; 16]].concat(), "two children"),
        (hex!("83010203").to_vec(), "not the RLP"),
        (hex!("8000").to_vec(), "bytes follow"),
    ] {
        let nodes: Nodes = [Bytes::from(node.clone())].into_iter().collect();
        let trie = SparseTrie::new(&nodes, keccak256(&node));
        let error = trie.get(B256::ZERO).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
}
