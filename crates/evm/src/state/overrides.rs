//! Changes of accounts that no transaction made: what if the state were different?

use super::State;
use crate::{
    code::{Code, DecodeAfter},
    fork::Fork,
    source::StateSource,
};
use alloy_primitives::{Address, Bytes, U256, keccak256};
use std::{collections::BTreeMap, sync::Arc};

/// Overrides of an account. Everything else stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountOverride {
    /// Its balance in wei.
    pub balance: Option<U256>,
    /// Its nonce.
    pub nonce: Option<u64>,
    /// Its code.
    pub code: Option<Bytes>,
    /// The values of some slots.
    pub slots: BTreeMap<U256, U256>,
}

impl<S: StateSource> State<S> {
    /// Changes an account outside of transactions. One that stays empty is deleted since EIP-161,
    /// by the rules of `fork`.
    pub fn override_account(
        &mut self,
        fork: Fork,
        address: Address,
        changed: &AccountOverride,
    ) -> Result<(), S::Error> {
        self.read(|journal, source| {
            let id = journal.load(source, address)?;
            if let Some(balance) = changed.balance {
                journal.set_balance(id, balance.into());
            }
            if let Some(nonce) = changed.nonce {
                journal.set_nonce(id, nonce);
            }
            if let Some(code) = &changed.code {
                let prepared = Code::new(code, DecodeAfter::default());
                journal.set_code(id, keccak256(code), Arc::new(prepared));
            }
            for (key, value) in &changed.slots {
                let slot = journal.slot(source, id, (*key).into())?;
                journal.set_slot(slot, (*value).into());
            }
            journal.finish_transaction(fork);
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Block, Evm, MemoryState, Message};

    #[test]
    fn overrides_are_seen_by_calls() {
        let address = Address::repeat_byte(7);
        let mut state = State::new(MemoryState::default());
        let changed = AccountOverride {
            balance: Some(U256::from(5)),
            nonce: Some(3),
            // Returns slot 1.
            code: Some(Bytes::from_static(&[
                0x60, 0x01, 0x54, 0x5f, 0x52, 0x60, 0x20, 0x5f, 0xf3,
            ])),
            slots: BTreeMap::from([(U256::from(1), U256::from(9))]),
        };
        state
            .override_account(Fork::LATEST, address, &changed)
            .unwrap();
        let account = state.account(address).unwrap().unwrap();
        assert_eq!((account.balance, account.nonce), (U256::from(5), 3));
        let message = Message {
            to: Some(address),
            gas_limit: 100_000,
            ..Message::default()
        };
        let mut evm = Evm::new(Fork::LATEST, 1);
        let outcome = evm.call(&mut state, &Block::default(), &message).unwrap();
        assert_eq!(U256::from_be_slice(&outcome.output), U256::from(9));
        // Only what is named changes.
        let poorer = AccountOverride {
            balance: Some(U256::ZERO),
            ..AccountOverride::default()
        };
        state
            .override_account(Fork::LATEST, address, &poorer)
            .unwrap();
        let account = state.account(address).unwrap().unwrap();
        assert_eq!((account.balance, account.nonce), (U256::ZERO, 3));
        assert_eq!(
            state.storage(address, U256::from(1)).unwrap(),
            U256::from(9)
        );
    }
}
