//! Replays one block: executes it, records its transactions, and compares the result with
//! what the node stored.

#[cfg(feature = "oracle")]
use crate::oracle::{BlockEvm, Both};
use crate::{
    BlockReplay, BlockRules, Difference, EngineKind, Error, FrameDetail, FrameRecorder, Mismatch,
    Record, ReplayOptions, Result, StateError, StateHistory, StateOverrides, StoredBlock, Touched,
    TransactionReplay, Verify,
    balance_check::BalanceChecker,
    engine::{Engine, OurEvm},
    execution::{self, BlockObserver, ExecutedTransaction, ExecutionEnd},
    inspect::InspectorPair,
    verify,
    wanted::{WhileWanted, state_error},
    worker::{Worker, state_before},
};
use alloy_primitives::Address;
use std::{collections::BTreeSet, ops::ControlFlow};
use txgraph_block::{AccessList, BlockRequests, Receipts};
use txgraph_evm::{AccountChange, Fork, Inspector, Outcome, Transaction};
use txgraph_work::CancelFlag;

/// The replay of one block, or of one transaction of it.
pub(crate) struct BlockReplayer<'a, 'i> {
    block: &'a StoredBlock,
    rules: BlockRules,
    record: Record,
    verify: Verify,
    engine: EngineKind,
    /// Ends the execution when set.
    cancel: &'a CancelFlag,
    /// Record and compare these transactions only; others before the last are just executed.
    only: Option<&'a BTreeSet<u32>>,
    /// State overrides before these transactions.
    overrides: Option<&'a StateOverrides>,
    /// The transaction that is executed instead.
    changed: Option<Transaction>,
    inspectors: InspectorPair<InspectorPair<FrameRecorder, Touched>, &'i mut dyn Inspector>,
    /// The tokens whose balances are compared with their logs.
    tokens: &'a [Address],
    balance_checker: Option<BalanceChecker<'a>>,
    receipts: Receipts,
    /// Logs of the transactions so far.
    logs: usize,
    transactions: Vec<TransactionReplay>,
    mismatches: Vec<Mismatch>,
}

/// The results of an execution.
struct Executed {
    end: ExecutionEnd,
    changes: Vec<AccountChange>,
    access_list: Option<AccessList>,
}

impl<'a, 'i> BlockReplayer<'a, 'i> {
    pub(crate) fn new(
        block: &'a StoredBlock,
        rules: BlockRules,
        options: &'a ReplayOptions,
    ) -> Self {
        let ReplayOptions {
            record,
            verify,
            engine,
            ref cancel,
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
            cancel,
            only: None,
            overrides: None,
            changed: None,
            inspectors: InspectorPair(InspectorPair::recording(frames, record.touched), None),
            tokens,
            balance_checker: None,
            receipts: Receipts::default(),
            logs: 0,
            transactions: Vec::with_capacity(block.transactions.len()),
            mismatches: Vec::new(),
        }
    }

    /// Replays the transactions at these indices only, observed by `inspector`.
    pub(crate) fn for_transactions(
        block: &'a StoredBlock,
        rules: BlockRules,
        options: &'a ReplayOptions,
        only: &'a BTreeSet<u32>,
        inspector: Option<&'i mut dyn Inspector>,
    ) -> Self {
        let mut replayer = Self::new(block, rules, options);
        replayer.only = Some(only);
        replayer.overrides = options.overrides.as_ref();
        replayer.inspectors.1 = inspector;
        // These checks need the whole block.
        replayer.verify.header = false;
        replayer.verify.changes = false;
        replayer
    }

    /// Replays the block.
    pub(crate) fn replay<H: StateHistory>(
        mut self,
        worker: &mut Worker,
        history: &H,
    ) -> Result<BlockReplay> {
        let Executed {
            end,
            changes,
            access_list,
        } = self.execute(worker, history)?;
        let mut verified = self.verify;
        verified.receipts &= self.block.receipts.is_some();
        match end {
            ExecutionEnd::Complete(requests) => {
                if self.verify.header {
                    self.check_header(requests, access_list);
                }
                if self.verify.changes {
                    verified.changes = self.check_changes(history, &changes)?;
                }
            }
            ExecutionEnd::Refused(index, invalid) => {
                self.mismatch(Some(index), Difference::Refused(invalid));
                (verified.header, verified.changes) = (false, false);
            }
            ExecutionEnd::Stopped => (verified.header, verified.changes) = (false, false),
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

    /// Replays the transactions of [`for_transactions`](Self::for_transactions).
    pub(crate) fn replay_transactions<H: StateHistory>(
        mut self,
        worker: &mut Worker,
        history: &H,
    ) -> Result<(Vec<TransactionReplay>, Vec<Mismatch>)> {
        let block = self.block.header.number;
        let executed = self.execute(worker, history)?;
        let last = self.only.and_then(|only| only.last().copied());
        match (self.transactions.last(), executed.end) {
            (Some(found), _) if Some(found.index) == last => {}
            (None, _) if last.is_none() => {}
            (_, ExecutionEnd::Refused(index, source)) => {
                return Err(Error::Unreachable {
                    block,
                    index,
                    source,
                });
            }
            (_, ExecutionEnd::Stopped | ExecutionEnd::Complete(_)) => {
                return Err(Error::NoSuchTransaction {
                    block,
                    index: last.unwrap_or_default(),
                    count: self.block.transactions.len() as u64,
                });
            }
        }
        Ok((self.transactions, self.mismatches))
    }

    fn is_wanted(&self, index: u32) -> bool {
        self.only.is_none_or(|only| only.contains(&index))
    }

    fn execute<H: StateHistory>(&mut self, worker: &mut Worker, history: &H) -> Result<Executed> {
        // Values that are compared with change sets must not be read from them.
        let reads_ahead = !self.verify.changes;
        let (block, cancel) = (self.block, self.cancel);
        let source = || -> Result<_> {
            let source = state_before(history, block, reads_ahead)?;
            Ok(WhileWanted::new(source, cancel))
        };
        let (fork, evm) = (self.rules.fork, &mut worker.evm);
        let Record {
            transitions,
            touched,
            ..
        } = self.record;
        let transitions = transitions || touched || !self.tokens.is_empty();
        if !self.tokens.is_empty() {
            let block = self.block.environment(&self.rules);
            self.balance_checker = Some(BalanceChecker::new(self.tokens, evm.chain_id(), block));
        }
        #[cfg(feature = "oracle")]
        if self.engine != EngineKind::Txgraph && fork >= Fork::Amsterdam {
            let block = self.block.header.number;
            return Err(Error::NoPeer { block, fork });
        }
        match self.engine {
            EngineKind::Txgraph => {
                let memory = std::mem::take(&mut worker.state_memory);
                let mut engine = OurEvm::new(evm, fork, source()?, transitions, memory);
                if self.verify.header && fork >= Fork::Amsterdam {
                    engine = engine.with_access_list();
                }
                let executed = self.execute_with(&mut engine);
                worker.state_memory = engine.state.into_memory();
                executed
            }
            #[cfg(feature = "oracle")]
            EngineKind::Revm => {
                let source = source()?;
                let block = self.block.environment(&self.rules);
                let chain_id = evm.chain_id();
                self.execute_with(&mut BlockEvm::new(
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
                let memory = txgraph_evm::StateMemory::default();
                let own = OurEvm::new(evm, fork, own, transitions, memory);
                self.execute_with(&mut Both::new(own, peer))
            }
        }
    }

    fn execute_with(&mut self, engine: &mut impl Engine) -> Result<Executed> {
        let (block, rules) = (self.block, self.rules);
        let end = execution::execute(engine, &rules, block, self);
        let end = end.map_err(|failure| {
            state_error(block.header.number, failure.transaction, failure.source)
        })?;
        if let Some(recorded) = &self.inspectors.0 {
            recorded.check_complete(block.header.number)?;
        }
        let changes = if self.record.changes || self.verify.changes {
            engine.changes()
        } else {
            Vec::new()
        };
        if let Some(divergence) = engine.divergence() {
            self.mismatch(None, Difference::Engines(divergence));
        }
        Ok(Executed {
            end,
            changes,
            access_list: engine.access_list(),
        })
    }

    fn check_header(&mut self, requests: BlockRequests, access_list: Option<AccessList>) {
        for difference in verify::receipts(&self.receipts, self.rules.fork, self.block) {
            self.mismatch(None, difference);
        }
        let expected = self.block.header.requests_hash;
        if let Some(difference) = verify::requests(expected, requests) {
            self.mismatch(None, difference);
        }
        if let Some(list) = access_list
            && let Some(difference) = verify::access_list(&self.block.header, &list)
        {
            self.mismatch(None, difference);
        }
    }

    /// Compares with the state root or the change sets; returns whether one of them is known.
    fn check_changes<H: StateHistory>(
        &mut self,
        history: &H,
        changes: &[AccountChange],
    ) -> Result<bool> {
        // They are read after the block, under another snapshot, so their block is checked.
        let (block, hash) = (self.block.header.number, self.block.header.hash);
        let failed = |source| Error::Changes { block, source };
        if let Some(replayed) = history.state_root_after(block, changes).map_err(failed)? {
            let header = self.block.header.state_root;
            if replayed != header {
                self.mismatch(None, Difference::StateRoot { header, replayed });
            }
            return Ok(true);
        }
        let recorded = history.changes(block, hash).map_err(failed)?;
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

impl BlockObserver for BlockReplayer<'_, '_> {
    fn before(
        &mut self,
        index: u32,
        engine: &mut dyn Engine,
    ) -> Result<Option<Transaction>, StateError> {
        let Some(overrides) = self.overrides.filter(|_| self.is_wanted(index)) else {
            return Ok(None);
        };
        // There is nothing to compare with.
        self.verify.receipts = false;
        let stored = &self.block.transactions[index as usize];
        let changed = engine.overrides(overrides, &stored.transaction)?;
        self.changed = Some(changed.clone());
        Ok(Some(changed))
    }

    fn inspector(&mut self, index: u32) -> Option<&mut dyn Inspector> {
        (self.is_wanted(index) && !self.inspectors.is_empty()).then_some(&mut self.inspectors)
    }

    fn executed(
        &mut self,
        transaction: ExecutedTransaction,
        engine: &mut dyn Engine,
    ) -> Result<ControlFlow<()>, StateError> {
        let ExecutedTransaction {
            index,
            outcome,
            transitions,
            divergence,
        } = transaction;
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
        if !self.is_wanted(index) {
            return Ok(ControlFlow::Continue(()));
        }
        let mut replay = TransactionReplay {
            block: block.header.number,
            fork: self.rules.fork,
            index,
            hash: stored.hash,
            transaction: (self.changed.take()).unwrap_or_else(|| stored.transaction.clone()),
            outcome,
            first_log: u32::try_from(first_log).unwrap_or(u32::MAX),
            frames: None,
            transitions: Vec::new(),
            touched: None,
            balances: None,
            without_overrides: None,
        };
        if let Some(recorded) = &mut self.inspectors.0 {
            let environment = block.environment(&self.rules);
            recorded.take(&mut replay, &environment, &transitions, engine)?;
        }
        if let Some(checker) = &mut self.balance_checker {
            replay.balances = Some(checker.check(&replay, &transitions, engine)?);
        }
        // Transitions and frames may have been recorded only for the balances.
        if self.record.transitions {
            replay.transitions = transitions;
        }
        if self.record.frames.is_none() {
            replay.frames = None;
        }
        self.transactions.push(replay);
        let is_last = |only: &BTreeSet<u32>| only.last() == Some(&index);
        Ok(match self.only.is_some_and(is_last) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    }
}
