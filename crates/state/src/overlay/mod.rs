//! Values from before the changes of all blocks above a range, for databases without a
//! usable index. Change sets are read up to the tip and sorted by account or slot, then by
//! block: the first row above block `n` has the value as of the end of `n`.
//!
//! For blocks above the range only the first change of each account or slot is kept.
//!
//! An overlay is made for one tip. For a snapshot with a newer tip, the changes of the
//! blocks in between are added as another layer. That does not change the answers for an
//! older snapshot of the same chain: its current value is the previous value in the newer
//! change set.

mod rows;
mod sorter;
mod spill;
mod table;

use crate::{Result, StateOptions};
use alloy_primitives::{Address, B256, U256};
use rows::{ACCOUNT_KEY, ACCOUNT_ROW, Row, STORAGE_KEY, STORAGE_ROW};
use sorter::Sorter;
use spill::SpillDir;
use std::{collections::BTreeMap, ops::ControlFlow, sync::Arc};
use table::{AccountTable, StorageTable, Table};
use txgraph_nodedb::{Account, BlockRange, Scratch, Snapshot};

/// A tip that an overlay was made for or extended to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tip {
    pub(crate) block: u64,
    pub(crate) hash: B256,
}

impl Tip {
    pub(crate) fn of(snapshot: &Snapshot<'_>) -> Result<Self> {
        let block = snapshot.tip();
        Ok(Self {
            block,
            hash: snapshot.block_hash(block)?,
        })
    }

    /// Returns whether it is a block of the chain of a snapshot.
    pub(crate) fn is_in(&self, snapshot: &Snapshot<'_>) -> Result<bool> {
        Ok(self.block <= snapshot.tip() && snapshot.block_hash(self.block)? == self.hash)
    }
}

/// The changes of all blocks above the first one of a range, up to a tip.
#[derive(Clone, Debug)]
pub(crate) struct Overlay {
    /// The tip it was made for, and those it was extended to, ascending.
    tips: Vec<Tip>,
    /// Each has the blocks after the blocks of the previous layer.
    layers: Vec<Arc<Layer>>,
}

/// The changes of consecutive blocks.
#[derive(Debug)]
pub(crate) struct Layer {
    accounts: AccountTable,
    storage: StorageTable,
}

impl Overlay {
    pub(crate) fn new(tip: Tip, layer: Layer) -> Self {
        Self {
            tips: vec![tip],
            layers: vec![Arc::new(layer)],
        }
    }

    /// Returns the overlay without its extensions.
    pub(crate) fn base(&self) -> Self {
        Self {
            tips: self.tips[..1].to_vec(),
            layers: self.layers[..1].to_vec(),
        }
    }

    /// Returns the tip it was made for.
    pub(crate) fn first_tip(&self) -> Tip {
        self.tips[0]
    }

    /// Returns the last tip it was extended to.
    pub(crate) fn last_tip(&self) -> Tip {
        self.tips[self.tips.len() - 1]
    }

    /// Returns whether it was made for or extended to this tip.
    pub(crate) fn knows(&self, tip: Tip) -> bool {
        self.tips.iter().rev().any(|known| *known == tip)
    }

    /// Returns an overlay with another layer: the changes after the last tip, up to `tip`.
    pub(crate) fn extended(&self, tip: Tip, layer: Layer) -> Self {
        let mut tips = self.tips.clone();
        tips.push(tip);
        let mut layers = self.layers.clone();
        layers.push(Arc::new(layer));
        // Keeps the number of layers small and moves each row only a few times: a layer is
        // not merged into a much larger one, and never into the one of `base`.
        while let [_, .., older, newer] = &layers[..]
            && older.memory_bytes() <= 2 * newer.memory_bytes()
            && let Some(merged) = older.merge(newer)
        {
            layers.truncate(layers.len() - 2);
            layers.push(Arc::new(merged));
        }
        Self { tips, layers }
    }

    /// Returns the memory of the extensions in bytes.
    pub(crate) fn extension_bytes(&self) -> usize {
        self.layers[1..]
            .iter()
            .map(|layer| layer.memory_bytes())
            .sum()
    }

    /// Returns an account as of the end of a block, if a later block changed it.
    pub(crate) fn account(&self, address: Address, block: u64) -> Result<Option<Option<Account>>> {
        for layer in &self.layers {
            let key = address.into_array();
            if let Some(row) = layer.accounts.first_from(key, block + 1)? {
                return Ok(Some(rows::account_of(&row)));
            }
        }
        Ok(None)
    }

    /// Visits the blocks after one that changed an account, ascending, with the account before each.
    pub(crate) fn account_changes(
        &self,
        address: Address,
        after: u64,
        visit: &mut dyn FnMut(u64, Option<Account>) -> ControlFlow<()>,
    ) -> Result<()> {
        let tables = self.layers.iter().map(|layer| &layer.accounts);
        walk_key(tables, address.into_array(), after, &mut |block, row| {
            visit(block, rows::account_of(row))
        })
    }

    /// Like [`Self::account_changes`], for a slot.
    pub(crate) fn storage_changes(
        &self,
        address: Address,
        slot: B256,
        after: u64,
        visit: &mut dyn FnMut(u64, U256) -> ControlFlow<()>,
    ) -> Result<()> {
        let tables = self.layers.iter().map(|layer| &layer.storage);
        let key = rows::storage_key(address, slot);
        walk_key(tables, key, after, &mut |block, row| {
            visit(block, rows::storage_of(row).1)
        })
    }

    /// Returns the value of a slot as of the end of a block, if a later block changed it.
    pub(crate) fn storage(&self, address: Address, slot: B256, block: u64) -> Result<Option<U256>> {
        for layer in &self.layers {
            let key = rows::storage_key(address, slot);
            if let Some(row) = layer.storage.first_from(key, block + 1)? {
                return Ok(Some(rows::storage_of(&row).1));
            }
        }
        Ok(None)
    }

    /// Returns all slots of an account that later blocks changed, with their values as of
    /// the end of a block.
    pub(crate) fn slots(&self, address: Address, block: u64) -> Result<BTreeMap<B256, U256>> {
        let mut slots = BTreeMap::new();
        let from = rows::probe(rows::storage_key(address, B256::ZERO), 0);
        for layer in &self.layers {
            layer.storage.walk_from(&from, &mut |row| {
                if row[..ACCOUNT_KEY] != *address {
                    return ControlFlow::Break(());
                }
                if rows::block_of::<STORAGE_KEY, STORAGE_ROW>(row) > block {
                    let (slot, before) = rows::storage_of(row);
                    slots.entry(slot).or_insert(before);
                }
                ControlFlow::Continue(())
            })?;
        }
        Ok(slots)
    }
}

/// Visits the rows of a key with blocks above `after`, ascending.
fn walk_key<'a, const KEY: usize, const ROW: usize>(
    tables: impl Iterator<Item = &'a Table<KEY, ROW>>,
    key: [u8; KEY],
    after: u64,
    visit: &mut dyn FnMut(u64, &Row<ROW>) -> ControlFlow<()>,
) -> Result<()> {
    let from = rows::probe(key, after + 1);
    for table in tables {
        let mut flow = ControlFlow::Continue(());
        table.walk_from(&from, &mut |row| {
            if row[..KEY] != key {
                return ControlFlow::Break(());
            }
            flow = visit(rows::block_of::<KEY, ROW>(row), row);
            flow
        })?;
        if flow.is_break() {
            break;
        }
    }
    Ok(())
}

impl Layer {
    fn memory_bytes(&self) -> usize {
        self.accounts.memory_bytes() + self.storage.memory_bytes()
    }

    /// Merges two layers of blocks above the range; `None` if one is in a file.
    fn merge(&self, newer: &Self) -> Option<Self> {
        Some(Self {
            accounts: self.accounts.merge(&newer.accounts)?,
            storage: self.storage.merge(&newer.storage)?,
        })
    }
}

/// Collects the changes of blocks.
#[derive(Debug)]
pub(crate) struct Collector {
    accounts: Sorter<ACCOUNT_KEY, ACCOUNT_ROW>,
    storage: Sorter<STORAGE_KEY, STORAGE_ROW>,
    scratch: Scratch,
}

impl Collector {
    /// Creates a collector for the changes of `blocks`. Above `last_block` only the first
    /// change of each key is kept.
    pub(crate) fn new(blocks: BlockRange, last_block: u64, options: &StateOptions) -> Self {
        let spill = SpillDir::of(options, blocks);
        Self::with_memory(blocks, last_block, options.overlay_bytes_max, spill)
    }

    /// Creates collectors for at most `parts` parts of `blocks`, which share the memory.
    /// [`Self::append`] joins them.
    pub(crate) fn for_parts(
        blocks: BlockRange,
        last_block: u64,
        options: &StateOptions,
        parts: usize,
    ) -> impl Iterator<Item = (BlockRange, Self)> {
        let bytes_max = options.overlay_bytes_max / parts;
        let spill = SpillDir::of(options, blocks);
        let most = blocks.blocks().div_ceil(parts as u64);
        blocks.chunks(most).map(move |part| {
            let own = Self::with_memory(blocks, last_block, bytes_max, spill.clone());
            (part, own)
        })
    }

    fn with_memory(
        blocks: BlockRange,
        last_block: u64,
        bytes_max: usize,
        spill: Option<SpillDir>,
    ) -> Self {
        // A block changes about three slots per account.
        let accounts_max = bytes_max / 4;
        let storage_max = bytes_max - accounts_max;
        Self {
            accounts: Sorter::new(last_block, accounts_max, spill.clone(), blocks),
            storage: Sorter::new(last_block, storage_max, spill, blocks),
            scratch: Scratch::default(),
        }
    }

    /// Adds the changes of a collector of later blocks.
    pub(crate) fn append(&mut self, later: Self) -> Result<()> {
        self.accounts.append(later.accounts)?;
        self.storage.append(later.storage)
    }

    /// Reads the changes of a few blocks, which follow those before.
    pub(crate) fn add(&mut self, snapshot: &Snapshot<'_>, blocks: BlockRange) -> Result<()> {
        let Self {
            accounts,
            storage,
            scratch,
        } = self;
        snapshot.for_each_account_change(blocks, scratch, &mut |block, address, before| {
            if accounts.takes(address.into_array(), block) {
                accounts.push(rows::account_row(address, block, before.decode()?));
            }
            Ok(())
        })?;
        snapshot.for_each_storage_change(
            blocks,
            scratch,
            &mut |block, address, slot, before| {
                if storage.takes(rows::storage_key(address, slot), block) {
                    storage.push(rows::storage_row(address, slot, block, before));
                }
            },
        )?;
        accounts.make_room()?;
        storage.make_room()
    }

    pub(crate) fn finish(self) -> Result<Layer> {
        Ok(Layer {
            accounts: self.accounts.finish()?,
            storage: self.storage.finish()?,
        })
    }
}
