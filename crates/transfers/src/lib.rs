//! Defines transfers, and decodes logs and transactions into them.
//!
//! The crates for graphs, measures and formats consume [`Transfer`]s. The node database, the
//! index and replay provide them through [`TransferSource`]. This crate uses no disk, no
//! threads and no graph.
//!
//! Start with `transfer` and `filter`, which define the terms. `events`, `log`, `wrap` and
//! `decode` decode logs. `source` and `indexable` are the interfaces of sources.
//!
//! Modules, each using only those before it: amounts, csr, events, gaps, log, malformed, address_prefilter, time,
//! decoder_input, counts, transfer, amount_flows, fields, filter, frames, participation, queried_names, wrap, testing, decode,
//! source, indexable.

mod address_prefilter;
mod amount_flows;
mod amounts;
mod counts;
mod csr;
mod decode;
mod decoder_input;
mod events;
mod fields;
mod filter;
mod frames;
mod gaps;
mod indexable;
mod log;
mod malformed;
mod participation;
mod queried_names;
mod source;
pub mod testing;
mod time;
mod transfer;
mod wrap;

pub use amount_flows::{AmountFlows, ChangedSlot, FlowEnd};
pub use amounts::AmountFilter;
pub use counts::DecodeCounts;
pub use csr::Csr;
pub use decode::Decoder;
pub use decoder_input::{TransactionView, WithdrawalView};
pub use events::{
    DEPOSIT, EIP7708_LOG_ADDRESS, TRANSFER, TRANSFER_BATCH, TRANSFER_SINGLE, WITHDRAWAL,
};
pub use fields::Fields;
pub use filter::{AddressFilter, AddressSet, Direction, TokenFilter, TransferFilter};
pub use frames::{CallFrame, FrameKind, FrameMovement, FrameMovements};
pub use gaps::Gaps;
pub use indexable::{
    AllLogged, AnomalousLogs, BlockReader, BlockRun, BlockSummary, Indexable, InternalReader,
    InternalSource, InternalTransfers,
};
pub use log::LogView;
pub use malformed::Malformed;
pub use participation::{Participation, Roles};
pub use queried_names::{QueriedNames, Unseen};
pub use source::{
    Batch, BlockAnchor, ByFrontier, ChainInfo, FailureKind, ScanReport, ScanRequest, Sink,
    SourceError, SourceFailure, StateUsed, TransferSource, Unavailable, Wrapper,
};
pub use time::BlockTime;
pub use transfer::{Kind, Position, TokenStandard, Transfer};
pub use txgraph_base::{BlockRange, BlockRanges};
pub use wrap::WrappedNative;
