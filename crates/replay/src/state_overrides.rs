//! A transaction or call that differs from what happened.

use crate::{Error, Result};
use alloy_primitives::{Address, Bytes, U256};
use serde::Deserialize;
use std::{collections::BTreeMap, fs, path::Path};
use txgraph_evm::{AccountOverride, Fork, State, StateSource, Transaction};

/// Changes of the state and the transaction, right before a transaction or a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateOverrides {
    /// Accounts of the state.
    pub accounts: BTreeMap<Address, AccountOverride>,
    /// The transaction. Calls do not use it.
    pub transaction: TransactionOverride,
}

/// Changes of a transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct TransactionOverride {
    /// The sender. The nonce becomes the nonce of this account.
    pub from: Option<Address>,
    /// The account that it calls.
    pub to: Option<Address>,
    /// The calldata.
    #[serde(alias = "data")]
    pub input: Option<Bytes>,
    /// The value in wei.
    pub value: Option<U256>,
    /// The gas limit.
    pub gas: Option<u64>,
}

/// The file, with accounts as in the state overrides of `eth_call` in geth.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct File {
    state: BTreeMap<Address, FileAccount>,
    transaction: TransactionOverride,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct FileAccount {
    balance: Option<U256>,
    nonce: Option<U256>,
    code: Option<Bytes>,
    state_diff: BTreeMap<U256, U256>,
}

impl StateOverrides {
    /// Reads a JSON file: `{"state": {"0x…": {"balance", "nonce", "code", "stateDiff"}},
    /// "transaction": {"from", "to", "input", "value", "gas"}}`. Everything can be absent. Numbers
    /// are JSON numbers, or texts in decimal or hex.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or has something else.
    pub fn open(path: &Path) -> Result<Self> {
        let wrong = |problem: String| Error::StateOverrides {
            path: path.to_path_buf(),
            problem,
        };
        let text = fs::read(path).map_err(|error| wrong(error.to_string()))?;
        Self::read(&text).map_err(wrong)
    }

    /// Like [`open`](Self::open), for a call: a file that changes a transaction is refused.
    ///
    /// # Errors
    ///
    /// As for [`open`](Self::open).
    pub fn open_for_call(path: &Path) -> Result<Self> {
        let overrides = Self::open(path)?;
        match overrides.transaction == TransactionOverride::default() {
            true => Ok(overrides),
            false => Err(Error::StateOverrides {
                path: path.to_path_buf(),
                problem: "a call is in no transaction that could be changed".to_owned(),
            }),
        }
    }

    fn read(text: &[u8]) -> Result<Self, String> {
        let File { state, transaction } =
            serde_json::from_slice(text).map_err(|error| error.to_string())?;
        let mut accounts = BTreeMap::new();
        for (address, account) in state {
            let nonce = account.nonce.map(u64::try_from).transpose();
            let changed = AccountOverride {
                balance: account.balance,
                nonce: nonce
                    .map_err(|_| format!("the nonce of {address} has more than 64 bits"))?,
                code: account.code,
                slots: account.state_diff,
            };
            accounts.insert(address, changed);
        }
        Ok(Self {
            accounts,
            transaction,
        })
    }

    /// Changes the accounts.
    pub(crate) fn apply<S: StateSource>(
        &self,
        fork: Fork,
        state: &mut State<S>,
    ) -> Result<(), S::Error> {
        for (address, changed) in &self.accounts {
            state.override_account(fork, *address, changed)?;
        }
        Ok(())
    }

    /// The changed transaction, after the accounts were changed.
    pub(crate) fn transaction<S: StateSource>(
        &self,
        original: &Transaction,
        state: &mut State<S>,
    ) -> Result<Transaction, S::Error> {
        let mut changed = original.clone();
        let TransactionOverride {
            from,
            to,
            input,
            value,
            gas,
        } = &self.transaction;
        changed.caller = from.unwrap_or(changed.caller);
        changed.to = to.or(changed.to);
        changed.input = input.clone().unwrap_or(changed.input);
        changed.value = value.unwrap_or(changed.value);
        changed.gas_limit = gas.unwrap_or(changed.gas_limit);
        // Overrides are not meant to make it invalid.
        let account = state.account(changed.caller)?;
        changed.nonce = account.map_or(0, |account| account.nonce);
        Ok(changed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_files() {
        let text = br#"{
            "state": {"0x0000000000000000000000000000000000000007": {
                "balance": "1000", "nonce": 2, "code": "0x6001", "stateDiff": {"0x1": "0x02"}
            }},
            "transaction": {"data": "0x01", "value": 5}
        }"#;
        let found = StateOverrides::read(text).unwrap();
        let account = &found.accounts[&Address::with_last_byte(7)];
        assert_eq!(account.balance, Some(U256::from(1000)));
        assert_eq!(account.nonce, Some(2));
        assert_eq!(account.slots[&U256::from(1)], U256::from(2));
        assert_eq!(found.transaction.input, Some(Bytes::from_static(&[1])));
        assert_eq!(found.transaction.value, Some(U256::from(5)));
        assert_eq!(
            StateOverrides::read(b"{}").unwrap(),
            StateOverrides::default()
        );
        for text in [
            &br#"{"0x0000000000000000000000000000000000000007": {}}"#[..],
            br#"{"state": {"0x07": {}}}"#,
            br#"{"state": {"0x0000000000000000000000000000000000000007": {"state": {}}}}"#,
            br#"{"transaction": {"nonce": 1}}"#,
        ] {
            assert!(
                StateOverrides::read(text).is_err(),
                "{}",
                String::from_utf8_lossy(text)
            );
        }
    }
}
