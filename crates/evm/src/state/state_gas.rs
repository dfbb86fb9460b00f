//! The state gas of a transaction (EIP-8037): a second meter, for growth of the state.
//!
//! It is paid from a *reservoir* that all frames share, then from the gas of the frame. Gas that is
//! given back goes to the frame first, up to the part that it has paid, then to the reservoir. State
//! that is undone is not paid: a frame that fails leaves the reservoir as it was, and one that reverts
//! has the gas again that it paid itself.

/// The state gas that a transaction has and has used. A checkpoint records all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StateGas {
    /// The gas left, in addition to the gas of frames.
    pub(crate) reservoir: i64,
    /// The gas used, less the gas given back.
    pub(crate) used: i64,
    /// The part that the current frame has paid from its own gas. Zero unless the reservoir is
    /// empty.
    pub(crate) of_frame: i64,
}

impl StateGas {
    /// Takes `gas` from the reservoir, then from `frame_gas`. Returns the part of the frame; `None` if
    /// both together do not suffice.
    pub(crate) fn take(&mut self, gas: i64, frame_gas: i64) -> Option<i64> {
        let of_frame = (gas - self.reservoir).max(0);
        if of_frame > frame_gas {
            return None;
        }
        self.used += gas;
        self.of_frame += of_frame;
        self.reservoir -= gas - of_frame;
        Some(of_frame)
    }

    /// Gives back `gas`, and returns the part of the frame.
    pub(crate) fn give_back(&mut self, gas: i64) -> i64 {
        let of_frame = gas.min(self.of_frame);
        self.used -= gas;
        self.of_frame -= of_frame;
        self.reservoir += gas - of_frame;
        of_frame
    }

    /// Begins a frame, which has paid nothing.
    pub(crate) fn begin_frame(&mut self) {
        self.of_frame = 0;
    }

    /// Ends a frame that began at `begin` and succeeded: its caller has paid what it has paid.
    /// Returns the gas that goes back to the caller, because a callee gave it back to the reservoir.
    pub(crate) fn end_frame(&mut self, begin: &Self) -> i64 {
        self.of_frame += begin.of_frame;
        let repaid = self.of_frame.min(self.reservoir);
        self.of_frame -= repaid;
        self.reservoir -= repaid;
        repaid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_reservoir(reservoir: i64) -> StateGas {
        StateGas {
            reservoir,
            ..StateGas::default()
        }
    }

    #[test]
    fn reservoir_is_used_first_and_filled_last() {
        let mut gas = with_reservoir(10);
        assert_eq!(gas.take(7, 0), Some(0));
        assert_eq!(gas.take(7, 3), None);
        assert_eq!(gas.take(7, 4), Some(4));
        assert_eq!((gas.reservoir, gas.used), (0, 14));
        assert_eq!(gas.give_back(7), 4);
        assert_eq!((gas.reservoir, gas.used), (3, 7));
    }

    #[test]
    fn caller_has_again_what_its_callee_gave_back() {
        let mut gas = with_reservoir(0);
        assert_eq!(gas.take(10, 30), Some(10));
        let begin = gas;
        gas.begin_frame();
        assert_eq!(gas.give_back(10), 0, "the callee has paid nothing");
        assert_eq!(gas.reservoir, 10);
        assert_eq!(gas.end_frame(&begin), 10);
        assert_eq!(gas, with_reservoir(0));
    }

    #[test]
    fn caller_takes_over_what_its_callee_paid() {
        let mut gas = with_reservoir(5);
        assert_eq!(gas.take(10, 30), Some(5));
        let begin = gas;
        gas.begin_frame();
        assert_eq!(gas.take(3, 30), Some(3));
        assert_eq!(gas.end_frame(&begin), 0);
        assert_eq!((gas.of_frame, gas.used), (8, 13));
        assert_eq!(gas.give_back(10), 8);
        assert_eq!(gas.reservoir, 2);
    }
}
