//! Builds a partition: blocks go in, the files of one partition come out.

use crate::{
    dictionary::{PartitionIds, Place},
    error::{Error, Result},
    manifest::{Counts, PartitionInfo},
    schema::Table,
    writer::{PartitionWriter, Target},
};
use alloy_primitives::{Address, B256, map::HashMap};
use arrow_array::{
    ArrayRef, DictionaryArray, FixedSizeBinaryArray, Int32Array, StringArray, UInt32Array,
    UInt64Array, builder::FixedSizeBinaryBuilder,
};
use std::{collections::BTreeMap, mem::take, sync::Arc};
use txgraph_base::Interner;
use txgraph_transfers::{
    AnomalousLogs, BlockRange, BlockSummary, Csr, Kind, TokenStandard, Transfer,
};
use txgraph_work::CancelFlag;

/// Stands for the native coin among the numbers of token addresses.
const NATIVE: u32 = u32::MAX;

/// The number of transfers that are appended together.
const GROUP: usize = 16;

/// The expected size of a partition: the size of the partition before. It avoids copying
/// columns and rehashing addresses while they grow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Capacity {
    rows: usize,
    addresses: usize,
    transactions: usize,
}

/// A partition that is being built.
#[derive(Debug)]
pub(crate) struct Builder {
    first: u64,
    parent_hash: B256,
    last_hash: B256,
    counts: Counts,
    addresses: Interner<Address>,
    // By block.
    times: Vec<u64>,
    hashes: Vec<u8>,
    transactions: Vec<u32>,
    logs: Vec<u32>,
    transfers: Vec<u32>,
    anomalies: Vec<AnomalousLogs>,
    // By transaction with a transfer.
    hashed: Vec<(u64, u32)>,
    transaction_hashes: Vec<u8>,
    // By row.
    row_transaction: Vec<u32>,
    row_log: Vec<Option<u32>>,
    row_sub: Vec<u32>,
    row_token: Vec<u32>,
    row_from: Vec<u32>,
    row_to: Vec<u32>,
    row_value: Vec<u8>,
    /// With the rows that have one.
    token_ids: Vec<(usize, [u8; 32])>,
    row_sort: Vec<(TokenStandard, Kind)>,
}

impl Builder {
    /// Starts a partition whose first block is `first`.
    pub(crate) fn new(first: u64, parent_hash: B256, capacity: Capacity) -> Self {
        let Capacity {
            rows,
            addresses,
            transactions,
        } = capacity;
        Self {
            first,
            parent_hash,
            last_hash: parent_hash,
            counts: Counts::default(),
            addresses: Interner::with_capacity(addresses),
            times: Vec::new(),
            hashes: Vec::new(),
            transactions: Vec::new(),
            logs: Vec::new(),
            transfers: Vec::new(),
            anomalies: Vec::new(),
            hashed: Vec::with_capacity(transactions),
            transaction_hashes: Vec::with_capacity(32 * transactions),
            row_transaction: Vec::with_capacity(rows),
            row_log: Vec::with_capacity(rows),
            row_sub: Vec::with_capacity(rows),
            row_token: Vec::with_capacity(rows),
            row_from: Vec::with_capacity(rows),
            row_to: Vec::with_capacity(rows),
            row_value: Vec::with_capacity(32 * rows),
            token_ids: Vec::new(),
            row_sort: Vec::with_capacity(rows),
        }
    }

    /// The number of transfers.
    pub(crate) fn rows(&self) -> usize {
        self.row_from.len()
    }

    /// Returns the capacity for a partition like this one, and 6 % more.
    pub(crate) fn capacity(&self) -> Capacity {
        let more = |held: usize| held + held / 16;
        Capacity {
            rows: more(self.rows()),
            addresses: more(self.addresses.len()),
            transactions: more(self.hashed.len()),
        }
    }

    /// The blocks that were appended.
    pub(crate) fn blocks(&self) -> Option<BlockRange> {
        let last = self
            .first
            .checked_add(self.times.len() as u64)?
            .checked_sub(1)?;
        BlockRange::new(self.first, last)
    }

    /// Appends a block with its transfers in total order.
    pub(crate) fn push(
        &mut self,
        summary: &BlockSummary,
        hash: B256,
        anomalies: &[AnomalousLogs],
        transfers: &[Transfer],
    ) -> Result<()> {
        let block = summary.number;
        let number =
            |count: u64, what| u32::try_from(count).map_err(|_| Error::TooMany { block, what });
        self.times.push(summary.timestamp);
        self.hashes.extend_from_slice(hash.as_slice());
        self.last_hash = hash;
        self.transactions
            .push(number(summary.counts.transactions, "transactions")?);
        self.logs.push(number(summary.counts.logs, "logs")?);
        self.transfers
            .push(number(transfers.len() as u64, "transfers")?);
        number((self.rows() + transfers.len()) as u64, "transfers")?;
        self.counts.add(&summary.counts);
        self.anomalies.extend_from_slice(anomalies);
        let ends = transfers.iter().map(|it| [it.from_address, it.to_address]);
        let rows = [&mut self.row_from, &mut self.row_to];
        let interned = self.addresses.intern_pairs(ends, rows);
        interned.map_err(|_| Error::TooMany {
            block,
            what: "addresses",
        })?;
        transfers
            .chunks(GROUP)
            .try_for_each(|some| self.rows_of(block, some))
    }

    /// Appends at most [`GROUP`] rows of a block without the ends, column by column.
    fn rows_of(&mut self, block: u64, some: &[Transfer]) -> Result<()> {
        for transfer in some {
            // A few tokens have nearly all transfers, so their slots are in the cache.
            let token = transfer.token_address;
            let token = token.map_or(Ok(NATIVE), |token| self.addresses.intern(token));
            self.row_token.push(token.map_err(|_| Error::TooMany {
                block,
                what: "addresses",
            })?);
        }
        for transfer in some {
            let transaction = (block, transfer.transaction_index);
            if let Some(hash) = transfer.transaction_hash
                && self.hashed.last() != Some(&transaction)
            {
                self.hashed.push(transaction);
                self.transaction_hashes.extend_from_slice(hash.as_slice());
            }
        }
        for (row, transfer) in (self.row_transaction.len()..).zip(some) {
            if let Some(id) = transfer.token_id {
                self.token_ids.push((row, id.to_be_bytes()));
            }
        }
        let transactions = some.iter().map(|transfer| transfer.transaction_index);
        self.row_transaction.extend(transactions);
        self.row_log
            .extend(some.iter().map(|transfer| transfer.log_index));
        self.row_sub
            .extend(some.iter().map(|transfer| transfer.sub_index));
        for transfer in some {
            let value = transfer.value.to_be_bytes::<32>();
            self.row_value.extend_from_slice(&value);
        }
        let sorts = some.iter().map(|it| (it.token_standard, it.kind));
        self.row_sort.extend(sorts);
        Ok(())
    }

    /// Writes the partition. Waits for the turn to get ids.
    pub(crate) fn finish(
        mut self,
        target: &Target<'_>,
        (place, is_last): (&Place<'_>, bool),
        cancel: &CancelFlag,
    ) -> Result<PartitionInfo> {
        let blocks = self
            .blocks()
            .ok_or_else(|| Error::Options("a partition without blocks".to_owned()))?;
        let sorted = take(&mut self.addresses).sorted();
        let addresses: Vec<Address> = sorted.iter().map(|(address, _)| *address).collect();
        let assigned = place.assign(&addresses, blocks.first, cancel)?;
        if is_last {
            // The next job gets its ids while this one writes.
            place.done();
        }
        drop(addresses);
        let PartitionIds {
            first_new,
            new,
            ids,
        } = assigned;
        // By the numbers of `addresses`.
        let mut id_of = vec![0; sorted.len()];
        for ((_, number), id) in sorted.iter().zip(ids) {
            id_of[*number as usize] = id;
        }
        drop(sorted);
        let ids = Numbered::new(id_of);

        let mut writer = PartitionWriter::create(blocks, self.last_hash, target)?;
        writer.table(
            Table::BySender,
            self.edges(&ids, &self.row_from, &self.row_to),
        )?;
        writer.table(
            Table::ByReceiver,
            self.edges(&ids, &self.row_to, &self.row_from),
        )?;
        writer.table(Table::Addresses, new_addresses(first_new, &new))?;
        writer.table(Table::Transactions, self.transaction_table())?;
        writer.table(Table::Anomalies, self.anomaly_table())?;
        writer.table(Table::Assets, self.asset_table(&ids))?;
        let (parent_hash, last_hash, counts) = (self.parent_hash, self.last_hash, self.counts);
        let transfers = self.rows() as u64;
        writer.table(Table::Transfers, self.transfer_table(&ids))?;
        writer.table(Table::Blocks, self.block_table())?;
        let finished = writer.finish()?;
        Ok(PartitionInfo {
            folder: finished.folder,
            blocks,
            parent_hash,
            last_hash,
            transfers,
            first_address_id: first_new,
            new_addresses: new.len() as u64,
            counts,
            files: finished.files,
            checksums_crc32: finished.checksums_crc32,
        })
    }

    /// The rows ordered by the id of `key`, and then by row.
    fn edges(&self, ids: &Numbered, key: &[u32], other: &[u32]) -> Vec<ArrayRef> {
        let order = ids.order(key);
        let id = |column: &[u32]| {
            let id = |row: &u32| ids.id_of[column[*row as usize] as usize];
            order.iter().map(id).collect::<Vec<u64>>()
        };
        let token = |row: &u32| ids.token(self.row_token[*row as usize]);
        let tokens: UInt64Array = order.iter().map(token).collect();
        let (key, other) = (id(key), id(other));
        vec![u64s(key), u64s(other), Arc::new(tokens), u32s(order)]
    }

    fn transfer_table(&mut self, ids: &Numbered) -> Vec<ArrayRef> {
        let rows = self.rows();
        // The values of a block, for each of its rows.
        let of_blocks = |values: &mut dyn Iterator<Item = u64>| {
            let mut column = Vec::with_capacity(rows);
            for (value, count) in values.zip(&self.transfers) {
                column.resize(column.len() + *count as usize, value);
            }
            u64s(column)
        };
        let blocks = of_blocks(&mut (self.first..));
        let times = of_blocks(&mut self.times.iter().copied());
        let tokens: UInt64Array = self
            .row_token
            .iter()
            .map(|token| ids.token(*token))
            .collect();
        let id = |column: Vec<u32>| {
            u64s(
                column
                    .into_iter()
                    .map(|number| ids.id_of[number as usize])
                    .collect(),
            )
        };
        let (standards, kinds) = words(&self.row_sort);
        let mut token_ids = FixedSizeBinaryBuilder::with_capacity(rows, 32);
        let mut next = 0;
        for (row, token_id) in &self.token_ids {
            token_ids.append_nulls(row - next);
            // The width fits.
            let _ = token_ids.append_value(token_id);
            next = row + 1;
        }
        token_ids.append_nulls(rows - next);
        vec![
            blocks,
            times,
            u32s(take(&mut self.row_transaction)),
            Arc::new(UInt32Array::from(take(&mut self.row_log))),
            u32s(take(&mut self.row_sub)),
            Arc::new(tokens),
            id(take(&mut self.row_from)),
            id(take(&mut self.row_to)),
            bytes(32, take(&mut self.row_value)),
            Arc::new(token_ids.finish()),
            standards,
            kinds,
        ]
    }

    fn transaction_table(&mut self) -> Vec<ArrayRef> {
        let hashed = take(&mut self.hashed);
        vec![
            u64s(hashed.iter().map(|(block, _)| *block).collect()),
            u32s(hashed.iter().map(|(_, index)| *index).collect()),
            bytes(32, take(&mut self.transaction_hashes)),
        ]
    }

    fn block_table(&mut self) -> Vec<ArrayRef> {
        let times = take(&mut self.times);
        let numbers = (self.first..).take(times.len()).collect();
        vec![
            u64s(numbers),
            u64s(times),
            bytes(32, take(&mut self.hashes)),
            u32s(take(&mut self.transactions)),
            u32s(take(&mut self.logs)),
            u32s(take(&mut self.transfers)),
        ]
    }

    fn anomaly_table(&self) -> Vec<ArrayRef> {
        let all = &self.anomalies;
        let count = |of: fn(&AnomalousLogs) -> u64| u64s(all.iter().map(of).collect());
        let emitters = all.iter().flat_map(|logs| logs.emitter.0.0).collect();
        vec![
            count(|logs| logs.block),
            bytes(20, emitters),
            count(|logs| logs.counts.malformed),
            count(|logs| logs.counts.malformed_erc1155),
            count(|logs| logs.counts.dirty_addresses),
            count(|logs| logs.counts.wraps_deduplicated),
        ]
    }

    /// The number of transfers of each token, standard and kind.
    fn asset_table(&self, ids: &Numbered) -> Vec<ArrayRef> {
        let mut counts: HashMap<(u32, TokenStandard, Kind), u64> = HashMap::default();
        for (token, (standard, kind)) in self.row_token.iter().zip(&self.row_sort) {
            *counts.entry((*token, *standard, *kind)).or_default() += 1;
        }
        let assets: BTreeMap<(Option<u64>, TokenStandard, Kind), u64> = counts
            .into_iter()
            .map(|((token, standard, kind), count)| ((ids.token(token), standard, kind), count))
            .collect();
        let sorts: Vec<_> = (assets.keys().map(|(_, standard, kind)| (*standard, *kind))).collect();
        let (standards, kinds) = words(&sorts);
        let tokens: UInt64Array = assets.keys().map(|(token, ..)| *token).collect();
        let counts = assets.into_values().collect();
        vec![Arc::new(tokens), standards, kinds, u64s(counts)]
    }
}

/// The addresses of a partition: ids by number.
struct Numbered {
    id_of: Vec<u64>,
    /// The position of each number in the order of ids.
    rank: Vec<u32>,
}

impl Numbered {
    fn new(id_of: Vec<u64>) -> Self {
        let mut numbers: Vec<u32> = (0..).take(id_of.len()).collect();
        numbers.sort_unstable_by_key(|number| id_of[*number as usize]);
        let mut rank = vec![0; id_of.len()];
        for (at, number) in (0_u32..).zip(numbers) {
            rank[number as usize] = at;
        }
        Self { id_of, rank }
    }

    fn token(&self, number: u32) -> Option<u64> {
        (number != NATIVE).then(|| self.id_of[number as usize])
    }

    /// The rows ordered by the id of their key, and then by row.
    fn order(&self, key: &[u32]) -> Vec<u32> {
        let ranks = key.iter().map(|number| self.rank[*number as usize]);
        let order = Csr::group_counted(self.rank.len(), ranks.clone(), ranks.zip(0..));
        order.into_parts().1
    }
}

fn new_addresses(first: u64, addresses: &[Address]) -> Vec<ArrayRef> {
    let ids = (first..).take(addresses.len()).collect();
    let flat = addresses.iter().flat_map(|address| address.0.0).collect();
    vec![bytes(20, flat), u64s(ids)]
}

fn u64s(values: Vec<u64>) -> ArrayRef {
    Arc::new(UInt64Array::from(values))
}

fn u32s(values: Vec<u32>) -> ArrayRef {
    Arc::new(UInt32Array::from(values))
}

/// Values of `width` bytes each, one after another.
fn bytes(width: i32, values: Vec<u8>) -> ArrayRef {
    Arc::new(FixedSizeBinaryArray::new(width, values.into(), None))
}

/// Columns of the words of standards and kinds.
fn words(sorts: &[(TokenStandard, Kind)]) -> (ArrayRef, ArrayRef) {
    fn column(keys: impl Iterator<Item = usize>, words: Vec<&'static str>) -> ArrayRef {
        let keys: Int32Array = keys.map(|key| i32::try_from(key).ok()).collect();
        Arc::new(DictionaryArray::new(
            keys,
            Arc::new(StringArray::from(words)),
        ))
    }
    // The values of these enums are numbered in the order of `ALL`.
    let standards = sorts.iter().map(|(standard, _)| *standard as usize);
    let kinds = sorts.iter().map(|(_, kind)| *kind as usize);
    (
        column(
            standards,
            TokenStandard::ALL.iter().map(|it| it.as_str()).collect(),
        ),
        column(kinds, Kind::ALL.iter().map(|it| it.as_str()).collect()),
    )
}
