//! The source of state: the trait, and an implementation in maps.

use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256, keccak256};
use std::{collections::BTreeMap, ops::DerefMut};

/// An account without its code and storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    /// The balance in wei.
    pub balance: U256,
    /// The number of transactions sent, or of contracts created.
    pub nonce: u64,
    /// The Keccak-256 hash of the code; [`KECCAK256_EMPTY`] without code.
    pub code_hash: B256,
}

impl Account {
    /// Whether it is empty as defined by EIP-161: no balance, no nonce, no code.
    pub fn is_empty(&self) -> bool {
        self.nonce == 0 && self.balance.is_zero() && self.code_hash == KECCAK256_EMPTY
    }
}

impl Default for Account {
    fn default() -> Self {
        Self {
            balance: U256::ZERO,
            nonce: 0,
            code_hash: KECCAK256_EMPTY,
        }
    }
}

/// Read access to the state before execution. A [`State`](crate::State) reads each account and slot
/// at most once, and code once per hash and code cache.
///
/// An error ends the execution and is returned as [`Error::Source`](crate::Error::Source). It is
/// never treated as an EVM failure.
pub trait StateSource {
    /// Why a read failed.
    type Error;

    /// Returns an account; `None` if it does not exist.
    fn account(&mut self, address: Address) -> Result<Option<Account>, Self::Error>;

    /// Returns the value of a slot; zero if it was never written.
    fn storage(&mut self, address: Address, key: U256) -> Result<U256, Self::Error>;

    /// Returns the code with this hash, which an account has. Never called for [`KECCAK256_EMPTY`].
    fn code(&mut self, code_hash: B256) -> Result<Bytes, Self::Error>;

    /// Returns the hash of one of the 256 blocks before the current one; zero if it does not exist.
    fn block_hash(&mut self, number: u64) -> Result<B256, Self::Error>;

    /// Whether the account has storage. Called only if a contract is created at an address that has
    /// an account (EIP-7610). On mainnet the answer matters for 28 accounts, and contracts cannot
    /// be created at these addresses.
    fn has_storage(&mut self, _address: Address) -> Result<bool, Self::Error> {
        Ok(false)
    }

    /// Ends the execution with an error, if it is no longer wanted. Asked before calls and creations,
    /// before instructions whose time grows with their operands, and now and then in loops of
    /// [code that is not decoded](crate::DecodeAfter). Decoded loops end soon for want of gas.
    fn check_wanted(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// References to a source, and guards of one.
impl<P: DerefMut<Target: StateSource>> StateSource for P {
    type Error = <P::Target as StateSource>::Error;

    fn account(&mut self, address: Address) -> Result<Option<Account>, Self::Error> {
        (**self).account(address)
    }

    fn storage(&mut self, address: Address, key: U256) -> Result<U256, Self::Error> {
        (**self).storage(address, key)
    }

    fn code(&mut self, code_hash: B256) -> Result<Bytes, Self::Error> {
        (**self).code(code_hash)
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, Self::Error> {
        (**self).block_hash(number)
    }

    fn has_storage(&mut self, address: Address) -> Result<bool, Self::Error> {
        (**self).has_storage(address)
    }

    fn check_wanted(&mut self) -> Result<(), Self::Error> {
        (**self).check_wanted()
    }
}

/// The source failed. [`Erased`] contains the error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failed;

/// A [`StateSource`] without its error type, so that the interpreter is compiled once and not once
/// per source.
pub(crate) trait Source: StateSource<Error = Failed> {}

impl<S: StateSource> Source for Erased<'_, S> {}

/// Keeps the error while [`Failed`] is returned through the interpreter.
#[derive(Debug)]
pub(crate) struct Erased<'a, S: StateSource> {
    source: &'a mut S,
    error: Option<S::Error>,
}

impl<'a, S: StateSource> Erased<'a, S> {
    pub(crate) fn new(source: &'a mut S) -> Self {
        Self {
            source,
            error: None,
        }
    }

    /// The error of the failure.
    pub(crate) fn into_error(self, Failed: Failed) -> S::Error {
        self.error
            .expect("the error was kept when the source failed")
    }

    fn keep<T>(&mut self, read: impl FnOnce(&mut S) -> Result<T, S::Error>) -> Result<T, Failed> {
        read(self.source).map_err(|error| {
            self.error = Some(error);
            Failed
        })
    }
}

impl<S: StateSource> StateSource for Erased<'_, S> {
    type Error = Failed;

    fn account(&mut self, address: Address) -> Result<Option<Account>, Failed> {
        self.keep(|source| source.account(address))
    }

    fn storage(&mut self, address: Address, key: U256) -> Result<U256, Failed> {
        self.keep(|source| source.storage(address, key))
    }

    fn code(&mut self, code_hash: B256) -> Result<Bytes, Failed> {
        self.keep(|source| source.code(code_hash))
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, Failed> {
        self.keep(|source| source.block_hash(number))
    }

    fn has_storage(&mut self, address: Address) -> Result<bool, Failed> {
        self.keep(|source| source.has_storage(address))
    }

    fn check_wanted(&mut self) -> Result<(), Failed> {
        self.keep(S::check_wanted)
    }
}

/// A complete state in sorted maps, for tests, tools and genesis files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryState {
    /// Accounts by address.
    pub accounts: BTreeMap<Address, Account>,
    /// Slots by address and key, without zeros.
    pub storage: BTreeMap<Address, BTreeMap<U256, U256>>,
    /// Code by hash.
    pub codes: BTreeMap<B256, Bytes>,
    /// Block hashes by number.
    pub block_hashes: BTreeMap<u64, B256>,
}

impl MemoryState {
    /// Adds or replaces an account. Its storage stays.
    pub fn insert(&mut self, address: Address, balance: U256, nonce: u64, code: Bytes) {
        let code_hash = keccak256(&code);
        if !code.is_empty() {
            self.codes.insert(code_hash, code);
        }
        let account = Account {
            balance,
            nonce,
            code_hash,
        };
        self.accounts.insert(address, account);
    }

    /// Writes a slot; zero removes it.
    pub fn set_storage(&mut self, address: Address, key: U256, value: U256) {
        if !value.is_zero() {
            self.storage.entry(address).or_default().insert(key, value);
        } else if let Some(slots) = self.storage.get_mut(&address) {
            slots.remove(&key);
            if slots.is_empty() {
                self.storage.remove(&address);
            }
        }
    }
}

/// A [`MemoryState`] is incomplete.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryStateError {
    /// An account has code that the state does not contain.
    #[error("no code with hash {0} in the state; insert accounts together with their code")]
    NoCode(B256),
}

impl StateSource for MemoryState {
    type Error = MemoryStateError;

    fn account(&mut self, address: Address) -> Result<Option<Account>, MemoryStateError> {
        Ok(self.accounts.get(&address).copied())
    }

    fn storage(&mut self, address: Address, key: U256) -> Result<U256, MemoryStateError> {
        let slots = self.storage.get(&address);
        Ok(slots
            .and_then(|slots| slots.get(&key))
            .copied()
            .unwrap_or_default())
    }

    fn code(&mut self, code_hash: B256) -> Result<Bytes, MemoryStateError> {
        let code = self.codes.get(&code_hash);
        code.cloned().ok_or(MemoryStateError::NoCode(code_hash))
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, MemoryStateError> {
        Ok(self.block_hashes.get(&number).copied().unwrap_or_default())
    }

    fn has_storage(&mut self, address: Address) -> Result<bool, MemoryStateError> {
        Ok(self.storage.contains_key(&address))
    }
}
