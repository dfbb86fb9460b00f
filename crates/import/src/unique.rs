//! Sorts rows, and removes equal ones.

use crate::{
    Error,
    file::ImportedFile,
    rows::{At, Direct, Header, Place, Rows, Transaction},
};
use alloy_primitives::Address;
use txgraph_transfers::Transfer;

/// Sorts all rows by block, and removes equal ones. Returns how many were removed.
pub(crate) fn sort(rows: &mut Rows, files: &[ImportedFile]) -> Result<u64, Error> {
    if let Some(conflict) = &rows.stated.conflict {
        return Err(Error::Contradiction {
            block: conflict.block,
            what: conflict.what.to_owned(),
            one: describe(files, conflict.one),
            other: describe(files, conflict.other),
        });
    }
    let before = count(rows);
    rows.logs
        .sort_by_key(|log| (log.place.block, log.index, log.place.at));
    rows.traces
        .sort_by_key(|it| (it.place.block, it.order, it.place.at));
    let key = |it: &Transaction| {
        (
            it.place.block,
            it.place.tx.index,
            it.place.tx.hash,
            it.place.at,
        )
    };
    rows.transactions.sort_by_key(key);
    rows.receipts
        .sort_by_key(|it| (it.place.block, it.place.tx.index, it.place.at));
    rows.headers.sort_by_key(|it| (it.place.block, it.place.at));
    rows.direct
        .sort_by_key(|it| (it.place.block, it.log, it.place.at));
    let mut logs = std::mem::take(&mut rows.logs);
    let name = |place: &Place| describe(files, place.at);
    unique(&mut logs, |one, other| {
        if (one.place.block, one.index) != (other.place.block, other.index) {
            return Ok(false);
        }
        let same = one.address == other.address
            && one.topics() == other.topics()
            && rows.data(one) == rows.data(other)
            && agree(&one.place, &other.place);
        same_or(
            same,
            || format!("log {}", one.index),
            &one.place,
            &other.place,
            &name,
        )
    })?;
    rows.logs = logs;
    unique(&mut rows.transactions, |one, other| {
        let (a, b) = (one.place.tx, other.place.tx);
        if one.place.block != other.place.block || a.index != b.index {
            return Ok(false);
        }
        let same = a.hash == b.hash
            && (one.from, one.to, one.value, one.success)
                == (other.from, other.to, other.value, other.success);
        let what = || format!("transaction {}", a.index.unwrap_or_default());
        same_or(same, what, &one.place, &other.place, &name)
    })?;
    unique(&mut rows.receipts, |one, other| {
        let (a, b) = (one.place.tx, other.place.tx);
        if one.place.block != other.place.block || a.index != b.index {
            return Ok(false);
        }
        let same = a.hash == b.hash && one.success == other.success;
        let what = || format!("the receipt of transaction {}", a.index.unwrap_or_default());
        same_or(same, what, &one.place, &other.place, &name)
    })?;
    unique(&mut rows.headers, |one, other| {
        if one.place.block != other.place.block {
            return Ok(false);
        }
        let same = one.hash == other.hash
            && one.parent_hash == other.parent_hash
            && one.place.time == other.place.time
            && one.transactions == other.transactions
            && one.bloom == other.bloom
            && withdrawn(one).eq(withdrawn(other));
        same_or(
            same,
            || "the header".to_owned(),
            &one.place,
            &other.place,
            &name,
        )
    })?;
    let duplicates = unique_items(&mut rows.direct, &name)?;
    Ok(before - count(rows) + duplicates)
}

fn withdrawn(header: &Header) -> impl Iterator<Item = (Address, u64)> {
    let withdrawals = header.withdrawals.iter();
    withdrawals.map(|it| (it.address, it.amount_gwei))
}

fn count(rows: &Rows) -> u64 {
    let rows = [
        rows.logs.len(),
        rows.transactions.len(),
        rows.receipts.len(),
        rows.headers.len(),
    ];
    rows.iter().sum::<usize>() as u64
}

/// Removes the rows of a log that an earlier file has, too. Equal rows of one file are items of a
/// batch. Returns how many rows were removed.
fn unique_items(direct: &mut Vec<Direct>, name: &dyn Fn(&Place) -> String) -> Result<u64, Error> {
    let mut kept = Vec::with_capacity(direct.len());
    let mut duplicates = 0;
    for items in direct.chunk_by(|a, b| (a.place.block, a.log) == (b.place.block, b.log)) {
        let mut files = items.chunk_by(|a, b| a.place.at.file == b.place.at.file);
        let first = files.next().unwrap_or_default();
        kept.extend(first.iter().map(|_| true));
        for other in files {
            let log = items[0].log;
            kept.extend(other.iter().map(|_| log.is_none()));
            let Some(log) = log else { continue };
            let rows = other.chunk_by(|a, b| a.place.at == b.place.at);
            duplicates += rows.count() as u64;
            let (one, two) = (&first[0].place, &other[0].place);
            let same = agree(one, two) && sorted_items(first) == sorted_items(other);
            same_or(same, || format!("log {log}"), one, two, name)?;
        }
    }
    let mut kept = kept.into_iter();
    direct.retain(|_| kept.next().unwrap_or(true));
    Ok(duplicates)
}

/// The items of a batch, whose order depends on the query that exported them.
fn sorted_items(items: &[Direct]) -> Vec<&Transfer> {
    let mut items: Vec<_> = items.iter().map(|it| &it.transfer).collect();
    items.sort_by_key(|it| {
        let ends = (it.from_address, it.to_address);
        (it.token_address, it.token_id, ends, it.value)
    });
    items
}

/// Whether two rows can belong to the same transaction.
pub(crate) fn agree(one: &Place, other: &Place) -> bool {
    let index = one
        .tx
        .index
        .zip(other.tx.index)
        .is_none_or(|(one, other)| one == other);
    index
        && one
            .tx
            .hash
            .zip(other.tx.hash)
            .is_none_or(|(one, other)| one == other)
}

pub(crate) fn same_or(
    same: bool,
    what: impl FnOnce() -> String,
    one: &Place,
    other: &Place,
    name: &dyn Fn(&Place) -> String,
) -> Result<bool, Error> {
    match same {
        true => Ok(true),
        false => Err(Error::Contradiction {
            block: one.block,
            what: what(),
            one: name(one),
            other: name(other),
        }),
    }
}

/// Removes rows that equal the one before.
fn unique<T>(
    rows: &mut Vec<T>,
    mut is_same: impl FnMut(&T, &T) -> Result<bool, Error>,
) -> Result<(), Error> {
    let mut failed = None;
    rows.dedup_by(|later, first| match is_same(first, later) {
        Ok(same) => same,
        Err(error) => {
            failed.get_or_insert(error);
            false
        }
    });
    failed.map_or(Ok(()), Err)
}

pub(crate) fn describe(files: &[ImportedFile], at: At) -> String {
    let path = files
        .get(at.file)
        .map_or_else(String::new, |file| file.path.display().to_string());
    format!("{path}, row {}", at.row + 1)
}
