//! A block with the state that it reads.

use crate::{
    BundleState, BundledBlock, Error, FlatAccount, Missing, Result, file, witness::Witness,
};
use alloy_primitives::{Address, B256, Bytes, map::B256HashMap};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};
use txgraph_block::BlockRules;
use txgraph_evm::AccountChange;

/// The chain that a block belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundledChain {
    /// The chain id (EIP-155).
    pub id: u64,
    /// The hash of block 0, if the bundle contains it.
    pub genesis_hash: Option<B256>,
    /// The rules of the block, if the bundle contains them.
    pub rules: Option<BlockRules>,
}

/// A block with the state that it reads.
#[derive(Clone, Debug)]
pub struct Bundle {
    pub(crate) path: PathBuf,
    pub(crate) chain: BundledChain,
    pub(crate) block: BundledBlock,
    pub(crate) codes: B256HashMap<Bytes>,
    pub(crate) block_hashes: BTreeMap<u64, B256>,
    pub(crate) pre: Pre,
}

/// The state before the block.
#[derive(Clone, Debug)]
pub(crate) enum Pre {
    /// Accounts and slots.
    Flat {
        accounts: BTreeMap<Address, Option<FlatAccount>>,
        /// Whether accounts that do not exist are listed too. If not, an account that is not listed
        /// does not exist.
        lists_all: bool,
    },
    /// Nodes of the state trie.
    Witness(Witness),
}

impl Bundle {
    /// Reads a file, and proves the block by its header.
    ///
    /// # Errors
    ///
    /// The file cannot be read or is not a bundle.
    pub fn open(path: &Path) -> Result<Self> {
        let bytes = file::read(path)?;
        Self::parse(&bytes, path)
    }

    /// Parses the JSON of a file. Messages name `path`.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`].
    pub fn parse(json: &[u8], path: &Path) -> Result<Self> {
        file::parse(json, path).map_err(|what| Error::Malformed {
            path: path.to_path_buf(),
            what,
        })
    }

    /// Returns the bundles of a directory: all files with the extension `json` or `json.zst`. Those
    /// that are named by a number come first, in its order, and then the others by name. A path that
    /// is not a directory is returned itself.
    ///
    /// # Errors
    ///
    /// The directory cannot be read, or contains no such file.
    pub fn list(path: &Path) -> Result<Vec<PathBuf>> {
        let failed = |source| Error::Io {
            path: path.to_path_buf(),
            source,
        };
        if !fs::metadata(path).map_err(failed)?.is_dir() {
            return Ok(vec![path.to_path_buf()]);
        }
        let mut files = Vec::new();
        for entry in fs::read_dir(path).map_err(failed)? {
            let file = entry.map_err(failed)?.path();
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            if name.ends_with(".json") || name.ends_with(".json.zst") {
                files.push(file);
            }
        }
        files.sort_by_cached_key(|file| {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let number = name.split('.').next().and_then(|stem| stem.parse().ok());
            (number.unwrap_or(u64::MAX), file.clone())
        });
        match files.is_empty() {
            false => Ok(files),
            true => Err(Error::Malformed {
                path: path.to_path_buf(),
                what: "the directory contains no file `*.json` or `*.json.zst`".to_owned(),
            }),
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The chain of the block.
    pub const fn chain(&self) -> &BundledChain {
        &self.chain
    }

    /// The block.
    pub const fn block(&self) -> &BundledBlock {
        &self.block
    }

    /// Whether the state is proven by trie nodes.
    pub const fn is_witness(&self) -> bool {
        matches!(self.pre, Pre::Witness(_))
    }

    /// The state before the block.
    pub fn state(&self) -> BundleState<'_> {
        BundleState::new(self)
    }

    /// Returns the state root after the block, given all changes of the block.
    ///
    /// # Errors
    ///
    /// [`Missing::NoTrie`] for flat state, and if a node of a path that changes is missing.
    pub fn state_root_after(&self, changes: &[AccountChange]) -> Result<B256, Missing> {
        match &self.pre {
            Pre::Flat { .. } => Err(Missing::NoTrie),
            Pre::Witness(witness) => witness.root_after(changes),
        }
    }
}
