//! One thread's part: a block, from the database through the engine to the answer.

use crate::{
    BlockReplay, BlockRules, ChainRules, Difference, Error, FrameRecorder, Mismatch, Record,
    Result, StateHistory, StoredBlock, TransactionReplay, Verify,
    course::{self, Audience, Done, End},
    engine::{Engine, Own},
    verify::{self, Receipts},
};
use std::{ops::ControlFlow, sync::Arc};
use txgraph_evm::{CodeCache, Evm, Fork, Inspector, StateSource};
use txgraph_nodedb::{Blocks, NodeDb, Scratch};

/// What one thread owns.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) evm: Evm,
    scratch: Scratch,
}

impl Worker {
    pub(crate) fn new(rules: &ChainRules, codes: &Arc<CodeCache>) -> Self {
        Self {
            evm: Evm::with_code_cache(Fork::Frontier, rules.chain_id, Arc::clone(codes)),
            scratch: Scratch::default(),
        }
    }

    /// Consecutive blocks under one short-lived snapshot.
    pub(crate) fn read(&mut self, db: &NodeDb, blocks: Blocks) -> Result<Vec<StoredBlock>> {
        if blocks.first == 0 {
            return Err(Error::Genesis);
        }
        StoredBlock::read(&db.snapshot()?, blocks, &mut self.scratch)
    }

    /// One block.
    pub(crate) fn read_one(&mut self, db: &NodeDb, number: u64) -> Result<StoredBlock> {
        let blocks = Blocks {
            first: number,
            last: number,
        };
        let read = self.read(db, blocks)?.pop();
        // As many as were asked for, or an error.
        read.ok_or(Error::Replaced { block: number })
    }
}

/// The rules of a block, unless its fork is too new.
pub(crate) fn rules_of(chain: &ChainRules, block: &StoredBlock) -> Result<BlockRules> {
    let rules = chain.at(&block.header);
    if rules.fork > Fork::Osaka {
        return Err(Error::UnsupportedFork {
            block: block.header.number,
            fork: rules.fork,
        });
    }
    Ok(rules)
}

/// The state before a block, on the block's own branch.
pub(crate) fn state_before<'h, H: StateHistory>(
    history: &'h H,
    block: &StoredBlock,
) -> Result<H::At<'h>> {
    let number = block.header.number;
    let failed = |source| Error::State {
        block: number,
        source,
    };
    let parent = number.checked_sub(1).ok_or(Error::Genesis)?;
    let mut state = history.at(parent).map_err(failed)?;
    let hash = state
        .block_hash(parent)
        .map_err(|error| failed(error.into()))?;
    if hash != block.header.parent_hash {
        return Err(Error::Replaced { block: number });
    }
    Ok(state)
}

/// A block as it is replayed.
pub(crate) struct Stage<'a> {
    block: &'a StoredBlock,
    record: Record,
    verify: Verify,
    frames: Option<FrameRecorder>,
    receipts: Receipts,
    logs: usize,
    transactions: Vec<TransactionReplay>,
    mismatches: Vec<Mismatch>,
}

impl<'a> Stage<'a> {
    pub(crate) fn new(block: &'a StoredBlock, record: Record, verify: Verify) -> Self {
        Self {
            block,
            record,
            verify,
            frames: record.frames.map(FrameRecorder::new),
            receipts: Receipts::default(),
            logs: 0,
            transactions: Vec::with_capacity(block.transactions.len()),
            mismatches: Vec::new(),
        }
    }

    /// Replays the block.
    pub(crate) fn run<H: StateHistory>(
        mut self,
        evm: &mut Evm,
        rules: &BlockRules,
        history: &H,
    ) -> Result<BlockReplay> {
        let number = self.block.header.number;
        let source = state_before(history, self.block)?;
        let mut engine = Own::new(evm, rules.fork, source, self.record.transitions);
        let block = self.block;
        let end = course::execute(&mut engine, rules, block, &mut self).map_err(|source| {
            Error::State {
                block: number,
                source,
            }
        })?;
        let changes = if self.record.changes || self.verify.changes {
            engine.changes()
        } else {
            Vec::new()
        };
        let mut verified = self.verify;
        verified.receipts &= block.receipts.is_some();
        match end {
            End::Complete(requests) => {
                if self.verify.header {
                    for difference in self.receipts.check(rules.fork, block) {
                        self.mismatch(None, difference);
                    }
                    let expected = block.header.requests_hash;
                    if let Some(difference) = verify::requests(expected, requests) {
                        self.mismatch(None, difference);
                    }
                }
                if self.verify.changes {
                    let failed = |source| Error::Changes {
                        block: number,
                        source,
                    };
                    let recorded = history.changes(number).map_err(failed)?;
                    verified.changes = recorded.is_some();
                    for difference in recorded.iter().flat_map(|r| verify::changes(&changes, r)) {
                        self.mismatch(None, difference);
                    }
                }
            }
            End::Refused(index, invalid) => {
                self.mismatch(Some(index), Difference::Refused(invalid));
                verified = Verify {
                    header: false,
                    changes: false,
                    ..verified
                };
            }
            End::Broken => {}
        }
        Ok(BlockReplay {
            number,
            hash: block.header.hash,
            timestamp: block.header.timestamp,
            fork: rules.fork,
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

    fn mismatch(&mut self, index: Option<u32>, difference: Difference) {
        let hash = |index: u32| Some((index, self.block.transactions.get(index as usize)?.hash));
        self.mismatches.push(Mismatch {
            block: self.block.header.number,
            transaction: index.and_then(hash),
            difference,
        });
    }
}

impl Audience for Stage<'_> {
    fn inspector(&mut self, _: u32) -> Option<&mut dyn Inspector> {
        self.frames
            .as_mut()
            .map(|frames| frames as &mut dyn Inspector)
    }

    fn done(&mut self, done: Done<'_>) -> ControlFlow<()> {
        let Done {
            index,
            outcome,
            transitions,
        } = done;
        let block = self.block;
        let stored = &block.transactions[index as usize];
        if self.verify.receipts
            && let Some(receipts) = &block.receipts
        {
            match receipts.get(index as usize) {
                Some(receipt) => {
                    let before = index
                        .checked_sub(1)
                        .and_then(|at| receipts.get(at as usize));
                    let cumulative = before.map_or(0, |receipt| receipt.cumulative_gas_used);
                    for difference in verify::transaction(&outcome, receipt, cumulative) {
                        self.mismatch(Some(index), difference);
                    }
                }
                None => self.mismatch(
                    Some(index),
                    Difference::ReceiptCount {
                        stored: receipts.len(),
                        transactions: block.transactions.len(),
                    },
                ),
            }
        }
        if self.verify.header {
            self.receipts.push(&stored.transaction, &outcome);
        } else {
            self.receipts.gas_used += outcome.gas_used;
        }
        let first_log = self.logs;
        self.logs += outcome.logs.len();
        self.transactions.push(TransactionReplay {
            block: block.header.number,
            index,
            hash: stored.hash,
            transaction: stored.transaction.clone(),
            outcome,
            first_log: u32::try_from(first_log).unwrap_or(u32::MAX),
            frames: self.frames.as_mut().map(FrameRecorder::take),
            transitions: transitions.to_vec(),
        });
        ControlFlow::Continue(())
    }
}
