//! The transaction indices of a block.

use crate::{
    Error,
    block::Block,
    rows::{Log, Place, Trace, Tx},
};
use alloy_primitives::B256;
use std::collections::HashMap;

/// The index of each transaction of a block.
///
/// A table without indices gets them from another one, by hash. What no table has follows from
/// the order of call frames, if there is a table of all frames. If no table of the block has any
/// index, transactions are numbered in the order in which they appear.
#[derive(Debug, Default)]
pub(crate) struct Indices {
    by_hash: HashMap<B256, u32>,
    hashes: HashMap<u32, B256>,
    /// Whether no row of the block has a transaction. Rows of one block are not of one transaction, so each
    /// is one of its own.
    pub(crate) is_alone: bool,
}

impl Indices {
    /// Collects the indices of a block.
    pub(crate) fn new(block: &Block<'_>) -> Self {
        let places = block.places();
        let lacks = |tx: Tx| tx.index.is_none() || tx.hash.is_none();
        let mut indices = Self::default();
        // Nothing is to be found if every row has both.
        if !places.clone().any(|place| lacks(place.tx)) {
            return indices;
        }
        let header = block.headers.first();
        indices.is_alone = places.clone().all(|place| place.tx == Tx::default())
            && header.is_none_or(|header| header.transactions.is_none());
        for place in places.clone() {
            if let Tx {
                index: Some(index),
                hash: Some(hash),
            } = place.tx
            {
                indices.by_hash.insert(hash, index);
                indices.hashes.insert(index, hash);
            }
        }
        if indices.by_hash.is_empty() {
            if !places.clone().any(|place| place.tx.index.is_some()) {
                for hash in places.filter_map(|place| place.tx.hash) {
                    let next = u32::try_from(indices.by_hash.len()).unwrap_or(u32::MAX);
                    indices.by_hash.entry(hash).or_insert(next);
                }
            }
        } else {
            indices.complete(block);
        }
        indices
    }

    /// Completes the indices from the order of call frames: every transaction has a frame, so
    /// transactions without an index have those between the known ones. A run of them gets
    /// indices only if it has exactly as many transactions as there are indices.
    fn complete(&mut self, block: &Block<'_>) {
        let is_ordered = block.traces.iter().all(Trace::is_ordered);
        if !is_ordered {
            return;
        }
        let mut seen: Vec<B256> = Vec::new();
        for hash in block.traces.iter().filter_map(|trace| trace.place.tx.hash) {
            if seen.last() != Some(&hash) {
                seen.push(hash);
            }
        }
        // The index that the next transaction has, if none is missing.
        let mut next = 0;
        let mut run: Vec<B256> = Vec::new();
        for hash in seen {
            let Some(index) = self.by_hash.get(&hash).copied() else {
                run.push(hash);
                continue;
            };
            self.number(&mut run, next, Some(index));
            next = index.saturating_add(1);
        }
        let header = block.headers.first();
        let count = header.and_then(|header| header.transactions);
        self.number(&mut run, next, count);
    }

    /// Numbers consecutive transactions from `next`. `end` is the index after them, if it is
    /// known.
    fn number(&mut self, run: &mut Vec<B256>, next: u32, end: Option<u32>) {
        let count = u32::try_from(run.len()).unwrap_or(u32::MAX);
        let fits = end.is_none_or(|end| next.checked_add(count) == Some(end));
        for (hash, index) in run.drain(..).zip(next..) {
            if fits && !self.hashes.contains_key(&index) {
                self.by_hash.insert(hash, index);
                self.hashes.insert(index, hash);
            }
        }
    }

    /// The index of a log's transaction.
    pub(crate) fn of_log(&self, log: &Log) -> Result<u32, Error> {
        match self.is_alone {
            true => Ok(log.index),
            false => self.of(&log.place),
        }
    }

    /// The index of a row's transaction; 0 for a row without a transaction.
    pub(crate) fn of(&self, place: &Place) -> Result<u32, Error> {
        match place.tx {
            Tx {
                index: Some(index), ..
            } => Ok(index),
            Tx { hash: None, .. } => Ok(0),
            Tx {
                hash: Some(hash), ..
            } => match self.by_hash.get(&hash) {
                Some(index) => Ok(*index),
                None => Err(Error::Row(format!(
                    "block {}: the index of transaction {hash} is not known, and does not follow \
                     from the order of traces; add the table of transactions, or leave out the \
                     tables without `transaction_index`",
                    place.block
                ))),
            },
        }
    }

    /// The hash of a row's transaction, if any row has it.
    pub(crate) fn hash_of(&self, place: &Place) -> Option<B256> {
        place
            .tx
            .hash
            .or_else(|| self.hashes.get(&place.tx.index?).copied())
    }
}
