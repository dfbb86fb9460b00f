//! Who takes part in a replayed transaction.

use crate::TransactionReplay;
use alloy_primitives::Address;
use std::collections::BTreeMap;
use txgraph_transfers::Roles;

impl TransactionReplay {
    /// The addresses that take part in the transaction, and in the calls inside of it if these were
    /// recorded ([`Record::frames`](crate::Record)), with their roles.
    pub fn participants(&self) -> BTreeMap<Address, Roles> {
        let mut all = BTreeMap::<Address, Roles>::new();
        self.each_participant(&mut |address, roles| *all.entry(address).or_default() |= roles);
        all
    }

    /// The roles of an address in the transaction, as [`Self::participants`] has them; `None` if it
    /// does not take part.
    pub fn roles_of(&self, address: Address) -> Option<Roles> {
        let mut all = Roles::default();
        self.each_participant(&mut |found, roles| {
            if found == address {
                all |= roles;
            }
        });
        all.among(Roles::ALL)
    }

    /// Calls `add` for every end of the transaction and of the calls inside of it.
    fn each_participant(&self, add: &mut dyn FnMut(Address, Roles)) {
        let transaction = &self.transaction;
        add(transaction.caller, Roles::SENDER);
        match transaction.to {
            Some(to) => add(to, Roles::RECEIVER),
            None => add(transaction.caller.create(transaction.nonce), Roles::CREATED),
        }
        for (number, frame) in self.frames.iter().flat_map(|it| it.iter()).enumerate() {
            // The outermost frame is the transaction itself.
            if number > 0 {
                add(frame.caller, Roles::INSIDE);
                add(frame.address, Roles::INSIDE);
                if frame.is_creation() && !frame.is_reverted {
                    add(frame.address, Roles::CREATED_INSIDE);
                }
            }
            if frame.code_address != frame.address {
                add(frame.code_address, Roles::INSIDE);
            }
            if let Some(destruction) = frame.destruction {
                add(destruction.beneficiary, Roles::INSIDE);
            }
        }
    }
}
