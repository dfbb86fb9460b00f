//! State differences in the form of `debug_traceTransaction` with `prestateTracer` in diff mode.

use crate::TransactionReplay;
use alloy_primitives::{Address, B256, Bytes, U256};
use serde::Serialize;
use std::collections::BTreeMap;
use txgraph_evm::{Account, SlotChange, Transition};

/// The state changes of a transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StateDiff {
    /// After the transaction: the changed fields of each account that still exists, without
    /// slots that are zero.
    pub post: BTreeMap<Address, AccountFields>,
    /// Before the transaction: all fields of each account that existed, and the changed slots
    /// that were not zero.
    pub pre: BTreeMap<Address, AccountFields>,
}

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

impl TransactionReplay {
    /// Returns the state changes. Needs [`Record::transitions`](crate::Record).
    pub fn state_diff(&self) -> StateDiff {
        let mut diff = StateDiff::default();
        for transition in &self.transitions {
            let address = transition.address;
            let before = transition.before.unwrap_or_default();
            if !(transition.created && before.is_empty()) {
                let code = transition.code_before.clone();
                let slots = slots(transition, |slot| slot.original);
                diff.pre.insert(address, all_fields(before, code, slots));
            }
            if !transition.destroyed {
                diff.post
                    .insert(address, changed_fields(before, transition));
            }
        }
        diff
    }
}

fn all_fields(
    account: Account,
    code: Option<Bytes>,
    storage: BTreeMap<B256, B256>,
) -> AccountFields {
    AccountFields {
        balance: Some(account.balance),
        code: code.filter(|code| !code.is_empty()),
        nonce: (account.nonce != 0).then_some(account.nonce),
        storage,
    }
}

fn changed_fields(before: Account, transition: &Transition) -> AccountFields {
    let after = transition.after.unwrap_or_default();
    AccountFields {
        balance: (after.balance != before.balance).then_some(after.balance),
        code: (transition.code_after.clone()).filter(|code| !code.is_empty()),
        nonce: (after.nonce != before.nonce && after.nonce != 0).then_some(after.nonce),
        storage: slots(transition, |slot| slot.present),
    }
}

/// The slots that are not zero.
fn slots(transition: &Transition, value: fn(&SlotChange) -> U256) -> BTreeMap<B256, B256> {
    let slots = transition.slots.iter();
    slots
        .filter(|slot| !value(slot).is_zero())
        .map(|slot| (slot.key.into(), value(slot).into()))
        .collect()
}
