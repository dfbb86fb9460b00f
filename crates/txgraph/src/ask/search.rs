//! The graph around some addresses.

use super::{
    describe::Description,
    ends::{self, TrailEnds},
    retry::restarting,
    search_methods::search_methods,
};
use crate::{
    Advice, Error, MEMORY_DEFAULT, Result, Selection, Source,
    grammar::{Scalar, shortened},
    options,
    select::Resolved,
};
use alloy_primitives::Address;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::{
    collections::BTreeSet,
    fmt,
    ops::Deref,
    str::FromStr,
    sync::{Arc, OnceLock},
};
use txgraph_graph::{SearchRequest, TransferGraph, search};
use txgraph_labels::Labels;
use txgraph_transfers::{BlockRanges, Direction, ScanRequest, Unseen};

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
/// Serialized, it is the question in the metadata of an answer.
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
    /// Names of addresses. They do not change what is followed.
    #[serde(skip)]
    pub labels: Labels,
    /// The largest number of vertices.
    pub max_vertices: Option<u64>,
    /// The largest number of edges.
    pub max_edges: Option<u64>,
    /// The number of counterparties that are followed from each address and token, those with
    /// the largest amounts.
    pub top: Option<u32>,
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
                    .advise(Advice::ChooseDirection),
            );
        }
        let Resolved { blocks, cut } = self.selection.resolve(source)?;
        let request = SearchRequest {
            filter: self.selection.filter_for(source)?,
            wrapped_native: self.selection.wrapped_native.clone(),
            hops: self.hops.limit(),
            direction: self.direction,
            time_respecting: self.time_respecting,
            max_degree: self.max_degree,
            stop_at: self.stop_at.clone(),
            labels: self.labels.clone(),
            max_vertices: self.max_vertices,
            max_edges: self.max_edges,
            top: self.top,
            expand_zero: self.expand_zero,
            memory_bytes_max: source.config.memory.unwrap_or(MEMORY_DEFAULT),
            allow_partial: self.selection.allow_partial,
            ..SearchRequest::new(self.roots.clone(), blocks)
        };
        Ok((request, cut))
    }
}

/// The error for a question without a root.
pub(super) fn no_root() -> Error {
    Error::usage("a search needs an address to start from").advise(Advice::NameRoot)
}

/// Asks for the graph around some addresses. See [`Source::search`].
#[derive(Clone, Debug)]
#[must_use = "a question is asked by `run`"]
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
    /// If the question is wrong, or the source cannot answer it.
    pub fn prepare(self) -> Result<PreparedSearch<'s>> {
        let description = Description::new("graph", options::given(&self.search)?);
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
    pub fn run(self) -> Result<GraphAnswer<'s>> {
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
    description: Description,
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

    /// Searches. Starts again when the chain is reorganised in the meantime.
    ///
    /// # Errors
    ///
    /// If reading fails.
    pub fn run(self) -> Result<GraphAnswer<'s>> {
        let mut graph = run(self.source, &self.request)?;
        graph.scan.caveats.extend(self.cut);
        self.source.check_interrupted()?;
        Ok(GraphAnswer {
            unseen: ends::unseen(&self.request.filter, &graph),
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
        filter: request.filter.clone(),
        wrapped_native: request.wrapped_native.clone(),
        with_times: true,
        with_hashes: true,
        allow_partial: request.allow_partial,
    }
}

pub(super) fn run(source: &Source, request: &SearchRequest) -> Result<TransferGraph> {
    let from = source.transfer_source(&request.filter)?;
    restarting(source, || Ok(source.install(|| search(&*from, request))??))
}

/// The graph around some addresses: a [`TransferGraph`] that can be written.
#[derive(Debug)]
pub struct GraphAnswer<'s> {
    inner: Arc<TransferGraph>,
    unseen: Unseen,
    ends: OnceLock<TrailEnds>,
    source: &'s Source,
    #[cfg_attr(
        not(feature = "export"),
        expect(dead_code, reason = "used for writing")
    )]
    description: Description,
}

impl Deref for GraphAnswer<'_> {
    type Target = TransferGraph;

    fn deref(&self) -> &TransferGraph {
        &self.inner
    }
}

impl GraphAnswer<'_> {
    /// Where the trails end, and what the question named in vain. The state of the node is read
    /// once, if there is one.
    ///
    /// # Errors
    ///
    /// If the caller asked to stop.
    pub fn trail_ends(&self) -> Result<&TrailEnds> {
        if self.ends.get().is_none() {
            let found = TrailEnds::new(self.source, &self.inner, &self.unseen)?;
            return Ok(self.ends.get_or_init(|| found));
        }
        Ok(self.ends.get_or_init(TrailEnds::default))
    }

    /// The graph by itself.
    pub fn into_graph(self) -> TransferGraph {
        Arc::unwrap_or_clone(self.inner)
    }
}

#[cfg(feature = "export")]
pub use to_file::{DetachedGraph, GraphOutputs, WrittenGraph};

#[cfg(feature = "export")]
mod to_file {
    use super::{Description, GraphAnswer, Result, TrailEnds, TransferGraph, ends};
    use crate::{
        Columns, Error, ErrorKind, Source, TokenSources,
        ask::{
            facts,
            names::{ASKED_MAX, TOKEN_COLUMNS},
        },
        outputs::{Format, Planned},
    };
    use std::{
        ops::Deref,
        path::PathBuf,
        sync::{Arc, OnceLock},
    };
    use txgraph_export::{
        DocumentFormat, Drawing, GraphFormat, GraphOptions, Metadata, TableFormat, Target,
        TokenList, VertexColumn, Written,
    };
    use txgraph_graph::MergedEdge;
    use txgraph_labels::Labels;
    use txgraph_transfers::Unseen;

    /// Where a graph is written, and how.
    #[derive(Clone, Debug, Default)]
    pub struct GraphOutputs {
        /// Files or standard output, with their formats.
        pub files: Vec<(GraphFormat, Target)>,
        /// A table of the vertices.
        pub vertices: Option<(TableFormat, Target)>,
        /// Whether all transfers of a token from one address to another are one edge.
        pub merge: bool,
        /// Symbols and decimals of tokens.
        pub tokens: Option<TokenList>,
        /// Names of addresses, for columns on request and where the names of vertices come from.
        pub labels: Option<Labels>,
        /// The columns of tables.
        pub columns: Columns,
        /// Columns of the vertices that are written on request.
        pub vertex_columns: Vec<VertexColumn>,
        /// How pictures are drawn.
        pub drawing: Drawing,
        /// Whether files that exist are replaced.
        pub overwrite: bool,
    }

    impl GraphOutputs {
        /// A file whose extension chooses the format.
        ///
        /// # Errors
        ///
        /// If the extension is not that of a format for graphs.
        pub fn to(path: impl Into<PathBuf>) -> Result<Self> {
            let target = Target::from(path.into());
            Ok(Self {
                files: vec![(GraphFormat::of(&target)?, target)],
                ..Self::default()
            })
        }
    }

    impl Planned for GraphOutputs {
        fn targets(&self) -> Vec<(&Target, bool)> {
            let files = self.files.iter();
            let files = files.map(|(format, target)| (target, format.has_metadata_file()));
            let vertices = self.vertices.iter();
            let vertices = vertices.map(|(format, target)| (target, format.has_metadata_file()));
            files.chain(vertices).collect()
        }
    }

    /// The outputs of a graph that were written.
    #[derive(Debug, Default)]
    pub struct WrittenGraph {
        /// What was written, in order.
        pub written: Vec<Written>,
        /// Outputs that could not be written, although the others were.
        pub failed: Vec<Error>,
        /// Where the symbols of tokens come from, if an output has any.
        pub tokens: TokenSources,
    }

    /// The metadata of a graph.
    fn about(description: &Description, graph: &TransferGraph, ends: &TrailEnds) -> Metadata {
        let mut about = description.metadata(&graph.chain, &graph.blocks, &graph.scan);
        about.limits.clone_from(&graph.limits);
        ends.describe(&mut about);
        about
    }

    /// A graph and its question without the source, see [`GraphAnswer::detach`]. Clones share the
    /// graph.
    #[derive(Clone, Debug)]
    pub struct DetachedGraph {
        inner: Arc<TransferGraph>,
        unseen: Unseen,
        description: Description,
    }

    impl DetachedGraph {
        /// The answer again, to be written. `source` is the one that was asked.
        pub fn attach<'s>(&self, source: &'s Source) -> GraphAnswer<'s> {
            GraphAnswer {
                inner: self.inner.clone(),
                unseen: self.unseen.clone(),
                ends: OnceLock::new(),
                source,
                description: self.description.clone(),
            }
        }
    }

    impl Deref for DetachedGraph {
        type Target = TransferGraph;

        fn deref(&self) -> &TransferGraph {
            &self.inner
        }
    }

    impl GraphAnswer<'_> {
        /// The graph and its question without the source, for callers that keep the source
        /// elsewhere.
        pub fn detach(self) -> DetachedGraph {
            DetachedGraph {
                inner: self.inner,
                unseen: self.unseen,
                description: self.description,
            }
        }

        /// All transfers of a token from one address to another as one edge.
        ///
        /// # Errors
        ///
        /// If the threads of the source cannot be started.
        pub fn merged_edges(&self) -> Result<Vec<MergedEdge>> {
            let merged = self.inner.merged(&self.source.control.threads);
            merged.map_err(|error| Error::new(ErrorKind::Failed, error.to_string()))
        }

        /// Writes the graph to a new file, whose extension chooses the format.
        ///
        /// # Errors
        ///
        /// If the file exists, is inside the data directory, or cannot be written.
        pub fn write(&self, path: impl Into<PathBuf>) -> Result<Written> {
            let mut done = self.write_all(&GraphOutputs::to(path)?)?;
            match done.failed.pop() {
                Some(error) => Err(error),
                None => (done.written.pop()).ok_or_else(|| Error::usage("there is no output")),
            }
        }

        /// The tokens of the graph by name, if an output shows names.
        fn names(&self, outputs: &GraphOutputs) -> Result<(Option<TokenList>, TokenSources)> {
            let columns = &outputs.columns.columns;
            let in_tables = TOKEN_COLUMNS
                .iter()
                .any(|name| columns.iter().any(|it| it == name));
            // JSON has amounts in the smallest unit only.
            let json = GraphFormat::from(DocumentFormat::Json);
            let is_named = |format: &GraphFormat| match format.table() {
                Some(_) => in_tables,
                None => *format != json,
            };
            if !outputs.files.iter().any(|(format, _)| is_named(format)) {
                return Ok((outputs.tokens.clone(), TokenSources::default()));
            }
            let mut list = outputs.tokens.clone().unwrap_or_default();
            let assets = self.inner.assets();
            let tokens = assets.iter().filter_map(|asset| asset.token_address);
            let limit = if in_tables { usize::MAX } else { ASKED_MAX };
            let named =
                (self.source).name_tokens(&mut list, tokens.take(limit), &self.inner.blocks)?;
            Ok((Some(list), named))
        }

        /// Writes the graph to every output. An output that fails does not prevent the
        /// others.
        ///
        /// # Errors
        ///
        /// If an output cannot be written for a reason that is known before, the reader of
        /// an output closed it, or the caller asked to stop.
        pub fn write_all(&self, outputs: &GraphOutputs) -> Result<WrittenGraph> {
            let source = self.source;
            source.check_outputs([outputs], outputs.overwrite)?;
            let mut options = GraphOptions::new(self.chain.chain_id);
            options.table.threads = source.control.threads.clone();
            outputs.columns.apply(&mut options.table)?;
            let (tokens, named) = self.names(outputs)?;
            options.table.tokens.clone_from(&tokens);
            options.table.labels.clone_from(&outputs.labels);
            let columns = &outputs.columns.columns;
            if (facts::COLUMNS.iter()).any(|name| columns.iter().any(|it| it == name)) {
                let edges = self.inner.graph.edge_weights();
                let transfers = edges.map(|edge| &edge.transfer);
                source.add_transactions(&mut options.table.transactions, transfers)?;
            }
            options.merge = outputs.merge;
            options.tokens = tokens;
            options.drawing.clone_from(&outputs.drawing);
            options.vertex_columns.clone_from(&outputs.vertex_columns);
            if outputs.labels.is_some() {
                let chosen = &outputs.vertex_columns;
                let more = VertexColumn::OF_LABELS.into_iter();
                (options.vertex_columns).extend(more.filter(|column| !chosen.contains(column)));
            }
            let asked = outputs.vertex_columns.contains(&VertexColumn::IsContract);
            if asked || (outputs.files.iter()).any(|(format, _)| format.table().is_none()) {
                options.contracts = ends::contracts_of(source, &self.inner, asked)?;
            }
            let about = about(&self.description, &self.inner, self.trail_ends()?);
            let mut done = WrittenGraph {
                tokens: named,
                ..WrittenGraph::default()
            };
            let mut note = |written: txgraph_export::Result<Written>| {
                match written.map_err(Error::from) {
                    Ok(written) => done.written.push(written),
                    Err(error) if error.kind == ErrorKind::BrokenPipe => return Err(error),
                    Err(error) => done.failed.push(error),
                }
                source.check_interrupted()
            };
            for (format, target) in &outputs.files {
                note(txgraph_export::write_graph(
                    &self.inner,
                    *format,
                    &options,
                    &about,
                    target,
                    outputs.overwrite,
                ))?;
            }
            if let Some((format, target)) = &outputs.vertices {
                note(txgraph_export::write_vertices(
                    &self.inner,
                    *format,
                    &options,
                    &about,
                    target,
                    outputs.overwrite,
                ))?;
            }
            Ok(done)
        }
    }
}
