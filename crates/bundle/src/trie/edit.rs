//! Insertion and removal. A changed trie is canonical: no extension leads to an extension or a
//! leaf, and every branch has at least two children.

use super::{Nodes, TrieError, node::Node};
use alloy_trie::Nibbles;

impl Node {
    /// Decodes the node in place if it was not visited.
    fn visit(&mut self, nodes: &Nodes, key: &Nibbles, depth: usize) -> Result<(), TrieError> {
        if let Self::Unread(reference) = self {
            *self = nodes.resolve(reference, key, depth)?;
        }
        Ok(())
    }

    /// Sets the value of a key, of which `depth` nibbles lead to this node. After an error the
    /// trie is unchanged.
    pub(super) fn insert(
        &mut self,
        nodes: &Nodes,
        key: &Nibbles,
        depth: usize,
        value: Vec<u8>,
    ) -> Result<(), TrieError> {
        self.visit(nodes, key, depth)?;
        let rest = key.slice(depth..);
        match self {
            // `visit` has replaced it.
            Self::Empty | Self::Unread(_) => *self = Self::Leaf { path: rest, value },
            Self::Leaf { path, value: old } if *path == rest => *old = value,
            Self::Leaf { path, .. } => {
                let common = rest.common_prefix_length(path);
                let inserted = leaf(&rest, common, value);
                self.split(common, (rest.get_unchecked(common), inserted));
            }
            Self::Extension { path, child } => {
                let common = rest.common_prefix_length(path);
                if common == path.len() {
                    return child.insert(nodes, key, depth + common, value);
                }
                let inserted = leaf(&rest, common, value);
                self.split(common, (rest.get_unchecked(common), inserted));
            }
            Self::Branch(children) => {
                let child = &mut children[usize::from(rest.get_unchecked(0))];
                return child.insert(nodes, key, depth + 1, value);
            }
        }
        Ok(())
    }

    /// Replaces a leaf or an extension by a branch after the first `common` nibbles of its path,
    /// with another child.
    fn split(&mut self, common: usize, (nibble, inserted): (u8, Self)) {
        let (path, rest) = match std::mem::take(self) {
            Self::Leaf { path, value } => {
                let rest = leaf(&path, common, value);
                (path, rest)
            }
            Self::Extension { path, child } => {
                let rest = extended(path.slice(common + 1..), *child);
                (path, rest)
            }
            other => {
                *self = other;
                return;
            }
        };
        let mut children: Box<[Self; 16]> = Box::default();
        children[usize::from(path.get_unchecked(common))] = rest;
        children[usize::from(nibble)] = inserted;
        *self = extended(path.slice(..common), Self::Branch(children));
    }

    /// Removes a key, of which `depth` nibbles lead to this node. After an error the trie is
    /// unchanged.
    pub(super) fn remove(
        &mut self,
        nodes: &Nodes,
        key: &Nibbles,
        depth: usize,
    ) -> Result<(), TrieError> {
        self.visit(nodes, key, depth)?;
        let rest = key.slice(depth..);
        match self {
            Self::Empty | Self::Unread(_) => {}
            Self::Leaf { path, .. } => {
                if *path == rest {
                    *self = Self::Empty;
                }
            }
            Self::Extension { path, child } => {
                if rest.starts_with(path) {
                    child.remove(nodes, key, depth + path.len())?;
                    *self = extended(*path, std::mem::take(child));
                }
            }
            Self::Branch(children) => {
                let nibble = rest.get_unchecked(0);
                let at = usize::from(nibble);
                children[at].visit(nodes, key, depth + 1)?;
                if !matches!(&children[at], Self::Leaf { path, .. } if *path == rest.slice(1..)) {
                    // A canonical subtrie with more than one key does not become empty.
                    return children[at].remove(nodes, key, depth + 1);
                }
                let mut others = (0..)
                    .zip(children.iter())
                    .filter(|(other, child)| *other != nibble && !child.is_empty());
                match (others.next().map(|(other, _)| other), others.next()) {
                    (Some(only), None) => {
                        let mut sibling = key.slice(..depth);
                        sibling.push(only);
                        let child = &mut children[usize::from(only)];
                        child.visit(nodes, &sibling, depth + 1)?;
                        *self = extended(Nibbles::from_nibbles([only]), std::mem::take(child));
                    }
                    _ => children[at] = Self::Empty,
                }
            }
        }
        Ok(())
    }
}

/// The leaf for the rest of a path, after a branch at its nibble `branch`.
fn leaf(path: &Nibbles, branch: usize, value: Vec<u8>) -> Node {
    Node::Leaf {
        path: path.slice(branch + 1..),
        value,
    }
}

/// A node with a longer path.
fn extended(path: Nibbles, node: Node) -> Node {
    match node {
        node if path.is_empty() => node,
        Node::Empty => Node::Empty,
        Node::Leaf { path: rest, value } => Node::Leaf {
            path: path.join(&rest),
            value,
        },
        Node::Extension { path: rest, child } => Node::Extension {
            path: path.join(&rest),
            child,
        },
        Node::Branch(_) | Node::Unread(_) => Node::Extension {
            path,
            child: Box::new(node),
        },
    }
}
