//! Joins transfers and changed slots whose values have an origin in common.

use super::{
    AmountTracer, Movement,
    origins::{Origin, Set},
};
use crate::TransactionReplay;
use alloy_primitives::{Address, B256, U256, map::HashMap};
use txgraph_transfers::{AmountFlows, ChangedSlot, FlowEnd, Transfer};

/// A write, the origins of its value, and whether a rising slot took from it.
struct Change {
    write: ChangedSlot,
    set: Set,
    is_taken: bool,
}

impl Change {
    /// By how much the slot fell.
    fn fall(&self) -> Option<U256> {
        let fall = self.write.before.checked_sub(self.write.after);
        fall.filter(|fall| !fall.is_zero())
    }
}

impl AmountTracer {
    /// The flows between `transfers` and storage in the traced transaction. Needs
    /// [`Record::frames`](field@crate::Record::frames) and
    /// [`Record::transitions`](field@crate::Record::transitions).
    ///
    /// Only writes and transfers with an origin in common are joined:
    ///
    /// - A rising slot takes from an earlier write by which a slot of the contract fell by the same amount, else
    ///   from the transfers to its contract, else from another falling slot.
    /// - A transfer from a contract takes from a falling slot of it, else from earlier transfers of the same
    ///   token to it. Of several falling slots, those from which no slot took are preferred, then those
    ///   that fell by the amount, then the smallest value, because it is the most specific: the total of a
    ///   contract falls together with the share of a user.
    ///
    /// `transfers` are in order.
    pub fn flows(&mut self, replay: &TransactionReplay, transfers: &[Transfer]) -> AmountFlows {
        let mut changes = self.changes(replay);
        let transfers = transfers.iter();
        let transfers: Vec<_> = transfers
            .filter(|it| it.from_address != it.to_address)
            .collect();
        let sets = self.transfer_sets(replay, &transfers);
        let ends = transfers.iter().map(|it| FlowEnd::Transfer(it.position()));
        let ends: Vec<_> = ends.collect();
        let mut flows = Vec::new();
        for number in 0..changes.len() {
            let Change { write, set, .. } = changes[number];
            let Some(rise) = write.after.checked_sub(write.before) else {
                continue;
            };
            let falling = self.falling(&changes, write.contract, set, |(other, change)| {
                let is_moved = change.fall() == Some(rise) && other < number;
                (change.is_taken, !is_moved, other.abs_diff(number))
            });
            let is_moved = |other: &usize| {
                let change = &changes[*other];
                !change.is_taken && change.fall() == Some(rise) && *other < number
            };
            let paid = transfers.iter().zip(&sets).zip(&ends);
            let paid = paid.filter(|((it, paid), _)| {
                it.to_address == write.contract && self.origins.meet(**paid, set)
            });
            let paid: Vec<_> = paid.map(|(_, end)| *end).collect();
            match falling {
                Some(other) if is_moved(&other) || paid.is_empty() => {
                    changes[other].is_taken = true;
                    flows.push((FlowEnd::Slot(other), FlowEnd::Slot(number)));
                }
                _ => flows.extend(paid.into_iter().map(|end| (end, FlowEnd::Slot(number)))),
            }
        }
        for (number, (transfer, set)) in transfers.iter().zip(&sets).enumerate() {
            let contract = transfer.from_address;
            let falling = self.falling(&changes, contract, *set, |(_, change)| {
                let is_whole = change.fall() == Some(transfer.value);
                (change.is_taken, !is_whole, change.write.before)
            });
            if let Some(slot) = falling {
                flows.push((FlowEnd::Slot(slot), ends[number]));
                continue;
            }
            let earlier = transfers.iter().zip(&sets).zip(&ends).take(number);
            let received = earlier.filter(|((it, received), _)| {
                it.to_address == contract
                    && it.token_address == transfer.token_address
                    && self.origins.meet(**received, *set)
            });
            flows.extend(received.map(|(_, end)| (*end, ends[number])));
        }
        let writes = changes.into_iter().map(|change| change.write).collect();
        AmountFlows { writes, flows }
    }

    /// The best of the writes by which a slot of a contract fell and that have an origin in common.
    fn falling<K: Ord>(
        &self,
        changes: &[Change],
        contract: Address,
        set: Set,
        key: impl Fn((usize, &Change)) -> K,
    ) -> Option<usize> {
        let all = changes.iter().enumerate().filter(|(_, change)| {
            change.write.contract == contract
                && change.fall().is_some()
                && self.origins.meet(change.set, set)
        });
        all.min_by_key(|it| key(*it)).map(|(number, _)| number)
    }

    /// The writes that changed a slot, in the order of execution.
    fn changes(&mut self, replay: &TransactionReplay) -> Vec<Change> {
        let mut values = HashMap::<(Address, U256), U256>::default();
        // The last word is the value before, unless the transaction changed it.
        for write in &self.writes {
            values.insert((write.contract, write.slot), write.value);
        }
        for transition in &replay.transitions {
            for change in &transition.slots {
                values.insert((transition.address, change.key), change.original);
            }
        }
        let mut changes = Vec::new();
        for write in &self.writes {
            let at = (write.contract, write.slot);
            let Some(before) = values.insert(at, write.value) else {
                continue;
            };
            if before == write.value {
                continue;
            }
            let mut set = write.set;
            if write.value < before {
                // A slot that is set to zero was paid out as it was.
                let itself = self.origins.one(Origin::Slot(write.contract, write.slot));
                set = self.origins.union(set, itself);
            }
            let key = self.keys.get(&write.slot);
            changes.push(Change {
                write: ChangedSlot {
                    contract: write.contract,
                    slot: write.slot,
                    key: key.and_then(|key| address_of(*key)),
                    before,
                    after: write.value,
                },
                set,
                is_taken: false,
            });
        }
        changes
    }

    /// The origins of the amounts of transfers.
    fn transfer_sets(&self, replay: &TransactionReplay, transfers: &[&Transfer]) -> Vec<Set> {
        // Both are in the order of execution; the traced ones contain more.
        let mut moved = self.movements.iter();
        let mut inside = Vec::new();
        for native in replay.internal_transfers(0) {
            let it = native.transfer;
            let same = |moved: &&Movement| {
                (moved.from, moved.to, moved.value) == (it.from_address, it.to_address, it.value)
            };
            inside.extend(moved.find(same).map(|moved| (it.sub_index, moved.set)));
        }
        let of = |transfer: &&Transfer| match (transfer.log_index, transfer.sub_index) {
            (Some(log), _) => {
                let at = log.checked_sub(replay.first_log);
                let at = at.and_then(|at| usize::try_from(at).ok());
                at.and_then(|at| self.logs.get(at)).copied()
            }
            (None, 0) => self.movements.first().map(|moved| moved.set),
            (None, sub) => {
                let found = inside.iter().find(|(number, _)| *number == sub);
                found.map(|(_, set)| *set)
            }
        };
        transfers
            .iter()
            .map(|it| of(it).unwrap_or_default())
            .collect()
    }
}

/// A word that is an address. Small numbers are more often other keys.
fn address_of(word: B256) -> Option<Address> {
    let address = Address::from_word(word);
    let is_address = word[..12].iter().all(|byte| *byte == 0) && address[..4] != [0; 4];
    is_address.then_some(address)
}
