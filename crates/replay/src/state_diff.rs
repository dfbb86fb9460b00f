//! State differences as `debug_traceTransaction` answers with the tracer
//! `prestateTracer` in its diff mode.

use crate::TransactionReplay;
use alloy_primitives::{Address, B256, Bytes, U256};
use serde::Serialize;
use std::collections::BTreeMap;
use txgraph_evm::{Account, SlotChange, Transition};

/// What a transaction changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StateDiff {
    /// Afterwards: of each account that still exists what is different, without slots
    /// that are zero.
    pub post: BTreeMap<Address, AccountState>,
    /// Before: of each account that existed everything, and the slots that changed and
    /// were not zero.
    pub pre: BTreeMap<Address, AccountState>,
}

/// An account, as far as it is of interest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AccountState {
    /// Wei.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balance: Option<U256>,
    /// The code, unless it is empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<Bytes>,
    /// The nonce, unless it is zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nonce: Option<u64>,
    /// Slots.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub storage: BTreeMap<B256, B256>,
}

impl TransactionReplay {
    /// What it changed. Needs [`Record::transitions`](crate::Record).
    pub fn state_diff(&self) -> StateDiff {
        let mut diff = StateDiff::default();
        for transition in &self.transitions {
            let address = transition.address;
            let before = transition.before.unwrap_or_default();
            if !(transition.created && before.is_empty()) {
                let code = transition.code_before.clone();
                let slots = slots(transition, |slot| slot.original);
                diff.pre.insert(address, whole(before, code, slots));
            }
            if !transition.destroyed {
                diff.post.insert(address, changed(before, transition));
            }
        }
        diff
    }
}

fn whole(account: Account, code: Option<Bytes>, storage: BTreeMap<B256, B256>) -> AccountState {
    AccountState {
        balance: Some(account.balance),
        code: code.filter(|code| !code.is_empty()),
        nonce: (account.nonce != 0).then_some(account.nonce),
        storage,
    }
}

fn changed(before: Account, transition: &Transition) -> AccountState {
    let after = transition.after.unwrap_or_default();
    AccountState {
        balance: (after.balance != before.balance).then_some(after.balance),
        code: (transition.code_after.clone()).filter(|code| !code.is_empty()),
        nonce: (after.nonce != before.nonce && after.nonce != 0).then_some(after.nonce),
        storage: slots(transition, |slot| slot.present),
    }
}

/// Those that are not zero.
fn slots(transition: &Transition, value: fn(&SlotChange) -> U256) -> BTreeMap<B256, B256> {
    let slots = transition.slots.iter();
    slots
        .filter(|slot| !value(slot).is_zero())
        .map(|slot| (slot.key.into(), value(slot).into()))
        .collect()
}
