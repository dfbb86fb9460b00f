//! The blocks whose state is available, for accounts and storage together.

use crate::{Error, Result};
use std::path::Path;
use txgraph_nodedb::{BlockRange, Snapshot, StateCoverage};

/// The most blocks that are executed to obtain the newest state. A node with default settings has
/// 30 (`--engine.num-state-masking-blocks`).
const NEWEST_BLOCKS_MAX: u64 = 1024;

/// The blocks after which state is available, and why not after others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Available {
    /// From the first such block to the tip, or to `state_block` if later blocks cannot be
    /// executed; `None` for no block, see `obstacle`.
    pub blocks: Option<BlockRange>,
    /// The newest block on disk.
    pub tip: u64,
    /// The last block whose state the node has stored.
    pub state_block: u64,
    /// Why state is not available after earlier blocks.
    pub below: String,
    /// Why it is not available after later blocks.
    pub above: String,
    /// Why it is available after no block.
    pub obstacle: Option<String>,
    /// The first block with an index, so that a single block can be looked up. The tip
    /// needs none.
    pub indexed_from: u64,
    /// Why earlier blocks have no index. Ranges of them can still be prepared.
    pub index_obstacle: Option<String>,
}

impl Available {
    /// `executes`: whether blocks that are stored without their state can be executed.
    pub(crate) fn of(snapshot: &Snapshot<'_>, executes: bool) -> Result<Self> {
        let tip = snapshot.tip();
        let StateCoverage {
            state_block,
            accounts,
            storage,
            accounts_below,
            storage_below,
            obstacle,
            indexed_from,
            index_obstacle,
        } = snapshot.state_coverage()?;
        let executes = executes && tip - state_block <= NEWEST_BLOCKS_MAX;
        let last = if executes { tip } else { state_block };
        let blocks = accounts.zip(storage).map(|(accounts, storage)| {
            BlockRange::from_to(accounts.first.max(storage.first), last)
        });
        let storage_is_later =
            storage.map(|blocks| blocks.first) > accounts.map(|blocks| blocks.first);
        Ok(Self {
            blocks,
            below: if storage_is_later {
                storage_below
            } else {
                accounts_below
            },
            above: match last == tip {
                true => format!("above the tip {tip} on disk"),
                false => format!(
                    "the node has stored blocks up to {tip}, but the state up to block \
                     {state_block} only, and the blocks between cannot be executed: they are more \
                     than {NEWEST_BLOCKS_MAX}, or the rules of the chain are not known"
                ),
            },
            tip,
            state_block,
            obstacle,
            indexed_from,
            index_obstacle,
        })
    }

    /// Returns the range, or the reason why there is none.
    pub(crate) fn blocks_in(&self, path: &Path) -> Result<BlockRange> {
        self.blocks.ok_or_else(|| Error::NoState {
            path: path.to_path_buf(),
            reason: self.obstacle.clone().unwrap_or_else(|| {
                "the change sets of accounts and of storage have no block in common".into()
            }),
        })
    }

    /// Refuses blocks whose state is not available.
    pub(crate) fn check(&self, path: &Path, block: u64) -> Result<()> {
        let available = self.blocks_in(path)?;
        let reason = if block < available.first {
            &self.below
        } else if block > self.tip {
            let tip = self.tip;
            return Err(txgraph_nodedb::Error::AboveTip { block, tip }.into());
        } else if block > available.last {
            &self.above
        } else {
            return Ok(());
        };
        Err(Error::NotAvailable {
            block,
            available,
            reason: reason.clone(),
        })
    }
}
