//! The journaled state of a block: everything read and changed so far, over a source
//! that is never written.

mod accounts;
mod changes;
mod hash;
mod journal;
mod state_gas;
mod storage;
mod transition;

pub use changes::{AccountChange, SlotChange};
pub(crate) use journal::{Checkpoint, Journal, log_bytes};
pub(crate) use state_gas::StateGas;
pub use transition::Transition;

use crate::{
    fork::Fork,
    source::{Account, Erased, StateSource},
};
use alloy_primitives::{Address, Bytes, U256};

/// Reads what it must from `S`, once; keeps every change in memory. Lives as long as
/// the transactions of a block, or of several blocks.
#[derive(Debug)]
pub struct State<S> {
    pub(crate) journal: Journal,
    pub(crate) source: S,
}

impl<S: StateSource> State<S> {
    /// Nothing read yet.
    pub fn new(source: S) -> Self {
        Self {
            journal: Journal::default(),
            source,
        }
    }

    /// What lies below.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// What lies below; changes of what was read already are not noticed.
    pub fn source_mut(&mut self) -> &mut S {
        &mut self.source
    }

    /// The account now.
    pub fn account(&mut self, address: Address) -> Result<Option<Account>, S::Error> {
        self.read(|journal, source| {
            let id = journal.load(source, address)?;
            Ok(journal.account(id).present())
        })
    }

    /// The slot now.
    pub fn storage(&mut self, address: Address, key: U256) -> Result<U256, S::Error> {
        self.read(|journal, source| {
            let id = journal.load(source, address)?;
            let slot = journal.slot(source, id, key.into())?;
            Ok(journal.slot_value(slot).u256())
        })
    }

    /// The code now.
    pub fn code(&mut self, address: Address) -> Result<Bytes, S::Error> {
        self.read(|journal, source| {
            let id = journal.load(source, address)?;
            journal.code_bytes(source, id)
        })
    }

    /// Adds wei outside of any transaction: withdrawals (EIP-4895), block rewards. By
    /// the rules of `fork` an account that stays empty does not exist (EIP-161), or
    /// begins to (before it).
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

    /// Takes all wei from an account outside of any transaction, and tells how many
    /// (EIP-779, the DAO's).
    pub fn drain_balance(&mut self, fork: Fork, address: Address) -> Result<U256, S::Error> {
        self.read(|journal, source| {
            let id = journal.load(source, address)?;
            let balance = journal.account(id).balance;
            let all = journal.subtract_balance(id, balance);
            debug_assert!(all, "the balance is what it is");
            journal.finish_transaction(fork);
            Ok(balance.u256())
        })
    }

    /// Whether [`transitions`](Self::transitions) are kept from now on. They cost a pass
    /// over all that a transaction changed.
    pub fn keep_transitions(&mut self, keep: bool) {
        self.journal.keep_transitions(keep);
    }

    /// What the last transaction (or system call, or other change) did, by address; as
    /// long as they are [kept](Self::keep_transitions).
    pub fn transitions(&self) -> &[Transition] {
        self.journal.transitions()
    }

    /// Accounts that were accessed since the state was made, by address, each with its
    /// slots that were, by key; also by frames that were undone (EIP-7928). What was
    /// announced or looked at without being paid for is not among them.
    pub fn accesses(&self) -> Vec<(Address, Vec<U256>)> {
        self.journal.accesses()
    }

    /// What differs from the source, by address.
    pub fn changes(&self) -> Vec<AccountChange> {
        self.journal.changes()
    }

    /// Forgets everything read and changed; keeps its memory for the next block.
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
