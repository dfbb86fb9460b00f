//! The accumulator of a file: the SSZ hash tree root of its blocks before the merge.
//!
//! The list has up to 8,192 records of block hash and total difficulty (Portal Network,
//! "historical hashes accumulator").

use crate::record::BLOCKS_MAX;
use alloy_primitives::{B256, U256};
use sha2::{Digest, Sha256};

/// The root of `List[HeaderRecord, 8192]`.
pub(crate) fn root(records: &[(B256, U256)]) -> B256 {
    let mut level: Vec<B256> = records
        .iter()
        .map(|(hash, difficulty)| pair(hash, &B256::from(difficulty.to_le_bytes())))
        .collect();
    // Absent records are zero, and so are pairs of them, level by level.
    let mut absent = B256::ZERO;
    for _ in 0..BLOCKS_MAX.ilog2() {
        level = level
            .chunks(2)
            .map(|nodes| pair(&nodes[0], nodes.get(1).unwrap_or(&absent)))
            .collect();
        absent = pair(&absent, &absent);
    }
    let tree = level.first().copied().unwrap_or(absent);
    pair(&tree, &B256::from(U256::from(records.len()).to_le_bytes()))
}

fn pair(left: &B256, right: &B256) -> B256 {
    let mut hasher = Sha256::new();
    hasher.update(left);
    hasher.update(right);
    B256::from_slice(&hasher.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::b256;

    /// All 8,192 leaves, without the short cut for absent ones.
    fn naive(records: &[(B256, U256)]) -> B256 {
        let leaf = |index: usize| {
            let record = records.get(index);
            record.map_or(B256::ZERO, |(hash, difficulty)| {
                pair(hash, &B256::from(difficulty.to_le_bytes()))
            })
        };
        let mut level: Vec<B256> = (0..8192).map(leaf).collect();
        while level.len() > 1 {
            level = level.chunks(2).map(|two| pair(&two[0], &two[1])).collect();
        }
        let mut length = [0; 32];
        length[..8].copy_from_slice(&(records.len() as u64).to_le_bytes());
        pair(&level[0], &B256::from(length))
    }

    #[test]
    fn roots_equal_those_of_the_whole_tree() {
        for count in [0, 1, 2, 3, 5, 8191, 8192] {
            let records: Vec<_> = (0..count)
                .map(|n| (B256::with_last_byte(7), U256::from(n)))
                .collect();
            assert_eq!(root(&records), naive(&records), "{count}");
        }
    }

    #[test]
    fn the_root_of_an_empty_list_is_the_known_one() {
        // SSZ: the zero node of depth 13, mixed with length 0.
        let zero_13 = (0..13).fold(B256::ZERO, |node, _| pair(&node, &node));
        let first = b256!("f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b");
        assert_eq!(pair(&B256::ZERO, &B256::ZERO), first);
        assert_eq!(root(&[]), pair(&zero_13, &B256::ZERO));
    }
}
