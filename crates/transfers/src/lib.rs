//! The narrow waist of txgraph: what a transfer *is*.
//!
//! Everything above this crate (graph, analysis, export) speaks [`Transfer`];
//! everything below it (the node database, later an index or a cluster)
//! implements [`TransferSource`]. This crate knows no disk, no threads and no
//! graph: logs and transactions come in as borrowed bytes, transfers go out.
//!
//! Read `transfer`, `range` and `filter` for the words; then `events`, `log`,
//! `wrap` and `decode` for how logs become transfers; then `source`.

mod counts;
mod decode;
mod events;
mod filter;
mod indexable;
mod log;
#[cfg(test)]
mod naive;
mod sieve;
mod source;
mod transfer;
mod wrap;

pub use counts::DecodeCounts;
pub use decode::{Decoder, TransactionView, WithdrawalView};
pub use events::{
    DEPOSIT, EIP7708_BURN, EIP7708_LOG_ADDRESS, EIP7708_SELFDESTRUCT, TRANSFER, TRANSFER_BATCH,
    TRANSFER_SINGLE, WITHDRAWAL,
};
pub use filter::{AddressSet, Direction, TokenFilter, Touching, TransferFilter};
pub use indexable::{
    AnomalousLogs, BlockReader, BlockRun, BlockSummary, Indexable, InternalReader, InternalSource,
    InternalTransfers,
};
pub use log::LogView;
pub use source::{
    Batch, ByFrontier, ChainInfo, ScanReport, ScanRequest, SourceError, TransferSource, Unavailable,
};
pub use transfer::{Kind, Position, TokenStandard, Transfer};
pub use txgraph_base::{BlockRange, BlockRanges};
pub use wrap::WrappedNative;
