//! Statements of rows about the block that they are in.

use super::At;
use alloy_primitives::B256;
use std::collections::BTreeMap;
use txgraph_transfers::BlockTime;

/// Hash and time of each block, with the first rows that state them.
#[derive(Debug, Default)]
pub(crate) struct Stated {
    blocks: BTreeMap<u64, Facts>,
    /// The first two rows that do not agree.
    pub(crate) conflict: Option<Conflict>,
}

/// The known facts of a block.
#[derive(Debug, Default)]
struct Facts {
    hash: Option<(B256, At)>,
    time: Option<(BlockTime, At)>,
}

/// Two rows that state different things about their block.
#[derive(Debug)]
pub(crate) struct Conflict {
    pub(crate) block: u64,
    pub(crate) what: &'static str,
    pub(crate) one: At,
    pub(crate) other: At,
}

impl Stated {
    /// Adds what a row states.
    pub(super) fn add(&mut self, block: u64, at: At, hash: Option<B256>, time: Option<BlockTime>) {
        if hash.is_none() && time.is_none() {
            return;
        }
        let facts = self.blocks.entry(block).or_default();
        let others = [
            ("its hash", differs(&mut facts.hash, hash, at)),
            ("its time", differs(&mut facts.time, time, at)),
        ];
        for (what, one) in others {
            if let Some(one) = one {
                self.conflict.get_or_insert(Conflict {
                    block,
                    what,
                    one,
                    other: at,
                });
            }
        }
    }

    pub(super) fn clear(&mut self) {
        self.blocks.clear();
        self.conflict = None;
    }
}

/// The row that states another value. Remembers the first value.
fn differs<T: Copy + PartialEq>(
    known: &mut Option<(T, At)>,
    value: Option<T>,
    at: At,
) -> Option<At> {
    let value = value?;
    let (first, row) = *known.get_or_insert((value, at));
    (first != value).then_some(row)
}
