//! Roots and hashes that prove a state: the secure Merkle Patricia trie over hashed
//! addresses and slots (yellow paper, 4.1), and the hash of all logs that test files
//! carry.

use crate::fixture::{FixtureAccount, FixtureState};
use alloy_primitives::{B256, Log, U256, keccak256};
use alloy_trie::{TrieAccount, root};

/// The root of all accounts, as a block header holds it.
///
/// Every account of the map is in the trie, an empty one too: which of them exist is
/// the question of a fork's rules, answered before.
pub fn state_root(state: &FixtureState) -> B256 {
    root::state_root_unhashed(
        state
            .iter()
            .map(|(address, account)| (*address, trie_account(account))),
    )
}

fn trie_account(account: &FixtureAccount) -> TrieAccount {
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

/// Keccak of the RLP of a list of logs.
pub fn logs_hash(logs: &[Log]) -> B256 {
    let mut rlp = Vec::new();
    alloy_rlp::encode_list::<_, Log>(logs, &mut rlp);
    keccak256(rlp)
}

/// What `BLOCKHASH` answers in state tests: keccak of the block number in decimal.
pub fn test_block_hash(number: u64) -> B256 {
    keccak256(number.to_string())
}

/// The first place where two states differ, in words; nothing when they are equal.
pub fn first_difference(expected: &FixtureState, found: &FixtureState) -> Option<String> {
    let addresses: std::collections::BTreeSet<_> = expected.keys().chain(found.keys()).collect();
    for address in addresses {
        let (expected, found) = match (expected.get(address), found.get(address)) {
            (Some(expected), Some(found)) => (expected, found),
            (Some(_), None) => return Some(format!("account {address} is missing")),
            (None, Some(_)) => return Some(format!("account {address} must not exist")),
            (None, None) => continue,
        };
        let field = |name: &str, expected: String, found: String| {
            (expected != found)
                .then(|| format!("{name} of {address} is {found}, expected {expected}"))
        };
        let slots: std::collections::BTreeSet<_> = expected
            .storage
            .keys()
            .chain(found.storage.keys())
            .collect();
        let slot = |account: &FixtureAccount, key: &U256| {
            account
                .storage
                .get(key)
                .copied()
                .unwrap_or_default()
                .to_string()
        };
        let difference = field("nonce", expected.nonce.to_string(), found.nonce.to_string())
            .or_else(|| {
                let (expected, found) = (expected.balance, found.balance);
                field("balance", expected.to_string(), found.to_string())
            })
            .or_else(|| field("code", expected.code.to_string(), found.code.to_string()))
            .or_else(|| {
                slots.into_iter().find_map(|key| {
                    field(
                        &format!("slot {key:#x}"),
                        slot(expected, key),
                        slot(found, key),
                    )
                })
            });
        if difference.is_some() {
            return difference;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::{Address, Bytes, b256};

    #[test]
    fn nothing_has_the_known_hashes() {
        assert_eq!(
            state_root(&FixtureState::new()),
            alloy_trie::EMPTY_ROOT_HASH
        );
        let empty = b256!("1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347");
        assert_eq!(logs_hash(&[]), empty);
    }

    #[test]
    fn zero_slots_are_not_there() {
        let with = |storage: &[(u64, u64)]| {
            let storage = storage.iter().map(|&(k, v)| (U256::from(k), U256::from(v)));
            let account = FixtureAccount {
                storage: storage.collect(),
                ..Default::default()
            };
            state_root(&FixtureState::from([(Address::repeat_byte(1), account)]))
        };
        assert_eq!(with(&[(1, 0)]), with(&[]));
        assert_ne!(with(&[(1, 1)]), with(&[]));
    }

    #[test]
    fn differences_are_told() {
        let one = |code: &'static [u8], slot: u64| {
            let account = FixtureAccount {
                code: Bytes::from_static(code),
                storage: [(U256::from(7), U256::from(slot))].into(),
                ..Default::default()
            };
            FixtureState::from([(Address::repeat_byte(1), account)])
        };
        assert_eq!(first_difference(&one(b"a", 1), &one(b"a", 1)), None);
        let told = first_difference(&one(b"a", 1), &one(b"a", 2)).unwrap();
        assert!(
            told.contains("slot 0x7") && told.contains("is 2, expected 1"),
            "{told}"
        );
        assert!(
            first_difference(&one(b"a", 1), &one(b"b", 1))
                .unwrap()
                .contains("code")
        );
        assert!(
            first_difference(&one(b"a", 1), &FixtureState::new())
                .unwrap()
                .contains("missing")
        );
        assert!(
            first_difference(&FixtureState::new(), &one(b"a", 1))
                .unwrap()
                .contains("must not")
        );
    }
}
