//! The history of a slot: every change of its value, by the change sets of the node.

mod to_file;

use super::{BlockState, SlotState, statement::hint_for_all_blocks};
use crate::{
    BlockSpec, Capability, Result, Source,
    query::{query_metadata::Description, retry::retry_on_reorg},
    select::resolve_one,
};
use alloy_primitives::{Address, U256};
use std::ops::ControlFlow;
use txgraph_analysis::Table;
use txgraph_state::StateRange;
use txgraph_transfers::{BlockRange, SourceError};

/// Asks for the history of a slot. See [`Source::slot_history`].
#[derive(Clone, Debug)]
#[must_use = "a query is run by `run`"]
pub struct SlotHistory<'s> {
    source: &'s Source,
    address: Address,
    slot: U256,
    blocks: Vec<BlockSpec>,
}

/// The history of a slot. The value before the first change, and the changes in their order, give the
/// value at the end of each block.
#[derive(Debug)]
pub struct SlotChanges<'s> {
    /// The contract.
    pub address: Address,
    /// The slot.
    pub slot: U256,
    /// The blocks.
    pub blocks: BlockRange,
    /// The value before the blocks.
    pub opening: SlotState,
    /// The changes, in the order of the chain.
    pub changes: Vec<SlotChange>,
    /// The table of the [changes](Self::changes).
    pub table: Table,
    /// Notes about what was executed, and what is not known, a line each.
    pub notes: Vec<String>,
    source: &'s Source,
    description: Description,
}

/// A change of a slot by a block. A value that a block writes and replaces again is not one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotChange {
    /// The block.
    pub block: u64,
    /// Its time, in seconds since 1970.
    pub timestamp: u64,
    /// The value before the block.
    pub before: U256,
    /// The value at the end of the block.
    pub after: U256,
    /// Why a value may be wrong, if it may be.
    pub caveat: Option<String>,
}

impl Source {
    /// Asks for every change of a slot, by the change sets of the node.
    pub fn slot_history(&self, address: Address, slot: U256) -> SlotHistory<'_> {
        SlotHistory {
            source: self,
            address,
            slot,
            blocks: Vec::new(),
        }
    }
}

impl<'s> SlotHistory<'s> {
    /// Only these blocks, which must be consecutive. Default: all.
    pub fn blocks(mut self, blocks: impl Into<BlockSpec>) -> Self {
        self.blocks.push(blocks.into());
        self
    }

    /// Reads the changes.
    ///
    /// # Errors
    ///
    /// If the source has no state before and after the blocks, or their change sets are pruned.
    pub fn run(self) -> Result<SlotChanges<'s>> {
        retry_on_reorg(self.source, || self.read()).map_err(hint_for_all_blocks)
    }

    fn read(&self) -> Result<SlotChanges<'s>> {
        let (source, address, slot) = (self.source, self.address, self.slot);
        let (blocks, cut) = resolve_one(&self.blocks, source, "a history")?;
        // The genesis is the state before block 1.
        let first = blocks.first.max(1).min(blocks.last);
        let blocks = BlockRange::from_to(first, blocks.last);
        let tip = source.block_hash(blocks.last)?;
        let states = source.node(Capability::State)?.state()?;
        let before = first.saturating_sub(1);
        let range = states.range(BlockRange::from_to(before, blocks.last))?;
        let reader = Reader {
            source,
            range: &range.checked(),
            address,
            slot,
        };
        let opening = reader.value(before)?;
        let mut notes = Vec::from_iter(cut);
        let mut changes = reader.changes(blocks, opening.value, &mut notes)?;
        changes.retain(|it| it.before != it.after || it.caveat.is_some());
        let changed: Vec<u64> = changes.iter().map(|it| it.block).collect();
        for (change, time) in changes.iter_mut().zip(source.times(&changed)?) {
            change.timestamp = time;
        }
        let stored = states.available()?.state_block;
        if stored < blocks.last {
            notes.push(format!(
                "the node has not stored the state after block {stored}: the blocks behind it were \
                 executed"
            ));
        }
        let caveats = changes.iter().map(|it| &it.caveat);
        let caveats = caveats.chain([&opening.caveat]).flatten();
        notes.extend(caveats.map(|why| format!("warning: {why}")));
        if source.block_hash(blocks.last)? != tip {
            return Err(SourceError::Reorged { block: blocks.last }.into());
        }
        Ok(SlotChanges {
            address,
            slot,
            blocks,
            opening,
            table: to_file::table(address, slot, blocks, &changes),
            changes,
            notes,
            source,
            description: to_file::description(address, slot, blocks),
        })
    }
}

/// Reads one slot.
struct Reader<'a> {
    source: &'a Source,
    /// Checked, because a node may have stored a zero instead of a value.
    range: &'a StateRange<'a>,
    address: Address,
    slot: U256,
}

impl Reader<'_> {
    /// The value at the end of a block.
    fn value(&self, block: u64) -> Result<SlotState> {
        let state = self.range.at(block)?;
        BlockState { state, block }.storage(self.address, self.slot)
    }

    /// The value of the change sets, unless it is zero, which may be wrong.
    fn value_or(&self, stored: U256, block: u64) -> Result<SlotState> {
        match stored.is_zero() {
            true => self.value(block),
            false => Ok(SlotState {
                value: stored,
                caveat: None,
            }),
        }
    }

    /// The changes, without times, after the value before the blocks.
    fn changes(
        &self,
        blocks: BlockRange,
        opening: U256,
        notes: &mut Vec<String>,
    ) -> Result<Vec<SlotChange>> {
        let mut stored = Vec::new();
        let mut interrupted = Ok(());
        let slot = self.slot.into();
        self.range
            .storage_changes(self.address, slot, &mut |block, before| {
                stored.push((block, before));
                interrupted = self.source.check_interrupted();
                match interrupted {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(_) => ControlFlow::Break(()),
                }
            })?;
        interrupted?;
        let mut changes = Vec::new();
        let mut last = (blocks.first.saturating_sub(1), opening);
        for (at, (block, before)) in stored.iter().enumerate() {
            self.source.check_interrupted()?;
            let before = self.value_or(*before, block - 1)?;
            notes.extend(self.add_unlisted(last, (*block, before.value), &mut changes)?);
            let after = match stored.get(at + 1) {
                Some((_, stored)) => self.value_or(*stored, *block)?,
                None => self.value(*block)?,
            };
            changes.push(SlotChange {
                block: *block,
                timestamp: 0,
                before: before.value,
                after: after.value,
                caveat: before.caveat.or(after.caveat),
            });
            last = (*block, after.value);
        }
        let closing = self.value(blocks.last)?;
        let end = (blocks.last + 1, closing.value);
        notes.extend(self.add_unlisted(last, end, &mut changes)?);
        Ok(changes)
    }

    /// Adds the changes between two values that the node has not listed: a node that has lost a value
    /// does not list that a destruction deleted it. The same block changed the account. Returns a note
    /// if a change is not found.
    fn add_unlisted(
        &self,
        (mut last, mut value): (u64, U256),
        (end, next): (u64, U256),
        changes: &mut Vec<SlotChange>,
    ) -> Result<Option<String>> {
        if value == next {
            return Ok(None);
        }
        let mut changed = Vec::new();
        self.range
            .account_changes(self.address, &mut |block, _| match block < end {
                true => {
                    changed.extend(Some(block).filter(|block| *block > last));
                    ControlFlow::Continue(())
                }
                false => ControlFlow::Break(()),
            })?;
        for block in changed {
            let after = self.value(block)?;
            changes.push(SlotChange {
                block,
                timestamp: 0,
                before: value,
                after: after.value,
                caveat: after.caveat,
            });
            (last, value) = (block, after.value);
        }
        Ok((value != next).then(|| {
            format!(
                "warning: a change after block {last} and before block {end}, from {value:#x} to \
                 {next:#x}, is missing: the node does not list it"
            )
        }))
    }
}
