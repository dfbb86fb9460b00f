//! States as sorted maps, and their roots: the secure Merkle Patricia trie over hashed
//! addresses and slots (yellow paper, 4.1).

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_trie::{TrieAccount, root};
use serde::{Deserialize, Deserializer, de::Error as _};
use std::collections::BTreeMap;

/// An account with its storage.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default)]
pub struct PlainAccount {
    /// Balance in wei.
    pub balance: U256,
    /// The number of transactions sent, or of contracts created.
    #[serde(deserialize_with = "nonce")]
    pub nonce: u64,
    /// Code; empty for an account without code.
    pub code: Bytes,
    /// Storage by slot. A zero value means that the slot does not exist.
    pub storage: BTreeMap<U256, U256>,
}

/// Accounts by address.
pub type PlainState = BTreeMap<Address, PlainAccount>;

/// A number of 64 bits in hex with any padding, or in decimal.
fn nonce<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let number = U256::deserialize(deserializer)?;
    number
        .try_into()
        .map_err(|_| D::Error::custom("a nonce above 2^64 - 1"))
}

/// Returns the state root as a block header stores it.
///
/// Every account of the map is in the trie, including empty ones: the caller removes
/// accounts that do not exist under the rules of its fork.
pub fn state_root(state: &PlainState) -> B256 {
    root::state_root_unhashed(
        state
            .iter()
            .map(|(address, account)| (*address, trie_account(account))),
    )
}

fn trie_account(account: &PlainAccount) -> TrieAccount {
    let slots = account.storage.iter().filter(|(_, value)| !value.is_zero());
    TrieAccount {
        nonce: account.nonce,
        balance: account.balance,
        storage_root: root::storage_root_unhashed(
            slots.map(|(slot, value)| (B256::from(slot.to_be_bytes::<32>()), *value)),
        ),
        code_hash: keccak256(&account.code),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_state_has_the_known_root() {
        assert_eq!(state_root(&PlainState::new()), alloy_trie::EMPTY_ROOT_HASH);
    }

    #[test]
    fn zero_slots_are_not_in_the_trie() {
        let with = |storage: &[(u64, u64)]| {
            let storage = storage.iter().map(|&(k, v)| (U256::from(k), U256::from(v)));
            let account = PlainAccount {
                storage: storage.collect(),
                ..Default::default()
            };
            state_root(&PlainState::from([(Address::repeat_byte(1), account)]))
        };
        assert_eq!(with(&[(1, 0)]), with(&[]));
        assert_ne!(with(&[(1, 1)]), with(&[]));
    }
}
