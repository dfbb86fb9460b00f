//! After which blocks state can be told, and why not after others. Current tables are
//! those of the tip only while no stage is on its way elsewhere; going back from there
//! takes the change sets of every block in between; and an index that lacks blocks
//! answers with current state without a word.

use crate::{
    BlockRange, Layout, Part, Result, Snapshot,
    checkpoint::PruneSegment,
    conf::Segment,
    history::pruned_ahead,
    tables::{self, Table},
};

/// Stage data of `Finish` with which a node says that its state lags behind its blocks.
const PARTIAL_STATE: u8 = 7;

/// What a directory can tell about state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateCoverage {
    /// Blocks after which balance, nonce and code of every account can be told: all of
    /// them from the first to the tip.
    pub accounts: Option<BlockRange>,
    /// Blocks after which the storage of every account can be told.
    pub storage: Option<BlockRange>,
    /// Why accounts cannot be told after earlier blocks.
    pub accounts_below: String,
    /// Why storage cannot.
    pub storage_below: String,
    /// Why nothing can be told, where both ranges are `None`.
    pub obstacle: Option<String>,
    /// The first block after which the history indices can be asked.
    pub indexed_from: u64,
    /// Why they cannot be asked for earlier blocks that can be told; or not at all, if
    /// that is the tip. Change sets can be walked all the same.
    pub index_obstacle: Option<String>,
}

impl Snapshot<'_> {
    /// After which blocks state can be told, and how.
    pub fn state_coverage(&self) -> Result<StateCoverage> {
        let (accounts, accounts_below) = self.state_range(Part::AccountChanges)?;
        let (storage, storage_below) = self.state_range(Part::StorageChanges)?;
        let obstacle = self.state_obstacle()?;
        let told = |blocks| obstacle.is_none().then_some(blocks);
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
            accounts: told(accounts),
            storage: told(storage),
            accounts_below,
            storage_below,
            indexed_from,
            index_obstacle,
            obstacle,
        })
    }

    /// The state after block N needs the change sets of all blocks from N + 1 to the
    /// tip, and N not below the prune checkpoint. Also why not below the first.
    pub(crate) fn state_range(&self, part: Part) -> Result<(BlockRange, String)> {
        let (prune, segment) = match part {
            Part::AccountChanges => (PruneSegment::AccountHistory, Segment::AccountChangeSets),
            _ => (PruneSegment::StorageHistory, Segment::StorageChangeSets),
        };
        let whole = BlockRange {
            first: self.genesis_block(),
            last: self.tip(),
        };
        let pruned_to = self.pruned_to(prune)?;
        let first_change_set = match (self.layout()?, pruned_to) {
            // Pruned row by row: the checkpoint is exact, and blocks that changed
            // nothing have no rows.
            (Layout::V1, Some(_)) => whole.first,
            // The genesis allocation stands in the change set of its block; without
            // it we cannot know, and promise only what rows prove.
            (Layout::V1, None) => match self.txn.seek(Table::AccountChangeSets, &[0])? {
                Some((key, _)) => tables::key_number(key)
                    .map_err(|what| self.bad_row(Table::AccountChangeSets, "(first)", what))?,
                None => self.tip() + 1,
            },
            // Whole files are deleted, and may be without a checkpoint.
            (Layout::V2, _) => match self.covered_by(segment, whole).last() {
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
            _ if first == whole.first => format!("the chain begins with block {first}"),
            _ => {
                format!("{part} of block {first} and of blocks before it are not in the directory")
            }
        };
        let blocks = BlockRange {
            first,
            last: whole.last,
        };
        Ok((blocks, below))
    }

    /// Why the state of no block can be told, if so.
    pub(crate) fn state_obstacle(&self) -> Result<Option<String>> {
        let stages: &[&str] = match self.layout()? {
            Layout::V1 => &["Execution"],
            Layout::V2 => &["Execution", "AccountHashing", "StorageHashing"],
        };
        if let Some((name, block)) = self.stage_off_tip(stages)? {
            return Ok(Some(format!(
                "accounts and storage cannot be told for any block: stage {name} stands at block {block}, \
                 the tip at {}",
                self.tip()
            )));
        }
        let finish = self.txn.get(Table::StageCheckpoints, b"Finish")?;
        let masked = finish
            .and_then(|value| tables::stage_checkpoint(value).ok()?.1)
            .is_some_and(|data| data.first() == Some(&PARTIAL_STATE));
        Ok(masked.then(|| {
            "accounts and storage cannot be told for any block: the node persists state behind its blocks \
             (--engine.num-state-masking-blocks)"
                .to_owned()
        }))
    }

    /// Why the history indices cannot be asked, if so.
    fn index_obstacle(&self) -> Result<Option<String>> {
        match self.lagging_index()? {
            None => self.unreachable_index(&[Table::AccountsHistory, Table::StoragesHistory]),
            lagging => Ok(lagging),
        }
    }

    /// That an index lacks blocks: it would silently answer with current state.
    pub(crate) fn lagging_index(&self) -> Result<Option<String>> {
        let stages = ["IndexAccountHistory", "IndexStorageHistory"];
        Ok(self.stage_off_tip(&stages)?.map(|(name, block)| {
            format!(
                "history indices are not complete: stage {name} stands at block {block}, the tip at {}",
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
