//! The state changes of a transaction, one by one, and in the form of `debug_traceTransaction` with
//! `prestateTracer` in diff mode.

use crate::{AccountFields, TransactionReplay};
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

/// A change of the state by a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct StateChange {
    /// The account.
    pub address: Address,
    /// Its field, with the value before and after.
    #[serde(flatten)]
    pub change: FieldChange,
}

/// A change of a field of an account. An account that does not exist has the values of an empty one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(tag = "field", rename_all = "lowercase")]
pub enum FieldChange {
    /// `SELFDESTRUCT` deleted the account. Of its fields, only slots are listed.
    Destroyed,
    /// The balance in wei.
    Balance {
        /// Before the transaction.
        before: U256,
        /// After it.
        after: U256,
    },
    /// The nonce.
    Nonce {
        /// Before the transaction.
        before: u64,
        /// After it.
        after: u64,
    },
    /// The code.
    Code {
        /// Before the transaction.
        before: Bytes,
        /// After it.
        after: Bytes,
    },
    /// A slot.
    Slot {
        /// Its key.
        slot: B256,
        /// Before the transaction.
        before: B256,
        /// After it.
        after: B256,
    },
}

impl TransactionReplay {
    /// Returns the state changes one by one, ascending by address and slot. Needs
    /// [`Record::transitions`](crate::Record).
    pub fn state_changes(&self) -> Vec<StateChange> {
        let changes = self.transitions.iter().flat_map(|transition| {
            let changes = field_changes(transition).into_iter();
            changes.map(|change| StateChange {
                address: transition.address,
                change,
            })
        });
        changes.collect()
    }

    /// Returns the state changes. Needs [`Record::transitions`](crate::Record).
    pub fn state_diff(&self) -> StateDiff {
        let mut diff = StateDiff::default();
        for transition in &self.transitions {
            let address = transition.address;
            let before = transition.before.unwrap_or_default();
            if !(transition.created && before.is_empty()) {
                let code = transition.code_before.clone();
                let slots = slots(transition, |slot| slot.original);
                diff.pre
                    .insert(address, AccountFields::of(before, code, slots));
            }
            if !transition.destroyed {
                diff.post
                    .insert(address, changed_fields(before, transition));
            }
        }
        diff
    }
}

fn field_changes(transition: &Transition) -> Vec<FieldChange> {
    let before = transition.before.unwrap_or_default();
    let after = transition.after.unwrap_or_default();
    let mut changes = Vec::new();
    if transition.destroyed {
        changes.push(FieldChange::Destroyed);
    } else {
        if before.balance != after.balance {
            changes.push(FieldChange::Balance {
                before: before.balance,
                after: after.balance,
            });
        }
        if before.nonce != after.nonce {
            changes.push(FieldChange::Nonce {
                before: before.nonce,
                after: after.nonce,
            });
        }
        if let Some(after) = &transition.code_after {
            changes.push(FieldChange::Code {
                before: transition.code_before.clone().unwrap_or_default(),
                after: after.clone(),
            });
        }
    }
    let slots = transition.slots.iter();
    changes.extend(slots.map(|slot| FieldChange::Slot {
        slot: slot.key.into(),
        before: slot.original.into(),
        after: slot.present.into(),
    }));
    changes
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
