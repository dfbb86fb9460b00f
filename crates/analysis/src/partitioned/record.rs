//! Rows between the tasks of measures: a key in bytes, numbers, and amounts.

use crate::{AssetCounts, Branch};
use alloy_primitives::Address;
use txgraph_graph::{AmountSum, Asset, SearchError, StoredEdge};
use txgraph_transfers::{BlockTime, FailureKind, SourceError, SourceFailure, TokenStandard};

/// The bytes of an address and of an asset.
pub(crate) const ADDRESS: usize = 20;
pub(crate) const ASSET: usize = 1 + ADDRESS;

/// A row with a key of `K` bytes, `N` numbers and `A` amounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<const K: usize, const N: usize, const A: usize> {
    /// The part that identifies the row.
    pub key: [u8; K],
    /// Counts, and other numbers.
    pub numbers: [u64; N],
    /// Sums of amounts.
    pub amounts: [AmountSum; A],
}

/// An edge: sender, receiver and asset; transfers, first block and its time, last block and its
/// time; sum.
pub(crate) type EdgeRecord = Record<{ 2 * ADDRESS + ASSET }, 5, 1>;
/// The same without blocks: transfers; sum.
pub(crate) type SumRecord = Record<{ 2 * ADDRESS + ASSET }, 1, 1>;
/// The transfers of all assets from a sender to a receiver: their number.
pub(crate) type PairRecord = Record<{ 2 * ADDRESS }, 1, 0>;
/// A branch: address and root; transfers, first and last block.
pub(crate) type BranchRecord = Record<{ 2 * ADDRESS }, 3, 0>;
/// Counts of an asset: transfers, transfers of amount zero, transfers to the sender itself, first and
/// last block; sum, minted, burned.
pub(crate) type AssetRecord = Record<ASSET, 5, 3>;

impl<const K: usize, const N: usize, const A: usize> Record<K, N, A> {
    /// A row, whose key consists of these bytes.
    pub(crate) fn new(key: &[&[u8]], numbers: [u64; N], amounts: [AmountSum; A]) -> Self {
        Self {
            key: joined(key),
            numbers,
            amounts,
        }
    }

    /// Adds the numbers and amounts of another row.
    pub(crate) fn add(&mut self, other: &Self) {
        for (ours, theirs) in self.numbers.iter_mut().zip(other.numbers) {
            *ours += theirs;
        }
        for (ours, theirs) in self.amounts.iter_mut().zip(other.amounts) {
            *ours += theirs;
        }
    }
}

fn joined<const K: usize>(parts: &[&[u8]]) -> [u8; K] {
    let (mut key, mut at) = ([0; K], 0);
    for part in parts {
        key[at..at + part.len()].copy_from_slice(part);
        at += part.len();
    }
    key
}

/// The address at a place of a key.
pub(crate) fn address(key: &[u8], at: usize) -> Address {
    Address::from_slice(&key[at..at + ADDRESS])
}

/// A token, or the native coin, in bytes.
pub(crate) fn token_key(token: Option<Address>) -> [u8; ASSET] {
    let known = [u8::from(token.is_some())];
    joined(&[&known, token.unwrap_or_default().as_slice()])
}

/// The token at a place of a key.
pub(crate) fn token(key: &[u8], at: usize) -> Option<Address> {
    (key[at] & 1 == 1).then(|| address(key, at + 1))
}

/// An asset in bytes: the token, with the standard in its first byte.
pub(crate) fn asset_key(asset: Asset) -> [u8; ASSET] {
    let mut key = token_key(asset.token_address);
    key[0] |= (asset.token_standard as u8) << 1;
    key
}

/// The asset at a place of a key.
pub(crate) fn asset(key: &[u8], at: usize) -> Result<Asset, SearchError> {
    let unknown = || {
        let reason = "a row has an unknown token standard";
        SourceError::from(SourceFailure::new(FailureKind::Unreadable, reason))
    };
    let standard = TokenStandard::ALL.get(usize::from(key[at] >> 1));
    Ok(Asset {
        token_address: token(key, at),
        token_standard: *standard.ok_or_else(unknown)?,
    })
}

/// The key of an edge.
fn edge_key(edge: &StoredEdge) -> [u8; 2 * ADDRESS + ASSET] {
    let asset = asset_key(edge.asset);
    joined(&[edge.from.as_slice(), edge.to.as_slice(), &asset])
}

impl EdgeRecord {
    pub(crate) fn of(edge: &StoredEdge) -> Self {
        // 0 if it is not known.
        let time = |time: Option<BlockTime>| time.map_or(0, |time| time.seconds() + 1);
        let numbers = [
            edge.count,
            edge.first.0,
            time(edge.first.1),
            edge.last.0,
            time(edge.last.1),
        ];
        Self {
            key: edge_key(edge),
            numbers,
            amounts: [edge.sum],
        }
    }

    pub(crate) fn edge(&self) -> Result<StoredEdge, SearchError> {
        let [count, first, first_time, last, last_time] = self.numbers;
        let time = |time: u64| time.checked_sub(1).and_then(BlockTime::new);
        Ok(StoredEdge {
            from: address(&self.key, 0),
            to: address(&self.key, ADDRESS),
            asset: asset(&self.key, 2 * ADDRESS)?,
            count,
            sum: self.amounts[0],
            first: (first, time(first_time)),
            last: (last, time(last_time)),
        })
    }
}

impl SumRecord {
    pub(crate) fn of(edge: &StoredEdge) -> Self {
        Self {
            key: edge_key(edge),
            numbers: [edge.count],
            amounts: [edge.sum],
        }
    }

    pub(crate) fn edge(&self) -> Result<StoredEdge, SearchError> {
        Ok(StoredEdge {
            from: address(&self.key, 0),
            to: address(&self.key, ADDRESS),
            asset: asset(&self.key, 2 * ADDRESS)?,
            count: self.numbers[0],
            sum: self.amounts[0],
            first: (0, None),
            last: (0, None),
        })
    }
}

impl PairRecord {
    pub(crate) fn of(edge: &StoredEdge) -> Self {
        let key = [edge.from.as_slice(), edge.to.as_slice()];
        Self::new(&key, [edge.count], [])
    }

    pub(crate) fn edge(&self) -> Result<StoredEdge, SearchError> {
        Ok(StoredEdge {
            from: address(&self.key, 0),
            to: address(&self.key, ADDRESS),
            asset: Asset::NATIVE,
            count: self.numbers[0],
            sum: AmountSum::ZERO,
            first: (0, None),
            last: (0, None),
        })
    }
}

impl From<&Branch> for BranchRecord {
    fn from(branch: &Branch) -> Self {
        let numbers = [branch.transfers, branch.first_block, branch.last_block];
        let key = [branch.address.as_slice(), branch.root.as_slice()];
        Self::new(&key, numbers, [])
    }
}

impl BranchRecord {
    pub(crate) fn branch(&self) -> Branch {
        let [transfers, first_block, last_block] = self.numbers;
        Branch {
            address: address(&self.key, 0),
            root: address(&self.key, ADDRESS),
            transfers,
            first_block,
            last_block,
        }
    }
}

impl From<&AssetCounts> for AssetRecord {
    fn from(counts: &AssetCounts) -> Self {
        let numbers = [
            counts.transfers,
            counts.zero_values,
            counts.to_self,
            counts.first_block,
            counts.last_block,
        ];
        let amounts = [counts.amount, counts.minted, counts.burned];
        Self::new(&[&asset_key(counts.asset)], numbers, amounts)
    }
}

impl AssetRecord {
    pub(crate) fn counts(&self) -> Result<AssetCounts, SearchError> {
        let [transfers, zero_values, to_self, first_block, last_block] = self.numbers;
        let [amount, minted, burned] = self.amounts;
        Ok(AssetCounts {
            transfers,
            amount,
            minted,
            burned,
            zero_values,
            to_self,
            first_block,
            last_block,
            ..AssetCounts::none(asset(&self.key, 0)?)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_survive_rows() {
        let edge = |number: u8| StoredEdge {
            from: Address::repeat_byte(number),
            to: Address::repeat_byte(number + 1),
            asset: Asset {
                token_address: (number > 0).then(|| Address::repeat_byte(9)),
                token_standard: TokenStandard::ALL[usize::from(number)],
            },
            count: u64::MAX,
            sum: AmountSum::MAX - AmountSum::from(number),
            first: (0, (number > 1).then(|| BlockTime::new(0).unwrap())),
            last: (u64::from(number), None),
        };
        let edges: Vec<_> = (0..4).map(edge).collect();
        let records: Vec<EdgeRecord> = edges.iter().map(EdgeRecord::of).collect();
        let back: Vec<_> = records
            .iter()
            .map(|record| record.edge().unwrap())
            .collect();
        assert_eq!(back, edges);
        let mut unknown = records[0];
        unknown.key[2 * ADDRESS] = 0xff;
        assert!(unknown.edge().is_err());
    }
}
