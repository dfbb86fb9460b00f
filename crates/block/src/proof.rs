//! Proofs that a transaction, receipt or withdrawal is in a block. A header has the roots of three
//! tries, with the items by their index.

use alloy_primitives::{B256, Bytes, keccak256};
use alloy_trie::{
    HashBuilder, Nibbles,
    nodes::{RlpNode, TrieNode},
    proof::ProofRetainer,
    root::adjust_index_for_rlp,
};

/// A node that is shorter is part of its parent.
const HASHED_NODE_MIN: usize = 32;

fn key(index: usize) -> Nibbles {
    Nibbles::unpack(alloy_rlp::encode_fixed_size(&index))
}

/// The root of the trie of all items, and for each of some indices the nodes that lead to its item,
/// the root first.
pub fn prove_items(items: &[Vec<u8>], wanted: &[u32]) -> (B256, Vec<Vec<Bytes>>) {
    let targets = wanted.iter().map(|index| key(*index as usize)).collect();
    let mut builder = HashBuilder::default().with_proof_retainer(ProofRetainer::new(targets));
    for place in 0..items.len() {
        let index = adjust_index_for_rlp(place, items.len());
        builder.add_leaf(key(index), &items[index]);
    }
    let root = builder.root();
    let nodes = builder.take_proof_nodes();
    let proof = |index: &u32| {
        let nodes = nodes.matching_nodes_sorted(&key(*index as usize));
        (nodes.into_iter())
            .filter(|(path, node)| path.is_empty() || node.len() >= HASHED_NODE_MIN)
            .map(|(_, node)| node)
            .collect()
    };
    (root, wanted.iter().map(proof).collect())
}

/// Checks that the trie with this root has this item at an index.
///
/// # Errors
///
/// The node of the proof that is wrong, or that the item is another one.
pub fn check_item(root: B256, index: u32, item: &[u8], proof: &[Bytes]) -> Result<(), String> {
    let mut rest = key(index as usize);
    let mut reference = RlpNode::word_rlp(&root);
    let mut nodes = (1..).zip(proof);
    let mut number = 0;
    loop {
        let bytes = match reference.as_hash() {
            None => &reference[..],
            Some(hash) => {
                let Some((next, node)) = nodes.next() else {
                    return Err(format!("its proof ends after node {number}"));
                };
                number = next;
                if keccak256(node) != hash {
                    return Err(format!(
                        "node {number} of its proof has not the hash {hash}"
                    ));
                }
                node
            }
        };
        // Each node of the path takes a part of the key.
        let below = match alloy_rlp::decode_exact(bytes) {
            Ok(TrieNode::Branch(branch)) => {
                let branch = branch.as_ref();
                let mut children = branch.children();
                let child =
                    children.find_map(|(at, child)| child.filter(|_| Some(at) == rest.get(0)));
                child.map(|child| (child.clone(), 1))
            }
            Ok(TrieNode::Extension(node)) if rest.starts_with(&node.key) => {
                Some((node.child, node.key.len())).filter(|(_, taken)| *taken > 0)
            }
            Ok(TrieNode::Leaf(leaf)) if leaf.key == rest => {
                return match (leaf.value == item, nodes.next()) {
                    (true, None) => Ok(()),
                    (false, None) => Err("its proof is of other bytes".to_owned()),
                    (_, Some(_)) => Err(format!("its proof goes on after node {number}")),
                };
            }
            _ => None,
        };
        let Some((child, taken)) = below else {
            return Err(format!("node {number} of its proof does not lead to it"));
        };
        reference = child;
        rest = rest.slice(taken..);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_trie::{proof::verify_proof, root::ordered_trie_root_encoded};

    /// Items of many lengths. Leaves of the shortest are within their parents. `alloy-trie` refuses
    /// proofs of one short item, of which the root is not longer than a hash.
    fn items(count: u32) -> Vec<Vec<u8>> {
        let item = |index: u32| {
            vec![1 + u8::from(index.is_multiple_of(3)); 1 + (40 + 7 * index as usize) % 300]
        };
        (0..count).map(item).collect()
    }

    /// `alloy-trie` has the same roots, and accepts the proofs.
    #[test]
    fn proofs_are_those_of_alloy() {
        for count in [0, 1, 2, 16, 17, 127, 128, 129, 255, 256, 257, 300] {
            let items = items(count);
            let wanted: Vec<u32> = (0..count).collect();
            let (root, proofs) = prove_items(&items, &wanted);
            assert_eq!(root, ordered_trie_root_encoded(&items), "{count}");
            assert_eq!(proofs.len(), items.len());
            for ((index, item), proof) in (0..).zip(&items).zip(&proofs) {
                verify_proof(root, key(index as usize), Some(item.clone()), proof).unwrap();
                assert_eq!(check_item(root, index, item, proof), Ok(()));
                let [few] = &prove_items(&items, &[index]).1[..] else {
                    panic!()
                };
                assert_eq!(few, proof);
            }
            let absent = prove_items(&items, &[count]).1.remove(0);
            assert!(check_item(root, count, &[1], &absent).is_err());
        }
    }

    #[test]
    fn any_change_is_found() {
        let items = items(300);
        let (root, proofs) = prove_items(&items, &[0, 5, 127, 299]);
        for (index, proof) in [0, 5, 127, 299].into_iter().zip(proofs) {
            let item = &items[index as usize];
            let check = |proof: &[Bytes]| check_item(root, index, item, proof);
            assert!(check_item(root, index + 1, item, &proof).is_err());
            assert_eq!(
                check_item(root, index, &[1, 2, 3], &proof),
                Err("its proof is of other bytes".to_owned())
            );
            for node in 0..proof.len() {
                for byte in 0..proof[node].len() {
                    let mut changed = proof.clone();
                    let mut bytes = proof[node].to_vec();
                    bytes[byte] ^= 1;
                    changed[node] = bytes.into();
                    let why = format!("node {} of its proof has not", node + 1);
                    assert!(check(&changed).unwrap_err().starts_with(&why));
                }
                let why = format!("its proof ends after node {node}");
                assert_eq!(check(&proof[..node]), Err(why));
            }
            let mut more = proof.clone();
            more.push(proof[0].clone());
            assert!(check(&more).unwrap_err().contains("goes on after"));
        }
    }

    /// Nodes with the right hashes and any content give an error.
    #[test]
    fn hostile_nodes_are_refused() {
        use alloy_trie::nodes::ExtensionNodeRef;
        let long = Nibbles::unpack([0x80; 32]);
        let mut last = vec![0xc0];
        let mut proof = vec![Bytes::from(last.clone())];
        for _ in 0..3 {
            let child = RlpNode::word_rlp(&keccak256(&last));
            last.clear();
            ExtensionNodeRef::new(&long, &child).rlp(&mut last);
            proof.insert(0, Bytes::from(last.clone()));
        }
        for from in 0..proof.len() {
            let root = keccak256(&proof[from]);
            assert!(check_item(root, 0, &[1], &proof[from..]).is_err());
        }
        for bytes in [&[][..], &[0x80], &[0xc2, 0x20, 0x01], &[0xf8]] {
            assert!(check_item(keccak256(bytes), 0, &[1], &[bytes.to_vec().into()]).is_err());
        }
    }
}
