//! The rows of one transaction.

use crate::{
    Error,
    block::Block,
    file::ImportedFile,
    order::Indices,
    rows::{Log, Place, Receipt, Trace, Transaction},
    unique::describe,
};
use alloy_primitives::B256;
use std::collections::BTreeMap;

/// Everything of one transaction.
#[derive(Default)]
pub(crate) struct Parts<'r> {
    pub(crate) transaction: Option<&'r Transaction>,
    pub(crate) receipt: Option<&'r Receipt>,
    pub(crate) logs: Vec<&'r Log>,
    pub(crate) traces: Vec<&'r Trace>,
}

impl<'r> Parts<'r> {
    fn places(&self) -> impl Iterator<Item = &'r Place> {
        let transaction = self.transaction.map(|it| &it.place);
        let receipt = self.receipt.map(|it| &it.place);
        let logs = self.logs.iter().map(|it| &it.place);
        let traces = self.traces.iter().map(|it| &it.place);
        let first = transaction.into_iter().chain(receipt);
        first.chain(logs).chain(traces)
    }

    pub(crate) fn hash(&self, indices: &Indices) -> Option<B256> {
        self.places().find_map(|place| indices.hash_of(place))
    }
}

/// The transactions of a block, ascending. Rows of one index must have one hash, and rows of one
/// hash one index.
pub(crate) fn transactions<'r>(
    block: &Block<'r>,
    indices: &Indices,
    files: &[ImportedFile],
) -> Result<BTreeMap<u32, Parts<'r>>, Error> {
    // Sorted by index, of which there are few gaps.
    let mut all: BTreeMap<u32, Parts<'r>> = BTreeMap::new();
    let of = |place: &Place| indices.of(place);
    for it in block.transactions {
        all.entry(of(&it.place)?).or_default().transaction = Some(it);
    }
    for it in block.receipts {
        all.entry(of(&it.place)?).or_default().receipt = Some(it);
    }
    for it in block.logs {
        all.entry(indices.of_log(it)?).or_default().logs.push(it);
    }
    for it in block.traces {
        all.entry(of(&it.place)?).or_default().traces.push(it);
    }
    let differs = |what: String, one: &Place, other: &Place| Error::Contradiction {
        block: block.number,
        what,
        one: describe(files, one.at),
        other: describe(files, other.at),
    };
    let mut hashes: Vec<(B256, &Place)> = Vec::with_capacity(all.len());
    for (index, parts) in &all {
        let mut known = parts.places().filter_map(|it| Some((it.tx.hash?, it)));
        let Some((hash, first)) = known.next() else {
            continue;
        };
        if let Some((_, other)) = known.find(|(other, _)| *other != hash) {
            let what = format!("the hash of transaction {index}");
            return Err(differs(what, first, other));
        }
        hashes.push((hash, first));
    }
    hashes.sort_by_key(|(hash, _)| *hash);
    if let Some(pair) = hashes.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        let what = format!("the index of transaction {}", pair[0].0);
        return Err(differs(what, pair[0].1, pair[1].1));
    }
    let header = block.headers.first();
    let count = header.and_then(|header| Some((header, header.transactions?)));
    if let Some((header, count)) = count
        && let Some((last, parts)) = all.last_key_value()
        && *last >= count
        && let Some(place) = parts.places().next()
    {
        let what = format!("the number of transactions ({count}, but transaction {last} exists)");
        return Err(differs(what, &header.place, place));
    }
    Ok(all)
}
