//! Records what an execution reads, for a bundle.

use crate::{FlatAccount, FlatState};
use alloy_primitives::{Address, B256, Bytes, U256};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use txgraph_evm::{Account, StateSource};

/// A source that records everything that is read from it. Several recorders may share a record.
#[derive(Debug)]
pub struct Recorder<S> {
    source: S,
    record: Arc<Mutex<FlatState>>,
}

impl<S> Recorder<S> {
    /// Adds what is read from `source` to `record`.
    pub const fn new(source: S, record: Arc<Mutex<FlatState>>) -> Self {
        Self { source, record }
    }

    fn record(&self) -> MutexGuard<'_, FlatState> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: StateSource> StateSource for Recorder<S> {
    type Error = S::Error;

    fn account(&mut self, address: Address) -> Result<Option<Account>, S::Error> {
        let account = self.source.account(address)?;
        let recorded = account.map(|account| FlatAccount {
            account,
            ..FlatAccount::default()
        });
        self.record().accounts.entry(address).or_insert(recorded);
        Ok(account)
    }

    fn storage(&mut self, address: Address, key: U256) -> Result<U256, S::Error> {
        // A slot is recorded with its account.
        self.account(address)?;
        let value = self.source.storage(address, key)?;
        if let Some(Some(account)) = self.record().accounts.get_mut(&address) {
            account.storage.insert(key, value);
        }
        Ok(value)
    }

    fn code(&mut self, code_hash: B256) -> Result<Bytes, S::Error> {
        let code = self.source.code(code_hash)?;
        self.record().codes.insert(code_hash, code.clone());
        Ok(code)
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, S::Error> {
        let hash = self.source.block_hash(number)?;
        self.record().block_hashes.insert(number, hash);
        Ok(hash)
    }

    fn has_storage(&mut self, address: Address) -> Result<bool, S::Error> {
        self.account(address)?;
        let has_storage = self.source.has_storage(address)?;
        if let Some(Some(account)) = self.record().accounts.get_mut(&address) {
            account.has_storage = Some(has_storage);
        }
        Ok(has_storage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use txgraph_evm::MemoryState;

    #[test]
    fn records_what_is_read_and_nothing_else() {
        let (read, absent, other) = (
            Address::repeat_byte(1),
            Address::repeat_byte(2),
            Address::repeat_byte(3),
        );
        let mut source = MemoryState::default();
        for address in [read, other] {
            source.insert(address, U256::from(5), 1, Bytes::from_static(&[0]));
            source.set_storage(address, U256::from(7), U256::from(8));
        }
        source.block_hashes.insert(9, B256::repeat_byte(9));
        let record = Arc::default();
        let mut recorder = Recorder::new(source, Arc::clone(&record));
        let account = recorder.account(read).unwrap().unwrap();
        assert_eq!(recorder.account(absent).unwrap(), None);
        for key in [7, 6] {
            recorder.storage(read, U256::from(key)).unwrap();
        }
        recorder.code(account.code_hash).unwrap();
        recorder.block_hash(9).unwrap();
        assert!(recorder.has_storage(read).unwrap());
        let state = record.lock().unwrap();
        let expected = FlatAccount {
            account,
            storage: [(U256::from(7), U256::from(8)), (U256::from(6), U256::ZERO)].into(),
            has_storage: Some(true),
        };
        assert_eq!(
            state.accounts,
            [(read, Some(expected)), (absent, None)].into()
        );
        assert_eq!(state.codes.len(), 1);
        assert_eq!(state.block_hashes, [(9, B256::repeat_byte(9))].into());
    }
}
