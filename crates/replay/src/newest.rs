//! The state at the tip of a node that stores states later than blocks: executes the blocks in
//! between.

use crate::{
    ChainRules, Error, Record, ReplayOptions, Result, StateError, StateHistory,
    block_replayer::BlockReplayer,
    worker::{self, Codes, Worker},
};
use alloy_primitives::B256;
use std::sync::{Arc, Mutex, PoisonError};
use txgraph_nodedb::BlockRange;
use txgraph_state::{
    BlockChanges, Error as HistoryError, NewestBlocks, NewestState, StateAt, StateDb, StateRange,
};
use txgraph_work::Retry;

/// Executes blocks that a node has stored without their state, and compares the result with
/// receipts, headers and change sets. Keeps the last result.
#[derive(Debug)]
pub struct NewestReplay {
    rules: ChainRules,
    codes: Codes,
    last: Mutex<Option<Arc<NewestState>>>,
}

impl NewestReplay {
    /// For a chain with these rules.
    pub fn new(rules: ChainRules) -> Self {
        Self {
            rules,
            codes: Codes::default(),
            last: Mutex::default(),
        }
    }

    fn execute(&self, states: &StateDb, blocks: BlockRange, tip: B256) -> Result<Arc<NewestState>> {
        let base = blocks.first.checked_sub(1).ok_or(Error::Genesis)?;
        let failed = |source: HistoryError| Error::state(blocks.first, source);
        let before = BlockRange::from_to(base, blocks.last - 1);
        let range = states.range(before).map_err(failed)?;
        let options = ReplayOptions::recording(Record {
            changes: true,
            ..Record::default()
        });
        let mut worker = Worker::new(&self.rules, &self.codes);
        let mut executed: Option<Arc<NewestState>> = None;
        for number in blocks.first..=blocks.last {
            let block = worker.read_one(&**states.node(), number, false)?;
            let parent = block.header.parent_hash;
            let state = executed.get_or_insert_with(|| Arc::new(NewestState::after(base, parent)));
            if state.last_hash() != parent {
                return Err(Error::Replaced { block: number });
            }
            let rules = worker::rules_of(&self.rules, &block)?;
            let history = ChangesSoFar {
                range: &range,
                state,
            };
            let replay =
                BlockReplayer::new(&block, rules, &options).replay(&mut worker, &history)?;
            if let Some(mismatch) = replay.mismatches.into_iter().next() {
                return Err(Error::Differs(Box::new(mismatch)));
            }
            Arc::make_mut(state).apply(block.header.hash, &replay.changes);
        }
        match executed {
            Some(state) if state.last_hash() == tip => Ok(state),
            _ => Err(Error::Replaced { block: blocks.last }),
        }
    }
}

impl NewestBlocks for NewestReplay {
    fn state(
        &self,
        states: &StateDb,
        blocks: BlockRange,
        tip: B256,
    ) -> txgraph_state::Result<Arc<NewestState>> {
        // Locked during the execution, so that other threads wait for it.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(state) = last.as_ref()
            && state.last_hash() == tip
            && state.base() < blocks.first
        {
            return Ok(Arc::clone(state));
        }
        let state = Retry::REREAD.run("executing the newest blocks", Error::is_stale, || {
            self.execute(states, blocks, tip)
        });
        let state = state.map_err(|error| HistoryError::Newest {
            blocks,
            // A reorganization during the execution makes blocks seem missing.
            stale: error.is_stale() || !has_block(states, blocks.last, tip),
            source: error.into(),
        })?;
        *last = Some(Arc::clone(&state));
        Ok(state)
    }
}

/// Whether the chain still has the block with this number and hash.
fn has_block(states: &StateDb, number: u64, hash: B256) -> bool {
    let found = states.node().snapshot().and_then(|snapshot| {
        let is_stored = number <= snapshot.tip();
        Ok(is_stored && snapshot.block_hash(number)? == hash)
    });
    // An error says nothing about the chain.
    found.unwrap_or(true)
}

/// The states of the blocks so far.
struct ChangesSoFar<'a, 'db> {
    range: &'a StateRange<'db>,
    state: &'a Arc<NewestState>,
}

impl<'db> StateHistory for ChangesSoFar<'_, 'db> {
    type At<'a>
        = StateAt<'db>
    where
        Self: 'a;

    fn at(&self, block: u64) -> Result<StateAt<'db>, StateError> {
        Ok(self.range.at_with(block, Arc::clone(self.state))?)
    }

    fn changes(&self, block: u64, hash: B256) -> Result<Option<BlockChanges>, StateError> {
        StateHistory::changes(self.range, block, hash)
    }
}
