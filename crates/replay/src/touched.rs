//! The accounts and slots that a transaction names, with their values before it, in the form of
//! `debug_traceTransaction` with `prestateTracer`.

use crate::AccountFields;
use alloy_primitives::{Address, B256, U256};
use std::collections::{BTreeMap, BTreeSet};
use txgraph_evm::{
    Block, FrameKind, FrameStart, Inspector, State, StateSource, Step, Transaction, Transition,
    delegate,
    opcode::{
        BALANCE, CALL, CALLCODE, DELEGATECALL, EXTCODECOPY, EXTCODEHASH, EXTCODESIZE, SELFDESTRUCT,
        SLOAD, SSTORE, STATICCALL,
    },
};

/// The accounts and slots that the instructions of a transaction name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// The accounts that instructions read, call or destroy, and the slots that they use, even if they halt.
    pub slots: BTreeMap<Address, BTreeSet<B256>>,
    /// The existing accounts before the transaction: the named ones, its sender, recipient and beneficiary, the
    /// signers of its authorizations, and contracts that it created. With the used slots, which may be zero.
    /// Without what only instructions name that halt.
    pub before: BTreeMap<Address, AccountFields>,
    /// The same as `slots`, without instructions that halt.
    used: BTreeMap<Address, BTreeSet<B256>>,
    called: BTreeSet<Address>,
    created: BTreeSet<Address>,
    /// The account and slot that the present instruction names.
    named: Option<(Address, Option<B256>)>,
}

impl Touched {
    /// Looks up the accounts in the state before the transaction, whose changes are `transitions`.
    pub(crate) fn look_up<S: StateSource>(
        &mut self,
        state: &mut State<S>,
        block: &Block,
        transaction: &Transaction,
        transitions: &[Transition],
    ) -> Result<(), S::Error> {
        let mut wanted = std::mem::take(&mut self.used);
        let authorizations = transaction.authorizations.iter();
        let signers = authorizations.filter_map(|authorization| authorization.authority);
        let named = [Some(transaction.caller), transaction.to]
            .into_iter()
            .flatten()
            .chain([block.beneficiary])
            .chain(signers)
            .chain(self.created.iter().copied());
        let mut delegates = Vec::new();
        for address in &self.called {
            delegates.extend(delegate(&state.code(*address)?));
            let after = transitions.iter().find(|it| it.address == *address);
            let after = after.and_then(|it| it.code_after.as_ref());
            delegates.extend(after.and_then(|code| delegate(code)));
        }
        for address in named.chain(delegates) {
            wanted.entry(address).or_default();
        }
        for (address, slots) in wanted {
            let Some(account) = state.account(address)?.filter(|it| !it.is_empty()) else {
                continue;
            };
            let code = state.code(address)?;
            let mut storage = BTreeMap::new();
            for slot in slots {
                let value = state.storage(address, slot.into())?;
                storage.insert(slot, value.into());
            }
            let fields = AccountFields::of(account, Some(code), storage);
            self.before.insert(address, fields);
        }
        Ok(())
    }
}

fn add(slots: &mut BTreeMap<Address, BTreeSet<B256>>, (address, slot): (Address, Option<B256>)) {
    slots.entry(address).or_default().extend(slot);
}

impl Inspector for Touched {
    fn needs_steps(&self) -> bool {
        true
    }

    fn step(&mut self, step: &Step<'_>) {
        let account = |word: [u64; 4]| (Address::from_word(U256::from_limbs(word).into()), None);
        self.named = match (step.opcode, step.stack) {
            (SLOAD | SSTORE, [.., slot]) => {
                let slot = U256::from_limbs(*slot).into();
                Some((step.address, Some(slot)))
            }
            (EXTCODECOPY | EXTCODEHASH | EXTCODESIZE | BALANCE | SELFDESTRUCT, [.., address]) => {
                Some(account(*address))
            }
            (CALL | CALLCODE | DELEGATECALL | STATICCALL, [.., _, _, _, address, _]) => {
                Some(account(*address))
            }
            _ => None,
        };
        if let Some(named) = self.named {
            add(&mut self.slots, named);
        }
    }

    fn step_end(&mut self, _: u64) {
        if let Some(named) = self.named.take() {
            add(&mut self.used, named);
        }
    }

    fn enter(&mut self, frame: &FrameStart<'_>) {
        match frame.kind {
            FrameKind::Create | FrameKind::Create2 => self.created.insert(frame.address),
            _ => self.called.insert(frame.code_address),
        };
    }
}
