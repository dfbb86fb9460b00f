//! One state in memory for all engines, so that timings compare engines and not their
//! states: hash maps with what a program defines, and nothing else.

use alloy_primitives::{
    Address, B256, Bytes, KECCAK256_EMPTY, U256, keccak256,
    map::{AddressMap, AddressSet, B256Map, HashMap},
};
use revm::{bytecode::Bytecode, database_interface::Database, state::AccountInfo};
use std::convert::Infallible;
use txgraph_block::PlainState;
use txgraph_evm::{Account, StateSource};
use txgraph_evm_tools::engine::test_block_hash;

/// Accounts, slots and code, read-only.
#[derive(Clone, Debug, Default)]
pub struct FlatState {
    accounts: AddressMap<Account>,
    slots: HashMap<(Address, U256), U256>,
    /// Accounts with storage, for the rule of EIP-7610.
    with_storage: AddressSet,
    codes: B256Map<(Bytes, Bytecode)>,
    /// Hashes of blocks that differ from the public tests.
    pub block_hashes: HashMap<u64, B256>,
    /// revm gets code as if read from disk, and analyses it in each run.
    pub analyzes_each_time: bool,
}

impl FlatState {
    /// Copies `state`.
    pub fn new(state: &PlainState) -> Self {
        let mut flat = Self::default();
        for (address, account) in state {
            let code_hash = flat.insert_code(account.code.clone());
            let info = Account {
                balance: account.balance,
                nonce: account.nonce,
                code_hash,
            };
            flat.insert_account(*address, info, !account.storage.is_empty());
            for (key, value) in &account.storage {
                flat.insert_slot(*address, *key, *value);
            }
        }
        flat
    }

    /// Adds an account. It may have storage without slots here (EIP-7610).
    pub fn insert_account(&mut self, address: Address, account: Account, has_storage: bool) {
        self.accounts.insert(address, account);
        if has_storage {
            self.with_storage.insert(address);
        }
    }

    /// Adds a slot.
    pub fn insert_slot(&mut self, address: Address, key: U256, value: U256) {
        self.slots.insert((address, key), value);
    }

    /// Adds code, with the analysis of revm. Returns its hash.
    pub fn insert_code(&mut self, code: Bytes) -> B256 {
        if code.is_empty() {
            return KECCAK256_EMPTY;
        }
        let hash = keccak256(&code);
        self.codes
            .insert(hash, (code.clone(), Bytecode::new_raw(code)));
        hash
    }

    /// Sets the code of an account.
    pub fn set_code(&mut self, address: Address, code_hash: B256) {
        self.accounts.entry(address).or_default().code_hash = code_hash;
    }
}

impl StateSource for &FlatState {
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
        let hash = self.block_hashes.get(&number).copied();
        Ok(hash.unwrap_or_else(|| test_block_hash(number)))
    }

    fn has_storage(&mut self, address: Address) -> Result<bool, Infallible> {
        Ok(self.with_storage.contains(&address))
    }
}

impl StateSource for FlatState {
    type Error = Infallible;

    fn account(&mut self, address: Address) -> Result<Option<Account>, Infallible> {
        (&*self).account(address)
    }

    fn storage(&mut self, address: Address, key: U256) -> Result<U256, Infallible> {
        StateSource::storage(&mut &*self, address, key)
    }

    fn code(&mut self, code_hash: B256) -> Result<Bytes, Infallible> {
        (&*self).code(code_hash)
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, Infallible> {
        StateSource::block_hash(&mut &*self, number)
    }

    fn has_storage(&mut self, address: Address) -> Result<bool, Infallible> {
        (&*self).has_storage(address)
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
        let (raw, analyzed) = &self.codes[&code_hash];
        Ok(match self.analyzes_each_time {
            true => Bytecode::new_raw(raw.clone()),
            false => analyzed.clone(),
        })
    }

    fn storage(&mut self, address: Address, key: U256) -> Result<U256, Infallible> {
        StateSource::storage(self, address, key)
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, Infallible> {
        StateSource::block_hash(self, number)
    }
}
