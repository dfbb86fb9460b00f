//! The access list of a block (EIP-7928): the accounts and slots that it accessed, and their
//! values after each step. Step 0 is before the transactions, step n is the n-th
//! transaction, and the last step is after the transactions.

use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256, keccak256};
use alloy_rlp::Encodable;
use std::collections::{BTreeMap, BTreeSet};
use txgraph_evm::{Account, Transition};

/// Collects what a block changes, then what it only accesses.
#[derive(Clone, Debug, Default)]
pub struct AccessList {
    step: u32,
    /// Changes of the current step.
    changed: BTreeMap<Address, Changed>,
    accounts: BTreeMap<Address, Changes>,
}

/// The changes of an account in one step, which may contain several calls.
#[derive(Clone, Debug, Default)]
struct Changed {
    before: Option<Account>,
    after: Option<Account>,
    code: Bytes,
    /// Values by key, before and after.
    slots: BTreeMap<U256, (U256, U256)>,
}

/// The changes of an account in all steps. Each value has its step.
#[derive(Clone, Debug, Default)]
struct Changes {
    written: BTreeMap<U256, Vec<(u32, U256)>>,
    read: BTreeSet<U256>,
    balances: Vec<(u32, U256)>,
    nonces: Vec<(u32, u64)>,
    codes: Vec<(u32, Bytes)>,
}

impl AccessList {
    /// Adds changes to the current step.
    pub fn record(&mut self, transitions: &[Transition]) {
        for transition in transitions {
            let entry = self.changed.entry(transition.address);
            let changed = entry.or_insert_with(|| Changed {
                before: transition.before,
                ..Changed::default()
            });
            changed.after = transition.after;
            if let Some(code) = &transition.code_after {
                changed.code = code.clone();
            }
            for slot in &transition.slots {
                let values = changed.slots.entry(slot.key);
                values.or_insert((slot.original, U256::ZERO)).1 = slot.present;
            }
        }
    }

    /// Ends the current step.
    pub fn end_step(&mut self) {
        let step = self.step;
        for (address, changed) in std::mem::take(&mut self.changed) {
            let changes = self.accounts.entry(address).or_default();
            let before = changed.before.unwrap_or_default();
            let after = changed.after.unwrap_or_default();
            if after.balance != before.balance {
                changes.balances.push((step, after.balance));
            }
            if after.nonce != before.nonce {
                changes.nonces.push((step, after.nonce));
            }
            if after.code_hash != before.code_hash {
                let code = match after.code_hash {
                    KECCAK256_EMPTY => Bytes::new(),
                    _ => changed.code,
                };
                changes.codes.push((step, code));
            }
            for (key, (before, after)) in changed.slots {
                if after != before {
                    changes.written.entry(key).or_default().push((step, after));
                }
            }
        }
        self.step += 1;
    }

    /// Adds all accesses, after the last step. Slots that were not written become reads.
    pub fn accessed(&mut self, accesses: Vec<(Address, Vec<U256>)>) {
        for (address, keys) in accesses {
            let changes = self.accounts.entry(address).or_default();
            let read = keys
                .into_iter()
                .filter(|key| !changes.written.contains_key(key));
            changes.read = read.collect();
        }
    }

    /// Whether a block with this gas limit may access as much: an item per 2,000 gas.
    pub fn fits(&self, gas_limit: u64) -> bool {
        const GAS_PER_ITEM: u64 = 2_000;
        self.items() as u64 <= gas_limit / GAS_PER_ITEM
    }

    /// The number of accounts and slots.
    pub fn items(&self) -> usize {
        let slots = |changes: &Changes| changes.written.len() + changes.read.len();
        self.accounts.values().map(|it| 1 + slots(it)).sum()
    }

    /// The hash that the header stores.
    pub fn hash(&self) -> B256 {
        let accounts = self.accounts.iter();
        keccak256(list(accounts.map(|(address, changes)| {
            list([
                alloy_rlp::encode(address),
                list(changes.written.iter().map(|(key, values)| {
                    let values = list(values.iter().map(stepped));
                    list([alloy_rlp::encode(key), values])
                })),
                list(changes.read.iter().map(alloy_rlp::encode)),
                list(changes.balances.iter().map(stepped)),
                list(changes.nonces.iter().map(stepped)),
                list(changes.codes.iter().map(stepped)),
            ])
        })))
    }
}

fn stepped(change: &(u32, impl Encodable)) -> Vec<u8> {
    list([alloy_rlp::encode(change.0), alloy_rlp::encode(&change.1)])
}

/// The RLP of a list whose items are already RLP.
fn list(items: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    let payload: Vec<u8> = items.into_iter().flatten().collect();
    let header = alloy_rlp::Header {
        list: true,
        payload_length: payload.len(),
    };
    let mut rlp = Vec::with_capacity(payload.len() + 9);
    header.encode(&mut rlp);
    rlp.extend(payload);
    rlp
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::b256;
    use txgraph_evm::SlotChange;

    const ACCOUNT: Address = Address::repeat_byte(1);

    fn transition(balance: (u64, u64), slot: (u64, u64)) -> Transition {
        let account = |balance: u64| {
            Some(Account {
                balance: U256::from(balance),
                ..Account::default()
            })
        };
        Transition {
            address: ACCOUNT,
            before: account(balance.0),
            after: account(balance.1),
            code_before: None,
            code_after: None,
            created: false,
            destroyed: false,
            slots: vec![SlotChange {
                key: U256::from(7),
                original: U256::from(slot.0),
                present: U256::from(slot.1),
            }],
        }
    }

    #[test]
    fn empty_list_has_the_known_hash() {
        let empty = b256!("1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347");
        assert_eq!(AccessList::default().hash(), empty);
    }

    #[test]
    fn values_restored_within_a_step_count_as_read() {
        let mut list = AccessList::default();
        list.record(&[transition((5, 4), (0, 1))]);
        list.record(&[transition((4, 5), (1, 0))]);
        list.end_step();
        list.record(&[transition((5, 6), (0, 2))]);
        list.end_step();
        let changes = &list.accounts[&ACCOUNT];
        assert_eq!(changes.balances, [(1, U256::from(6))]);
        assert_eq!(changes.written[&U256::from(7)], [(1, U256::from(2))]);
        list.accessed(vec![(ACCOUNT, vec![U256::from(7), U256::from(8)])]);
        assert_eq!(list.accounts[&ACCOUNT].read, [U256::from(8)].into());
        assert_eq!(list.items(), 3);
    }
}
