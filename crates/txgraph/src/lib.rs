//! txgraph: where did these tokens go?
//!
//! Asks a [`Source`], for example the data directory of a local reth node, about token
//! transfers: the transfers themselves ([`Source::transfers`]), the graph around some
//! addresses ([`Source::search`]), and measures of it ([`Source::analyze`]). It prints
//! nothing, and names no option of a command line.
//!
//! Modules, each using only those before it: version, words, grammar, capability, spec, hint, error,
//! files, kinds, options, protected_paths, config, measured, source, dates, select, outputs, query, frames,
//! parse.
//!
//! ```no_run
//! use txgraph::{Source, address};
//!
//! let token = address!("0xdac17f958d2ee523a2206206994597c13d831ec7");
//! let root = address!("0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed");
//! let source = Source::open("/data/reth")?;
//! let graph = source.search(root).token(token).last_blocks(1000).hops(2).run()?;
//! graph.write("peel.svg")?;
//! # Ok::<(), txgraph::Error>(())
//! ```
//!
//! # Features
//!
//! On by default are:
//!
//! * `import`: reads files that other tools write.
//! * `index`: builds indexes, and answers from them.
//! * `lake`: builds lakes, and answers from them.
//! * `polars`: returns answers as data frames. Compiles polars, without its readers and writers.
//! * `rpc`: asks JSON-RPC servers. Compiles an HTTP client with TLS.
//!
//! Off by default are:
//!
//! * `oracle`: replays with revm, and compares it with the own interpreter.
//! * `s3`: lakes in buckets of object stores with the interface of S3.
//!
//! # Data frames
//!
//! With the feature `polars`, answers have methods `to_polars`: [`Transfers::to_polars`],
//! [`GraphResult::to_polars`] for the edges of a graph, [`GraphResult::vertices_to_polars`],
//! [`Analysis::to_polars`] for the tables of a measure. The columns equal the columns of Parquet
//! files: 256-bit numbers are 32 bytes, decimal text and doubles, and [`ColumnChoice`] chooses
//! others. Nothing is copied on the way to polars. A frame has the types of polars 0.55, so a
//! program that uses polars itself needs the same minor version.

mod capability;
mod config;
mod dates;
mod error;
mod files;
#[cfg(feature = "polars")]
mod frames;
mod grammar;
mod hint;
mod kinds;
mod measured;
mod options;
mod outputs;
pub mod parse;
mod protected_paths;
mod query;
mod select;
mod source;
mod spec;
mod version;
mod words;

pub use capability::{Capabilities, Capability};
pub use config::{Config, DATADIR_ENV, IndexChoice, SOURCE_ENV};
pub use error::{Error, ErrorKind, Gaps, Result};
pub use grammar::{BlockSpec, BlocksError};
pub use hint::{Hint, Parameters};
pub use kinds::{SourceKind, source_kinds};
pub use measured::{MeasureAnswer, MeasureSettings, Measured};
pub use protected_paths::ProtectedPaths;
pub use query::*;
pub use select::Selection;
#[cfg(feature = "lake")]
pub use source::BuildSourceFn;
pub use source::{Backend, Explain, RunControl, Source, SourceBuilder};
pub use spec::SourceSpec;

// What queries and answers are made of.
pub use alloy_primitives::{Address, B256, Bytes, Log, U256, address, b256, bytes};
pub use txgraph_abi::{AbiType, AbiValue, Dictionary, Loaded as LoadedSignatures, Method, Named};
pub use txgraph_analysis::{
    Column, ColumnType, PairOrder, RankSettings, Table, TaintMethod, Value, VolumeBy,
};
pub use txgraph_base::UnknownWord;
pub use txgraph_block::{evm_authorization, opcodes::name_at as opcode_name};
pub use txgraph_evm::{
    AccessListItem, AccountOverride, Authorization, Checks, Fork, FrameEnd, FrameKind, FrameStart,
    Halt, Inspector, InvalidTransaction, Outcome, Status, Step, Transaction as EvmTransaction,
    TransactionType, Transition, delegate, is_precompile,
};
pub use txgraph_export::{
    ArrowCollector, ArrowReceiver, ArrowTable, ArrowTarget, Cell, ClaimedMetadata, ColumnChoice,
    ColumnWord, CounterfeitToken, DiscardedFiles, DocumentFormat, Drawing, Fold, GraphFormat,
    Layout, LineWriter, Link, MemoryFile, Metadata, RecordBatch, Schema, SchemaRef, TableFormat,
    Target, Token, TokenList, TransferWriter, Written, cells, column_names, discard_partial_files,
    plain_text, pretty_json, printable, rounded_amount, short_addresses, transfer_batch,
    transfer_schema,
};
pub use txgraph_graph::{
    AmountSum, Asset, AssetTotals, BranchEnd, CommonCounterparties, CommonCounterparty,
    Continuation, Contracts, Edge, EndReason, Expansion, Flow, HUB_COUNTERPARTIES, Leg, LimitHit,
    MergedEdge, NetChange, Netting, Poisoning, ROUTES_MAX, Route, RoutesCut, SearchRequest, Swap,
    SwapCounts, TransferCounts, TransferFlows, TransferGraph, TransferPaths, Unchecked, Vertex,
    VertexId, ZeroValue, netting, petgraph, widen,
};
#[cfg(feature = "index")]
pub use txgraph_index::Status as IndexStatus;
pub use txgraph_labels::{Category, Label, LabelSet, Labels};
#[cfg(feature = "lake")]
pub use txgraph_lake::{CompactReport, FileStatus, Lake, Status as LakeStatus};
pub use txgraph_nodedb::{
    ChainFamily, Deposit, Header, Info, NEWEST_KNOWN, NEWEST_TESTED, SignedTransaction,
    StoredTransaction, Withdrawal, is_known_version,
};
pub use txgraph_reader::{CancelFlag, NodeSource, Progress, Threads};
pub use txgraph_replay::{
    AccountFields, BlockOverrides, BlockReplay, CallFrame, CallLog, Cause, Destruction, Difference,
    EngineKind, FieldChange, Frame, FrameDetail, FrameLog, Frames, Mismatch, NativeTransfer,
    RangeReport, Record, Refusal, Simulate, Simulation, StateChange, StateDiff, StateOverrides,
    Touched, TransactionOverride, TransactionReplay, revert_reason,
};
#[cfg(feature = "rpc")]
pub use txgraph_rpc::{Endpoint, Relay};
#[cfg(any(feature = "index", feature = "lake"))]
pub use txgraph_stored::{BuildOptions, BuildReport, VerifyReport};
pub use txgraph_transfers::{
    AddressFilter, AddressSet, AmountFilter, Batch, BlockAnchor, BlockRange, BlockRanges,
    BlockTime, ByFrontier, ChainInfo, DecodeCounts, Direction, FailureKind, Fields, Kind,
    Participation, Roles, ScanReport, ScanRequest, Sink, SourceError, SourceFailure, StateUsed,
    TokenFilter, TokenStandard, Transfer, TransferFilter, TransferSource, Unavailable, Unseen,
    WrappedNative, Wrapper,
};
pub use version::version;
pub use words::{COIN_DECIMALS, grouped, in_units, limit_words, number, thousands};
