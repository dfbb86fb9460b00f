//! Selects the call frames of a transaction that move the native coin.

use crate::Kind;
use alloy_primitives::{Address, U256};

/// The operation of a call frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// Runs the code of its receiver, and moves its value there: `CALL`.
    Call,
    /// Creates a contract, its receiver, and moves its value there: `CREATE`, `CREATE2`.
    Create,
    /// Runs code without moving anything: `DELEGATECALL`, `CALLCODE`, `STATICCALL`. The first two
    /// run it as the account that calls.
    Borrow,
    /// Ends a contract, its sender, and moves the balance to its receiver: `SELFDESTRUCT`.
    Destroy,
}

/// A call frame of a transaction, as tracers report it.
#[derive(Clone, Copy, Debug)]
pub struct CallFrame {
    /// The operation.
    pub kind: FrameKind,
    /// The sender.
    pub from: Address,
    /// The receiver.
    pub to: Address,
    /// The value in wei.
    pub value: U256,
    /// Whether it was reverted. Then the frames in it did not happen.
    pub failed: bool,
    /// The number of frames that it is in; 0 for the transaction itself.
    pub depth: usize,
}

/// A movement of the native coin inside of a transaction, or a part of its fee.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameMovement {
    /// The sender.
    pub from: Address,
    /// The receiver.
    pub to: Address,
    /// The value in wei. Not zero.
    pub value: U256,
    /// [`Kind::Internal`], [`Kind::Burn`], or the kind of a fee.
    pub kind: Kind,
    /// Whether the movement may not have happened: a destruction that repeats the movement right
    /// before it, or whose surrounding frame is missing, see [`FrameMovements`].
    pub is_doubtful: bool,
}

/// Finds the movements among the call frames of one transaction.
///
/// Servers that are built on revm report a destruction even if a contract names itself as the
/// beneficiary and is not deleted, so that nothing moves (EIP-6780). The frame then has the ends
/// and the value of the last movement before it. Such a frame is left out if its sender is not the
/// account that runs the frame around it, because nothing else can be destroyed there. If that
/// account made the last movement itself, or is not known, the frame looks like a true one: the
/// movement is returned, and marked.
#[derive(Debug, Default)]
pub struct FrameMovements {
    /// Whether every destroyed contract is deleted, as it was before Cancun.
    deletes_all: bool,
    /// The accounts that run the frames around the next one. `None` where a frame is missing.
    running: Vec<Option<Address>>,
    /// The depth of the reverted frame around the next one.
    failed: Option<usize>,
    created: Vec<Address>,
    last: Option<(Address, Address, U256)>,
    /// Contracts that named themselves and are taken to stay.
    kept: u64,
}

impl FrameMovements {
    /// Begins a transaction. `deletes_all` says whether every destroyed contract is deleted, as
    /// it was before Cancun; otherwise only one that was created in the same transaction is.
    pub fn new(deletes_all: bool) -> Self {
        Self {
            deletes_all,
            ..Self::default()
        }
    }

    /// Says that the frames around the next one are missing, from `depth` on.
    pub fn skip(&mut self, depth: usize) {
        self.running.truncate(depth);
        self.failed = self.failed.filter(|failed| *failed < depth);
    }

    /// How many contracts with a balance named themselves as the beneficiary and are taken to stay.
    /// If it is not known whether every destroyed contract is deleted, these may be burns.
    pub const fn kept(&self) -> u64 {
        self.kept
    }

    /// Takes the next frame in the order of execution, and returns what it moves. The value of
    /// the transaction itself, at depth 0, is not returned.
    pub fn next(&mut self, frame: &CallFrame) -> Option<FrameMovement> {
        let CallFrame {
            kind,
            from,
            to,
            value,
            failed,
            depth,
        } = *frame;
        if self.failed.is_some_and(|failed| depth > failed) {
            return None;
        }
        self.failed = failed.then_some(depth);
        let around = depth.checked_sub(1).and_then(|at| self.running.get(at));
        let around = around.copied().flatten();
        // Frames that are missing in between are not known.
        self.running.resize(depth, None);
        self.running.push(match kind {
            FrameKind::Call | FrameKind::Create => Some(to),
            FrameKind::Borrow | FrameKind::Destroy => Some(from),
        });
        if failed {
            return None;
        }
        if kind == FrameKind::Create {
            self.created.push(to);
        }
        if kind == FrameKind::Borrow || value.is_zero() {
            return None;
        }
        let before = match kind {
            FrameKind::Destroy => self.last,
            _ => self.last.replace((from, to, value)),
        };
        if depth == 0 {
            return None;
        }
        let movement = |to, kind| FrameMovement {
            from,
            to,
            value,
            kind,
            is_doubtful: false,
        };
        if kind != FrameKind::Destroy {
            return Some(movement(to, Kind::Internal));
        }
        if around.is_some_and(|around| around != from) {
            return None;
        }
        self.last = Some((from, to, value));
        let is_deleted = self.deletes_all || self.created.contains(&from);
        if from == to {
            // The balance stays, unless the contract is deleted.
            self.kept += u64::from(!is_deleted);
            return is_deleted.then(|| movement(Address::ZERO, Kind::Burn));
        }
        Some(FrameMovement {
            is_doubtful: (around.is_none() || before == Some((from, to, value))) && !is_deleted,
            ..movement(to, Kind::Internal)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(letter: u8) -> Address {
        Address::repeat_byte(letter)
    }

    fn frame(depth: usize, kind: FrameKind, from: u8, to: u8, value: u64) -> CallFrame {
        CallFrame {
            kind,
            from: name(from),
            to: name(to),
            value: U256::from(value),
            failed: false,
            depth,
        }
    }

    /// The values of movements, negative if they are doubtful, and whether they are burns.
    fn moved(deletes_all: bool, frames: &[CallFrame]) -> Vec<(i64, bool)> {
        let mut movements = FrameMovements::new(deletes_all);
        let found = frames.iter().filter_map(|frame| movements.next(frame));
        let sign = |it: FrameMovement| if it.is_doubtful { -1 } else { 1 };
        found
            .map(|it| (it.value.to::<i64>() * sign(it), it.kind == Kind::Burn))
            .collect()
    }

    use FrameKind::{Borrow, Call, Create, Destroy};

    #[test]
    fn destructions_of_other_accounts_are_left_out() {
        // revm: the transaction moves 5 from 1 to 2, and 2 names itself.
        let transaction = frame(0, Call, 1, 2, 5);
        let phantom = frame(1, Destroy, 1, 2, 5);
        assert_eq!(moved(false, &[transaction, phantom]), []);
        // The same without a movement before it has no ends at all.
        let empty = frame(1, Destroy, 0, 0, 0);
        assert_eq!(moved(false, &[frame(0, Call, 1, 2, 0), empty]), []);
        // A true one, also in code that is borrowed.
        let own = frame(1, Destroy, 2, 3, 7);
        assert_eq!(moved(false, &[transaction, own]), [(7, false)]);
        let borrowed = [
            transaction,
            frame(1, Borrow, 2, 9, 0),
            frame(2, Destroy, 2, 3, 7),
        ];
        assert_eq!(moved(false, &borrowed), [(7, false)]);
        let by_code = frame(2, Destroy, 9, 3, 7);
        assert_eq!(
            moved(false, &[transaction, frame(1, Borrow, 2, 9, 0), by_code]),
            []
        );
        // The frame around it is missing.
        assert_eq!(moved(false, &[frame(1, Destroy, 2, 3, 7)]), [(-7, false)]);
        assert_eq!(moved(true, &[frame(1, Destroy, 2, 3, 7)]), [(7, false)]);
    }

    #[test]
    fn destructions_that_repeat_a_movement_are_doubtful() {
        let frames = [
            frame(0, Call, 1, 2, 9),
            frame(1, Call, 2, 3, 4),
            frame(1, Destroy, 2, 3, 4),
        ];
        assert_eq!(moved(false, &frames), [(4, false), (-4, false)]);
        // A contract that is deleted always has its own ends.
        let created = [
            frame(0, Create, 1, 2, 9),
            frame(1, Call, 2, 3, 4),
            frame(1, Destroy, 2, 3, 4),
        ];
        assert_eq!(moved(false, &created), [(4, false), (4, false)]);
        assert_eq!(moved(true, &frames), [(4, false), (4, false)]);
        let other = [frames[0], frames[1], frame(1, Destroy, 2, 3, 5)];
        assert_eq!(moved(false, &other), [(4, false), (5, false)]);
    }

    #[test]
    fn contracts_that_name_themselves_burn_if_they_are_deleted() {
        let kept = [frame(0, Call, 1, 2, 0), frame(1, Destroy, 2, 2, 4)];
        assert_eq!(moved(false, &kept), []);
        assert_eq!(moved(true, &kept), [(4, true)]);
        for (deletes_all, expected) in [(false, 1), (true, 0)] {
            let mut movements = FrameMovements::new(deletes_all);
            let _ = kept.map(|frame| movements.next(&frame));
            assert_eq!(movements.kept(), expected);
        }
        let created = [
            frame(0, Call, 1, 2, 0),
            frame(1, Create, 2, 3, 4),
            frame(2, Destroy, 3, 3, 4),
        ];
        assert_eq!(moved(false, &created), [(4, false), (4, true)]);
    }

    #[test]
    fn frames_in_a_reverted_one_did_not_happen() {
        let reverted = CallFrame {
            failed: true,
            ..frame(1, Call, 2, 3, 1)
        };
        let frames = [
            frame(0, Call, 1, 2, 9),
            reverted,
            frame(2, Call, 3, 4, 2),
            frame(3, Create, 4, 5, 3),
            frame(1, Call, 2, 6, 4),
        ];
        assert_eq!(moved(false, &frames), [(4, false)]);
        // A frame that is missing is not the reverted one.
        let mut movements = FrameMovements::new(false);
        assert_eq!(movements.next(&frames[0]), None);
        assert_eq!(movements.next(&frames[1]), None);
        movements.skip(1);
        let found = movements.next(&frame(2, Destroy, 7, 8, 3));
        assert_eq!(found.map(|it| it.from), Some(name(7)));
    }
}
