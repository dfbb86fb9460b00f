//! The questions, one file each: their options, and how they are answered.

mod analyze;
mod branch_ends;
#[cfg(any(feature = "index", feature = "lake"))]
mod build_source;
mod describe;
mod era;
#[cfg(feature = "export")]
mod facts;
#[cfg(feature = "index")]
mod index;
#[cfg(feature = "lake")]
mod lake;
mod measure;
#[cfg(feature = "export")]
mod names;
mod paths;
#[cfg(feature = "replay")]
pub(crate) mod replay;
mod retry;
mod search;
mod taint;
mod transfers;

pub use analyze::{Analysis, Analyze, MeasuredGraph, PreparedAnalysis};
#[cfg(feature = "export")]
pub use analyze::{AnalysisFormat, AnalysisOutput};
pub use branch_ends::BranchEnds;
pub use era::{ExportEra, ExportedEra};
#[cfg(feature = "index")]
pub use index::{DeletedIndex, IndexHandle, IndexState};
#[cfg(feature = "lake")]
pub use lake::{LakeHandle, check_lake, compact_lake, lake_status};
pub use measure::Measure;
#[cfg(feature = "export")]
pub use names::TokenSources;
#[cfg(feature = "replay")]
pub use replay::{
    AccountState, BlockState, Call, CallResult, PreparedReplay, Replay, ReplaySummary, SlotState,
    TokenNames, Tokens, Trace, TransactionName,
};
#[cfg(all(feature = "replay", feature = "export"))]
pub use replay::{
    Activity, AddressProfile, Counterparty, Creation, Creator, FirstSent, NetChange, Profile,
    ProfileState, ReplayOutput, ReplayedTransfers, TransactionSummary, Unrecorded,
};
#[cfg(feature = "export")]
pub use search::{DetachedGraph, GraphOutputs, WrittenGraph};
pub use search::{GraphAnswer, Hops, PreparedSearch, Search, SearchOptions};
#[cfg(all(feature = "replay", feature = "export"))]
pub(crate) use transfers::scan;
pub use transfers::{FirstTransfers, PreparedTransfers, Transfers};
#[cfg(feature = "export")]
pub use transfers::{TransfersAnswer, TransfersOutput};

#[cfg(not(feature = "index"))]
impl crate::Source {
    /// Whether the last question with this request was answered from an index alone: never, without
    /// the feature `index`.
    pub const fn is_indexed(&self, _: &txgraph_transfers::ScanRequest) -> bool {
        false
    }
}
