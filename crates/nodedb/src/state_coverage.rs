//! The blocks after which state is available, and why not after others.
//!
//! - The current tables are at the tip only if all stages are at the tip.
//! - In layout v2 they may be at an earlier block (partial persistence, the default since
//!   reth 2.6.0). [`Snapshot::state_block`] reads which.
//! - Earlier state needs the change sets of all blocks from there to the tip.
//! - An index that lacks blocks would return current state without an error.

use crate::{
    BlockRange, Layout, Part, Result, Snapshot,
    checkpoint::PruneSegment,
    conf::Segment,
    history::pruned_ahead,
    tables::{self, Table},
};

/// The blocks after which state is available.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateCoverage {
    /// The last block whose state the tables have: the tip, or an earlier block if the node
    /// stores states later than blocks.
    pub state_block: u64,
    /// The blocks after which balance, nonce and code of every account are available. The
    /// range ends at `state_block`.
    pub accounts: Option<BlockRange>,
    /// The blocks after which the storage of every account is available.
    pub storage: Option<BlockRange>,
    /// Why accounts are not available after earlier blocks.
    pub accounts_below: String,
    /// Why storage is not available after earlier blocks.
    pub storage_below: String,
    /// Why nothing is available, if both ranges are `None`.
    pub obstacle: Option<String>,
    /// The first block after which the history indices can be used.
    pub indexed_from: u64,
    /// Why the indices cannot be used for earlier available blocks, or not at all if
    /// `indexed_from` is the tip. Change sets can still be read.
    pub index_obstacle: Option<String>,
}

impl Snapshot<'_> {
    /// Returns the blocks after which state is available, and those with an index.
    pub fn state_coverage(&self) -> Result<StateCoverage> {
        let (accounts, accounts_below) = self.state_range(Part::AccountChanges)?;
        let (storage, storage_below) = self.state_range(Part::StorageChanges)?;
        let mut obstacle = self.state_obstacle()?;
        let state_block = match obstacle {
            None => self.state_block()?,
            Some(_) => self.tip(),
        };
        // The tables contain nothing that can be used without the later change sets.
        let needed = accounts.first.max(storage.first);
        if state_block < needed && obstacle.is_none() {
            let below = match accounts.first == needed {
                true => &accounts_below,
                false => &storage_below,
            };
            obstacle = Some(format!(
                "no account or storage is available: the node has stored the state of block \
                 {state_block}, and {below}"
            ));
        }
        let available = |blocks: BlockRange| {
            let blocks = BlockRange {
                last: state_block,
                ..blocks
            };
            obstacle.is_none().then_some(blocks)
        };
        let mut indexed_from = accounts.first.max(storage.first);
        let mut index_obstacle = self.index_obstacle()?;
        if index_obstacle.is_some() {
            indexed_from = self.tip();
        } else if obstacle.is_none() {
            let first = self.first_indexed_block()?;
            if first > indexed_from + 1 {
                indexed_from = (first - 1).min(self.tip());
                index_obstacle = Some(pruned_ahead(first));
            }
        }
        Ok(StateCoverage {
            state_block,
            accounts: available(accounts),
            storage: available(storage),
            accounts_below,
            storage_below,
            indexed_from,
            index_obstacle,
            obstacle,
        })
    }

    /// Returns the blocks after which the state of a part is available, and why not before.
    /// The state after block N needs the change sets from N + 1 to the tip, and N must not be
    /// below the prune checkpoint.
    pub(crate) fn state_range(&self, part: Part) -> Result<(BlockRange, String)> {
        let (prune, segment) = match part {
            Part::AccountChanges => (PruneSegment::AccountHistory, Segment::AccountChangeSets),
            _ => (PruneSegment::StorageHistory, Segment::StorageChangeSets),
        };
        let whole = BlockRange::from_to(self.genesis_block(), self.tip());
        let pruned_to = self.pruned_to(prune)?;
        let first_change_set = match (self.layout()?, pruned_to) {
            // Rows are pruned one by one, so the checkpoint is exact. Blocks without changes
            // have no rows.
            (Layout::V1, Some(_)) => whole.first,
            // The genesis allocation is in the change set of its block. If it is missing,
            // only the blocks with rows are certain.
            (Layout::V1, None) => match self.txn.seek(Table::AccountChangeSets, &[0])? {
                Some((key, _)) => tables::key_number(key)
                    .map_err(|what| self.bad_row(Table::AccountChangeSets, "(first)", what))?,
                None => self.tip() + 1,
            },
            // Whole files are deleted, possibly without a checkpoint.
            (Layout::V2, _) => match self.covered_by(segment, whole).iter().last() {
                Some(blocks) if blocks.last == self.tip() => blocks.first,
                _ => self.tip() + 1,
            },
        };
        let from_change_sets = if first_change_set <= whole.first {
            whole.first
        } else {
            first_change_set - 1
        };
        let first = pruned_to.unwrap_or(0).max(from_change_sets).min(self.tip());
        let below = match pruned_to {
            Some(pruned_to) if first <= pruned_to => {
                format!("{part} are pruned up to block {pruned_to}")
            }
            _ if first == whole.first => format!("block {first} is the first block of the chain"),
            _ => {
                format!("{part} of block {first} and earlier blocks are missing")
            }
        };
        let blocks = BlockRange::from_to(first, whole.last);
        Ok((blocks, below))
    }

    /// Returns why state is available after no block, if so.
    pub(crate) fn state_obstacle(&self) -> Result<Option<String>> {
        let stages: &[&str] = match self.layout()? {
            Layout::V1 => &["Execution"],
            Layout::V2 => &["Execution", "AccountHashing", "StorageHashing"],
        };
        if let Some((name, block)) = self.stage_off_tip(stages)? {
            return Ok(Some(format!(
                "no account or storage is available: stage {name} is at block {block}, the tip is \
                 {}",
                self.tip()
            )));
        }
        Ok(match self.finish_state()? {
            Ok(_) => None,
            Err(what) => Some(format!(
                "no account or storage is available: stage Finish {what}{}",
                self.newest_writer()
            )),
        })
    }

    /// Returns why the history indices cannot be used, if so.
    fn index_obstacle(&self) -> Result<Option<String>> {
        match self.lagging_index()? {
            None => self.unreachable_index(&[Table::AccountsHistory, Table::StoragesHistory]),
            lagging => Ok(lagging),
        }
    }

    /// Returns a reason if an index lacks blocks: lookups would silently return current state.
    pub(crate) fn lagging_index(&self) -> Result<Option<String>> {
        let stages = ["IndexAccountHistory", "IndexStorageHistory"];
        Ok(self.stage_off_tip(&stages)?.map(|(name, block)| {
            format!(
                "the history indices are incomplete: stage {name} is at block {block}, the tip is {}",
                self.tip()
            )
        }))
    }

    fn stage_off_tip<'n>(&self, names: &[&'n str]) -> Result<Option<(&'n str, u64)>> {
        for name in names {
            let block = self.stage(name)?.unwrap_or(0);
            if block != self.tip() {
                return Ok(Some((name, block)));
            }
        }
        Ok(None)
    }
}
