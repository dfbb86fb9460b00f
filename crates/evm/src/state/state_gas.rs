//! The state gas of a transaction (EIP-8037): a second meter, for growth of the state.
//!
//! It is paid from a *reservoir* that all frames share, then from the gas of the frame. State that is
//! undone is not paid: when a frame fails, the state gas that it and its callees spent is returned
//! to the reservoir, even if a frame had paid it.

use super::journal::{Checkpoint, Journal};

/// The state gas that a transaction has and has spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StateGas {
    /// The gas left, in addition to the gas of frames.
    pub(crate) reservoir: i64,
    pub(crate) spent: Spent,
    /// The gas that entered the reservoir, or left it if negative, and counts as neither kind of gas.
    pub(crate) neither: i64,
}

/// The part that a checkpoint records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    /// The gas used, without the gas given back.
    pub(crate) used: i64,
    /// The gas given back within frames.
    given_back: i64,
    /// The gas still to be given back: a frame gives back at most the gas that it and its callees
    /// spent.
    owed: i64,
}

impl StateGas {
    /// Takes `gas` from the reservoir, then from `frame_gas`. Returns the part of the frame; `None` if
    /// both together do not suffice.
    pub(crate) fn take(&mut self, gas: i64, frame_gas: i64) -> Option<i64> {
        let of_frame = (gas - self.reservoir).max(0);
        if of_frame > frame_gas {
            return None;
        }
        self.spent.used += gas;
        self.reservoir -= gas - of_frame;
        Some(of_frame)
    }

    /// Gives back `gas` to the frame that began at `begin`. The part that this frame has not spent is
    /// owed to its callers.
    pub(crate) fn give_back(&mut self, gas: i64, begin: &Checkpoint) {
        let now = gas.min(self.spent.used - begin.spent.used);
        self.reservoir += now;
        self.spent.used -= now;
        self.spent.given_back += now;
        self.spent.owed += gas - now;
    }

    /// Begins a frame, in which nothing is owed.
    pub(crate) fn begin_frame(&mut self) {
        self.spent.owed = 0;
    }

    /// Ends a frame that began at `begin` and succeeded. Its caller gives back what the frame owes.
    pub(crate) fn end_frame(&mut self, begin: &Checkpoint, caller: &Checkpoint) {
        let owed = std::mem::replace(&mut self.spent.owed, begin.spent.owed);
        if owed > 0 {
            self.give_back(owed, caller);
        }
    }

    /// Before the outermost frame is undone: the gas that was given back within it is kept.
    pub(crate) fn keep_given_back(&mut self) {
        self.spent.given_back = 0;
    }

    /// Undoes a frame that began at `begin` and failed. Takes the gas that was given back within it
    /// again, as far as there is any: a frame that sets and clears a slot in a loop is given back the
    /// same gas many times. The draft does not define that case; its numbers would underflow.
    pub(super) fn undo(&mut self, begin: &Spent) {
        let returned = self.reservoir + self.spent.used - begin.used;
        let taken = (self.spent.given_back - begin.given_back).min(returned);
        self.reservoir = returned - taken;
        self.neither -= taken;
        self.spent = *begin;
    }
}

impl Journal {
    /// The accounts that `SELFDESTRUCT` deletes at the end of this transaction, sorted by address.
    pub(crate) fn destroyed_now(&self) -> Vec<u32> {
        let mut destroyed: Vec<_> = (self.touched.iter().copied())
            .filter(|account| self.account(*account).destroyed == self.transaction)
            .collect();
        destroyed.sort_unstable_by_key(|account| self.account(*account).address);
        // An account that was touched, undone and touched again is there twice.
        destroyed.dedup();
        destroyed
    }

    /// The number of slots of an account that were read and are not zero.
    pub(crate) fn slots_in_use(&self, account: u32) -> i64 {
        let slots = self.slots_of(account);
        slots.filter(|slot| !slot.present.is_zero()).count() as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(state_gas: &StateGas) -> Checkpoint {
        let state_gas = *state_gas;
        let journal = Journal {
            state_gas,
            ..Journal::default()
        };
        journal.checkpoint()
    }

    #[test]
    fn reservoir_is_never_negative() {
        let mut state_gas = StateGas::default();
        let caller = at(&state_gas);
        let mut frame_gas = 30;
        for _ in 0..3 {
            frame_gas -= state_gas.take(10, frame_gas).unwrap();
            state_gas.give_back(10, &caller);
        }
        assert_eq!((state_gas.reservoir, frame_gas), (10, 20));
        state_gas.undo(&caller.spent);
        assert_eq!((state_gas.reservoir, state_gas.neither), (0, -10));
    }

    #[test]
    fn reservoir_is_used_first() {
        let mut state_gas = StateGas {
            reservoir: 10,
            ..StateGas::default()
        };
        assert_eq!(state_gas.take(7, 0), Some(0));
        assert_eq!(state_gas.take(7, 3), None);
        assert_eq!(state_gas.take(7, 4), Some(4));
        assert_eq!((state_gas.reservoir, state_gas.spent.used), (0, 14));
        let before = at(&StateGas::default());
        state_gas.undo(&before.spent);
        assert_eq!((state_gas.reservoir, state_gas.spent.used), (14, 0));
    }

    #[test]
    fn caller_gives_back_what_its_callee_did_not_spend() {
        let mut state_gas = StateGas {
            reservoir: 10,
            ..StateGas::default()
        };
        let caller = at(&state_gas);
        state_gas.take(10, 0).unwrap();
        let callee = at(&state_gas);
        state_gas.begin_frame();
        state_gas.give_back(10, &callee);
        assert_eq!(state_gas.reservoir, 0);
        state_gas.end_frame(&callee, &caller);
        assert_eq!((state_gas.reservoir, state_gas.spent.used), (10, 0));
        // If the caller then fails, the gas is spent after all.
        state_gas.undo(&caller.spent);
        assert_eq!((state_gas.reservoir, state_gas.neither), (0, -10));
    }
}
