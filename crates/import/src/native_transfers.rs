//! Movements of the native coin from the call frames of one transaction.

use crate::rows::{Rows, Trace};
use alloy_primitives::U256;
use txgraph_transfers::{CallFrame, FrameMovement, FrameMovements, TransactionView};

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
    pub(crate) fn root(&self) -> Option<&'r Trace> {
        let first = self.frames.first()?;
        self.rows
            .path(first)
            .is_none_or(<[u32]>::is_empty)
            .then_some(first)
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// The number of frames that are not here, although others are in them or count them.
    pub(crate) fn missing(&self) -> u64 {
        let mut missing = 0;
        // For each frame around the next one: how many it says are in it, and how many are known
        // by their paths.
        let mut open: Vec<(u32, u32)> = Vec::new();
        let close = |open: &mut Vec<(u32, u32)>, depth: usize| -> u64 {
            let closed = open.drain(depth.min(open.len())..);
            closed
                .map(|(stated, known)| u64::from(stated.saturating_sub(known)))
                .sum()
        };
        let mut before: &[u32] = &[];
        for frame in &self.frames {
            let Some(path) = self.rows.path(frame) else {
                continue;
            };
            let common = path.iter().zip(before).take_while(|(a, b)| a == b).count();
            missing += close(&mut open, common + 1);
            before = path;
            for depth in open.len()..=path.len() {
                if let Some(above) = depth.checked_sub(1) {
                    let (_, known) = &mut open[above];
                    missing += u64::from(path[above].saturating_sub(*known));
                    *known = path[above].saturating_add(1);
                }
                let is_here = depth == path.len();
                missing += u64::from(!is_here);
                let stated = frame.children.filter(|_| is_here);
                open.push((stated.unwrap_or(0), 0));
            }
        }
        missing + close(&mut open, 0)
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

    /// The movements inside of the transaction, and how many more there may be: balances of
    /// contracts that name themselves as the beneficiary.
    pub(crate) fn internal(&self) -> (Vec<FrameMovement>, u64) {
        let mut movements = FrameMovements::new(false);
        let mut found = Vec::new();
        let mut before: &[u32] = &[];
        for (number, frame) in self.frames.iter().enumerate() {
            // Without paths, the first frame is the outermost.
            let depth = match self.rows.path(frame) {
                Some(path) => {
                    let common = path.iter().zip(before).take_while(|(a, b)| a == b).count();
                    if common + 1 < path.len() {
                        movements.skip(common + 1);
                    }
                    before = path;
                    path.len()
                }
                None => number.min(1),
            };
            found.extend(movements.next(&CallFrame {
                kind: frame.kind,
                from: frame.from,
                to: frame.to,
                value: frame.value,
                failed: frame.failed,
                depth,
            }));
        }
        (found, movements.kept())
    }
}
