//! A block with the state that it reads.

use crate::{BundledBlock, FlatAccount, Missing, Result, witness::Witness};
use alloy_primitives::{Address, B256, Bytes, map::B256HashMap};
use std::{
    collections::BTreeMap,
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
