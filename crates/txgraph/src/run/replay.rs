//! Executing again what the node executed: transfers inside of transactions, traces,
//! proofs, and calls on the state of any block.

mod against;
mod call;
mod rows;
mod token;

pub use call::{CallQuery, Called, call};
pub use token::{TokenNames, token_metadata};

use super::{Node, restarting};
use crate::{Checksum, Error, ErrorKind, Output, Result, Selection, lists, outputs::Outputs};
use alloy_primitives::{Address, B256};
use rows::{Content, Rows};
use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
};
use txgraph_block::trace::{Trace as Eip3155, TraceOptions};
use txgraph_export::{LineWriter, Target, Written};
use txgraph_reader::{ScanOptions, Watched, find_transaction};
use txgraph_replay::{
    BlockReplay, ChainRules, EngineKind, FrameDetail, Internal, Mismatch, RangeReport, Record,
    ReplayOptions, Replayer, TransactionLocation, TransactionReplay, Verify,
};
use txgraph_state::{StateDb, StateOptions, StateRange};
use txgraph_transfers::{BlockRange, BlockRanges};

/// Mismatches that are told one by one.
const MISMATCHES_MAX: usize = 20;

/// What to execute again, and what to tell of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplayQuery {
    /// Block ranges, as in a [`Selection`].
    pub blocks: Vec<String>,
    /// First block, as another way to write a range.
    pub from_block: Option<u64>,
    /// Last block, included.
    pub to_block: Option<u64>,
    /// One transaction instead of blocks: its hash, or `BLOCK:INDEX`. A hash that no index
    /// of the node contains is searched for in the given blocks.
    pub transaction: Option<String>,
    /// A trace in place of transfers.
    pub trace: Option<Trace>,
    /// Transfers: also the fees.
    pub fees: bool,
    /// Only compare with what the node stored; tell nothing else.
    pub verify_only: bool,
    /// Tokens whose balances are compared with their logs, in place of transfers.
    pub verify_balances: Vec<String>,
    /// A trace by another client that the one transaction is compared with.
    pub against: Option<PathBuf>,
    /// What executes.
    pub engine: EngineKind,
    /// Where the answer goes.
    pub output: Output,
}

/// What is told of each transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trace {
    /// Its call frames, as the node's `callTracer` tells them.
    Call,
    /// Its instructions (EIP-3155); of one transaction only.
    Struct,
    /// What it changed, as the node's `prestateTracer` tells it in diff mode.
    Diff,
    /// Where the gas of all of them went: folded stacks, for flame graphs.
    Gas,
}

impl Trace {
    /// All of them.
    pub const ALL: &[Self] = &[Self::Call, Self::Struct, Self::Diff, Self::Gas];

    /// As written on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Struct => "struct",
            Self::Diff => "diff",
            Self::Gas => "gas",
        }
    }
}

/// How internal transfers are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ReplayFormat {
    /// Comma-separated values with a header.
    #[default]
    Csv,
    /// An object per line.
    Jsonl,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Replayed {
    /// Blocks, transactions, gas, and what could be compared.
    pub report: RangeReport,
    /// The first places where the replay disagrees with what the node stored.
    pub mismatches: Vec<Mismatch>,
    /// Steps that agree with the [trace](ReplayQuery::against) of another client.
    pub steps: Option<u64>,
    /// The file, if one was asked for.
    pub written: Option<Written>,
}

impl Node {
    /// The states of the past.
    pub(super) fn state(&self) -> StateDb {
        let default = StateOptions::default();
        let memory = self.config.memory.and_then(|bytes| bytes.try_into().ok());
        StateDb::new(
            self.db.clone(),
            StateOptions {
                overlay_bytes_max: memory.unwrap_or(default.overlay_bytes_max),
                ..default
            },
        )
    }

    /// The rules of the chain, by its genesis or from the configured file.
    pub(super) fn rules(&self) -> Result<ChainRules> {
        let file = self.config.chain.as_deref();
        Ok(ChainRules::of_database(&self.db, file)?)
    }

    /// What moves inside of transactions, found by replaying blocks on as many threads as scans have.
    pub(super) fn internal(&self) -> Result<Internal<'_>> {
        let cancel = &self.control.cancel;
        Ok(Internal::new(
            &self.db,
            self.state(),
            self.rules()?,
            self.config.threads.unwrap_or(0),
            Box::new(|| cancel.is_cancelled()),
        ))
    }

    fn replayer<'a>(
        &'a self,
        state: &'a StateRange<'a>,
        query: &ReplayQuery,
    ) -> Result<Replayer<'a, &'a StateRange<'a>>> {
        let record = match query.trace {
            _ if query.verify_only => Record::default(),
            // Frames are of no use, or recorded for the asking of tokens.
            None if query.against.is_some() || !query.verify_balances.is_empty() => {
                Record::default()
            }
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
        let options = ReplayOptions {
            record,
            verify: Verify {
                transactions: query.verify_only || self.config.verify.unwrap_or(false),
                ..Verify::default()
            },
            threads: self.config.threads.unwrap_or(0),
            engine: query.engine,
            tokens: query.tokens()?,
        };
        Ok(Replayer::new(self.rules()?, &self.db, state, options)?)
    }
}

impl ReplayQuery {
    /// The selected blocks up to the present tip, without block 0, which cannot be replayed.
    pub fn blocks(&self, node: &Node) -> Result<BlockRanges> {
        let selection = Selection {
            blocks: self.blocks.clone(),
            from_block: self.from_block,
            to_block: self.to_block,
            ..Selection::default()
        };
        let blocks = node.blocks(&selection)?;
        let above = BlockRange::new(1, u64::MAX);
        let blocks = blocks.intersect(&above.into_iter().collect());
        match blocks.is_empty() {
            false => Ok(blocks),
            true if self.names_blocks() => Err(txgraph_replay::Error::Genesis.into()),
            true => Err(Error::new(
                ErrorKind::Unavailable,
                "there are no blocks to replay: the database contains block 0 (genesis) only",
            )
            .hint("`txgraph info` shows how far the node has come")),
        }
    }

    /// Whether blocks are given, rather than all of them by default.
    const fn names_blocks(&self) -> bool {
        !self.blocks.is_empty() || self.from_block.is_some() || self.to_block.is_some()
    }

    fn tokens(&self) -> Result<Vec<Address>> {
        if self.verify_balances.is_empty() {
            return Ok(Vec::new());
        }
        if self.engine != EngineKind::Own {
            return Err(Error::usage("balances are asked of txgraph's own engine"));
        }
        let tokens = lists::addresses(&self.verify_balances, Checksum::Verify)?;
        match tokens.is_empty() {
            true => Err(Error::usage("the list of tokens is empty").at("--verify-balances")),
            false => Ok(tokens),
        }
    }

    /// What is written of each transaction.
    fn content(&self) -> Content {
        match self.trace {
            Some(trace) => Content::Trace(trace),
            None if !self.verify_balances.is_empty() => Content::Balances,
            None => Content::Transfers { fees: self.fees },
        }
    }

    fn target(&self, node: &Node) -> Result<Target> {
        let target = match &self.output.output[..] {
            [] => Target::Stdout,
            [path] => Target::from(PathBuf::from(path)),
            _ => return Err(Error::usage("a replay goes to one output")),
        };
        Outputs::new(&node.protected, self.output.overwrite).add(&target, false)?;
        Ok(target)
    }

    fn format(&self, target: &Target) -> Result<ReplayFormat> {
        let extension = target.path().and_then(Path::extension);
        let word = match &self.output.format {
            Some(word) => Some(word.as_str()),
            None => extension.and_then(|extension| extension.to_str()),
        };
        match (self.trace, word) {
            (Some(_), None | Some("json" | "jsonl" | "txt")) => Ok(ReplayFormat::Jsonl),
            (Some(_), Some(word)) => {
                Err(Error::usage(format!("traces are JSON lines, not {word}")))
            }
            (None, None | Some("csv")) => Ok(ReplayFormat::Csv),
            (None, Some("jsonl")) => Ok(ReplayFormat::Jsonl),
            (None, Some(word)) => Err(Error::usage(format!(
                "{word} is no format for a replay: csv or jsonl"
            ))
            .hint("`txgraph transfers --with-internal` writes all formats")),
        }
    }
}

/// Replays the blocks of `query` and hands them over, in their order.
pub fn replay(
    node: &Node,
    query: &ReplayQuery,
    blocks: &BlockRanges,
    sink: &mut dyn FnMut(&BlockReplay) -> Result<()>,
) -> Result<Replayed> {
    let mut replayed = Replayed::default();
    let Some(span) = blocks.span() else {
        return Ok(replayed);
    };
    // One state for all ranges: its change sets are walked once. A block is executed on
    // the state after the one before it.
    let states = node.state();
    let state = states.range(BlockRange {
        first: span.first.saturating_sub(1),
        last: span.last.saturating_sub(1),
    })?;
    if let Some(explain) = &node.control.explain {
        let way = match state.is_walked() {
            true => "walking its change sets back from the tip",
            false => "asking the node's history indices",
        };
        explain(&format_args!(
            "the state before each block is found by {way}"
        ));
    }
    let replayer = node.replayer(&state, query)?;
    let progress = node.control.progress.as_deref();
    let watched = Watched::start(progress, blocks.blocks(), "transactions");
    for range in blocks.iter() {
        let mut failed = None;
        let report = replayer.range(range, &mut |block| {
            replayed.note(&block.mismatches);
            watched.advance(1, block.transactions.len() as u64);
            match node.check_interrupted().and_then(|()| sink(&block)) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            }
        })?;
        if let Some(error) = failed {
            return Err(error);
        }
        replayed.report += report;
    }
    Ok(replayed)
}

/// Asks `query` and writes the answer. What was replayed before an error is written, if
/// it goes to stdout; a file gets its name only when it is complete.
pub fn write_replay(node: &Node, query: &ReplayQuery) -> Result<Replayed> {
    let target = query.target(node)?;
    let format = query.format(&target)?;
    if let Some(name) = &query.transaction {
        if let Some(trace) = &query.against {
            return against::compare(node, query, transaction_name(name)?, trace);
        }
        return write_one(node, query, transaction_name(name)?, &target, format);
    }
    if query.against.is_some() {
        return Err(Error::usage("a trace is of one transaction")
            .hint("name it: --tx HASH, or --tx BLOCK:INDEX"));
    }
    if query.trace == Some(Trace::Struct) && !query.verify_only {
        return Err(
            Error::usage("the instructions of whole blocks are too many to be written")
                .hint("name a transaction: --tx HASH, or --tx BLOCK:INDEX"),
        );
    }
    let blocks = query.blocks(node)?;
    if query.verify_only {
        return replay(node, query, &blocks, &mut |_| Ok(()));
    }
    let is_stream = target == Target::Stdout;
    let mut streamed = false;
    restarting(|| {
        let mut out = LineWriter::new(&target, query.output.overwrite)?;
        let mut rows = Rows::new(query.content(), format);
        let replayed = replay(node, query, &blocks, &mut |block| {
            streamed = is_stream;
            rows.block(block, &mut out)
        });
        match replayed {
            Err(error) if streamed && error.kind == ErrorKind::Reorged => {
                Err(Error::new(ErrorKind::Failed, error.message)
                    .hint("what was printed is void; ask again, or write to a file (-o)"))
            }
            // What is complete stays.
            Err(error) => {
                if is_stream {
                    out.finish()?;
                }
                Err(error)
            }
            Ok(mut replayed) => {
                rows.end(&mut out)?;
                replayed.written = Some(out.finish()?);
                Ok(replayed)
            }
        }
    })
}

fn write_one(
    node: &Node,
    query: &ReplayQuery,
    name: TransactionName,
    target: &Target,
    format: ReplayFormat,
) -> Result<Replayed> {
    let location = Location::find(node, query, name)?;
    let states = node.state();
    let state = states.range(location.before()?)?;
    let replayer = node.replayer(&state, query)?;
    let (replay, mismatches, out) = if query.trace == Some(Trace::Struct) && !query.verify_only {
        let out = LineWriter::new(target, query.output.overwrite)?;
        let mut trace = Eip3155::new(out, TraceOptions::default());
        let (replay, mismatches) = replayer.transaction(location.0, Some(&mut trace))?;
        let out = trace.finish(&replay.outcome);
        let out = out.map_err(|error| Error::io(Path::new(&target.to_string()), error))?;
        (replay, mismatches, Some(out))
    } else {
        let (replay, mismatches) = replayer.transaction(location.0, None)?;
        let mut out = None;
        if !query.verify_only {
            let mut rows = Rows::new(query.content(), format);
            let out = out.insert(LineWriter::new(target, query.output.overwrite)?);
            let header = node.db.snapshot()?.header(location.0.block)?;
            let environment = replayer.environment(&header)?;
            rows.transaction(&replay, &environment, out)?;
            rows.end(out)?;
        }
        (replay, mismatches, out)
    };
    let mut replayed = Replayed::of_one(&replay, &mismatches);
    replayed.written = out.map(LineWriter::finish).transpose()?;
    Ok(replayed)
}

/// A transaction as a caller names it.
#[derive(Clone, Copy, Debug)]
enum TransactionName {
    Hash(B256),
    Position { block: u64, index: u32 },
}

/// The location of the one transaction to replay.
#[derive(Clone, Copy)]
struct Location(TransactionLocation);

impl Location {
    fn find(node: &Node, query: &ReplayQuery, name: TransactionName) -> Result<Self> {
        let location = match name {
            TransactionName::Position { .. } if query.names_blocks() => {
                return Err(Error::usage(
                    "blocks to search need the hash of the transaction, not its block and index",
                ));
            }
            TransactionName::Position { block, index } => {
                // Check that the block exists before checking that its parent state does.
                node.db.snapshot()?.header(block)?;
                TransactionLocation {
                    block,
                    index,
                    hash: None,
                }
            }
            TransactionName::Hash(hash) => {
                let blocks = match query.names_blocks() {
                    true => Some(query.blocks(node)?),
                    false => None,
                };
                let options = ScanOptions {
                    threads: node.config.threads,
                    progress: node.control.progress.clone(),
                    cancel: node.control.cancel.clone(),
                    ..ScanOptions::default()
                };
                let (block, index) = find_transaction(&node.db, hash, blocks.as_ref(), &options)?;
                TransactionLocation {
                    block,
                    index,
                    hash: Some(hash),
                }
            }
        };
        Ok(Self(location))
    }

    /// The block after which there must be a state.
    fn before(self) -> Result<BlockRange> {
        let before = (self.0.block.checked_sub(1))
            .ok_or_else(|| Error::usage("block 0 has no transactions"))?;
        Ok(BlockRange {
            first: before,
            last: before,
        })
    }
}

impl Replayed {
    fn of_one(replay: &TransactionReplay, mismatches: &[Mismatch]) -> Self {
        let balances = replay.balances.as_ref();
        let mut replayed = Self {
            report: RangeReport {
                transactions: 1,
                gas_used: replay.outcome.gas_used,
                mismatches: mismatches.len() as u64,
                balances_compared: balances.map_or(0, |check| check.compared),
                balances_unanswered: balances.map_or(0, |check| check.unanswered),
                ..RangeReport::default()
            },
            ..Self::default()
        };
        replayed.note(mismatches);
        replayed
    }

    fn note(&mut self, mismatches: &[Mismatch]) {
        let room = MISMATCHES_MAX.saturating_sub(self.mismatches.len());
        self.mismatches
            .extend(mismatches.iter().take(room).cloned());
    }
}

/// Asks on the state at the end of `block`, or of the newest with a state; the block, and
/// the answer.
fn at_end_of<T>(
    node: &Node,
    block: Option<u64>,
    ask: impl FnOnce(&Replayer<'_, &StateRange<'_>>, u64) -> txgraph_replay::Result<T>,
) -> Result<(u64, T)> {
    let states = node.state();
    let block = match block {
        Some(block) => block,
        None => {
            let available = states.available()?;
            let newest = available.blocks.map(|blocks| blocks.last);
            newest.ok_or_else(|| {
                let why = available.obstacle.unwrap_or(available.above);
                Error::new(ErrorKind::Unavailable, format!("there is no state: {why}"))
            })?
        }
    };
    let state = states.range(BlockRange {
        first: block,
        last: block,
    })?;
    let replayer = Replayer::new(node.rules()?, &node.db, &state, ReplayOptions::default())?;
    Ok((block, ask(&replayer, block)?))
}

/// A hash, or `BLOCK:INDEX`.
fn transaction_name(text: &str) -> Result<TransactionName> {
    let wrong = || {
        Error::usage(format!(
            "{text:?} names no transaction: give its hash, or BLOCK:INDEX"
        ))
    };
    if let Some((block, index)) = text.split_once(':') {
        let place = block.replace('_', "").parse().ok().zip(index.parse().ok());
        let (block, index) = place.ok_or_else(wrong)?;
        return Ok(TransactionName::Position { block, index });
    }
    let hash: B256 = text.parse().map_err(|_| wrong())?;
    Ok(TransactionName::Hash(hash))
}

impl From<txgraph_replay::Error> for Error {
    fn from(error: txgraph_replay::Error) -> Self {
        use txgraph_replay::Error as Replay;
        let message = error.to_string();
        match error {
            Replay::NodeDb(error) => error.into(),
            _ if error.is_stale() => Self::new(ErrorKind::Reorged, message),
            Replay::State { block, source } | Replay::Changes { block, source } => {
                match source.downcast::<txgraph_state::Error>() {
                    Ok(error) => Self::from(*error).at(format!("block {block}")),
                    Err(_) => Self::new(ErrorKind::Failed, message),
                }
            }
            Replay::NoSuchTransaction { .. } => Self::new(ErrorKind::Unavailable, message),
            Replay::UnknownChain { .. } => {
                Self::usage(message).hint("give the genesis file with --chain FILE")
            }
            Replay::WrongChainId { .. } => {
                Self::usage(message).hint("--chain names the genesis file")
            }
            Replay::Genesis
            | Replay::WrongChain { .. }
            | Replay::ChainFile { .. }
            | Replay::ReadChainFile { .. }
            | Replay::ReadTrace { .. }
            | Replay::Trace { .. } => Self::usage(message),
            _ => Self::new(ErrorKind::Failed, message),
        }
    }
}

impl From<txgraph_state::Error> for Error {
    fn from(error: txgraph_state::Error) -> Self {
        let kind = match &error {
            error if error.is_missing() => ErrorKind::Unavailable,
            error if error.is_stale() => ErrorKind::Reorged,
            _ => ErrorKind::Failed,
        };
        Self::new(kind, error.to_string())
    }
}
