//! Change sets: what a block changed, with the values before it. Layout v1 has them in MDBX,
//! v2 in static files. Every block has one, including the genesis.

use crate::{
    Account, AccountBefore, BlockRange, Layout, Part, Result, Scratch, Snapshot, account,
    change_file::OpenChangeFile,
    checkpoint::PruneSegment,
    compact::Malformed,
    conf::Segment,
    jar::Jar,
    jar_reader::JarReader,
    tables::{self, Table},
};
use alloy_primitives::{Address, B256, U256};
use std::{cmp::Ordering, ops::Range, sync::Arc};

/// Returns a key of [`Table::StorageChangeSets`].
pub(crate) fn block_and_address(block: u64, address: Address) -> [u8; 28] {
    let mut key = [0; 28];
    key[..8].copy_from_slice(&tables::number_key(block));
    key[8..].copy_from_slice(address.as_slice());
    key
}

/// Receives the block, the part of a key after the block number, and the value.
type VisitRow<'a> = dyn FnMut(u64, &[u8], &[u8]) -> Result<(), Malformed> + 'a;

/// Receives the block and the value.
type VisitValue<'a> = dyn FnMut(u64, &[u8]) -> Result<(), Malformed> + 'a;

/// A search reads this many rows at once, and more rows one by one.
const ROWS_AT_ONCE: u64 = 64;

impl Snapshot<'_> {
    /// Visits the accounts that each block changed, ascending by block and account, with their
    /// previous values.
    pub fn for_each_account_change(
        &self,
        blocks: BlockRange,
        scratch: &mut Scratch,
        visit: &mut dyn FnMut(u64, Address, AccountBefore<'_>) -> Result<(), Malformed>,
    ) -> Result<()> {
        self.check_changes(Part::AccountChanges, blocks)?;
        let mut order = Ascending::default();
        let mut row = |block, row: &[u8]| {
            let (address, before) = account::account_before(row)?;
            match order.is_next((block, address))? {
                true => visit(block, address, before),
                false => Ok(()),
            }
        };
        match self.layout()? {
            Layout::V1 => {
                let table = Table::AccountChangeSets;
                self.walk_changes(table, blocks, &mut |block, _, value| row(block, value))
            }
            Layout::V2 => {
                let segment = Segment::AccountChangeSets;
                self.walk_change_files(segment, blocks, &mut scratch.account_changes, &mut row)
            }
        }
    }

    /// Visits the slots that each block changed, ascending by block, account and slot, with their
    /// previous values.
    pub fn for_each_storage_change(
        &self,
        blocks: BlockRange,
        scratch: &mut Scratch,
        visit: &mut dyn FnMut(u64, Address, B256, U256),
    ) -> Result<()> {
        self.check_changes(Part::StorageChanges, blocks)?;
        let mut order = Ascending::default();
        let mut row = |block, address, slot, before| {
            if order.is_next((block, address, slot))? {
                visit(block, address, slot, before);
            }
            Ok(())
        };
        match self.layout()? {
            Layout::V1 => {
                let table = Table::StorageChangeSets;
                self.walk_changes(table, blocks, &mut |block, address, value| {
                    let address =
                        Address::try_from(address).map_err(|_| "a key is not 28 bytes long")?;
                    let (slot, before) = account::storage_entry(value)?;
                    row(block, address, slot, before)
                })
            }
            Layout::V2 => {
                let segment = Segment::StorageChangeSets;
                let files = &mut scratch.storage_changes;
                self.walk_change_files(segment, blocks, files, &mut |block, value| {
                    let (address, slot, before) = account::storage_before(value)?;
                    row(block, address, slot, before)
                })
            }
        }
    }

    /// Returns an account as of before a block. `None` if the block did not change it,
    /// `Some(None)` if it did not exist.
    pub fn account_before(&self, block: u64, address: Address) -> Result<Option<Option<Account>>> {
        self.check_changes(Part::AccountChanges, BlockRange::one(block))?;
        match self.layout()? {
            Layout::V1 => {
                let table = Table::AccountChangeSets;
                let key = tables::number_key(block);
                let row = self.txn.get_duplicate(table, &key, address.as_slice())?;
                let decoded = row.map(|row| account::account_before(row)?.1.decode());
                (decoded.transpose()).map_err(|what| self.bad_value(table, block, what))
            }
            Layout::V2 => {
                let mut scratch = self.own_scratch.borrow_mut();
                let jar = self.change_jar(Segment::AccountChangeSets, block)?;
                let (reader, rows) = scratch.account_changes.block(jar, block)?;
                search(jar, reader, rows, |row| {
                    let (found, before) = account::account_before(row)?;
                    Ok((found.cmp(&address), before.decode()?))
                })
            }
        }
    }

    /// Returns the value of a slot before a block. `None` if the block did not change it.
    pub fn storage_before(&self, block: u64, address: Address, slot: B256) -> Result<Option<U256>> {
        self.check_changes(Part::StorageChanges, BlockRange::one(block))?;
        match self.layout()? {
            Layout::V1 => {
                let table = Table::StorageChangeSets;
                let key = block_and_address(block, address);
                let row = self.txn.get_duplicate(table, &key, slot.as_slice())?;
                let decoded = row.map(account::storage_entry).transpose();
                let found = decoded.map_err(|what| self.bad_value(table, block, what))?;
                Ok(found.map(|(_, before)| before))
            }
            Layout::V2 => {
                let mut scratch = self.own_scratch.borrow_mut();
                let jar = self.change_jar(Segment::StorageChangeSets, block)?;
                let (reader, rows) = scratch.storage_changes.block(jar, block)?;
                search(jar, reader, rows, |row| {
                    let (found_address, found_slot, before) = account::storage_before(row)?;
                    Ok(((found_address, found_slot).cmp(&(address, slot)), before))
                })
            }
        }
    }

    /// Returns the key of the first change of a block in static files: account, or account and
    /// slot.
    pub(crate) fn first_changed_key(
        &self,
        part: Part,
        block: u64,
        scratch: &mut Scratch,
    ) -> Result<Option<Vec<u8>>> {
        self.check_changes(part, BlockRange::one(block))?;
        let (segment, files, key_len) = match part {
            Part::AccountChanges => (Segment::AccountChangeSets, &mut scratch.account_changes, 20),
            _ => (Segment::StorageChangeSets, &mut scratch.storage_changes, 52),
        };
        let jar = self.change_jar(segment, block)?;
        let (reader, rows) = files.block(jar, block)?;
        if rows.is_empty() {
            return Ok(None);
        }
        let row = reader.cell(rows.start, 0, rows.start)?;
        let too_short = || jar.bad_row(rows.start, "the value is too short");
        Ok(Some(row.get(..key_len).ok_or_else(too_short)?.to_vec()))
    }

    /// Refuses blocks whose change sets are pruned or not stored yet.
    fn check_changes(&self, part: Part, blocks: BlockRange) -> Result<()> {
        self.check_tip(blocks.last)?;
        let [accounts, storage] = self.changes_pruned_to()?;
        let pruned_to = match part {
            Part::AccountChanges => accounts,
            _ => storage,
        };
        match pruned_to {
            Some(last) if blocks.first <= last => Err(self.missing(part, blocks.first)),
            _ => Ok(()),
        }
    }

    /// Returns the highest blocks whose account and storage changes are pruned.
    fn changes_pruned_to(&self) -> Result<[Option<u64>; 2]> {
        if let Some(known) = self.changes_pruned_to.get() {
            return Ok(*known);
        }
        let read = [
            self.pruned_to(PruneSegment::AccountHistory)?,
            self.pruned_to(PruneSegment::StorageHistory)?,
        ];
        Ok(*self.changes_pruned_to.get_or_init(|| read))
    }

    /// Visits the rows of blocks in a table whose keys begin with the block number. The rest of
    /// the key is passed to `row`.
    fn walk_changes(&self, table: Table, blocks: BlockRange, row: &mut VisitRow<'_>) -> Result<()> {
        let first = tables::number_key(blocks.first);
        let mut rows = self.txn.walk_from(table, &first)?;
        let mut block = blocks.first;
        while let Some((key, value)) = rows.next()? {
            block = tables::key_number(key).map_err(|what| self.bad_value(table, block, what))?;
            if block > blocks.last {
                break;
            }
            let done = row(block, &key[8..], value);
            done.map_err(|what| self.bad_value(table, block, what))?;
        }
        Ok(())
    }

    /// Visits the rows of blocks in static files. Reads far ahead in each.
    fn walk_change_files(
        &self,
        segment: Segment,
        blocks: BlockRange,
        files: &mut OpenChangeFile,
        visit: &mut VisitValue<'_>,
    ) -> Result<()> {
        let mut first = blocks.first;
        while first <= blocks.last {
            let jar = self.change_jar(segment, first)?;
            let last = jar.conf.blocks.map_or(first, |it| it.last).min(blocks.last);
            let (_, last_rows) = files.block(jar, last)?;
            for block in first..=last {
                let (reader, rows) = files.block(jar, block)?;
                let last_row = rows.end.max(last_rows.end).saturating_sub(1);
                for row in rows {
                    let bytes = reader.cell(row, 0, last_row)?;
                    let bad = |what| jar.bad_row(row, &format!("{what} (block {block})"));
                    visit(block, bytes).map_err(bad)?;
                }
            }
            first = last + 1;
        }
        Ok(())
    }

    /// Returns the static file with the changes of a block.
    fn change_jar(&self, segment: Segment, block: u64) -> Result<&Arc<Jar>> {
        self.files.find_block(segment, block).ok_or_else(|| {
            let part = match segment {
                Segment::AccountChangeSets => Part::AccountChanges,
                _ => Part::StorageChanges,
            };
            self.missing(part, block)
        })
    }
}

/// Searches the rows of a block, which ascend.
fn search<T>(
    jar: &Jar,
    reader: &mut JarReader,
    rows: Range<u64>,
    probe: impl Fn(&[u8]) -> Result<(Ordering, T), Malformed>,
) -> Result<Option<T>> {
    let Range { mut start, mut end } = rows;
    while start < end {
        let few = end - start <= ROWS_AT_ONCE;
        let row = start + (end - start) / 2;
        // The last rows are read at once.
        let bytes = if few {
            reader.cell(start, 0, end - 1)?;
            reader.cell(row, 0, end - 1)?
        } else {
            reader.cell(row, 0, row)?
        };
        let (order, found) = probe(bytes).map_err(|what| jar.bad_row(row, what))?;
        match order {
            Ordering::Equal => return Ok(Some(found)),
            Ordering::Less => start = row + 1,
            Ordering::Greater => end = row,
        }
    }
    Ok(None)
}

/// Checks the order of rows, which lookups depend on. Of rows with the same key the first
/// one is used, as in reth.
struct Ascending<K>(Option<K>);

impl<K> Default for Ascending<K> {
    fn default() -> Self {
        Self(None)
    }
}

impl<K: Ord> Ascending<K> {
    fn is_next(&mut self, key: K) -> Result<bool, Malformed> {
        match &self.0 {
            Some(before) if *before > key => Err("changes of the block do not ascend"),
            Some(before) if *before == key => Ok(false),
            _ => {
                self.0 = Some(key);
                Ok(true)
            }
        }
    }
}
