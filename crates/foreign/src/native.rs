//! Movements of the native coin from the call frames of one transaction.

use crate::rows::{Call, Rows, Trace};
use alloy_primitives::{Address, U256};
use txgraph_transfers::{Kind, TransactionView};

/// A movement inside of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Movement {
    pub(crate) from: Address,
    pub(crate) to: Address,
    pub(crate) value: U256,
    pub(crate) kind: Kind,
}

/// The call frames of one transaction in the order of execution.
pub(crate) struct Frames<'r> {
    rows: &'r Rows,
    frames: Vec<&'r Trace>,
}

impl<'r> Frames<'r> {
    /// Sorts the frames. The order of paths is the order of execution. Calls `twice` with two
    /// frames at the same position, and removes the second.
    pub(crate) fn new<E>(
        rows: &'r Rows,
        mut frames: Vec<&'r Trace>,
        mut twice: impl FnMut(&Trace, &Trace) -> Result<(), E>,
    ) -> Result<Self, E> {
        frames.sort_by(|one, other| {
            let key = |trace: &Trace| (trace.order, trace.place.at);
            match (rows.path(one), rows.path(other)) {
                (Some(one_path), Some(other_path)) => one_path
                    .cmp(other_path)
                    .then_with(|| key(one).cmp(&key(other))),
                _ => key(one).cmp(&key(other)),
            }
        });
        let mut failed = Ok(());
        frames.dedup_by(|later, first| {
            let same = match (rows.path(first), rows.path(later)) {
                (Some(first), Some(later)) => first == later,
                _ => first.order.is_some() && first.order == later.order,
            };
            if same && failed.is_ok() {
                failed = twice(first, later);
            }
            same
        });
        failed.map(|()| Self { rows, frames })
    }

    /// The outermost call. `None` if it is not among the frames: then the first one is not a
    /// transaction value.
    fn root(&self) -> Option<&'r Trace> {
        let first = self.frames.first()?;
        self.rows
            .path(first)
            .is_none_or(<[u32]>::is_empty)
            .then_some(first)
    }

    /// The value of the transaction.
    pub(crate) fn transaction(&self) -> Option<TransactionView> {
        let root = self.root()?;
        Some(TransactionView {
            from: root.from,
            to: root.to,
            value: root.value,
            mint: U256::ZERO,
            success: !root.failed,
        })
    }

    /// The movements inside of the transaction. A frame below a failed one did not happen,
    /// whether or not it failed itself.
    pub(crate) fn internal(&self) -> Vec<Movement> {
        let mut failed: Option<&[u32]> = None;
        let mut created: Vec<Address> = Vec::new();
        let mut movements = Vec::new();
        for (number, frame) in self.frames.iter().enumerate() {
            let path = self.rows.path(frame);
            if let (Some(failed), Some(path)) = (failed, path)
                && path.starts_with(failed)
            {
                continue;
            }
            if frame.failed {
                failed = path;
                continue;
            }
            if frame.call == Call::Creates {
                created.push(frame.to);
            }
            let is_root = number == 0 && self.root().is_some();
            if is_root || frame.call == Call::Nothing || frame.value.is_zero() {
                continue;
            }
            let destroyed_itself = frame.call == Call::Destroys && frame.from == frame.to;
            let (to, kind) = match destroyed_itself {
                // Burns its balance if the contract was created in this transaction. Others
                // keep it since Cancun (EIP-6780).
                true if created.contains(&frame.from) => (Address::ZERO, Kind::Burn),
                true => continue,
                false => (frame.to, Kind::Internal),
            };
            movements.push(Movement {
                from: frame.from,
                to,
                value: frame.value,
                kind,
            });
        }
        movements
    }
}
