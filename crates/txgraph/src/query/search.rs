//! The graph around some addresses.

mod to_file;

pub use to_file::{DetachedGraph, GraphOutputs, WrittenGraph};

use super::{
    branch_ends::{self, BranchEnds},
    query_metadata::Description,
    retry::retry_on_reorg,
};
use crate::{
    Error, Hint, Result, Selection, Source,
    config::MEMORY_DEFAULT,
    grammar::{Scalar, shortened},
    options,
    select::Resolved,
    words::number,
};
use alloy_primitives::Address;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::json;
use std::{
    collections::BTreeSet,
    fmt,
    ops::Deref,
    str::FromStr,
    sync::{Arc, OnceLock},
};
use txgraph_graph::{SearchRequest, TransferGraph, search};
use txgraph_labels::Labels;
use txgraph_transfers::{BlockRanges, Direction, ScanRequest, TransferFilter, Unseen};

/// How far a search goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hops {
    /// The number of expansions: 1 expands only the roots.
    Number(u32),
    /// Until nothing new is reached.
    All,
}

impl Hops {
    /// The number of expansions; `None` without a limit.
    pub const fn limit(self) -> Option<u32> {
        match self {
            Self::Number(number) => Some(number),
            Self::All => None,
        }
    }
}

/// One hop.
impl Default for Hops {
    fn default() -> Self {
        Self::Number(1)
    }
}

impl From<u32> for Hops {
    fn from(number: u32) -> Self {
        Self::Number(number)
    }
}

impl FromStr for Hops {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "all" => Ok(Self::All),
            number => number.parse().map(Self::Number).map_err(|_| {
                let text = shortened(text);
                format!("`{text}` is not a number of hops (0, 1, 2 … or `all`)")
            }),
        }
    }
}

impl fmt::Display for Hops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::All => f.write_str("all"),
        }
    }
}

impl Serialize for Hops {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => serializer.serialize_u32(*number),
            Self::All => serializer.serialize_str("all"),
        }
    }
}

impl<'de> Deserialize<'de> for Hops {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Scalar::deserialize(deserializer)?.to_string();
        text.parse().map_err(de::Error::custom)
    }
}

/// How to search: what [`Search`] and [`Analyze`](crate::Analyze) have in common.
///
/// Serialized, it is the query in the metadata of a result.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct SearchOptions {
    /// Which transfers are edges.
    #[serde(flatten)]
    pub selection: Selection,
    /// The addresses to start from.
    #[serde(rename = "root")]
    pub roots: Vec<Address>,
    /// How far to follow.
    #[serde(skip_serializing_if = "options::is_default")]
    pub hops: Hops,
    /// The direction to follow.
    #[serde(skip_serializing_if = "options::is_default")]
    pub direction: Direction,
    /// Whether a transfer is followed only if it happened after the tokens arrived.
    pub time_respecting: bool,
    /// The number of counterparties above which an address is not expanded.
    pub max_degree: Option<u32>,
    /// Addresses that are not expanded.
    #[serde(serialize_with = "options::set")]
    pub stop_at: BTreeSet<Address>,
    /// Names of addresses. They do not change what is followed. The metadata of a result has their hash.
    #[serde(skip)]
    pub labels: Labels,
    /// The largest number of vertices.
    pub max_vertices: Option<u64>,
    /// The largest number of edges.
    pub max_edges: Option<u64>,
    /// The number of counterparties that are followed from each address and token, those with
    /// the largest amounts.
    pub follow_top: Option<u32>,
    /// Whether each token is followed for itself, and through swaps into the token that was got; backward,
    /// into the token that was given for it.
    pub through_swaps: bool,
    /// Whether the zero address is expanded, too.
    pub expand_zero: bool,
}

impl SearchOptions {
    /// The request to the search, and [`Resolved::cut`].
    pub(super) fn request(&self, source: &Source) -> Result<(SearchRequest, Option<String>)> {
        if self.roots.is_empty() {
            return Err(no_root());
        }
        if self.time_respecting && self.direction == Direction::Both {
            return Err(
                Error::usage("a time-respecting search needs one direction, out or in")
                    .with_hint(Hint::ChooseDirection),
            );
        }
        let filter = self.selection.filter_for(source)?;
        if self.through_swaps {
            check_swaps(&filter)?;
        }
        let Resolved { blocks, cut } = self.selection.resolve(source)?;
        let request = SearchRequest {
            filter,
            wrapped_native: self.selection.wrapped_native.clone(),
            hops: self.hops.limit(),
            direction: self.direction,
            time_respecting: self.time_respecting,
            max_degree: self.max_degree,
            stop_at: self.stop_at.clone(),
            labels: self.labels.clone(),
            max_vertices: self.max_vertices,
            max_edges: self.max_edges,
            top: self.follow_top,
            through_swaps: self.through_swaps,
            expand_zero: self.expand_zero,
            memory_bytes_max: source.config.memory.unwrap_or(MEMORY_DEFAULT),
            allow_partial: self.selection.allow_partial,
            ..SearchRequest::new(self.roots.clone(), blocks)
        };
        Ok((request, cut))
    }
}

/// Refuses requests that cannot follow swaps.
pub(super) fn check_swaps(filter: &TransferFilter) -> Result<()> {
    if !filter.is_of_tokens_only() {
        return Err(Error::usage(
            "following swaps needs all transfers of a transaction, so it takes no smallest amount, no \
             standards, no kinds and no ids of tokens",
        ));
    }
    Ok(())
}

/// Sentences on what a search that follows swaps cannot say.
pub(super) fn swap_caveats(unresolved: u64, direction: Direction, internal: bool) -> Vec<String> {
    let mut caveats = Vec::new();
    let ends = match direction {
        Direction::Out => "to their receivers",
        Direction::In => "back to their senders",
        Direction::Both => "to their receivers and back to their senders",
    };
    if unresolved > 0 {
        caveats.push(format!(
            "{} not say what was given for what (several tokens or addresses gave or got, or what was got \
             was passed on), so that the tokens are followed {ends}",
            number(unresolved, "swap does", "swaps do")
        ));
    }
    if !internal {
        caveats.push(
            "transfers inside transactions were not read: swaps for coins, which are paid without a log, \
             are not followed"
                .to_owned(),
        );
    }
    caveats
}

/// The error for a query without a root.
pub(super) fn no_root() -> Error {
    Error::usage("a search needs an address to start from").with_hint(Hint::NameRoot)
}

/// Methods of a query that change its [`SearchOptions`], which is the field `$field`.
macro_rules! search_methods {
    ($($field:tt).+) => {
        crate::select::selection_methods!($($field).+.selection);

        /// Starts from this address, too.
        pub fn root(mut self, root: alloy_primitives::Address) -> Self {
            if !self.$($field).+.roots.contains(&root) {
                self.$($field).+.roots.push(root);
            }
            self
        }

        /// How far to follow: a number, or [`Hops::All`](crate::Hops::All). Default: 1.
        pub fn hops(mut self, hops: impl Into<crate::Hops>) -> Self {
            self.$($field).+.hops = hops.into();
            self
        }

        /// The direction to follow; default: out.
        pub fn direction(mut self, direction: txgraph_transfers::Direction) -> Self {
            self.$($field).+.direction = direction;
            self
        }

        /// Follows a transfer only if it happened after the tokens arrived; with direction
        /// `In`, only if it happened before they left.
        pub fn time_respecting(mut self) -> Self {
            self.$($field).+.time_respecting = true;
            self
        }

        /// Does not expand addresses with more counterparties.
        pub fn max_degree(mut self, counterparties: u32) -> Self {
            self.$($field).+.max_degree = Some(counterparties);
            self
        }

        /// Does not expand this address, and labels it. Call again for more addresses.
        pub fn stop_at(
            mut self,
            address: alloy_primitives::Address,
            label: impl Into<String>,
        ) -> Self {
            let label: String = label.into();
            self.$($field).+.stop_at.insert(address);
            if !label.is_empty() {
                self.$($field).+.labels.add(address, txgraph_labels::Label::named(label));
            }
            self
        }

        /// Names addresses in the result. Earlier labels have priority.
        pub fn labels(mut self, labels: &txgraph_labels::Labels) -> Self {
            self.$($field).+.labels.extend(labels);
            self
        }

        /// Ends with at most this number of vertices.
        pub fn max_vertices(mut self, vertices: u64) -> Self {
            self.$($field).+.max_vertices = Some(vertices);
            self
        }

        /// Ends with at most this number of edges.
        pub fn max_edges(mut self, edges: u64) -> Self {
            self.$($field).+.max_edges = Some(edges);
            self
        }

        /// Follows only the counterparties with the largest amounts: this number from each
        /// address and token.
        pub fn follow_top(mut self, counterparties: u32) -> Self {
            self.$($field).+.follow_top = Some(counterparties);
            self
        }

        /// Follows each token for itself, and through the swaps of transactions into the token that was
        /// got; backward, into the token that was given for it. The selected tokens are those that the roots
        /// send (backward: receive); transfers of all tokens are read.
        pub fn through_swaps(mut self, through_swaps: bool) -> Self {
            self.$($field).+.through_swaps = through_swaps;
            self
        }

        /// Expands the zero address, too.
        pub fn expand_zero(mut self) -> Self {
            self.$($field).+.expand_zero = true;
            self
        }

        /// Replaces all options of the search.
        pub fn options(mut self, options: crate::SearchOptions) -> Self {
            self.$($field).+ = options;
            self
        }
    };
}
pub(super) use search_methods;

/// Asks for the graph around some addresses. See [`Source::search`].
#[derive(Clone, Debug)]
#[must_use = "a query is run by `run`"]
pub struct Search<'s> {
    source: &'s Source,
    pub(crate) search: SearchOptions,
}

impl Source {
    /// Asks for the graph around an address. More roots: [`Search::root`].
    pub fn search(&self, root: Address) -> Search<'_> {
        Search::new(self).root(root)
    }
}

impl<'s> Search<'s> {
    pub(crate) fn new(source: &'s Source) -> Self {
        Self {
            source,
            search: SearchOptions::default(),
        }
    }

    search_methods!(search);

    /// Finds the blocks and checks the options, but reads no transfers yet.
    ///
    /// # Errors
    ///
    /// If the query is wrong, or the source cannot answer it.
    pub fn prepare(self) -> Result<PreparedSearch<'s>> {
        let mut options = options::given(&self.search)?;
        if let Some(hash) = self.search.labels.content_hash() {
            options.insert("labels".into(), json!({ "keccak256": hash }));
        }
        let description = Description::new("graph", options);
        let (request, cut) = self.search.request(self.source)?;
        Ok(PreparedSearch {
            source: self.source,
            request,
            cut,
            description,
        })
    }

    /// Searches.
    ///
    /// # Errors
    ///
    /// As [`Self::prepare`], and if reading fails.
    pub fn run(self) -> Result<GraphResult<'s>> {
        self.prepare()?.run()
    }
}

/// A search whose blocks are known.
#[derive(Clone, Debug)]
#[must_use = "nothing is read yet"]
pub struct PreparedSearch<'s> {
    pub(super) source: &'s Source,
    pub(super) request: SearchRequest,
    /// See [`Resolved::cut`].
    pub(super) cut: Option<String>,
    pub(super) description: Description,
}

impl<'s> PreparedSearch<'s> {
    /// The blocks.
    pub const fn blocks(&self) -> &BlockRanges {
        &self.request.blocks
    }

    /// The request to the search.
    pub const fn request(&self) -> &SearchRequest {
        &self.request
    }

    /// The transfers that it reads.
    pub fn scan_request(&self) -> ScanRequest {
        scan_request(&self.request)
    }

    /// Searches. Starts again when the chain is reorganized in the meantime.
    ///
    /// # Errors
    ///
    /// If reading fails.
    pub fn run(self) -> Result<GraphResult<'s>> {
        let mut graph = run(self.source, &self.request)?;
        graph.scan.caveats.extend(self.cut);
        self.source.check_interrupted()?;
        Ok(GraphResult {
            unseen: branch_ends::unseen(&self.request.filter, &graph),
            inner: Arc::new(graph),
            source: self.source,
            description: self.description,
            ends: OnceLock::new(),
        })
    }
}

/// The transfers that a search reads.
pub(super) fn scan_request(request: &SearchRequest) -> ScanRequest {
    ScanRequest {
        blocks: request.blocks.clone(),
        filter: request.read_filter(),
        wrapped_native: request.wrapped_native.clone(),
        with_times: true,
        with_hashes: true,
        allow_partial: request.allow_partial,
    }
}

pub(super) fn run(source: &Source, request: &SearchRequest) -> Result<TransferGraph> {
    let from = source.transfer_source(&request.read_filter())?;
    let mut graph = retry_on_reorg(source, || Ok(source.install(|| search(&*from, request))??))?;
    if request.through_swaps {
        let unresolved = graph.swaps.unresolved;
        let caveats = swap_caveats(unresolved, request.direction, request.filter.internal);
        graph.scan.caveats.extend(caveats);
    }
    Ok(graph)
}

/// The graph around some addresses: a [`TransferGraph`] that can be written.
#[derive(Debug)]
pub struct GraphResult<'s> {
    inner: Arc<TransferGraph>,
    unseen: Unseen,
    ends: OnceLock<BranchEnds>,
    source: &'s Source,
    description: Description,
}

impl Deref for GraphResult<'_> {
    type Target = TransferGraph;

    fn deref(&self) -> &TransferGraph {
        &self.inner
    }
}

impl GraphResult<'_> {
    /// The branch ends, and the queried names that never occurred. The state of the node is read
    /// once, if there is one.
    ///
    /// # Errors
    ///
    /// If the caller asked to stop.
    pub fn branch_ends(&self) -> Result<&BranchEnds> {
        if self.ends.get().is_none() {
            let found = BranchEnds::new(self.source, &self.inner, &self.unseen)?;
            return Ok(self.ends.get_or_init(|| found));
        }
        Ok(self.ends.get_or_init(BranchEnds::default))
    }
}
