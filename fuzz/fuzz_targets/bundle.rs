//! Fuzzes bundles: the first byte chooses between a file, and nodes of a trie. Inputs of the latter are
//! nodes with their lengths before them; the first node is the root.
#![no_main]

use alloy_primitives::{B256, Bytes, keccak256};
use libfuzzer_sys::fuzz_target;
use std::path::Path;
use txgraph_bundle::{Bundle, Nodes, SparseTrie};

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, rest)) = bytes.split_first() else {
        return;
    };
    if choice % 2 == 0 {
        let _ = Bundle::parse(rest, Path::new("bundle.json"));
        return;
    }
    let mut rest = rest;
    let mut nodes: Vec<Bytes> = Vec::new();
    while let [length, more @ ..] = rest {
        let (node, after) = more.split_at(more.len().min(usize::from(*length)));
        nodes.push(node.to_vec().into());
        rest = after;
    }
    let root = nodes.first().map(keccak256).unwrap_or_default();
    let nodes: Nodes = nodes.into_iter().collect();
    let mut trie = SparseTrie::new(&nodes, root);
    assert_eq!(trie.root(), root);
    for key in [B256::ZERO, B256::repeat_byte(0x11), B256::with_last_byte(1)] {
        // Other errors are about nodes that are missing or malformed.
        if trie.insert(key, vec![7]).is_ok() {
            assert_eq!(trie.get(key), Ok(Some(vec![7])));
        }
        if trie.remove(key).is_ok() {
            assert_eq!(trie.get(key), Ok(None));
        }
        trie.root();
    }
});
