//! State gas of a transaction (EIP-8037): a second meter, for what makes the state grow.
//!
//! It is paid of a *reservoir* that all frames share, then of the gas of the frame that
//! charges. State that is undone was not paid for: when a frame fails, what it and its
//! callees spent comes back, to the reservoir wherever it came from.

use super::journal::{Checkpoint, Journal};

/// What a transaction has and spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StateGas {
    /// Left, beside the gas of the frames.
    pub(crate) reservoir: i64,
    pub(crate) spent: Spent,
    /// Came into the reservoir, or left it, and is gas of neither kind.
    pub(crate) neither: i64,
}

/// What a checkpoint keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    /// Net of what was given back.
    pub(crate) used: i64,
    /// Given back within frames…
    given_back: i64,
    /// …and not yet: a frame gives back no more than it and its callees spent.
    owed: i64,
}

impl StateGas {
    /// Takes `gas` if the reservoir and `frame_gas` hold so much: what the frame pays.
    pub(crate) fn take(&mut self, gas: i64, frame_gas: i64) -> Option<i64> {
        let of_frame = (gas - self.reservoir).max(0);
        if of_frame > frame_gas {
            return None;
        }
        self.spent.used += gas;
        self.reservoir -= gas - of_frame;
        Some(of_frame)
    }

    /// Gives back `gas` to the frame that began at `begin`; what it has not spent is owed
    /// to its callers.
    pub(crate) fn give_back(&mut self, gas: i64, begin: &Checkpoint) {
        let now = gas.min(self.spent.used - begin.spent.used);
        self.reservoir += now;
        self.spent.used -= now;
        self.spent.given_back += now;
        self.spent.owed += gas - now;
    }

    /// A frame begins: nothing is owed in it.
    pub(crate) fn begin_frame(&mut self) {
        self.spent.owed = 0;
    }

    /// A frame succeeded, that began at `begin`; what it owes is its caller's to give back.
    pub(crate) fn end_frame(&mut self, begin: &Checkpoint, caller: &Checkpoint) {
        let owed = std::mem::replace(&mut self.spent.owed, begin.spent.owed);
        if owed > 0 {
            self.give_back(owed, caller);
        }
    }

    /// The outermost frame fails: nothing is taken again that was given back within it.
    pub(crate) fn keep_given_back(&mut self) {
        self.spent.given_back = 0;
    }

    /// A frame failed, that began at `begin`. What was given back within it is taken
    /// again.
    pub(super) fn undo(&mut self, begin: &Spent) {
        let taken = self.spent.given_back - begin.given_back;
        self.reservoir += self.spent.used - begin.used - taken;
        self.neither -= taken;
        self.spent = *begin;
    }
}

impl Journal {
    /// Accounts that `SELFDESTRUCT` deletes at the end of this transaction, by address.
    pub(crate) fn destroyed_now(&self) -> Vec<u32> {
        let mut destroyed: Vec<_> = (self.touched.iter().copied())
            .filter(|account| self.account(*account).destroyed == self.transaction)
            .collect();
        destroyed.sort_unstable_by_key(|account| self.account(*account).address);
        // What was touched, undone and touched again is there twice.
        destroyed.dedup();
        destroyed
    }

    /// Slots of an account that are not zero, of those that were read.
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
    fn the_reservoir_is_emptied_first() {
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
    fn what_a_callee_did_not_spend_is_given_back_by_its_caller() {
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
        // Had the caller failed then, it would have been spent after all.
        state_gas.undo(&caller.spent);
        assert_eq!((state_gas.reservoir, state_gas.neither), (0, -10));
    }
}
