//! A block on stage: executed, watched, compared.

#[cfg(feature = "oracle")]
use crate::oracle::{BlockEvm, Both};
use crate::{
    BlockReplay, BlockRules, Difference, EngineKind, Error, FrameDetail, FrameRecorder, Mismatch,
    Record, ReplayOptions, Result, StateError, StateHistory, StoredBlock, TransactionReplay,
    Verify,
    balance_check::BalanceAsker,
    course::{self, Audience, Done, End},
    engine::{Engine, Own},
    inspect::Pair,
    verify,
    worker::{Worker, state_before},
};
use alloy_primitives::Address;
use std::ops::ControlFlow;
use txgraph_block::{BlockRequests, Receipts};
use txgraph_evm::{AccountChange, Inspector, Outcome};

/// A block as it is replayed.
pub(crate) struct Stage<'a, 'i> {
    block: &'a StoredBlock,
    rules: BlockRules,
    record: Record,
    verify: Verify,
    engine: EngineKind,
    /// Only this transaction is of interest: those before it are executed, no more.
    only: Option<u32>,
    watching: Pair<FrameRecorder, &'i mut dyn Inspector>,
    /// Whose balances are compared with the logs.
    tokens: &'a [Address],
    asker: Option<BalanceAsker<'a>>,
    receipts: Receipts,
    logs: usize,
    transactions: Vec<TransactionReplay>,
    mismatches: Vec<Mismatch>,
}

impl<'a, 'i> Stage<'a, 'i> {
    pub(crate) fn new(
        block: &'a StoredBlock,
        rules: BlockRules,
        options: &'a ReplayOptions,
    ) -> Self {
        let ReplayOptions {
            record,
            verify,
            engine,
            ref tokens,
            ..
        } = *options;
        let frames = match tokens.is_empty() {
            true => record.frames,
            false => Some(FrameDetail::Everything),
        };
        Self {
            block,
            rules,
            record,
            verify,
            engine,
            only: None,
            watching: Pair(frames.map(FrameRecorder::new), None),
            tokens,
            asker: None,
            receipts: Receipts::default(),
            logs: 0,
            transactions: Vec::with_capacity(block.transactions.len()),
            mismatches: Vec::new(),
        }
    }

    /// For one transaction, which somebody may watch.
    pub(crate) fn of_one(
        block: &'a StoredBlock,
        rules: BlockRules,
        options: &'a ReplayOptions,
        index: u32,
        inspector: Option<&'i mut dyn Inspector>,
    ) -> Self {
        let mut stage = Self::new(block, rules, options);
        stage.only = Some(index);
        stage.watching.1 = inspector;
        // Nothing is known of the whole block.
        stage.verify.header = false;
        stage.verify.changes = false;
        stage
    }

    /// Replays the block.
    pub(crate) fn run<H: StateHistory>(
        mut self,
        worker: &mut Worker,
        history: &H,
    ) -> Result<BlockReplay> {
        let (end, changes) = self.execute(worker, history)?;
        let mut verified = self.verify;
        verified.receipts &= self.block.receipts.is_some();
        match end {
            End::Complete(requests) => {
                if self.verify.header {
                    self.check_header(requests);
                }
                if self.verify.changes {
                    verified.changes = self.check_changes(history, &changes)?;
                }
            }
            End::Refused(index, invalid) => {
                self.mismatch(Some(index), Difference::Refused(invalid));
                (verified.header, verified.changes) = (false, false);
            }
            End::Broken => (verified.header, verified.changes) = (false, false),
        }
        let header = &self.block.header;
        Ok(BlockReplay {
            number: header.number,
            hash: header.hash,
            parent_hash: header.parent_hash,
            timestamp: header.timestamp,
            environment: self.block.environment(&self.rules),
            fork: self.rules.fork,
            gas_used: self.receipts.gas_used,
            transactions: self.transactions,
            changes: if self.record.changes {
                changes
            } else {
                Vec::new()
            },
            mismatches: self.mismatches,
            verified,
        })
    }

    /// Replays the one transaction.
    pub(crate) fn run_one<H: StateHistory>(
        mut self,
        worker: &mut Worker,
        history: &H,
    ) -> Result<(TransactionReplay, Vec<Mismatch>)> {
        let block = self.block.header.number;
        let (end, _) = self.execute(worker, history)?;
        match (self.transactions.pop(), end) {
            (Some(transaction), _) => Ok((transaction, self.mismatches)),
            (None, End::Refused(index, source)) => Err(Error::Unreachable {
                block,
                index,
                source,
            }),
            (None, End::Broken | End::Complete(_)) => Err(Error::NoSuchTransaction {
                block,
                index: self.only.unwrap_or_default(),
                count: self.block.transactions.len() as u64,
            }),
        }
    }

    fn execute<H: StateHistory>(
        &mut self,
        worker: &mut Worker,
        history: &H,
    ) -> Result<(End, Vec<AccountChange>)> {
        // What is compared with change sets must not come from them.
        let reads_ahead = !self.verify.changes;
        let source = || state_before(history, self.block, reads_ahead);
        let (fork, evm) = (self.rules.fork, &mut worker.evm);
        let transitions = self.record.transitions || !self.tokens.is_empty();
        if !self.tokens.is_empty() {
            let block = self.block.environment(&self.rules);
            self.asker = Some(BalanceAsker::new(self.tokens, evm.chain_id(), block));
        }
        match self.engine {
            EngineKind::Own => {
                let source = source()?;
                self.drive(&mut Own::new(evm, fork, source, transitions))
            }
            #[cfg(feature = "oracle")]
            EngineKind::Revm => {
                let source = source()?;
                let block = self.block.environment(&self.rules);
                let chain_id = evm.chain_id();
                self.drive(&mut BlockEvm::new(
                    &worker.peer_codes,
                    fork,
                    chain_id,
                    &block,
                    source,
                ))
            }
            #[cfg(feature = "oracle")]
            EngineKind::Both => {
                let (own, peer) = (source()?, source()?);
                let block = self.block.environment(&self.rules);
                let peer = BlockEvm::new(&worker.peer_codes, fork, evm.chain_id(), &block, peer);
                let own = Own::new(evm, fork, own, transitions);
                self.drive(&mut Both::new(own, peer))
            }
        }
    }

    fn drive(&mut self, engine: &mut impl Engine) -> Result<(End, Vec<AccountChange>)> {
        let (block, rules) = (self.block, self.rules);
        let end = course::execute(engine, &rules, block, self);
        let end = end.map_err(|source| Error::State {
            block: block.header.number,
            source,
        })?;
        let changes = if self.record.changes || self.verify.changes {
            engine.changes()
        } else {
            Vec::new()
        };
        if let Some(divergence) = engine.divergence() {
            self.mismatch(None, Difference::Engines(divergence));
        }
        Ok((end, changes))
    }

    fn check_header(&mut self, requests: BlockRequests) {
        for difference in verify::receipts(&self.receipts, self.rules.fork, self.block) {
            self.mismatch(None, difference);
        }
        let expected = self.block.header.requests_hash;
        if let Some(difference) = verify::requests(expected, requests) {
            self.mismatch(None, difference);
        }
    }

    /// Whether there are change sets to compare with.
    fn check_changes<H: StateHistory>(
        &mut self,
        history: &H,
        changes: &[AccountChange],
    ) -> Result<bool> {
        // Read after the block was, and under another snapshot: they must be this block's.
        let (block, hash) = (self.block.header.number, self.block.header.hash);
        let recorded =
            (history.changes(block, hash)).map_err(|source| Error::Changes { block, source })?;
        let Some(recorded) = recorded else {
            return Ok(false);
        };
        for difference in verify::changes(changes, &recorded) {
            self.mismatch(None, difference);
        }
        Ok(true)
    }

    /// Compares a transaction with its receipt.
    fn check_receipt(&mut self, index: u32, outcome: &Outcome) {
        let Some(receipts) = &self.block.receipts else {
            return;
        };
        let Some(receipt) = receipts.get(index as usize) else {
            let difference = Difference::ReceiptCount {
                stored: receipts.len(),
                transactions: self.block.transactions.len(),
            };
            return self.mismatch(Some(index), difference);
        };
        let before = index
            .checked_sub(1)
            .and_then(|at| receipts.get(at as usize));
        let cumulative = before.map_or(0, |receipt| receipt.cumulative_gas_used);
        for difference in verify::transaction(outcome, receipt, cumulative) {
            self.mismatch(Some(index), difference);
        }
    }

    fn mismatch(&mut self, index: Option<u32>, difference: Difference) {
        let hash = |index: u32| Some((index, self.block.transactions.get(index as usize)?.hash));
        self.mismatches.push(Mismatch {
            block: self.block.header.number,
            transaction: index.and_then(hash),
            difference,
        });
    }
}

impl Audience for Stage<'_, '_> {
    fn inspector(&mut self, index: u32) -> Option<&mut dyn Inspector> {
        let wanted = self.only.is_none_or(|only| only == index);
        (wanted && self.watching.is_watching()).then_some(&mut self.watching)
    }

    fn done(&mut self, done: Done, engine: &mut dyn Engine) -> Result<ControlFlow<()>, StateError> {
        let Done {
            index,
            outcome,
            transitions,
            divergence,
        } = done;
        if let Some(divergence) = divergence {
            self.mismatch(Some(index), Difference::Engines(divergence));
        }
        let block = self.block;
        let stored = &block.transactions[index as usize];
        if self.verify.receipts {
            self.check_receipt(index, &outcome);
        }
        if self.verify.header {
            self.receipts.push(&stored.transaction, &outcome);
        } else {
            self.receipts.gas_used = self.receipts.gas_used.saturating_add(outcome.gas_used);
        }
        let first_log = self.logs;
        self.logs += outcome.logs.len();
        if self.only.is_some_and(|only| only != index) {
            return Ok(ControlFlow::Continue(()));
        }
        let mut replay = TransactionReplay {
            block: block.header.number,
            fork: self.rules.fork,
            index,
            hash: stored.hash,
            transaction: stored.transaction.clone(),
            outcome,
            first_log: u32::try_from(first_log).unwrap_or(u32::MAX),
            frames: self.watching.0.as_mut().map(FrameRecorder::take),
            transitions: Vec::new(),
            balances: None,
        };
        if let Some(asker) = &mut self.asker {
            replay.balances = Some(asker.ask(&replay, &transitions, engine)?);
        }
        // They may have been recorded for that alone.
        if self.record.transitions {
            replay.transitions = transitions;
        }
        if self.record.frames.is_none() {
            replay.frames = None;
        }
        self.transactions.push(replay);
        Ok(match self.only {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        })
    }
}
