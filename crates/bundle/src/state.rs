//! The state of a bundle as the source of an execution.

use crate::{Bundle, Missing, bundle::Pre};
use alloy_primitives::{Address, B256, Bytes, U256, map::AddressMap};
use alloy_trie::EMPTY_ROOT_HASH;
use txgraph_evm::{Account, StateSource};

impl Bundle {
    /// The wei of an account before the block. `None` if the bundle does not contain the account.
    pub fn coin_before(&self, address: Address) -> Option<U256> {
        let account = self.state().account(address).ok()?;
        Some(account.unwrap_or_default().balance)
    }

    /// The state before the block.
    pub fn state(&self) -> BundleState<'_> {
        BundleState {
            bundle: self,
            storage_roots: AddressMap::default(),
        }
    }
}

/// The state before the block of a bundle.
#[derive(Debug)]
pub struct BundleState<'a> {
    bundle: &'a Bundle,
    /// The storage roots of the accounts of a witness that were read.
    storage_roots: AddressMap<B256>,
}

impl BundleState<'_> {
    /// The storage root of an account of a witness.
    fn storage_root(&mut self, address: Address) -> Result<B256, Missing> {
        if !self.storage_roots.contains_key(&address) {
            self.account(address)?;
        }
        let root = self.storage_roots.get(&address).copied();
        Ok(root.unwrap_or(EMPTY_ROOT_HASH))
    }
}

impl StateSource for BundleState<'_> {
    type Error = Missing;

    fn account(&mut self, address: Address) -> Result<Option<Account>, Missing> {
        match &self.bundle.pre {
            Pre::Flat {
                accounts,
                lists_all,
            } => match accounts.get(&address) {
                Some(account) => Ok(account.as_ref().map(|it| it.account)),
                None if *lists_all => Err(Missing::Account(address)),
                None => Ok(None),
            },
            Pre::Witness(witness) => {
                let Some(account) = witness.account(address)? else {
                    return Ok(None);
                };
                self.storage_roots.insert(address, account.storage_root);
                Ok(Some(Account {
                    balance: account.balance,
                    nonce: account.nonce,
                    code_hash: account.code_hash,
                }))
            }
        }
    }

    fn storage(&mut self, address: Address, key: U256) -> Result<U256, Missing> {
        match &self.bundle.pre {
            Pre::Flat {
                accounts,
                lists_all,
            } => match accounts.get(&address) {
                Some(Some(account)) => {
                    let value = account.storage.get(&key).copied();
                    value.ok_or(Missing::Slot { address, key })
                }
                None if *lists_all => Err(Missing::Account(address)),
                Some(None) | None => Ok(U256::ZERO),
            },
            Pre::Witness(witness) => match self.storage_root(address)? {
                EMPTY_ROOT_HASH => Ok(U256::ZERO),
                root => witness.slot(address, root, key),
            },
        }
    }

    fn code(&mut self, code_hash: B256) -> Result<Bytes, Missing> {
        let code = self.bundle.codes.get(&code_hash);
        code.cloned().ok_or(Missing::Code(code_hash))
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, Missing> {
        let hash = self.bundle.block_hashes.get(&number);
        hash.copied().ok_or(Missing::BlockHash(number))
    }

    fn has_storage(&mut self, address: Address) -> Result<bool, Missing> {
        match &self.bundle.pre {
            Pre::Flat { accounts, .. } => Ok(match accounts.get(&address) {
                Some(Some(account)) => account
                    .has_storage
                    .unwrap_or_else(|| account.storage.values().any(|value| !value.is_zero())),
                Some(None) | None => false,
            }),
            Pre::Witness(_) => Ok(self.storage_root(address)? != EMPTY_ROOT_HASH),
        }
    }
}
