//! Executing again what the node executed: transfers inside of transactions, traces,
//! verification, and calls on the state of any block.

mod accounts;
mod against;
mod approvals;
mod call;
mod contract_facts;
mod creation;
mod difference;
mod name;
mod profile;
mod protocol;
mod replay_source;
mod rows;
mod slot_history;
mod state;
mod statement;
mod to_bundles;
mod to_file;
mod token;
mod transaction;

pub use approvals::{Approval, ApprovalKind, Approvals, GrantedApproval, OpenApprovals};
pub use call::{Call, CallResult};
pub use contract_facts::ContractFacts;
pub use creation::{Creation, Creator};
pub use difference::{RunDifference, RunParts};
pub use name::TransactionName;
pub use profile::*;
pub use rows::ReplayOutput;
pub use slot_history::{SlotChange, SlotChanges, SlotHistory};
pub use state::{AccountState, BlockState, SlotState};
pub use statement::{
    AccountStatement, AssetBalance, BlockProof, Entry, ProvenStatement, Statement, StatementRow,
    TransactionProof, VerifiedStatement, WithdrawalProof, verify_proofs,
};
pub use to_file::ReplayedTransfers;
pub use token::{TokenNames, Tokens};
pub use transaction::TransactionSummary;

use name::Location;
use replay_source::ReplaySource;

use crate::{BlockSpec, Error, Hint, Result, Source, select::resolve_stored, source::RethNode};
use alloy_primitives::Address;
use std::{collections::BTreeSet, ops::ControlFlow, path::PathBuf, sync::Arc};
use txgraph_base::{KnownChain, string_enum};
use txgraph_evm::Inspector;
use txgraph_nodedb::{ChainFamily, NodeDb};
use txgraph_replay::{
    BlockReplay, ChainRules, EngineKind, FrameDetail, Internal, Mismatch, NewestReplay,
    RangeReport, Record, ReplayOptions, Replayer, StateOverrides, TransactionReplay,
};
use txgraph_state::{StateDb, StateOptions, StateRange};
use txgraph_transfers::{BlockRange, BlockRanges};
use txgraph_work::ProgressGuard;

/// Mismatches that a summary lists.
const MISMATCHES_MAX: usize = 20;

string_enum! {
    /// The output for each transaction, instead of its transfers.
    pub enum Trace: "trace" {
        /// Its call frames, as in the node's `callTracer`.
        Call = "call",
        /// Its instructions (EIP-3155); of one transaction only.
        Struct = "struct",
        /// Its state changes, as in the node's `prestateTracer` in diff mode.
        Diff = "diff",
        /// Where the gas of all transactions went: folded stacks, for flame graphs.
        Gas = "gas",
    }
}

/// The result of a replay.
#[derive(Clone, Debug, Default)]
pub struct ReplaySummary {
    /// Blocks, transactions, gas, and what could be compared.
    pub report: RangeReport,
    /// The first places where the replay differs from what the node stored.
    pub mismatches: Vec<Mismatch>,
    /// The number of steps that agree with the [trace](Replay::against) of another client.
    pub steps: Option<u64>,
    /// The outputs that were written, in order of the query.
    pub written: Vec<txgraph_export::Written>,
    /// How the transaction differs from its run without overrides, if any were given.
    pub difference: Option<RunDifference>,
}

impl ReplaySummary {
    fn note(&mut self, mismatches: &[Mismatch]) {
        let room = MISMATCHES_MAX.saturating_sub(self.mismatches.len());
        self.mismatches
            .extend(mismatches.iter().take(room).cloned());
    }
}

/// Asks for a replay. See [`Source::replay`].
#[derive(Clone, Debug)]
#[must_use = "a query is run by `for_each`, `verify` or `write`"]
pub struct Replay<'s> {
    source: &'s Source,
    blocks: Vec<BlockSpec>,
    transaction: Option<TransactionName>,
    trace: Option<Trace>,
    with_changes: bool,
    with_touched: bool,
    fees: bool,
    verify_only: bool,
    balances: Vec<Address>,
    against: Option<PathBuf>,
    engine: EngineKind,
    overrides: Option<StateOverrides>,
}

impl Source {
    /// Asks to execute past transactions again.
    pub fn replay(&self) -> Replay<'_> {
        Replay {
            source: self,
            blocks: Vec::new(),
            transaction: None,
            trace: None,
            with_changes: false,
            with_touched: false,
            fees: false,
            verify_only: false,
            balances: Vec::new(),
            against: None,
            engine: EngineKind::Txgraph,
            overrides: None,
        }
    }
}

impl<'s> Replay<'s> {
    /// Only these blocks: a number or a range. Call again for more blocks. Default: all.
    pub fn blocks(mut self, blocks: impl Into<BlockSpec>) -> Self {
        self.blocks.push(blocks.into());
        self
    }

    /// Only the newest `count` blocks.
    pub fn last_blocks(self, count: u64) -> Self {
        self.blocks(BlockSpec::last(count))
    }

    /// Only this transaction. A hash that no index of the node contains is searched for in
    /// the blocks of the query.
    pub fn transaction(mut self, name: impl Into<TransactionName>) -> Self {
        self.transaction = Some(name.into());
        self
    }

    /// Writes a trace instead of transfers.
    pub fn trace(mut self, trace: Trace) -> Self {
        self.trace = Some(trace);
        self
    }

    /// Also records the changes of the state, which a trace of another kind leaves out.
    pub const fn with_changes(mut self) -> Self {
        self.with_changes = true;
        self
    }

    /// Also records the accounts and slots that transactions touch, with their values before.
    pub const fn with_touched(mut self) -> Self {
        self.with_touched = true;
        self
    }

    /// Also writes fees.
    pub fn fees(mut self) -> Self {
        self.fees = true;
        self
    }

    /// Writes nothing, and only compares with what the node stored.
    pub fn verify_only(mut self) -> Self {
        self.verify_only = true;
        self
    }

    /// Compares balances of this token with its logs, instead of writing transfers. Call
    /// again for more tokens.
    pub fn balances(mut self, token: Address) -> Self {
        self.balances.push(token);
        self
    }

    /// Compares the transaction with a trace of another client, step by step.
    pub fn against(mut self, trace: impl Into<PathBuf>) -> Self {
        self.against = Some(trace.into());
        self
    }

    /// The engine that executes; default: this project's own.
    pub fn engine(mut self, engine: EngineKind) -> Self {
        self.engine = engine;
        self
    }

    /// Changes accounts right before the transaction, or the transaction itself. It is also executed
    /// as it was, and [compared](Self::difference).
    pub fn overrides(mut self, overrides: StateOverrides) -> Self {
        self.overrides = Some(overrides);
        self
    }

    /// Finds the blocks and checks the options, but replays nothing yet.
    ///
    /// # Errors
    ///
    /// If the query is wrong, or the source cannot answer it.
    pub fn prepare(self) -> Result<PreparedReplay<'s>> {
        let replay_source = ReplaySource::of(self.source)?;
        if !self.balances.is_empty() && self.engine != EngineKind::Txgraph {
            return Err(Error::usage(
                "balances can be compared by txgraph's own engine only",
            ));
        }
        if self.overrides.is_some() && self.engine != EngineKind::Txgraph {
            return Err(Error::usage(
                "only txgraph's own engine executes on a changed state",
            ));
        }
        if self.transaction.is_none() {
            if self.overrides.is_some() {
                return Err(Error::usage("overrides need exactly one transaction")
                    .with_hint(Hint::NameTransaction));
            }
            if self.against.is_some() {
                return Err(Error::usage("a comparison needs exactly one transaction")
                    .with_hint(Hint::NameTransaction));
            }
            if self.trace == Some(Trace::Struct) && !self.verify_only {
                return Err(Error::usage(
                    "the instructions of whole blocks are too many to be written",
                )
                .with_hint(Hint::NameTransaction));
            }
        }
        let blocks = match &self.transaction {
            // All bundles, whatever their blocks are.
            None if matches!(replay_source, ReplaySource::Bundles(_)) && self.blocks.is_empty() => {
                None
            }
            None => Some(self.find_blocks()?),
            Some(_) => None,
        };
        Ok(PreparedReplay {
            query: self,
            replay_source,
            blocks,
        })
    }

    /// The blocks, without block 0, which no node executes.
    fn find_blocks(&self) -> Result<BlockRanges> {
        let blocks = resolve_stored(&self.blocks, self.source)?;
        let above = BlockRange::new(1, u64::MAX);
        let blocks = blocks.intersect(&above.into_iter().collect());
        match blocks.is_empty() {
            false => Ok(blocks),
            true if !self.blocks.is_empty() => Err(txgraph_replay::Error::Genesis.into()),
            true => Err(Error::unavailable(
                "there are no blocks to replay: the database contains block 0 (genesis) only",
            )
            .with_hint(Hint::ListBlocks)),
        }
    }

    /// Replays blocks, and calls `each` for every one, in order.
    ///
    /// # Errors
    ///
    /// As [`Self::prepare`], and if a block cannot be replayed or `each` fails.
    pub fn for_each(self, each: impl FnMut(&BlockReplay) -> Result<()>) -> Result<ReplaySummary> {
        self.prepare()?.for_each(each)
    }

    /// Replays the transaction of the query, observed by `inspector`. Returns it with its
    /// differences from what the source stores.
    ///
    /// # Errors
    ///
    /// As [`Self::prepare`], and if the query is not about one transaction or it cannot be
    /// replayed.
    pub fn one(
        self,
        inspector: Option<&mut dyn Inspector>,
    ) -> Result<(TransactionReplay, Vec<Mismatch>)> {
        let prepared = self.prepare()?;
        let Some(name) = prepared.query.transaction else {
            return Err(Error::usage("no transaction is named").with_hint(Hint::NameTransaction));
        };
        let one = (prepared.replay_source).transaction(&prepared.query, name, inspector)?;
        Ok((one.replay, one.mismatches))
    }

    /// Replays some transactions of a block, observed by `inspector` one after the other. Returns
    /// them with their differences from what the node stores.
    pub(in crate::query) fn some(
        self,
        block: u64,
        only: &BTreeSet<u32>,
        inspector: &mut dyn Inspector,
    ) -> Result<(Vec<TransactionReplay>, Vec<Mismatch>)> {
        ReplaySource::of(self.source)?.transactions(&self, block, only, inspector)
    }

    /// Replays, and only compares with what the node stored.
    ///
    /// # Errors
    ///
    /// As [`Self::for_each`]. A difference is not an error, but a [`Mismatch`].
    pub fn verify(self) -> Result<ReplaySummary> {
        self.verify_only().prepare()?.for_each(|_| Ok(()))
    }
}

/// A replay whose blocks are known.
#[derive(Clone, Debug)]
#[must_use = "nothing is replayed yet"]
pub struct PreparedReplay<'s> {
    query: Replay<'s>,
    replay_source: ReplaySource<'s>,
    /// None for one transaction, and for all bundles.
    blocks: Option<BlockRanges>,
}

impl PreparedReplay<'_> {
    /// The blocks; `None` if the query is about one transaction, or about all blocks of a
    /// source that is not a chain.
    pub const fn blocks(&self) -> Option<&BlockRanges> {
        self.blocks.as_ref()
    }

    /// Replays the blocks, and calls `each` for every one, in order.
    ///
    /// # Errors
    ///
    /// If a block cannot be replayed, or `each` fails.
    pub fn for_each(
        &self,
        mut each: impl FnMut(&BlockReplay) -> Result<()>,
    ) -> Result<ReplaySummary> {
        let Self {
            query,
            replay_source,
            blocks,
        } = self;
        let node = match replay_source {
            ReplaySource::Node(node) => node,
            ReplaySource::Bundles(bundles) => {
                return query.for_each_bundle(bundles, blocks.as_ref(), each);
            }
        };
        let mut summary = ReplaySummary::default();
        let Some((blocks, span)) = blocks.as_ref().and_then(|it| Some((it, it.span()?))) else {
            return Ok(summary);
        };
        // One state for all ranges: its change sets are walked once. A block is executed on
        // the state after the block before it.
        let states = node.state()?;
        let before = BlockRange::from_to(span.first.saturating_sub(1), span.last.saturating_sub(1));
        let state = states
            .range(before)
            .map_err(|error| no_state(error, span))?;
        if let Some(explain) = &node.control.explain {
            let way = if state.is_walked() {
                "reading the change sets of all later blocks"
            } else {
                "asking the node's history indices"
            };
            explain(&format_args!(
                "the state before each block is found by {way}"
            ));
        }
        let replayer = query.replayer(node, &state)?;
        let progress = node.control.progress.as_deref();
        let watched = ProgressGuard::start(progress, blocks.blocks(), "transactions");
        let mut failed = None;
        let report = replayer.range(blocks.clone(), &mut |block| {
            summary.note(&block.mismatches);
            watched.advance(1, block.transactions.len() as u64);
            let checked = query.source.check_interrupted();
            match checked.and_then(|()| each(&block)) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            }
        })?;
        match failed {
            Some(error) => Err(error),
            None => {
                summary.report = report;
                Ok(summary)
            }
        }
    }
}

impl Replay<'_> {
    /// Returns the choice of records that the outputs of the query need.
    fn record(&self) -> Record {
        let record = match self.trace {
            _ if self.overrides.is_some() => Record {
                frames: Some(FrameDetail::Everything),
                transitions: true,
                ..Record::default()
            },
            _ if self.verify_only => Record::default(),
            // Frames are not needed, or recorded when tokens are asked.
            None if self.against.is_some() || !self.balances.is_empty() => Record::default(),
            None | Some(Trace::Gas) => Record {
                frames: Some(FrameDetail::Calls),
                ..Record::default()
            },
            Some(Trace::Call) => Record {
                frames: Some(FrameDetail::Everything),
                ..Record::default()
            },
            Some(Trace::Struct) => Record::default(),
            Some(Trace::Diff) => Record {
                transitions: true,
                ..Record::default()
            },
        };
        Record {
            transitions: record.transitions || self.with_changes,
            touched: self.with_touched,
            ..record
        }
    }
}

impl RethNode {
    /// Past states. A chain of the OP stack is refused here, so that missing state is not
    /// reported first.
    fn state(&self) -> Result<StateDb> {
        if self.db().family() == ChainFamily::OpStack {
            self.rules()?;
        }
        let default = StateOptions::default();
        let memory = self.config.memory.and_then(|bytes| bytes.try_into().ok());
        let states = StateDb::new(
            self.db().clone(),
            StateOptions {
                overlay_bytes_max: memory.unwrap_or(default.overlay_bytes_max),
                ..default
            },
        )
        .with_cancel(self.control.cancel.clone())
        .with_threads(self.control.threads.clone());
        let newest = self.newest.get_or_init(|| {
            let rules = self.rules().ok()?;
            Some(Arc::new(NewestReplay::new(rules)))
        });
        Ok(match newest {
            Some(newest) => states.with_newest(newest.clone()),
            None => states,
        })
    }

    /// Finds transfers inside of transactions by replay, on as many threads as scans use.
    pub(crate) fn internal(&self) -> Result<Internal<'_>> {
        Ok(Internal::new(
            self.db(),
            self.state()?,
            self.rules()?,
            self.control.threads.clone(),
            self.control.cancel.clone(),
        ))
    }

    /// Asks on the state at the end of `block`, or of the newest block with a state. Returns
    /// the block and the result.
    fn at_end_of<T>(
        &self,
        block: Option<u64>,
        ask: impl FnOnce(&Replayer<'_, &StateRange<'_>>, u64) -> txgraph_replay::Result<T>,
    ) -> Result<(u64, T)> {
        self.at_end_with(self.rules()?, block, ask)
    }

    /// The rules for calls whose answer does not depend on forks: the rules of the chain, else
    /// the newest, for chains that are not known and for the OP stack.
    fn rules_for_calls(&self) -> Result<ChainRules> {
        let error = match self.rules() {
            Ok(rules) => return Ok(rules),
            Err(error) => error,
        };
        let newest = KnownChain::ALL
            .iter()
            .rev()
            .filter(|chain| chain.id == 1337);
        let mut newest = newest.filter_map(|chain| ChainRules::known(chain.genesis_hash?));
        let mut rules = newest.next().ok_or(error)?;
        let chain = self.db().chain()?;
        rules.chain_id = chain.chain_id.unwrap_or(rules.chain_id);
        rules.genesis_hash = chain.genesis_hash;
        Ok(rules)
    }

    fn at_end_with<T>(
        &self,
        rules: ChainRules,
        block: Option<u64>,
        ask: impl FnOnce(&Replayer<'_, &StateRange<'_>>, u64) -> txgraph_replay::Result<T>,
    ) -> Result<(u64, T)> {
        let states = self.state()?;
        let block = match block {
            Some(block) => block,
            None => newest(&states)?,
        };
        let state = states.range(BlockRange::one(block))?;
        let state = state.checked();
        let db: &NodeDb = self.db();
        let options = ReplayOptions {
            cancel: self.control.cancel.clone(),
            ..ReplayOptions::default()
        };
        let replayer = Replayer::new(rules, db, &state, options)?;
        Ok((block, ask(&replayer, block)?))
    }
}

/// An error about blocks that cannot be replayed, with those that can. A block needs the state after its
/// parent.
fn no_state(error: txgraph_state::Error, wanted: BlockRange) -> Error {
    let txgraph_state::Error::NotAvailable {
        block,
        available,
        reason,
        ..
    } = &error
    else {
        return error.into();
    };
    let first = available.first.saturating_add(1);
    // The database contains `block`, so that there is one after the last with a state.
    let last = available.last + u64::from(*block > available.last);
    let newest = BlockRange::from_to(first, last.max(first));
    Error::unavailable(format!(
        "blocks {wanted} cannot all be replayed: {reason}; available: {newest}"
    ))
    .with_hint(Hint::AskExisting { newest })
}

/// The newest block with a state.
fn newest(states: &StateDb) -> Result<u64> {
    let available = states.available()?;
    let newest = available.blocks.map(|blocks| blocks.last);
    newest.ok_or_else(|| {
        let why = available.obstacle.unwrap_or(available.above);
        Error::unavailable(format!("there is no state: {why}"))
    })
}
