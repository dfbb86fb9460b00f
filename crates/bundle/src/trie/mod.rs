//! The part of a Merkle Patricia trie (yellow paper, appendix D) that a witness contains.
//!
//! A node is decoded when an operation visits it. What is not visited stays a hash, so a trie of
//! a billion keys takes no more memory than the witness. Keys are hashes of 32 bytes, as in the
//! state trie and in storage tries; all have 64 nibbles, and branches have no values.

mod edit;
mod node;

use alloy_primitives::{B256, Bytes, keccak256, map::B256HashMap};
use alloy_trie::{EMPTY_ROOT_HASH, Nibbles, nodes::RlpNode};
use node::Node;

/// The nodes of a witness by their hash. The hashes are computed, so every node is the one that
/// its parent refers to.
#[derive(Clone, Debug, Default)]
pub struct Nodes(B256HashMap<Bytes>);

impl Nodes {
    /// The number of different nodes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the node with this hash.
    pub fn get(&self, hash: &B256) -> Option<&Bytes> {
        self.0.get(hash)
    }
}

impl FromIterator<Bytes> for Nodes {
    fn from_iter<I: IntoIterator<Item = Bytes>>(nodes: I) -> Self {
        let nodes = nodes.into_iter();
        Self(nodes.map(|node| (keccak256(&node), node)).collect())
    }
}

/// Why a trie could not be read or changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrieError {
    /// A node is needed that the witness lacks.
    #[error("trie node {hash} at path {} is not in the witness", path_text(path))]
    Missing {
        /// The hash of the node.
        hash: B256,
        /// The nibbles from the root to the node.
        path: Nibbles,
    },
    /// The bytes of a node are not a valid node.
    #[error("the trie node at path {} is malformed: {what}", path_text(path))]
    Malformed {
        /// The nibbles from the root to the node.
        path: Nibbles,
        /// The problem.
        what: &'static str,
    },
}

fn path_text(path: &Nibbles) -> String {
    match path.is_empty() {
        true => "root".to_owned(),
        false => path.iter().map(|nibble| format!("{nibble:x}")).collect(),
    }
}

/// A trie of which some nodes are known.
#[derive(Clone, Debug)]
pub struct SparseTrie<'a> {
    nodes: &'a Nodes,
    root: Node,
}

impl<'a> SparseTrie<'a> {
    /// The trie with this root. Its nodes are taken from `nodes`.
    pub fn new(nodes: &'a Nodes, root: B256) -> Self {
        let root = match root {
            EMPTY_ROOT_HASH => Node::Empty,
            hash => Node::Unread(RlpNode::word_rlp(&hash)),
        };
        Self { nodes, root }
    }

    /// Returns the value of a key; `None` if the trie proves that there is none.
    ///
    /// # Errors
    ///
    /// A node on the path to the key is missing or malformed.
    pub fn get(&self, key: B256) -> Result<Option<Vec<u8>>, TrieError> {
        self.root.get(self.nodes, &nibbles(key), 0)
    }

    /// Sets the value of a key.
    ///
    /// # Errors
    ///
    /// As for [`get`](Self::get).
    pub fn insert(&mut self, key: B256, value: Vec<u8>) -> Result<(), TrieError> {
        self.root.insert(self.nodes, &nibbles(key), 0, value)
    }

    /// Removes a key.
    ///
    /// A branch that is left with one child is merged with this child, which must therefore be
    /// known. Insert before you remove: an inserted key may keep the branch.
    ///
    /// # Errors
    ///
    /// As for [`get`](Self::get), and if the remaining child of a branch is missing.
    pub fn remove(&mut self, key: B256) -> Result<(), TrieError> {
        self.root.remove(self.nodes, &nibbles(key), 0)
    }

    /// Returns the root.
    pub fn root(&self) -> B256 {
        self.root.root()
    }
}

/// The nibbles of a key, from the root on.
fn nibbles(key: B256) -> Nibbles {
    Nibbles::unpack_array(&key.0)
}

impl Nodes {
    /// Decodes the node that `reference` stands for, which is at the path `key[..depth]`.
    fn resolve(&self, reference: &RlpNode, key: &Nibbles, depth: usize) -> Result<Node, TrieError> {
        let path = key.slice(..depth);
        let is_hash = reference.len() == 33 && reference[0] == 0xa0;
        let bytes: &[u8] = if is_hash {
            let hash = B256::from_slice(&reference[1..]);
            match self.get(&hash) {
                Some(bytes) => bytes,
                None => return Err(TrieError::Missing { hash, path }),
            }
        } else {
            reference
        };
        node::decode(bytes, depth).map_err(|what| TrieError::Malformed { path, what })
    }
}
