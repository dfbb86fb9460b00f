//! What a search is asked, and why it may fail.

use alloy_primitives::Address;
use std::collections::BTreeMap;
use txgraph_transfers::{BlockRanges, Direction, SourceError, TransferFilter, WrappedNative};

/// A question.
#[derive(Clone, Debug)]
pub struct SearchRequest {
    /// Where to start; hop 0. Always expanded. Duplicates count once.
    pub roots: Vec<Address>,
    /// Blocks to look at.
    pub blocks: BlockRanges,
    /// Tokens, smallest amount, standards, kinds. `touching` must be empty.
    pub filter: TransferFilter,
    /// Wraps.
    pub wrapped_native: WrappedNative,
    /// How often to expand: 1 expands only the roots, 0 nothing (no block is read).
    /// `None`: until nothing new.
    pub hops: Option<u32>,
    /// Direction to follow.
    pub direction: Direction,
    /// Follow a transfer only if it happened after the first arrival at its start
    /// (for `In`: before the last departure). Not with `Both`.
    ///
    /// After means at a later [`Position`](txgraph_transfers::Position), so within a
    /// transaction too. Where hops are bounded, only arrivals by ways short enough to
    /// be followed further count.
    pub time_respecting: bool,
    /// Vertices with more distinct counterparties (in the direction followed) are
    /// shown, not expanded. Roots are exempt.
    ///
    /// All transfers in the blocks that meet the filter count, whether or not the
    /// search follows them; a vertex is not its own counterparty.
    pub max_degree: Option<u32>,
    /// Addresses that are shown, not expanded, with a label. Roots are exempt.
    pub stop_at: BTreeMap<Address, String>,
    /// Upper bound of vertices; at least the number of roots.
    ///
    /// The vertices of a hop are expanded in the order of their addresses, the
    /// transfers of each taken in their total order. A transfer that would add one
    /// vertex too many is left out. The search goes on among the vertices it has, so
    /// the graph has every followed transfer between them.
    pub max_vertices: Option<u64>,
    /// Upper bound of edges.
    ///
    /// In the same order, the transfers beyond it are left out, and the hop at which
    /// that happens is the last: the graph has all edges of the hops before, and of
    /// that hop those of the lowest addresses, earliest first.
    pub max_edges: Option<u64>,
    /// Expand the zero address (mints, burns) as well.
    pub expand_zero: bool,
    /// Bytes the search may use to keep one pass's transfers; beyond it the
    /// blocks are scanned once per hop. The answer is the same. It is no bound on the
    /// size of the answer, which has to fit in memory: see `max_edges`.
    pub memory_bytes_max: u64,
    /// Answer with what exists when blocks are missing.
    pub allow_partial: bool,
}

impl SearchRequest {
    /// [`SearchRequest::memory_bytes_max`] where nobody knows better: about twenty
    /// million transfers.
    pub const MEMORY_BYTES_MAX_DEFAULT: u64 = 1 << 30;

    /// One hop outwards from `roots`, every asset, no limits.
    pub fn new(roots: Vec<Address>, blocks: BlockRanges) -> Self {
        Self {
            roots,
            blocks,
            filter: TransferFilter::default(),
            wrapped_native: WrappedNative::default(),
            hops: Some(1),
            direction: Direction::Out,
            time_respecting: false,
            max_degree: None,
            stop_at: BTreeMap::new(),
            max_vertices: None,
            max_edges: None,
            expand_zero: false,
            memory_bytes_max: Self::MEMORY_BYTES_MAX_DEFAULT,
            allow_partial: false,
        }
    }

    /// The roots in the order of their vertices, or what is wrong with the request.
    pub(crate) fn checked_roots(&self) -> Result<Vec<Address>, SearchError> {
        let mut roots = self.roots.clone();
        roots.sort_unstable();
        roots.dedup();
        let problem = if roots.is_empty() {
            "a search needs at least one root".into()
        } else if self.filter.touching.is_some() {
            "the search chooses the addresses it asks for; leave filter.touching empty".into()
        } else if self.time_respecting && self.direction == Direction::Both {
            "following time needs one direction, out or in; `both` has no before and after".into()
        } else if let Some(max) = self.max_vertices.filter(|max| *max < roots.len() as u64) {
            format!("max_vertices is {max}, but there are {} roots", roots.len())
        } else {
            return Ok(roots);
        };
        Err(SearchError::Request(problem))
    }
}

/// Why a search failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// The request contradicts itself.
    #[error("{0}")]
    Request(String),
    /// There is more than 32-bit numbers can count.
    #[error("too many {what} for one search; narrow it by blocks, tokens, amount or limits")]
    TooLarge {
        /// Vertices, edges, …
        what: &'static str,
    },
    /// The source broke its promise: transfers came out of order, or twice. A search
    /// over such a source could be wrong without a sign.
    #[error("the source of transfers gave {after:?} after {before:?}; this is a bug in the source")]
    Order {
        /// Position of one transfer.
        before: txgraph_transfers::Position,
        /// Position of the next, which is not greater.
        after: txgraph_transfers::Position,
    },
    /// The source could not answer.
    #[error(transparent)]
    Source(#[from] SourceError),
}
