//! An execution witness: the nodes of the state trie that a block visits.

use crate::{Missing, Nodes, SparseTrie};
use alloy_primitives::{Address, B256, U256, keccak256};
use alloy_rlp::Decodable;
use alloy_trie::{EMPTY_ROOT_HASH, TrieAccount};
use txgraph_evm::{AccountChange, SlotChange};

/// Trie nodes below a state root.
#[derive(Clone, Debug)]
pub(crate) struct Witness {
    pub(crate) nodes: Nodes,
    /// The state root before the block.
    pub(crate) root: B256,
}

impl Witness {
    /// Reads an account; `None` if the trie proves that it does not exist.
    pub(crate) fn account(&self, address: Address) -> Result<Option<TrieAccount>, Missing> {
        account_in(&SparseTrie::new(&self.nodes, self.root), address)
    }

    /// Reads a slot from the storage trie with this root.
    pub(crate) fn slot(&self, address: Address, root: B256, key: U256) -> Result<U256, Missing> {
        let trie = SparseTrie::new(&self.nodes, root);
        let value = trie.get(hashed(key));
        let value = value.map_err(|source| Missing::SlotNode {
            address,
            key,
            source,
        })?;
        let Some(value) = value else {
            return Ok(U256::ZERO);
        };
        decoded(&value).ok_or(Missing::Value {
            address,
            what: "the value of a slot",
        })
    }

    /// Returns the state root after these changes.
    pub(crate) fn root_after(&self, changes: &[AccountChange]) -> Result<B256, Missing> {
        let mut trie = SparseTrie::new(&self.nodes, self.root);
        let failed = |address| move |source| Missing::AccountNode { address, source };
        for change in changes {
            let address = change.address;
            let Some(present) = change.present else {
                continue;
            };
            let before = account_in(&trie, address)?.unwrap_or_default();
            let account = TrieAccount {
                nonce: present.nonce,
                balance: present.balance,
                storage_root: self.storage_root_after(before.storage_root, change)?,
                code_hash: present.code_hash,
            };
            trie.insert(keccak256(address), alloy_rlp::encode(account))
                .map_err(failed(address))?;
        }
        // Last, because an inserted account may keep a branch, whose other child is then not needed.
        for change in changes.iter().filter(|change| change.present.is_none()) {
            let address = change.address;
            trie.remove(keccak256(address)).map_err(failed(address))?;
        }
        Ok(trie.root())
    }

    fn storage_root_after(&self, root: B256, change: &AccountChange) -> Result<B256, Missing> {
        let address = change.address;
        if change.slots.is_empty() && !change.storage_cleared {
            return Ok(root);
        }
        let root = match change.storage_cleared {
            true => EMPTY_ROOT_HASH,
            false => root,
        };
        let mut trie = SparseTrie::new(&self.nodes, root);
        let (removed, written): (Vec<&SlotChange>, Vec<_>) =
            (change.slots.iter()).partition(|slot| slot.present.is_zero());
        let failed = |key| {
            move |source| Missing::SlotNode {
                address,
                key,
                source,
            }
        };
        for slot in written {
            let value = alloy_rlp::encode(slot.present);
            trie.insert(hashed(slot.key), value)
                .map_err(failed(slot.key))?;
        }
        for slot in removed {
            trie.remove(hashed(slot.key)).map_err(failed(slot.key))?;
        }
        Ok(trie.root())
    }
}

fn account_in(trie: &SparseTrie<'_>, address: Address) -> Result<Option<TrieAccount>, Missing> {
    let value = trie.get(keccak256(address));
    let value = value.map_err(|source| Missing::AccountNode { address, source })?;
    let Some(value) = value else {
        return Ok(None);
    };
    let account = decoded(&value).ok_or(Missing::Value {
        address,
        what: "an account",
    })?;
    Ok(Some(account))
}

/// The key of a slot in its trie.
fn hashed(key: U256) -> B256 {
    keccak256(key.to_be_bytes::<32>())
}

fn decoded<T: Decodable>(mut value: &[u8]) -> Option<T> {
    let decoded = T::decode(&mut value).ok()?;
    value.is_empty().then_some(decoded)
}
