//! The queries, one file each: their options, and how they are answered.

mod address_transactions;
mod analyze;
mod blocks;
mod branch_ends;
#[cfg(any(feature = "index", feature = "lake"))]
mod build_source;
mod era;
mod holders;
#[cfg(feature = "index")]
mod index;
mod initiated;
#[cfg(feature = "lake")]
mod lake;
mod logs;
mod malformed;
mod measure;
mod neighbors;
mod newest;
mod path_signers;
mod paths;
mod patterns;
mod query_metadata;
mod rank;
pub(crate) mod replay;
mod retry;
mod search;
mod taint;
mod token_symbols;
mod transaction_columns;
mod transfers;
mod watch;

pub use address_transactions::AddressTransactions;
pub use analyze::{Analysis, Analyze, MeasuredGraph, PreparedAnalysis};
pub use analyze::{AnalysisFormat, AnalysisOutput};
pub use blocks::{FinalBlocks, NodeBlock, NodeReceipt, NodeTransaction, Order, ReceiptDetail};
pub use branch_ends::BranchEnds;
pub use era::{ExportEra, ExportedEra};
pub use holders::{Holders, TokenHolder, TokenHolders};
#[cfg(feature = "index")]
pub use index::{DeletedIndex, IndexHandle, IndexState};
#[cfg(feature = "lake")]
pub use lake::{LakeHandle, check_lake, compact_lake, lake_status};
pub use logs::{LogFilter, NodeLog};
pub use malformed::{MalformedLog, MalformedLogs};
pub use measure::Measure;
pub use neighbors::{NeighborEdge, NeighborEdges, Neighbors};
pub use path_signers::OtherSigners;
pub use paths::{flows_as_json, route_remarks, routes_cut_words};
pub use replay::{
    AccountState, BlockState, Call, CallResult, PreparedReplay, Replay, ReplaySummary, SlotState,
    TokenNames, Tokens, Trace, TransactionName,
};
pub use replay::{
    AccountStatement, Activity, AddressProfile, Approval, ApprovalKind, Approvals, AssetBalance,
    BlockProof, ContractFacts, Counterparty, Creation, Creator, Entry, FirstSent, GrantedApproval,
    HeldItem, MovedAsset, OpenApprovals, Profile, ProfileState, ProvenStatement, ReplayOutput,
    ReplayedTransfers, RunDifference, RunParts, SlotChange, SlotChanges, SlotHistory, Statement,
    StatementRow, TransactionProof, TransactionSummary, Unrecorded, VerifiedStatement,
    WithdrawalProof, verify_proofs,
};
pub use search::{DetachedGraph, GraphOutputs, WrittenGraph};
pub use search::{GraphResult, Hops, PreparedSearch, Search, SearchOptions};
pub use token_symbols::TokenSources;
pub(crate) use transfers::scan;
pub use transfers::{FirstTransfers, PreparedTransfers, Transfers};
pub use transfers::{TransfersOutput, TransfersResult};
pub use watch::{AddedBlocks, Watch, WatchStep};

#[cfg(not(feature = "index"))]
impl crate::Source {
    /// Whether queries are answered from an index: never, without the feature `index`.
    #[expect(clippy::unnecessary_wraps, reason = "the same as with an index")]
    pub const fn has_index(&self) -> crate::Result<bool> {
        Ok(false)
    }

    /// Whether the index has the transfers inside of transactions: never, without the feature `index`.
    #[expect(clippy::unnecessary_wraps, reason = "the same as with an index")]
    pub const fn index_has_internal(&self) -> crate::Result<bool> {
        Ok(false)
    }

    /// Whether the last query with this request was answered from an index alone: never, without
    /// the feature `index`.
    pub const fn is_indexed(&self, _: &txgraph_transfers::ScanRequest) -> bool {
        false
    }
}
