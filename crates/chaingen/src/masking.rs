//! Hashed state behind the blocks, as in a node since reth 2.6 (partial persistence).
//!
//! A commit writes blocks up to block T, and hashed state only up to block F. Keys that a
//! block in F+1..T changes again are left out and keep an older value (reth
//! `HashedPostStateSorted::disjointed_merge_batch` in `crates/trie/common/src/hashed_state.rs`).

use super::Changed;
use std::collections::{BTreeMap, BTreeSet};

/// Returns the rows of hashed state that a commit writes, if state is written up to block
/// `state`. `blocks` are all blocks whose state is not written yet, with their changes,
/// ascending.
///
/// A key that a later block sets to the written value again is not left out. A node has
/// entries of accounts that a block touched and did not change, too: it writes more rows that
/// equal this value. That makes no difference for a reader.
pub(super) fn written<'a, K, V>(
    blocks: impl Iterator<Item = (u64, &'a BTreeMap<K, Changed<V>>)>,
    state: u64,
) -> BTreeMap<K, V>
where
    K: Ord + Copy + 'a,
    V: PartialEq + Copy + 'a,
{
    let mut rows = BTreeMap::new();
    let (mut masked, mut returned) = (BTreeSet::new(), BTreeSet::new());
    for (number, changes) in blocks {
        for (key, changed) in changes {
            if number <= state {
                rows.insert(*key, changed.after);
            } else if rows.get(key) == Some(&changed.after) {
                returned.insert(*key);
            } else {
                masked.insert(*key);
            }
        }
    }
    rows.retain(|key, _| returned.contains(key) || !masked.contains(key));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The changes of a block: keys with the value after it.
    type Block = (u64, BTreeMap<u8, Changed<u32>>);

    fn block(number: u64, values: &[(u8, u32)]) -> Block {
        let changed = |after| Changed { before: 0, after };
        let values = values.iter().map(|(key, after)| (*key, changed(*after)));
        (number, values.collect())
    }

    fn rows(blocks: &[Block], state: u64) -> Vec<(u8, u32)> {
        let blocks = blocks.iter().map(|(number, changes)| (*number, changes));
        written(blocks, state).into_iter().collect()
    }

    #[test]
    fn later_changes_leave_keys_out() {
        let blocks = [
            block(7, &[(1, 10), (2, 20), (3, 30)]),
            block(8, &[(2, 21), (4, 40)]),
            block(9, &[(1, 11), (4, 41)]),
            block(10, &[(1, 10), (5, 50)]),
        ];
        assert_eq!(rows(&blocks, 6), []);
        // Key 1 has its value again after block 10.
        assert_eq!(rows(&blocks, 7), [(1, 10), (3, 30)]);
        assert_eq!(rows(&blocks, 8), [(1, 10), (2, 21), (3, 30)]);
        assert_eq!(rows(&blocks, 9), [(2, 21), (3, 30), (4, 41)]);
        let all = [(1, 10), (2, 21), (3, 30), (4, 41), (5, 50)];
        assert_eq!(rows(&blocks, 10), all);
    }
}
