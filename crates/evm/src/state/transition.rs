//! The changes by one transaction, computed from the journal.

use super::{
    changes::{SlotChange, Transition},
    entry::{AccountEntry, Change},
    journal::Journal,
};
use crate::{source::Account, word::Word};
use alloy_primitives::B256;
use std::collections::BTreeMap;

/// An account and its written slots before a transaction.
#[derive(Debug)]
pub(super) struct Before {
    exists: bool,
    balance: Word,
    nonce: u64,
    code_hash: B256,
    code: Option<u32>,
    /// By number: the value before the transaction, and at its end, before deletions.
    slots: BTreeMap<u32, (Word, Word)>,
}

impl From<&AccountEntry> for Before {
    fn from(entry: &AccountEntry) -> Self {
        Self {
            exists: entry.exists,
            balance: entry.balance,
            nonce: entry.nonce,
            code_hash: entry.code_hash,
            code: entry.code,
            slots: BTreeMap::new(),
        }
    }
}

impl Journal {
    pub(super) fn keep_transitions(&mut self, keep: bool) {
        self.transitions = keep.then(Vec::new);
    }

    pub(super) fn transitions(&self) -> &[Transition] {
        self.transitions.as_deref().unwrap_or_default()
    }

    /// The changed accounts before the transaction: undoes the journal on copies. To be called before
    /// anything is deleted.
    pub(super) fn before(&self) -> BTreeMap<u32, Before> {
        let mut all: BTreeMap<u32, Before> = BTreeMap::new();
        let mut of = |account: u32, undo: &mut dyn FnMut(&mut Before)| {
            undo(
                all.entry(account)
                    .or_insert_with(|| self.account(account).into()),
            );
        };
        for change in self.changes.iter().rev() {
            match change {
                Change::Touched { account, existed } => of(*account, &mut |b| b.exists = *existed),
                Change::Balance { account, before } => of(*account, &mut |b| b.balance = *before),
                Change::Nonce { account, before } => of(*account, &mut |b| b.nonce = *before),
                Change::Code { account, before } => of(*account, &mut |b| {
                    (b.code_hash, b.code) = **before;
                }),
                Change::Slot { slot, before } => {
                    let entry = &self.slots[*slot as usize];
                    of(entry.account, &mut |b| {
                        let values = b.slots.entry(*slot);
                        values.or_insert((Word::ZERO, entry.present)).0 = *before;
                    });
                }
                Change::AccountWarmed { .. }
                | Change::SlotWarmed { .. }
                | Change::Created { .. }
                | Change::Destroyed { .. }
                | Change::Transient { .. } => {}
            }
        }
        all
    }

    /// The changes since `before`. To be called after all deletions.
    pub(super) fn since(&self, before: BTreeMap<u32, Before>) -> Vec<Transition> {
        let mut transitions: Vec<_> = before
            .into_iter()
            .filter_map(|(account, before)| self.transition(self.account(account), before))
            .collect();
        transitions.sort_unstable_by_key(|transition| transition.address);
        transitions
    }

    fn transition(&self, entry: &AccountEntry, before: Before) -> Option<Transition> {
        let account = before.exists.then(|| Account {
            balance: before.balance.u256(),
            nonce: before.nonce,
            code_hash: before.code_hash,
        });
        let mut slots: Vec<_> = (before.slots.into_iter())
            .filter(|(_, (original, end))| original != end)
            .map(|(slot, (original, _))| {
                let slot = &self.slots[slot as usize];
                SlotChange {
                    key: slot.key.u256(),
                    original: original.u256(),
                    present: slot.present.u256(),
                }
            })
            .collect();
        slots.sort_unstable_by_key(|slot| slot.key);
        let destroyed = entry.destroyed == self.transaction;
        let after = entry.present();
        if account == after && slots.is_empty() && !destroyed {
            return None;
        }
        let code_changed = entry.code_hash != before.code_hash;
        let code_of = |code: Option<u32>| code.map(|code| self.codes.get(code).bytes().clone());
        Some(Transition {
            address: entry.address,
            before: account,
            after,
            code_before: code_of(before.code),
            code_after: code_changed.then(|| code_of(entry.code).unwrap_or_default()),
            created: entry.created == self.transaction,
            destroyed,
            slots,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::{Account, Block, Evm, Fork, MemoryState, Message, SlotChange, State};
    use alloy_primitives::{Address, U256, bytes};

    const CONTRACT: Address = Address::repeat_byte(0xcc);
    const BENEFICIARY: Address = Address::with_last_byte(0xbb);

    /// A contract with 7 wei, 5 in slot 1 and 9 in slot 2. It writes 6 into slot 1 and destroys
    /// itself.
    fn state() -> State<MemoryState> {
        let mut source = MemoryState::default();
        let code = bytes!("60066001556002545060bbff");
        source.insert(CONTRACT, U256::from(7), 1, code);
        source.set_storage(CONTRACT, U256::from(1), U256::from(5));
        source.set_storage(CONTRACT, U256::from(2), U256::from(9));
        let mut state = State::new(source);
        state.keep_transitions(true);
        state
    }

    fn call(state: &mut State<MemoryState>, fork: Fork, gas_limit: u64) {
        let message = Message {
            to: Some(CONTRACT),
            gas_limit,
            ..Message::default()
        };
        let block = Block::default();
        Evm::new(fork, 1).call(state, &block, &message).unwrap();
    }

    #[test]
    fn destroyed_account_keeps_its_values_before() {
        let mut state = state();
        call(&mut state, Fork::London, 100_000);
        let [beneficiary, contract] = state.transitions() else {
            panic!("two accounts: {:?}", state.transitions());
        };
        assert_eq!(
            (beneficiary.address, beneficiary.before),
            (BENEFICIARY, None)
        );
        assert_eq!(beneficiary.after.unwrap().balance, U256::from(7));
        assert_eq!((contract.address, contract.after), (CONTRACT, None));
        let before = contract.before.unwrap();
        assert_eq!((before.balance, before.nonce), (U256::from(7), 1));
        assert!(contract.destroyed && contract.code_before.is_some());
        let slot = SlotChange {
            key: U256::from(1),
            original: U256::from(5),
            present: U256::ZERO,
        };
        assert_eq!(contract.slots, [slot], "slot 2 was only read");
    }

    #[test]
    fn account_is_not_destroyed_since_cancun() {
        let mut state = state();
        call(&mut state, Fork::Cancun, 100_000);
        let contract = &state.transitions()[1];
        assert!(!contract.destroyed && contract.after.unwrap().balance.is_zero());
        assert_eq!(contract.slots[0].present, U256::from(6));
    }

    #[test]
    fn undone_changes_are_no_transitions() {
        let mut state = state();
        call(&mut state, Fork::London, 6_000);
        assert_eq!(state.transitions(), []);
        call(&mut state, Fork::London, 100_000);
        assert_eq!(state.transitions().len(), 2);
        let drained = state.drain_balance(Fork::London, BENEFICIARY).unwrap();
        assert_eq!(drained, U256::from(7));
        let [beneficiary] = state.transitions() else {
            panic!("one account");
        };
        assert_eq!(
            (beneficiary.before.map(|a| a.balance), beneficiary.after),
            (Some(drained), None)
        );
    }

    /// A contract that calls a second contract, then `0x03` with `value` wei. The second contract calls
    /// `0x03` without wei and reverts.
    fn touches_ripemd(value: u8) -> MemoryState {
        const REVERTS: Address = Address::repeat_byte(0xdd);
        let mut source = MemoryState::default();
        // CALL(gas, 0x03, 0, nothing in, nothing out), REVERT(0, 0)
        let code = bytes!("6000600060006000600060035af160006000fd");
        source.insert(REVERTS, U256::ZERO, 1, code);
        // CALL(gas, REVERTS, 0), CALL(gas, 0x03, value)
        let mut code = bytes!("6000600060006000600073").to_vec();
        code.extend(REVERTS);
        code.extend(bytes!("5af1506000600060006000"));
        code.extend([0x60, value]);
        code.extend(bytes!("60035af1"));
        source.insert(CONTRACT, U256::from(7), 1, code.into());
        source
    }

    #[test]
    fn account_3_can_be_touched_after_an_undone_touch() {
        let ripemd = Address::with_last_byte(3);
        let mut state = State::new(touches_ripemd(5));
        call(&mut state, Fork::Berlin, 200_000);
        let changes = state.changes();
        let change = changes.iter().find(|change| change.address == ripemd);
        assert_eq!(change.unwrap().present.unwrap().balance, U256::from(5));
    }

    /// Block 2,675,119 of mainnet.
    #[test]
    fn empty_account_3_is_deleted_after_an_undone_touch() {
        let ripemd = Address::with_last_byte(3);
        let mut source = touches_ripemd(0);
        source.insert(ripemd, U256::ZERO, 0, bytes!(""));
        // Only the call that reverts.
        let code = source.codes[&source.accounts[&CONTRACT].code_hash].slice(..33);
        source.insert(CONTRACT, U256::from(7), 1, code);
        for (fork, is_deleted) in [
            (Fork::TangerineWhistle, false),
            (Fork::SpuriousDragon, true),
        ] {
            let mut state = State::new(source.clone());
            state.keep_transitions(true);
            // Before Byzantium `REVERT` is an invalid opcode, which undoes changes too.
            call(&mut state, fork, 200_000);
            let has_transition = state.transitions().iter().any(|transition| {
                transition.address == ripemd
                    && transition.before.is_some()
                    && transition.after.is_none()
            });
            assert_eq!(has_transition, is_deleted, "{fork:?}");
            let changes = state.changes();
            let has_change = changes.iter().any(|change| change.address == ripemd);
            assert_eq!(has_change, is_deleted, "{fork:?}");
        }
    }

    #[test]
    fn applied_changes_are_the_new_source() {
        let mut state = state();
        call(&mut state, Fork::Cancun, 100_000);
        let changes = state.changes();
        let mut source = state.source().clone();
        source.apply(&changes);
        assert!(State::new(source.clone()).changes().is_empty());
        assert_eq!(source.accounts[&BENEFICIARY].balance, U256::from(7));
        assert_eq!(source.storage[&CONTRACT][&U256::from(1)], U256::from(6));

        let mut state = self::state();
        call(&mut state, Fork::London, 100_000);
        let mut source = state.source().clone();
        source.apply(&state.changes());
        let beneficiary = Account {
            balance: U256::from(7),
            ..Account::default()
        };
        assert_eq!(source.accounts, [(BENEFICIARY, beneficiary)].into());
        assert!(source.storage.is_empty());
    }
}
