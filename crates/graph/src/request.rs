//! The request for a search, and its errors.

use alloy_primitives::Address;
use std::collections::BTreeSet;
use txgraph_base::InternerFull;
use txgraph_labels::Labels;
use txgraph_transfers::{
    BlockRanges, Direction, SourceError, TokenFilter, TransferFilter, WrappedNative,
};

/// A request for a search.
#[derive(Clone, Debug)]
pub struct SearchRequest {
    /// Addresses to start from, at hop 0. Always expanded. Duplicates count once.
    pub roots: Vec<Address>,
    /// Blocks to search.
    pub blocks: BlockRanges,
    /// Tokens, smallest amount, standards, kinds. `touching` must be `None`.
    pub filter: TransferFilter,
    /// The deposits and withdrawals of wrapped coins that count as mints and burns.
    pub wrapped_native: WrappedNative,
    /// The number of expansions: 1 expands only the roots, 0 nothing (no block is read).
    /// `None`: until nothing new is reached.
    pub hops: Option<u32>,
    /// The direction in which transfers are followed.
    pub direction: Direction,
    /// Follow a transfer only if it happened after the first arrival at its sender (for
    /// `In`: before the last departure from its receiver). Not with `Both`.
    ///
    /// After means at a later [`Position`](txgraph_transfers::Position), also within one
    /// transaction. If hops are bounded, only arrivals by paths short enough to be
    /// followed further count.
    pub time_respecting: bool,
    /// Vertices with more distinct counterparties in the direction followed are shown but
    /// not expanded. Roots are exempt.
    ///
    /// All transfers that pass the filter count, whether or not the search follows them.
    /// A vertex is not its own counterparty.
    pub max_degree: Option<u32>,
    /// Addresses that are shown but not expanded. Roots are exempt.
    pub stop_at: BTreeSet<Address>,
    /// Names of vertices. They do not change what is followed.
    pub labels: Labels,
    /// Upper bound of vertices; at least the number of roots.
    ///
    /// The vertices of a hop are expanded in the order of their addresses, and the
    /// transfers of each are followed in their total order. A transfer that would add one
    /// vertex too many is left out. The search continues among the vertices it has, so the
    /// graph has every followed transfer between them.
    pub max_vertices: Option<u64>,
    /// Upper bound of edges.
    ///
    /// Transfers beyond it, in the same order, are left out, and the hop at which that
    /// happens is the last. The graph has all edges of the hops before. Of that hop, it has
    /// the edges of the lowest addresses, earliest first.
    pub max_edges: Option<u64>,
    /// Follow only the transfers to (for `In`: from) this many counterparties of each expanded
    /// vertex and token: those with the largest sums. Among equal sums, the lower address.
    ///
    /// All transfers that pass the filter count for the sums, also those that a time-respecting
    /// search does not follow. With `Both`, a transfer between two vertices is judged by the one
    /// that is expanded first.
    pub top: Option<u32>,
    /// Follow each token for itself, and through the swaps of transactions into the token that was got
    /// ([`Netting`](crate::Netting)); with `In`, into the token that was given for it. `filter.tokens` are
    /// the tokens that the roots send (for `In`: receive); all tokens are read. With no other filter.
    ///
    /// A transfer that pays for a swap leads to the transfers that carry it on, to those that deliver
    /// what was got, and to nothing else of the addresses between. All of them are one hop. With `In`, a
    /// transfer that delivers leads back to those that pay. What comes back of a payment in its
    /// transaction is not followed to where it was sent. With `Both`, transfers are followed to their
    /// receivers by the rule of `Out`, and to their senders by the rule of `In`.
    pub through_swaps: bool,
    /// Expand the zero address (mints and burns) as well.
    pub expand_zero: bool,
    /// Bytes that the search may use to keep the transfers of one pass; beyond that it
    /// scans the blocks once per hop. The result is the same. This does not bound the size
    /// of the result, which has to fit in memory: see `max_edges`.
    pub memory_bytes_max: u64,
    /// Search the blocks that exist when others are missing.
    pub allow_partial: bool,
}

impl SearchRequest {
    /// The default of [`SearchRequest::memory_bytes_max`]: room for about twenty million
    /// transfers.
    pub const MEMORY_BYTES_MAX_DEFAULT: u64 = 1 << 30;

    /// A request for one hop outwards from `roots`, every asset, no limits.
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
            stop_at: BTreeSet::new(),
            labels: Labels::default(),
            max_vertices: None,
            max_edges: None,
            top: None,
            through_swaps: false,
            expand_zero: false,
            memory_bytes_max: Self::MEMORY_BYTES_MAX_DEFAULT,
            allow_partial: false,
        }
    }

    /// The transfers that the search reads.
    pub fn read_filter(&self) -> TransferFilter {
        let mut filter = self.filter.clone();
        if self.through_swaps {
            filter.tokens = TokenFilter::All;
        }
        filter
    }

    /// Returns the roots in the order of their vertices, or why the request is invalid.
    pub(crate) fn checked_roots(&self) -> Result<Vec<Address>, SearchError> {
        let mut roots = self.roots.clone();
        roots.sort_unstable();
        roots.dedup();
        let problem = if roots.is_empty() {
            "a search needs at least one root".into()
        } else if self.filter.touching.is_some() {
            "the search sets the addresses of its filter itself; leave filter.touching empty".into()
        } else if self.time_respecting && self.direction == Direction::Both {
            "a time-respecting search needs one direction, out or in, not both".into()
        } else if let Some(max) = self.max_vertices.filter(|max| *max < roots.len() as u64) {
            format!("max_vertices is {max}, but there are {} roots", roots.len())
        } else if self.top == Some(0) {
            "a search follows at least the largest counterparty, not the largest 0".into()
        } else if self.through_swaps && !self.filter.is_of_tokens_only() {
            "following swaps needs all transfers of a transaction: no smallest amount, standards, kinds \
             or ids of tokens"
                .into()
        } else {
            return Ok(roots);
        };
        Err(SearchError::Request(problem))
    }
}

/// The number of nothing.
pub(crate) const NONE: u32 = u32::MAX;

/// An error of a search.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// The request contradicts itself.
    #[error("{0}")]
    Request(String),
    /// There are more than 32-bit numbers can count.
    #[error("too many {what}; narrow the search by blocks, tokens, amount or limits")]
    TooLarge {
        /// Vertices, edges, …
        what: &'static str,
    },
    /// The source returned transfers out of order, or twice. Without this check the search
    /// could return a wrong graph.
    #[error(
        "the source of transfers returned {after:?} after {before:?}; the source has a bug or its \
         data is damaged"
    )]
    Order {
        /// Position of one transfer.
        before: txgraph_transfers::Position,
        /// Position of the next, which is not greater.
        after: txgraph_transfers::Position,
    },
    /// The source failed.
    #[error(transparent)]
    Source(#[from] SourceError),
}

impl From<InternerFull> for SearchError {
    fn from(_: InternerFull) -> Self {
        Self::TooLarge { what: "addresses" }
    }
}
