//! The journaled state of a block: everything that was read and changed, over a source that is never
//! written.

mod accounts;
mod changes;
mod codes;
mod entry;
mod journal;
mod keys;
mod overrides;
mod state_gas;
mod storage;
mod transition;
mod warm_set;

pub use changes::{AccountChange, SlotChange, Transition};
pub(crate) use codes::NO_CODE;
pub(crate) use journal::{Checkpoint, Journal, log_bytes};
pub use overrides::AccountOverride;
pub(crate) use state_gas::StateGas;

use crate::{
    fork::Fork,
    source::{Account, Erased, StateSource},
};
use alloy_primitives::{Address, Bytes, U256};

/// A state that reads from `S`, everything at most once, and keeps all changes in memory. It covers
/// the transactions of one block or of several.
#[derive(Debug)]
pub struct State<S> {
    pub(crate) journal: Journal,
    pub(crate) source: S,
}

/// The memory of a [`State`], for reuse by the next one. Without it, each state of a loop over
/// blocks allocates and clears new pages.
#[derive(Debug, Default)]
pub struct StateMemory(Journal);

impl<S: StateSource> State<S> {
    /// Creates a state without changes.
    pub fn new(source: S) -> Self {
        Self::with_memory(source, StateMemory::default())
    }

    /// Creates a state without changes in the memory of an earlier one.
    pub fn with_memory(source: S, memory: StateMemory) -> Self {
        let StateMemory(journal) = memory;
        Self { journal, source }
    }

    /// Discards everything that was read and changed, and returns the memory.
    pub fn into_memory(mut self) -> StateMemory {
        self.journal.clear();
        self.journal.keep_transitions(false);
        StateMemory(self.journal)
    }

    /// The source.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// The source. Changes to parts that were already read have no effect on this state.
    pub fn source_mut(&mut self) -> &mut S {
        &mut self.source
    }

    /// Returns the present account.
    pub fn account(&mut self, address: Address) -> Result<Option<Account>, S::Error> {
        self.read(|journal, source| {
            let id = journal.load(source, address)?;
            Ok(journal.account(id).present())
        })
    }

    /// Returns the present value of a slot.
    pub fn storage(&mut self, address: Address, key: U256) -> Result<U256, S::Error> {
        self.read(|journal, source| {
            let id = journal.load(source, address)?;
            let slot = journal.slot(source, id, key.into())?;
            Ok(journal.slot_value(slot).u256())
        })
    }

    /// Returns the present code of an account.
    pub fn code(&mut self, address: Address) -> Result<Bytes, S::Error> {
        self.read(|journal, source| {
            let id = journal.load(source, address)?;
            journal.code_bytes(source, id)
        })
    }

    /// Adds wei outside of transactions: withdrawals (EIP-4895), block rewards. An account that stays
    /// empty is created before EIP-161 and deleted since, by the rules of `fork`.
    pub fn increase_balance(
        &mut self,
        fork: Fork,
        address: Address,
        amount: U256,
    ) -> Result<(), S::Error> {
        self.read(|journal, source| {
            let id = journal.load(source, address)?;
            journal.mark_accessed(id);
            journal.add_balance(id, amount.into());
            journal.finish_transaction(fork);
            Ok(())
        })
    }

    /// Removes all wei from an account outside of transactions, and returns the amount (EIP-779, the
    /// DAO fork).
    pub fn drain_balance(&mut self, fork: Fork, address: Address) -> Result<U256, S::Error> {
        self.read(|journal, source| {
            let id = journal.load(source, address)?;
            let balance = journal.account(id).balance;
            let all = journal.subtract_balance(id, balance);
            debug_assert!(all, "an account has its own balance");
            journal.finish_transaction(fork);
            Ok(balance.u256())
        })
    }

    /// Sets whether [`transitions`](Self::transitions) are kept. They cost one pass over the changes of
    /// each transaction.
    pub fn keep_transitions(&mut self, keep: bool) {
        self.journal.keep_transitions(keep);
    }

    /// The changes by the last transaction, system call or other change, sorted by address. Empty
    /// unless they are [kept](Self::keep_transitions).
    pub fn transitions(&self) -> &[Transition] {
        self.journal.transitions()
    }

    /// The accounts that were accessed, sorted by address, each with its accessed slots, sorted by key.
    /// Includes accesses by frames that were undone (EIP-7928). Excludes entries of access lists and
    /// reads that were not paid for.
    pub fn accesses(&self) -> Vec<(Address, Vec<U256>)> {
        self.journal.accesses()
    }

    /// The differences from the source, sorted by address.
    pub fn changes(&self) -> Vec<AccountChange> {
        self.journal.changes()
    }

    /// Discards everything that was read and changed. Allocations are kept for the next block.
    pub fn clear(&mut self) {
        self.journal.clear();
    }

    fn read<T>(
        &mut self,
        read: impl FnOnce(&mut Journal, &mut Erased<'_, S>) -> Result<T, crate::source::Failed>,
    ) -> Result<T, S::Error> {
        let mut source = Erased::new(&mut self.source);
        read(&mut self.journal, &mut source).map_err(|failed| source.into_error(failed))
    }
}
