//! Ids of addresses while partitions are written: one thread at a time, in the order of the
//! partitions, so that ids do not depend on threads.

use crate::error::{Error, Result};
use alloy_primitives::Address;
use std::{
    cell::Cell,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use txgraph_base::{Interner, InternerFull};
use txgraph_transfers::SourceError;
use txgraph_work::CancelFlag;

/// The longest wait until the cancel flag is checked.
const WAIT: Duration = Duration::from_millis(50);

/// The ids of all addresses of a lake. An id is the number of an address in the order in which
/// partitions introduce them, and in ascending order within a partition.
#[derive(Debug, Default)]
pub(crate) struct Ids(Interner<Address>);

/// The ids of a partition's addresses.
pub(crate) struct PartitionIds {
    /// The id of the first new address.
    pub(crate) first_new: u64,
    /// The addresses that were not in an earlier partition, ascending.
    pub(crate) new: Vec<Address>,
    /// The ids of the addresses that were given, in their order.
    pub(crate) ids: Vec<u64>,
}

impl Ids {
    /// The number of addresses.
    pub(crate) fn len(&self) -> u64 {
        self.0.len() as u64
    }

    /// Adds an address, which has the next id if it is new. Returns its id.
    pub(crate) fn add(&mut self, address: Address) -> Result<u64, InternerFull> {
        self.0.intern(address).map(u64::from)
    }

    /// Gives ids to the addresses of a partition, which are ascending and different.
    pub(crate) fn assign(&mut self, addresses: &[Address]) -> Result<PartitionIds, InternerFull> {
        let first_new = self.len();
        let mut ids = Vec::with_capacity(addresses.len());
        self.0.intern_all(addresses, &mut ids)?;
        let ids: Vec<u64> = ids.into_iter().map(u64::from).collect();
        // Each address is given once, so those with a new id are new.
        let is_new = |(address, id): (&Address, &u64)| (*id >= first_new).then_some(*address);
        let new = addresses.iter().zip(&ids).filter_map(is_new).collect();
        Ok(PartitionIds {
            first_new,
            new,
            ids,
        })
    }
}

/// Ids that several threads use in turn.
#[derive(Debug)]
pub(crate) struct Turns {
    state: Mutex<(Ids, Turn)>,
    changed: Condvar,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// The number of the next one.
    Next(usize),
    /// A worker failed.
    Failed,
}

impl Turns {
    pub(crate) fn new(ids: Ids) -> Self {
        Self {
            state: Mutex::new((ids, Turn::Next(0))),
            changed: Condvar::new(),
        }
    }

    /// The place of a job in the order. The jobs before it must have begun.
    pub(crate) const fn place(&self, number: usize) -> Place<'_> {
        Place {
            turns: self,
            number,
            is_done: Cell::new(false),
        }
    }

    fn lock(&self) -> MutexGuard<'_, (Ids, Turn)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of a job. The next job waits until it is [done](Self::done). Dropped before that,
/// it makes all later jobs fail.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    turns: &'a Turns,
    number: usize,
    is_done: Cell<bool>,
}

impl Place<'_> {
    /// Waits for the turn and gives ids to the addresses of a partition.
    pub(crate) fn assign(
        &self,
        addresses: &[Address],
        block: u64,
        cancel: &CancelFlag,
    ) -> Result<PartitionIds> {
        let mut state = self.turns.lock();
        loop {
            if state.1 == Turn::Failed || cancel.is_canceled() {
                return Err(SourceError::Interrupted.into());
            }
            if state.1 == Turn::Next(self.number) {
                return state.0.assign(addresses).map_err(|_| Error::TooMany {
                    block,
                    what: "addresses",
                });
            }
            let waited = self.turns.changed.wait_timeout(state, WAIT);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Ends the turn, if it has not ended.
    pub(crate) fn done(&self) {
        if self.is_done.replace(true) {
            return;
        }
        let mut state = self.turns.lock();
        if state.1 == Turn::Next(self.number) {
            state.1 = Turn::Next(self.number + 1);
        }
        drop(state);
        self.turns.changed.notify_all();
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if !self.is_done.get() {
            self.turns.lock().1 = Turn::Failed;
            self.turns.changed.notify_all();
        }
    }
}
