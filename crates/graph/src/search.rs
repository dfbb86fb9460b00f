//! The search. STUB.

use crate::TransferGraph;
use alloy_primitives::Address;
use std::collections::BTreeMap;
use txgraph_transfers::{
    BlockRanges, Direction, SourceError, TransferFilter, TransferSource, WrappedNative,
};

/// A question.
#[derive(Clone, Debug)]
pub struct SearchRequest {
    /// Where to start; hop 0. Always expanded.
    pub roots: Vec<Address>,
    /// Blocks to look at.
    pub blocks: BlockRanges,
    /// Tokens, smallest amount, standards, kinds. `touching` must be empty.
    pub filter: TransferFilter,
    /// Wraps.
    pub wrapped_native: WrappedNative,
    /// How often to expand: 1 expands only the roots. `None`: until nothing new.
    pub hops: Option<u32>,
    /// Direction to follow.
    pub direction: Direction,
    /// Follow a transfer only if it happened after the first arrival at its start
    /// (for `In`: before the last departure). Not with `Both`.
    pub time_respecting: bool,
    /// Vertices with more distinct counterparties (in the direction followed) are
    /// shown, not expanded. Roots are exempt.
    pub max_degree: Option<u32>,
    /// Addresses that are shown, not expanded, with a label. Roots are exempt.
    pub stop_at: BTreeMap<Address, String>,
    /// Upper bound of vertices.
    pub max_vertices: Option<u64>,
    /// Upper bound of edges.
    pub max_edges: Option<u64>,
    /// Expand the zero address (mints, burns) as well.
    pub expand_zero: bool,
    /// Bytes the search may use to keep one pass's transfers; beyond it the
    /// blocks are scanned once per hop.
    pub memory_bytes_max: u64,
    /// Answer with what exists when blocks are missing.
    pub allow_partial: bool,
}

/// Why a search failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// The request contradicts itself.
    #[error("{0}")]
    Request(String),
    /// More than 32-bit numbers can count.
    #[error(
        "the answer has too many {what} (2^32); narrow it by blocks, tokens, min_value or max_edges"
    )]
    TooLarge {
        /// Vertices, edges, …
        what: &'static str,
    },
    /// The source could not answer.
    #[error(transparent)]
    Source(#[from] SourceError),
}

/// Searches breadth first from the roots.
pub fn search(
    _source: &dyn TransferSource,
    _request: &SearchRequest,
) -> Result<TransferGraph, SearchError> {
    todo!()
}
