//! The face of this crate: ask for a block, a range, a transaction or a call.

use crate::{
    BlockReplay, ChainRules, Record, Result, StateHistory, Verify,
    worker::{self, Stage, Worker},
};
use std::sync::Arc;
use txgraph_evm::CodeCache;
use txgraph_nodedb::NodeDb;

/// How to replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplayOptions {
    /// What is kept.
    pub record: Record,
    /// What the replay is held against.
    pub verify: Verify,
}

/// Replays what one database holds.
#[derive(Debug)]
pub struct Replayer<'a, H> {
    pub(crate) rules: ChainRules,
    pub(crate) db: &'a NodeDb,
    pub(crate) history: H,
    pub(crate) codes: Arc<CodeCache>,
    pub(crate) options: ReplayOptions,
}

impl<'a, H: StateHistory> Replayer<'a, H> {
    /// Over blocks of `db` and the states of `history`, which must be those of the same
    /// chain; `rules` must be, too, which is checked.
    pub fn new(
        rules: ChainRules,
        db: &'a NodeDb,
        history: H,
        options: ReplayOptions,
    ) -> Result<Self> {
        rules.check_genesis(db, db.chain()?.genesis_hash)?;
        Ok(Self {
            rules,
            db,
            history,
            codes: Arc::default(),
            options,
        })
    }

    /// The rules of the chain.
    pub fn rules(&self) -> &ChainRules {
        &self.rules
    }

    /// The states.
    pub fn history(&self) -> &H {
        &self.history
    }

    /// Replays one block.
    pub fn block(&self, number: u64) -> Result<BlockReplay> {
        let mut worker = Worker::new(&self.rules, &self.codes);
        let block = &worker.read_one(self.db, number)?;
        let rules = worker::rules_of(&self.rules, block)?;
        let ReplayOptions { record, verify } = self.options;
        Stage::new(block, record, verify).run(&mut worker.evm, &rules, &self.history)
    }
}
