//! The narrow waist of txgraph: what a transfer *is*.
//!
//! Everything above this crate (graph, analysis, export) speaks [`Transfer`];
//! everything below it (the node database, later an index or a cluster)
//! implements [`TransferSource`]. This crate knows no disk, no threads and no
//! graph: logs and transactions come in as borrowed bytes, transfers go out.

mod range;
mod transfer;
mod events;
mod decode;
mod filter;
mod source;

pub use decode::{DecodeCounts, Decoder, LogView, TransactionView, WithdrawalView, WrappedNative};
pub use events::{
    DEPOSIT, EIP7708_LOG_ADDRESS, TRANSFER, TRANSFER_BATCH, TRANSFER_SINGLE, WITHDRAWAL,
};
pub use filter::{AddressSet, Direction, TokenFilter, Touching, TransferFilter};
pub use range::{BlockRange, BlockRanges};
pub use source::{
    Batch, ChainInfo, ScanReport, ScanRequest, SourceError, TransferSource, Unavailable,
};
pub use transfer::{Kind, Position, TokenStandard, Transfer};
