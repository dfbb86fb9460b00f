//! One state in memory for all engines: hash maps over what a program names, and
//! nothing else, so that no engine is timed with another's state.

use alloy_primitives::{
    Address, B256, Bytes, KECCAK256_EMPTY, U256, keccak256,
    map::{AddressMap, AddressSet, B256Map, HashMap},
};
use revm::{bytecode::Bytecode, database_interface::Database, state::AccountInfo};
use std::convert::Infallible;
use txgraph_block::PlainState;
use txgraph_evm::{Account, StateSource};
use txgraph_evm_tools::fixture::test_block_hash;

/// Accounts, slots and code, read-only.
#[derive(Clone, Debug, Default)]
pub struct FlatState {
    accounts: AddressMap<Account>,
    slots: HashMap<(Address, U256), U256>,
    /// Accounts that have slots (EIP-7610 asks).
    with_storage: AddressSet,
    codes: B256Map<(Bytes, Bytecode)>,
    /// Code is handed over as it would be from disk, not yet looked through.
    pub analyse_anew: bool,
}

impl FlatState {
    /// A copy of `state`.
    pub fn new(state: &PlainState) -> Self {
        let mut flat = Self::default();
        for (address, account) in state {
            let code_hash = flat.insert_code(account.code.clone());
            let (balance, nonce) = (account.balance, account.nonce);
            flat.accounts.insert(
                *address,
                Account {
                    balance,
                    nonce,
                    code_hash,
                },
            );
            for (key, value) in &account.storage {
                flat.slots.insert((*address, *key), *value);
                flat.with_storage.insert(*address);
            }
        }
        flat
    }

    /// Keeps code, and what the peer makes of it ahead of time.
    pub fn insert_code(&mut self, code: Bytes) -> B256 {
        if code.is_empty() {
            return KECCAK256_EMPTY;
        }
        let hash = keccak256(&code);
        self.codes
            .insert(hash, (code.clone(), Bytecode::new_raw(code)));
        hash
    }

    /// Gives an account other code.
    pub fn set_code(&mut self, address: Address, code_hash: B256) {
        self.accounts.entry(address).or_default().code_hash = code_hash;
    }
}

impl StateSource for FlatState {
    type Error = Infallible;

    fn account(&mut self, address: Address) -> Result<Option<Account>, Infallible> {
        Ok(self.accounts.get(&address).copied())
    }

    fn storage(&mut self, address: Address, key: U256) -> Result<U256, Infallible> {
        Ok(self.slots.get(&(address, key)).copied().unwrap_or_default())
    }

    fn code(&mut self, code_hash: B256) -> Result<Bytes, Infallible> {
        Ok(self.codes[&code_hash].0.clone())
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, Infallible> {
        Ok(test_block_hash(number))
    }

    fn has_storage(&mut self, address: Address) -> Result<bool, Infallible> {
        Ok(self.with_storage.contains(&address))
    }
}

impl Database for FlatState {
    type Error = Infallible;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, Infallible> {
        Ok(self.accounts.get(&address).map(|account| AccountInfo {
            balance: account.balance,
            nonce: account.nonce,
            code_hash: account.code_hash,
            ..AccountInfo::default().without_code()
        }))
    }

    fn code_by_hash(&mut self, code_hash: B256) -> Result<Bytecode, Infallible> {
        let (raw, looked_through) = &self.codes[&code_hash];
        Ok(match self.analyse_anew {
            true => Bytecode::new_raw(raw.clone()),
            false => looked_through.clone(),
        })
    }

    fn storage(&mut self, address: Address, key: U256) -> Result<U256, Infallible> {
        Ok(self.slots.get(&(address, key)).copied().unwrap_or_default())
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, Infallible> {
        Ok(test_block_hash(number))
    }
}
