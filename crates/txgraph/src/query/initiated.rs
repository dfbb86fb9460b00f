//! Conditions on who signed the transaction of a transfer.

use crate::{Result, Source};
use alloy_primitives::Address;
use std::collections::BTreeSet;
use txgraph_transfers::Transfer;

/// Conditions on the account that signed the transaction of a transfer.
#[derive(Clone, Debug, Default)]
pub(super) struct Initiated {
    /// The wanted accounts; empty: any.
    pub(super) by: BTreeSet<Address>,
    /// Whether an account other than the one that gives the tokens must have signed.
    pub(super) not_by_owner: bool,
}

impl Initiated {
    /// Whether every transfer of a transaction is wanted.
    pub(super) fn is_any(&self) -> bool {
        self.by.is_empty() && !self.not_by_owner
    }

    fn matches(&self, initiator: &Address, transfer: &Transfer) -> bool {
        (self.by.is_empty() || self.by.contains(initiator))
            && !(self.not_by_owner && transfer.from_address == *initiator)
    }

    /// Keeps the wanted transfers of a batch.
    pub(super) fn keep(&self, source: &Source, transfers: &mut Vec<Transfer>) -> Result<()> {
        let initiators = source.initiators(transfers.iter())?;
        transfers.retain(|it| {
            let initiator = initiators.get(&it.transaction());
            it.transaction_hash.is_some() && initiator.is_some_and(|by| self.matches(by, it))
        });
        Ok(())
    }
}
