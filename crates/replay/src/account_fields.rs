//! The fields of an account, in the form of `prestateTracer`.

use alloy_primitives::{B256, Bytes, U256};
use serde::Serialize;
use std::collections::BTreeMap;
use txgraph_evm::Account;

/// The fields of an account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AccountFields {
    /// The balance in wei.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balance: Option<U256>,
    /// The code, unless it is empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<Bytes>,
    /// The nonce, unless it is zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nonce: Option<u64>,
    /// Slots and their values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub storage: BTreeMap<B256, B256>,
}

impl AccountFields {
    /// All fields of an account, and some of its slots.
    pub(crate) fn of(account: Account, code: Option<Bytes>, storage: BTreeMap<B256, B256>) -> Self {
        Self {
            balance: Some(account.balance),
            code: code.filter(|code| !code.is_empty()),
            nonce: (account.nonce != 0).then_some(account.nonce),
            storage,
        }
    }
}
