//! The layout of a directory (`crates/storage/db-api/src/models/metadata.rs` of reth).

use serde::Serialize;

/// Where a node stores its parts. It is fixed when the genesis is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// Default of reth 1.x: senders, change sets and indices in MDBX.
    V1,
    /// Default of reth 2.x: senders and change sets in static files, indices in
    /// RocksDB.
    V2,
}

impl Layout {
    /// `v1` or `v2`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V2 => "v2",
        }
    }
}
