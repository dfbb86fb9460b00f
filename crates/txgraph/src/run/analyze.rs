//! Measures over a graph.

use super::{
    Node,
    graph::{about, graph, words},
    has_side_file, restarting, transfers,
};
use crate::{AnalyzeQuery, Error, Measure, Query, Result, Search, outputs::Outputs};
use serde::Serialize;
use serde_json::{Value, json};
use std::{ops::ControlFlow, path::PathBuf};
use txgraph_analysis::{
    MeasureResult, PairOrder, PairSettings, SummarySettings, Table, components, degrees, loops,
    pairs, summary,
};
use txgraph_export::{Metadata, TableFormat, Target, Written};
use txgraph_graph::{SearchRequest, TransferGraph};
use txgraph_transfers::{BlockRanges, ScanRequest};

/// Rows of a ranking that a person is shown unless asked otherwise.
const TOP_SHOWN: usize = 20;

/// What came of an `analyze` question.
#[derive(Debug)]
pub struct Analysis {
    /// The graph that was measured.
    pub graph: TransferGraph,
    /// Tables of the measure, the main one first.
    pub tables: Vec<Table>,
    /// All of the measure.
    pub result: Value,
    /// Where the answer comes from.
    pub about: Metadata,
}

/// What is read for an analysis: a search around roots, or everything.
#[derive(Clone, Debug)]
pub enum GraphRequest {
    /// The graph around roots.
    Search(Box<SearchRequest>),
    /// The graph of all transfers that meet the selection.
    Everything(Box<ScanRequest>),
}

impl GraphRequest {
    /// The blocks asked for.
    pub fn blocks(&self) -> &BlockRanges {
        match self {
            Self::Search(request) => &request.blocks,
            Self::Everything(request) => &request.blocks,
        }
    }
}

/// How the answer of an analysis is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnalysisFormat {
    /// Tables for people; the caller's to draw.
    Tables,
    /// One document with everything.
    Json,
    /// One of the tables, as data.
    Table(TableFormat),
}

impl AnalysisFormat {
    /// The words for the formats.
    pub fn words() -> Vec<&'static str> {
        let tables = TableFormat::ALL.iter().map(|format| format.as_str());
        ["table", "json"].into_iter().chain(tables).collect()
    }

    fn parse(word: &str) -> Result<Self> {
        match word {
            "table" => Ok(Self::Tables),
            "json" => Ok(Self::Json),
            _ => word.parse().map(Self::Table).map_err(|_| {
                let known = words(Self::words().into_iter());
                Error::usage(format!("unknown format `{word}`; one of {known}"))
            }),
        }
    }
}

impl AnalyzeQuery {
    /// What is read for the answer.
    pub fn request(&self, node: &Node) -> Result<GraphRequest> {
        if !self.search.root.is_empty() {
            return Ok(GraphRequest::Search(Box::new(self.search.request(node)?)));
        }
        let selection = &self.search.selection;
        let rootless = Search {
            selection: selection.clone(),
            ..Search::default()
        };
        if self.search != rootless {
            return Err(Error::usage("a search needs an address to start from").hint(
                "add --root; without one all transfers of the selection are analysed, and hops, \
                 direction and limits mean nothing",
            ));
        }
        Ok(GraphRequest::Everything(Box::new(ScanRequest {
            blocks: node.blocks(selection)?,
            filter: selection.filter()?,
            wrapped_native: selection.wrapped()?,
            with_times: true,
            with_hashes: false,
            allow_partial: selection.allow_partial,
        })))
    }

    /// Where the answer goes, and how.
    pub fn target(&self, node: &Node) -> Result<(AnalysisFormat, Target)> {
        let given = self
            .output
            .format
            .as_deref()
            .map(AnalysisFormat::parse)
            .transpose()?;
        let target = match self.output.output.as_slice() {
            [] => Target::Stdout,
            [one] => Target::from(PathBuf::from(one)),
            _ => return Err(Error::usage("an analysis goes to one output")),
        };
        let by_name = |path: &std::path::Path| {
            let extension = path.extension()?.to_str()?;
            AnalysisFormat::parse(extension)
                .ok()
                .filter(|format| *format != AnalysisFormat::Tables)
        };
        let format = match (given, target.path()) {
            (Some(AnalysisFormat::Tables), Some(_)) => {
                return Err(Error::usage("tables for people go to stdout")
                    .hint("name a file like loops.csv or loops.json, or redirect stdout"));
            }
            (Some(format), _) => format,
            (None, None) => AnalysisFormat::Tables,
            (None, Some(path)) => by_name(path).ok_or_else(|| {
                Error::usage(format!("{}: its name tells no format", path.display()))
                    .hint("give --format, or an extension: json, csv, jsonl, parquet, ipc")
            })?,
        };
        let side = matches!(format, AnalysisFormat::Table(format) if has_side_file(format));
        Outputs::new(&node.protected, self.output.overwrite).add(&target, side)?;
        Ok((format, target))
    }

    /// People get the top of a ranking, programs all of it.
    fn limit(&self, format: AnalysisFormat) -> Option<usize> {
        self.top
            .or((format == AnalysisFormat::Tables).then_some(TOP_SHOWN))
    }
}

/// Reads what `request` asks for, and measures it.
pub fn analyze(node: &Node, query: &AnalyzeQuery, request: &GraphRequest) -> Result<Analysis> {
    let (format, _) = query.target(node)?;
    let order = query.order()?;
    let graph = match request {
        GraphRequest::Search(request) => graph(node, request)?,
        GraphRequest::Everything(request) => everything(node, request)?,
    };
    node.check_interrupted()?;
    let limit = query.limit(format);
    let (tables, result) = match query.measure {
        Measure::Summary => {
            let mut settings = SummarySettings::default();
            if format == AnalysisFormat::Tables {
                // A page or two; programs get the measure's own defaults.
                (settings.top, settings.assets) = (5, 10);
            }
            settings.top = query.top.unwrap_or(settings.top);
            answer(&summary(&graph, &settings))?
        }
        Measure::Pairs => answer(&pairs(&graph, &PairSettings { order, limit }))?,
        Measure::Degrees => answer(&degrees(&graph))?,
        Measure::Loops => answer(&loops(&graph, limit))?,
        Measure::Components => answer(&components(&graph, limit))?,
    };
    let about = about(&Query::Analyze(query.clone()), &graph);
    Ok(Analysis {
        graph,
        tables,
        result,
        about,
    })
}

impl AnalyzeQuery {
    fn order(&self) -> Result<PairOrder> {
        Ok(match self.order.as_deref() {
            None | Some("amount") => PairOrder::Amount,
            Some("count") => PairOrder::Count,
            Some("address") => PairOrder::Address,
            Some(other) => {
                return Err(Error::usage(format!(
                    "unknown order `{other}`; one of amount, count, address"
                )));
            }
        })
    }
}

/// The graph of all transfers that a request lets through.
fn everything(node: &Node, request: &ScanRequest) -> Result<TransferGraph> {
    let chain = node.chain()?.clone();
    restarting(|| {
        let mut all = Vec::new();
        let scan = transfers(node, request, &mut |mut batch| {
            all.append(&mut batch.transfers);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(TransferGraph::from_transfers(
            chain.clone(),
            request.blocks.clone(),
            scan,
            all,
        )?)
    })
}

/// The tables and the whole of a result.
fn answer(result: &impl MeasureResult) -> Result<(Vec<Table>, Value)> {
    Ok((result.tables(), value(result)?))
}

fn value(result: &impl Serialize) -> Result<Value> {
    serde_json::to_value(result).map_err(|error| txgraph_export::Error::from(error).into())
}

impl Analysis {
    /// The table that `--table` names; the main one if it names none.
    pub fn table(&self, name: Option<&str>) -> Result<&Table> {
        let found = match name {
            None => self.tables.first(),
            Some(name) => self.tables.iter().find(|table| table.id == name),
        };
        found.ok_or_else(|| {
            let known: Vec<_> = self.tables.iter().map(|table| table.id).collect();
            Error::usage(format!(
                "there is no table `{}`; one of {}",
                name.unwrap_or_default(),
                known.join(", ")
            ))
        })
    }
}

/// Writes the answer, unless it is tables for people: those are the caller's to draw.
pub fn write_analysis(
    node: &Node,
    query: &AnalyzeQuery,
    analysis: &Analysis,
) -> Result<Option<Written>> {
    let (format, target) = query.target(node)?;
    let overwrite = query.output.overwrite;
    Ok(match format {
        AnalysisFormat::Tables => None,
        AnalysisFormat::Json => {
            let document = json!({
                "metadata": value(&analysis.about)?,
                "measure": query.measure.as_str(),
                "result": analysis.result,
            });
            Some(txgraph_export::write_json(&document, &target, overwrite)?)
        }
        AnalysisFormat::Table(format) => {
            let table = analysis.table(query.table.as_deref())?;
            let about = &analysis.about;
            Some(txgraph_export::write_table(
                table, format, about, &target, overwrite,
            )?)
        }
    })
}
