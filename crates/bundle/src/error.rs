//! The errors of this crate: of a file, and of state that a bundle lacks.

use crate::TrieError;
use alloy_primitives::{Address, B256, U256};
use std::{
    io,
    path::{Path, PathBuf},
};

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a bundle could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file is not a bundle.
    #[error("{} is not a bundle: {what}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The key, and what is wrong with it.
        what: String,
    },
}

impl Error {
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        let path = path.to_path_buf();
        Self::Io { path, source }
    }
}

/// State that an execution reads and a bundle does not contain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// An account. That it does not exist would be recorded as `null`.
    #[error("account {0} is not in the bundle")]
    Account(Address),
    /// A slot. Zero would be recorded.
    #[error("slot {key:#x} of account {address} is not in the bundle")]
    Slot {
        /// The account.
        address: Address,
        /// The slot.
        key: U256,
    },
    /// The code of an account.
    #[error("the code with hash {0} is not in the bundle")]
    Code(B256),
    /// The hash of an earlier block.
    #[error("the hash of block {0} is not in the bundle")]
    BlockHash(u64),
    /// A node of the state trie.
    #[error("account {address}: {source}")]
    AccountNode {
        /// The account.
        address: Address,
        /// The node.
        source: TrieError,
    },
    /// A node of a storage trie.
    #[error("slot {key:#x} of account {address}: {source}")]
    SlotNode {
        /// The account.
        address: Address,
        /// The slot.
        key: U256,
        /// The node.
        source: TrieError,
    },
    /// A value in a trie that is not an account or a slot.
    #[error("account {address}: the trie has a value that is not {what}")]
    Value {
        /// The account.
        address: Address,
        /// The expected content.
        what: &'static str,
    },
    /// Flat state has no root.
    #[error("the bundle has no trie, so the state root cannot be computed")]
    NoTrie,
}
