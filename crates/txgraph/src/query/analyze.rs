//! Measures of a graph.

mod measures;
mod to_file;

pub use to_file::{AnalysisFormat, AnalysisOutput};
pub(in crate::query) use to_file::{Document, rows_as_json, write_document, write_table};

use self::measures::{of_scan, of_search};
use super::{
    branch_ends::{self, BranchEnds},
    measure::Measure,
    patterns,
    query_metadata::Description,
    rank,
    retry::retry_on_reorg,
    search::{self, SearchOptions, no_root, search_methods},
    taint,
};
use crate::{MeasureAnswer, MeasureSettings, Result, Source, options::given, select::Resolved};
use alloy_primitives::Address;
use serde_json::json;
use std::{collections::BTreeSet, sync::OnceLock};
use txgraph_analysis::{
    PairOrder, PairSettings, RankSettings, SummarySettings, Table, TaintMethod, Value, VolumeBy,
    VolumeSettings,
};
use txgraph_graph::{LimitHit, SearchRequest, TransferGraph};
use txgraph_labels::Labels;
use txgraph_transfers::{BlockRanges, ChainInfo, ScanReport, ScanRequest};

/// Rows of a ranking on a human-readable page.
const TOP_SHOWN: usize = 20;

/// Findings of each pattern on a human-readable page: some of every pattern.
const PATTERNS_SHOWN: usize = 2;

/// Hubs in data: the result does not grow with the chain.
const HUBS: usize = 100;

/// Asks for a measure of a graph. See [`Source::analyze`].
///
/// With a root, the graph is the one that [`Search`](crate::Search) finds with the same options.
/// Without, it is the graph of all transfers that match the selection. They are merged while they
/// are read, so that the memory depends on how many addresses and edges differ, not on the number
/// of transfers.
#[derive(Clone, Debug)]
#[must_use = "a query is run by `run`"]
pub struct Analyze<'s> {
    source: &'s Source,
    pub(crate) measure: Measure,
    pub(crate) search: SearchOptions,
    pub(crate) limit: Option<usize>,
    pub(crate) order: Option<PairOrder>,
    by: VolumeBy,
    pub(crate) method: TaintMethod,
    rank: RankSettings,
    max_transfers: u64,
    /// Rankings have the rows that a human-readable page shows.
    pub(crate) brief: bool,
}

impl Source {
    /// Asks for a measure of a graph: of all transfers, unless it is given a root.
    pub fn analyze(&self, measure: Measure) -> Analyze<'_> {
        Analyze::new(self, measure)
    }
}

impl<'s> Analyze<'s> {
    pub(crate) fn new(source: &'s Source, measure: Measure) -> Self {
        let mut search = SearchOptions::default();
        measure.set_defaults(&mut search);
        Self {
            source,
            measure,
            search,
            limit: None,
            order: None,
            by: VolumeBy::default(),
            method: TaintMethod::default(),
            rank: RankSettings::default(),
            max_transfers: u64::MAX,
            brief: false,
        }
    }

    search_methods!(search);

    /// The number of rows of a ranking; default: all (summary: 10, degrees: 100).
    pub fn limit(mut self, rows: usize) -> Self {
        self.limit = Some(rows);
        self
    }

    /// The order of [`Measure::Pairs`] (default: by amount) and of [`Measure::Volume`] (default: the
    /// order of the chain).
    pub const fn order(mut self, order: PairOrder) -> Self {
        self.order = Some(order);
        self
    }

    /// Which transfers [`Measure::Volume`] sums together; default: by day.
    pub const fn by(mut self, by: VolumeBy) -> Self {
        self.by = by;
        self
    }

    /// Which tokens of an account leave first, for [`Measure::Taint`]; default: those that arrived
    /// first.
    pub fn method(mut self, method: TaintMethod) -> Self {
        self.method = method;
        self
    }

    /// How [`Measure::Rank`] divides what arrives at an address; default: as in the paper.
    pub const fn rank(mut self, settings: RankSettings) -> Self {
        self.rank = settings;
        self
    }

    /// For [`Measure::Patterns`] without a root: refuses blocks with more transfers than this, with
    /// [`ErrorKind::TooMany`](crate::ErrorKind::TooMany). They are kept in memory.
    pub const fn max_transfers(mut self, transfers: u64) -> Self {
        self.max_transfers = transfers;
        self
    }

    const fn rules(&self) -> taint::Rules {
        taint::Rules {
            method: self.method,
            through_swaps: self.search.through_swaps,
        }
    }

    fn ranking(&self) -> rank::How {
        rank::How {
            settings: self.rank,
            through_swaps: self.search.through_swaps,
            limit: self.rows(),
        }
    }

    /// The query for the metadata of a result.
    fn description(&self) -> Result<Description> {
        let mut options = given(&self.search)?;
        options.insert("measure".into(), json!(self.measure));
        if let Some(rows) = self.limit {
            options.insert("limit".into(), json!(rows));
        }
        let usual = (self.measure == Measure::Pairs).then_some(PairOrder::Amount);
        if let Some(order) = self.order.filter(|_| self.order != usual) {
            options.insert("order".into(), json!(order));
        }
        if self.measure == Measure::Volume {
            options.insert("by".into(), json!(self.by));
        }
        if self.measure == Measure::Taint {
            options.insert("method".into(), json!(self.method));
        }
        if self.measure == Measure::Rank {
            let RankSettings {
                alpha,
                beta,
                epsilon,
            } = self.rank;
            options.extend([
                ("alpha".into(), json!(alpha)),
                ("beta".into(), json!(beta)),
                ("epsilon".into(), json!(epsilon)),
            ]);
        }
        Ok(Description::new("analyze", options))
    }

    /// Finds the blocks and checks the options, but reads no transfers yet.
    ///
    /// # Errors
    ///
    /// If the query is wrong, or the source cannot answer it.
    pub fn prepare(self) -> Result<PreparedAnalysis<'s>> {
        let description = self.description()?;
        let options = &self.search;
        let (request, cut) = match self.settings() {
            None if self.measure == Measure::Rank => {
                // It follows swaps in both directions, after the search.
                let options = SearchOptions {
                    through_swaps: false,
                    ..options.clone()
                };
                let (request, cut) = options.request(self.source)?;
                rank::check(&request, self.ranking())?;
                (Request::Rank(Box::new(request)), cut)
            }
            None => {
                let (mut request, cut) = options.request(self.source)?;
                taint::check(&request.filter, request.direction)?;
                request.time_respecting = true;
                (Request::Taint(Box::new(request)), cut)
            }
            Some(settings) if options.roots.is_empty() => {
                let selection = &options.selection;
                // Options of a search have no meaning without a root.
                if given(options)? != given(selection)? {
                    return Err(no_root());
                }
                let Resolved { blocks, cut } = selection.resolve(self.source)?;
                let request = ScanRequest {
                    blocks,
                    filter: selection.filter_for(self.source)?,
                    wrapped_native: selection.wrapped_native.clone(),
                    // Other measures show no times, and reading one costs a header per block.
                    with_times: match self.measure {
                        Measure::Volume => self.by != VolumeBy::Transaction,
                        measure => measure == Measure::Pairs,
                    },
                    with_hashes: false,
                    allow_partial: selection.allow_partial,
                };
                (Request::Everything(Box::new(request), settings), cut)
            }
            Some(settings) => {
                let (request, cut) = options.request(self.source)?;
                (Request::Search(Box::new(request), settings), cut)
            }
        };
        Ok(PreparedAnalysis {
            query: self,
            request,
            cut,
            description,
        })
    }

    /// Reads and measures.
    ///
    /// # Errors
    ///
    /// As [`Self::prepare`], and if reading fails.
    pub fn run(self) -> Result<Analysis<'s>> {
        self.prepare()?.run()
    }
}

/// The search or the scan that reads the graph of an analysis.
#[derive(Clone, Debug)]
enum Request {
    /// The graph around roots, and then the transfers of its tokens.
    Taint(Box<SearchRequest>),
    /// The graph around roots, and its swaps.
    Rank(Box<SearchRequest>),
    /// The graph around roots.
    Search(Box<SearchRequest>, MeasureSettings),
    /// All transfers that match the selection.
    Everything(Box<ScanRequest>, MeasureSettings),
}

/// An analysis whose blocks are known.
#[derive(Clone, Debug)]
#[must_use = "nothing is read yet"]
pub struct PreparedAnalysis<'s> {
    query: Analyze<'s>,
    request: Request,
    /// See [`Resolved::cut`].
    cut: Option<String>,
    description: Description,
}

impl<'s> PreparedAnalysis<'s> {
    /// The blocks.
    pub const fn blocks(&self) -> &BlockRanges {
        match &self.request {
            Request::Taint(request) | Request::Rank(request) | Request::Search(request, _) => {
                &request.blocks
            }
            Request::Everything(request, _) => &request.blocks,
        }
    }

    /// The transfers that it reads.
    pub fn scan_request(&self) -> ScanRequest {
        match &self.request {
            Request::Taint(request) | Request::Rank(request) | Request::Search(request, _) => {
                search::scan_request(request)
            }
            Request::Everything(request, _) => (**request).clone(),
        }
    }

    /// The names of addresses.
    pub const fn labels(&self) -> &Labels {
        &self.query.search.labels
    }

    /// Reads and measures.
    ///
    /// # Errors
    ///
    /// If reading fails.
    pub fn run(self) -> Result<Analysis<'s>> {
        let source = self.query.source;
        let one_id = self.scan_request().filter.amounts.token_ids().len() == 1;
        let mut notes = Vec::new();
        let (mut graph, branch_ends, mut result) = match &self.request {
            Request::Taint(request) => {
                let (graph, taint, facts) = taint::run(source, request, self.query.rules())?;
                notes = facts;
                let unseen = branch_ends::unseen(&request.filter, &graph);
                let branch_ends = BranchEnds::new(source, &graph, &unseen)?;
                (
                    MeasuredGraph::of(graph),
                    branch_ends,
                    MeasureAnswer::Taint(taint),
                )
            }
            Request::Rank(request) => {
                let how = self.query.ranking();
                let (graph, ranking, facts) = rank::run(source, request, how)?;
                notes = facts;
                let unseen = branch_ends::unseen(&request.filter, &graph);
                let branch_ends = BranchEnds::new(source, &graph, &unseen)?;
                (
                    MeasuredGraph::of(graph),
                    branch_ends,
                    MeasureAnswer::Rank(ranking),
                )
            }
            Request::Search(request, settings) => {
                let graph = search::run(source, request)?;
                source.check_interrupted()?;
                let answer = match settings {
                    MeasureSettings::Patterns(limit) => MeasureAnswer::Patterns(
                        patterns::of_search(source, request, &graph, *limit)?,
                    ),
                    _ => source.install(|| of_search(settings, &graph))??,
                };
                let unseen = branch_ends::unseen(&request.filter, &graph);
                let branch_ends = BranchEnds::new(source, &graph, &unseen)?;
                (MeasuredGraph::of(graph), branch_ends, answer)
            }
            Request::Everything(request, settings) => {
                let from = source.transfer_source(&request.filter)?;
                let most = self.query.max_transfers;
                let ask = || match (source.backend().measure(request, settings), settings) {
                    (Some(measured), _) => measured,
                    (None, MeasureSettings::Patterns(limit)) => {
                        patterns::of_scan(source, &*from, request, *limit, most)
                    }
                    (None, _) => source.install(|| of_scan(&*from, request, settings))?,
                };
                let measured = retry_on_reorg(source, ask)?;
                let graph = MeasuredGraph {
                    chain: source.chain()?.clone(),
                    blocks: request.blocks.clone(),
                    scan: measured.scan,
                    limits: Vec::new(),
                    vertices: measured.vertices,
                    transfers: measured.transfers,
                    hop_max: 0,
                };
                let branch_ends = BranchEnds {
                    unseen: measured.unseen,
                    ..BranchEnds::default()
                };
                (graph, branch_ends, measured.answer)
            }
        };
        source.check_interrupted()?;
        graph.scan.caveats.extend(self.cut);
        result.label(&self.query.search.labels);
        if let (MeasureAnswer::Summary(summary), false) = (&result, self.query.brief) {
            let (all, listed) = (summary.asset_count, summary.assets.len());
            if all > listed as u64 {
                notes.push(format!(
                    "{listed} of {all} assets are listed, those with the most transfers; a higher \
                     limit lists more"
                ));
            }
        }
        let tables = OnceLock::new();
        if !one_id && result.sums_items(&tables) {
            notes.push("amounts of ERC-1155 tokens are sums of all their ids".to_owned());
        }
        Ok(Analysis {
            graph,
            branch_ends,
            measure: self.query.measure,
            result,
            tables,
            notes,
            source,
            description: self.description,
            labels: self.query.search.labels,
        })
    }
}

impl Analyze<'_> {
    /// Rows of a ranking.
    fn rows(&self) -> Option<usize> {
        self.limit.or(self.brief.then_some(TOP_SHOWN))
    }

    /// The measure of one graph; `None` for those that read more transfers after the search.
    fn settings(&self) -> Option<MeasureSettings> {
        let rows = self.rows();
        Some(match self.measure {
            Measure::Rank | Measure::Taint => return None,
            Measure::Summary => {
                let mut settings = SummarySettings::default();
                if self.brief {
                    // A page or two.
                    (settings.top, settings.assets) = (5, 10);
                }
                settings.top = self.limit.unwrap_or(settings.top);
                settings.assets = settings.assets.max(settings.top);
                MeasureSettings::Summary(settings)
            }
            Measure::Pairs => MeasureSettings::Pairs(PairSettings {
                order: self.order.unwrap_or_default(),
                limit: rows,
            }),
            Measure::Volume => MeasureSettings::Volume(VolumeSettings {
                by: self.by,
                order: self.order,
                limit: rows,
            }),
            Measure::Degrees => MeasureSettings::Degrees(rows.unwrap_or(HUBS)),
            Measure::Cycles => MeasureSettings::Cycles(rows),
            Measure::Components => MeasureSettings::Components(rows),
            Measure::Patterns => {
                let few = self.brief.then_some(PATTERNS_SHOWN);
                MeasureSettings::Patterns(self.limit.or(few))
            }
        })
    }
}

/// The size, the source and the coverage of a graph that was measured.
#[derive(Clone, Debug)]
pub struct MeasuredGraph {
    /// Chain of the transfers.
    pub chain: ChainInfo,
    /// Requested blocks.
    pub blocks: BlockRanges,
    /// The report of the scan, with gaps.
    pub scan: ScanReport,
    /// Limits that were reached.
    pub limits: Vec<LimitHit>,
    /// The number of addresses.
    pub vertices: u64,
    /// The number of transfers.
    pub transfers: u64,
    /// The largest distance of an address from the roots, in hops.
    pub hop_max: u32,
}

impl MeasuredGraph {
    fn of(graph: TransferGraph) -> Self {
        let hops = graph.graph.node_weights().map(|vertex| vertex.hop);
        Self {
            vertices: graph.graph.node_count() as u64,
            transfers: graph.graph.edge_count() as u64,
            hop_max: hops.max().unwrap_or_default(),
            chain: graph.chain,
            blocks: graph.blocks,
            scan: graph.scan,
            limits: graph.limits,
        }
    }
}

/// A measure of a graph.
#[derive(Debug)]
pub struct Analysis<'s> {
    /// The graph that was measured.
    pub graph: MeasuredGraph,
    /// Branch ends of the search, and queried names that never occurred.
    pub branch_ends: BranchEnds,
    /// The measure.
    pub measure: Measure,
    /// The whole result.
    pub result: MeasureAnswer,
    tables: OnceLock<Vec<Table>>,
    /// Notes on the result for people, a line each.
    pub notes: Vec<String>,
    source: &'s Source,
    description: Description,
    labels: Labels,
}

impl Analysis<'_> {
    /// The tables of the measure, the main one first. They are made when they are first asked for.
    pub fn tables(&self) -> &[Table] {
        self.tables.get_or_init(|| self.result.tables())
    }

    /// The tokens in the tables, each once, ascending.
    pub fn shown_tokens(&self) -> Vec<Address> {
        let mut tokens = BTreeSet::new();
        for table in self.tables() {
            let mut columns = table.columns.iter();
            let at = columns.position(|column| column.name == "token_address");
            let cells = table.rows.iter().filter_map(|row| row.get(at?));
            tokens.extend(cells.filter_map(|cell| match cell {
                Value::Address(token) => Some(*token),
                _ => None,
            }));
        }
        tokens.into_iter().collect()
    }

    /// A table by its [id](Table::id); without one, the main table.
    ///
    /// # Errors
    ///
    /// If the measure has no such table.
    pub fn table(&self, name: Option<&str>) -> Result<&Table> {
        let found = match name {
            None => self.tables().first(),
            Some(name) => self.tables().iter().find(|table| table.id == name),
        };
        found.ok_or_else(|| self.measure.no_table(name.unwrap_or_default()))
    }
}
