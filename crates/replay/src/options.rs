//! Options of a replay.

use crate::{Record, StateOverrides, Verify};
use alloy_primitives::Address;
use txgraph_work::{CancelFlag, Threads};

/// Options of a replay.
#[derive(Clone, Debug, Default)]
pub struct ReplayOptions {
    /// The data to record.
    pub record: Record,
    /// The data that the replay is compared with.
    pub verify: Verify,
    /// The threads of a range.
    pub threads: Threads,
    /// Stops ranges when set.
    pub cancel: CancelFlag,
    /// The engine that executes transactions.
    pub engine: EngineKind,
    /// Tokens whose balances are read before and after every transaction that calls them, for
    /// [`TransactionReplay::balances`](crate::TransactionReplay::balances). Not supported by revm.
    pub tokens: Vec<Address>,
    /// Overrides before a single [transaction](crate::Replayer::transaction), which is also executed
    /// [without](crate::TransactionReplay::without_overrides) them; this run is compared with the
    /// receipt. Only with [`EngineKind::Txgraph`]. Ranges do not use it.
    pub overrides: Option<StateOverrides>,
}

impl ReplayOptions {
    /// Returns the default options, which record nothing, with this to record.
    pub fn recording(record: Record) -> Self {
        Self {
            record,
            ..Self::default()
        }
    }
}

txgraph_base::string_enum! {
    /// The engine that executes transactions.
    #[derive(Default)]
    pub enum EngineKind: "engine" {
        /// The interpreter of this project.
        #[default]
        Txgraph = "txgraph" (was "own"),
        /// revm, configured as in reth. It does not record [`Record::transitions`].
        Revm = "revm" if "oracle",
        /// Both, compared instruction by instruction and by their state changes. The results
        /// come from [`Txgraph`](Self::Txgraph).
        Both = "both" if "oracle",
    }
}
