//! The entry point of this crate: replays blocks, ranges and transactions, and executes calls.

use crate::{
    BlockReplay, BlockRules, BlockSource, ChainRules, Error, Mismatch, ReplayOptions, Result,
    StateHistory, StateOverrides, StoredBlock, TransactionReplay,
    block_replayer::BlockReplayer,
    worker::{self, Codes, Worker},
};
use alloy_primitives::B256;
use std::collections::BTreeSet;
use txgraph_evm::{Inspector, Message, Outcome};
use txgraph_nodedb::{Header, NodeDb};

/// The position of a transaction in the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionLocation {
    /// Number of its block.
    pub block: u64,
    /// Index in the block.
    pub index: u32,
    /// The hash that it must have; `None`: any.
    pub hash: Option<B256>,
}

impl TransactionLocation {
    /// Returns the position of transaction `index` of `block`, with this hash or any.
    pub const fn new(block: u64, index: u32, hash: Option<B256>) -> Self {
        Self { block, index, hash }
    }
}

/// Replays the blocks of one source: a node database, or a [`Bundle`](crate::Bundle).
#[derive(Debug)]
pub struct Replayer<'a, H, B = NodeDb> {
    pub(crate) rules: ChainRules,
    pub(crate) blocks: &'a B,
    pub(crate) history: H,
    pub(crate) codes: Codes,
    pub(crate) options: ReplayOptions,
}

impl<'a, H: StateHistory, B: BlockSource> Replayer<'a, H, B> {
    /// A replayer of `blocks` on the states of `history`, which must belong to the same database
    /// or bundle.
    ///
    /// # Errors
    ///
    /// [`Error::WrongChain`] if `rules` belong to another chain.
    pub fn new(
        rules: ChainRules,
        blocks: &'a B,
        history: H,
        options: ReplayOptions,
    ) -> Result<Self> {
        blocks.check_chain(&rules)?;
        Ok(Self {
            rules,
            blocks,
            history,
            codes: Codes::default(),
            options,
        })
    }

    /// The rules of the chain.
    pub fn rules(&self) -> &ChainRules {
        &self.rules
    }

    /// The states of the chain.
    pub fn history(&self) -> &H {
        &self.history
    }

    /// Replays one block.
    pub fn block(&self, number: u64) -> Result<BlockReplay> {
        let mut worker = self.worker();
        let block = worker.read_one(self.blocks, number, self.options.verify.transactions)?;
        self.replay(&mut worker, &block)
    }

    /// Replays one transaction, after those before it in its block, and returns it with its
    /// differences from the receipt. `inspector` is called for this transaction only.
    ///
    /// # Errors
    ///
    /// [`Error::Replaced`] if the transaction does not have the hash of its location: its
    /// block was replaced after the location was looked up.
    pub fn transaction(
        &self,
        location: TransactionLocation,
        inspector: Option<&mut dyn Inspector>,
    ) -> Result<(TransactionReplay, Vec<Mismatch>)> {
        let only = BTreeSet::from([location.index]);
        let (mut found, mismatches) =
            self.transactions(location.block, &only, location.hash, inspector)?;
        let found = found.pop().ok_or(Error::NoSuchTransaction {
            block: location.block,
            index: location.index,
            count: 0,
        })?;
        Ok((found, mismatches))
    }

    /// Replays some transactions of a block, after those before each, and returns them with the
    /// differences from their receipts. `inspector` is called for these transactions only, one after the
    /// other. `hash` is the hash that the last one must have.
    ///
    /// # Errors
    ///
    /// As [`Self::transaction`].
    pub fn transactions(
        &self,
        number: u64,
        only: &BTreeSet<u32>,
        hash: Option<B256>,
        inspector: Option<&mut dyn Inspector>,
    ) -> Result<(Vec<TransactionReplay>, Vec<Mismatch>)> {
        let Some(&last) = only.last() else {
            return Ok(Default::default());
        };
        let mut worker = self.worker();
        let block = worker.read_one(self.blocks, number, self.options.verify.transactions)?;
        let Some(found) = block.transactions.get(last as usize) else {
            return Err(Error::NoSuchTransaction {
                block: number,
                index: last,
                count: block.transactions.len() as u64,
            });
        };
        if hash.is_some_and(|hash| hash != found.hash) {
            return Err(Error::Replaced { block: number });
        }
        let rules = self.rules_of(&mut worker, &block)?;
        let replayer =
            BlockReplayer::for_transactions(&block, rules, &self.options, only, inspector);
        let replayed = replayer.replay_transactions(&mut worker, &self.history)?;
        if self.options.overrides.is_none() {
            return Ok(replayed);
        }
        let options = ReplayOptions {
            overrides: None,
            ..self.options.clone()
        };
        let replayer = BlockReplayer::for_transactions(&block, rules, &options, only, None);
        // They also have the mismatches of the transactions before.
        let (originals, mismatches) = replayer.replay_transactions(&mut worker, &self.history)?;
        let (mut changed, _) = replayed;
        for (changed, original) in changed.iter_mut().zip(originals) {
            changed.without_overrides = Some(Box::new(original));
        }
        Ok((changed, mismatches))
    }

    /// Executes a call on the state at the end of `block`, in the environment of that block, like
    /// `eth_call`. Its changes are discarded.
    pub fn call(
        &self,
        message: &Message,
        block: u64,
        inspector: Option<&mut dyn Inspector>,
    ) -> Result<Outcome> {
        self.calls(block)?.call(message, inspector)
    }

    /// Like [`call`](Self::call), with state overrides. `message` makes the call.
    pub fn call_if(
        &self,
        message: &Message,
        block: u64,
        overrides: &StateOverrides,
        inspector: Option<&mut dyn Inspector>,
    ) -> Result<Outcome> {
        let mut calls = self.calls(block)?;
        calls.change(overrides)?;
        calls.call(message, inspector)
    }

    /// Returns the environment that the transactions of a block see.
    pub fn environment(&self, header: &Header) -> Result<txgraph_evm::Block> {
        let rules = worker::rules_at(&self.rules, header)?;
        Ok(rules.environment(header))
    }

    /// Returns the rules of a block. A damaged transaction may have any chain id: before the rules
    /// are reported as wrong, the transactions of the block are verified.
    fn rules_of(&self, worker: &mut Worker, block: &StoredBlock) -> Result<BlockRules> {
        let rules = worker::rules_of(&self.rules, block);
        if matches!(rules, Err(Error::WrongChainId { .. })) {
            worker.read_one(self.blocks, block.header.number, true)?;
        }
        rules
    }

    pub(crate) fn worker(&self) -> Worker {
        Worker::new(&self.rules, &self.codes)
    }

    pub(crate) fn replay(&self, worker: &mut Worker, block: &StoredBlock) -> Result<BlockReplay> {
        let rules = self.rules_of(worker, block)?;
        BlockReplayer::new(block, rules, &self.options).replay(worker, &self.history)
    }
}
