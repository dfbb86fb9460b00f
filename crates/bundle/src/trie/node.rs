//! Nodes: decoding, look-ups and hashes.

use super::{Nodes, TrieError};
use alloy_primitives::{B256, keccak256};
use alloy_rlp::{Decodable, EMPTY_STRING_CODE};
use alloy_trie::{
    EMPTY_ROOT_HASH, Nibbles, TrieMask,
    nodes::{BranchNodeRef, ExtensionNodeRef, LeafNodeRef, RlpNode, TrieNode},
};

/// The nibbles of a key.
pub(super) const KEY_NIBBLES: usize = 64;

/// A node and what is known below it.
#[derive(Clone, Debug, Default)]
pub(super) enum Node {
    /// No key.
    #[default]
    Empty,
    /// A node that was not visited: its hash, or its bytes if they are shorter than a hash.
    Unread(RlpNode),
    /// One key: the rest of its path, and its value.
    Leaf { path: Nibbles, value: Vec<u8> },
    /// A branch below a common path, which is not empty.
    Extension { path: Nibbles, child: Box<Self> },
    /// At least two children, by the next nibble.
    Branch(Box<[Self; 16]>),
}

/// Decodes a node at a depth in nibbles. Only nodes of a canonical trie are accepted, so other
/// operations need not check lengths.
pub(super) fn decode(bytes: &[u8], depth: usize) -> Result<Node, &'static str> {
    let mut rest = bytes;
    let node = TrieNode::decode(&mut rest).map_err(|_| "it is not the RLP of a node")?;
    if !rest.is_empty() {
        return Err("bytes follow the node");
    }
    match node {
        TrieNode::EmptyRoot => Err("an empty node below the root"),
        TrieNode::Leaf(leaf) => match depth + leaf.key.len() {
            KEY_NIBBLES => Ok(Node::Leaf {
                path: leaf.key,
                value: leaf.value,
            }),
            _ => Err("the key of a leaf does not have 64 nibbles"),
        },
        TrieNode::Extension(extension) => {
            if extension.key.is_empty() || depth + extension.key.len() >= KEY_NIBBLES {
                return Err("the length of an extension is impossible");
            }
            Ok(Node::Extension {
                path: extension.key,
                child: Box::new(Node::Unread(extension.child)),
            })
        }
        TrieNode::Branch(branch) => {
            if depth >= KEY_NIBBLES || branch.stack.len() < 2 {
                return Err("a branch without two children, or below all keys");
            }
            let mut children: Box<[Node; 16]> = Box::default();
            let mut stack = branch.stack.into_iter();
            for (nibble, child) in (0..).zip(children.iter_mut()) {
                if branch.state_mask.is_bit_set(nibble) {
                    *child = stack.next().map_or(Node::Empty, Node::Unread);
                }
            }
            Ok(Node::Branch(children))
        }
    }
}

impl Node {
    /// Returns the value of a key, of which `depth` nibbles lead to this node.
    pub(super) fn get(
        &self,
        nodes: &Nodes,
        key: &Nibbles,
        depth: usize,
    ) -> Result<Option<Vec<u8>>, TrieError> {
        match self {
            Self::Empty => Ok(None),
            Self::Unread(reference) => nodes.resolve(reference, key, depth)?.get(nodes, key, depth),
            Self::Leaf { path, value } => Ok((key.slice(depth..) == *path).then(|| value.clone())),
            Self::Extension { path, child } => match key.slice(depth..).starts_with(path) {
                true => child.get(nodes, key, depth + path.len()),
                false => Ok(None),
            },
            Self::Branch(children) => {
                let nibble = usize::from(key.get_unchecked(depth));
                children[nibble].get(nodes, key, depth + 1)
            }
        }
    }

    pub(super) const fn is_empty(&self) -> bool {
        matches!(self, Self::Empty)
    }

    /// The root of the trie below this node.
    pub(super) fn root(&self) -> B256 {
        match self {
            Self::Empty => EMPTY_ROOT_HASH,
            // A root is always a hash, even if the node is shorter.
            Self::Unread(reference) => match reference.as_hash() {
                Some(hash) => hash,
                None => keccak256(reference),
            },
            _ => {
                let mut buffer = Vec::new();
                self.reference(&mut buffer);
                keccak256(&buffer)
            }
        }
    }

    /// How the parent refers to this node. Leaves the bytes of the node in `buffer`.
    fn reference(&self, buffer: &mut Vec<u8>) -> RlpNode {
        match self {
            Self::Empty => {
                buffer.clear();
                buffer.push(EMPTY_STRING_CODE);
                RlpNode::from_rlp(buffer)
            }
            Self::Unread(reference) => reference.clone(),
            Self::Leaf { path, value } => {
                buffer.clear();
                LeafNodeRef::new(path, value).rlp(buffer)
            }
            Self::Extension { path, child } => {
                let child = child.reference(buffer);
                buffer.clear();
                ExtensionNodeRef::new(path, &child).rlp(buffer)
            }
            Self::Branch(children) => {
                let mut stack = Vec::with_capacity(children.len());
                let mut mask = TrieMask::default();
                for (nibble, child) in (0..).zip(children.iter()) {
                    if !child.is_empty() {
                        stack.push(child.reference(buffer));
                        mask.set_bit(nibble);
                    }
                }
                buffer.clear();
                BranchNodeRef::new(&stack, mask).rlp(buffer)
            }
        }
    }
}
