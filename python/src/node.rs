//! A source that is open, and the queries to it.

use crate::{
    errors::{raise, warn_of},
    flow::Batches,
    graph::{Graph, Names},
    options,
    session::Session,
    table::{Table, collected, names, schema_capsule},
};
use pyo3::{prelude::*, types::PyCapsule};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;
use txgraph::{
    Address, AnalysisFormat, AnalysisOutput, ArrowCollector, Capability, ColumnChoice, Error,
    ReplayOutput, Result, SchemaRef, TableFormat, Trace,
    parse::{
        self, AnalyzeQuery, Checksum, GraphQuery, Output, QueryFile, TransfersQuery, given,
        parse_address, parse_transaction,
    },
};

/// Opens a source. `settings` is JSON.
#[pyfunction]
pub(crate) fn open(py: Python<'_>, settings: &str, progress: Option<Py<PyAny>>) -> PyResult<Node> {
    let config = options::config(settings).map_err(|error| raise(py, &error))?;
    Ok(Node {
        session: Session::open(py, config, progress)?,
    })
}

/// The kinds of sources: the word before the colon, and what comes after it.
#[pyfunction]
pub(crate) fn kinds() -> Vec<(&'static str, &'static str)> {
    let kinds = txgraph::source_kinds().iter();
    kinds.map(|kind| (kind.word, kind.location)).collect()
}

/// The saved queries, as JSON.
#[pyfunction]
pub(crate) fn queries(py: Python<'_>) -> PyResult<String> {
    let found: Result<Vec<_>> = QueryFile::list().into_iter().collect();
    let found = found.map_err(|error| raise(py, &error))?;
    let queries = found.iter().map(|query| {
        let params = query.params.iter().map(|(name, param)| {
            let about = json!({
                "type": param.kind.as_str(),
                "doc": param.doc,
                "default": param.default.as_ref().map(ToString::to_string),
                "required": param.is_required(),
            });
            (name.clone(), about)
        });
        let params: serde_json::Map<_, _> = params.collect();
        json!({"name": query.name, "purpose": query.purpose, "params": params})
    });
    Ok(Value::from_iter(queries).to_string())
}

/// A saved query with values for its parameters: the command, and its options as JSON.
#[pyfunction]
pub(crate) fn resolve_query(
    py: Python<'_>,
    name: &str,
    set: Vec<(String, String)>,
) -> PyResult<(&'static str, String)> {
    let resolve = || {
        let query = QueryFile::open(name)?.resolve(&set)?;
        Ok((query.command(), to_json(&given(&query)?)?))
    };
    resolve().map_err(|error| raise(py, &error))
}

pub(crate) fn to_json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| {
        let message = format!("encoding JSON failed: {error}");
        Error::new(txgraph::ErrorKind::Failed, message)
    })
}

/// An output in memory.
fn arrow() -> Output {
    Output {
        format: Some(TableFormat::Ipc.to_string()),
        ..Output::default()
    }
}

/// An open source.
#[pyclass(frozen, module = "txgraph._native")]
pub(crate) struct Node {
    pub(crate) session: Arc<Session>,
}

/// Options of a replay.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ReplayOptions {
    blocks: Vec<String>,
    transaction: Option<String>,
    trace: Option<String>,
    fees: bool,
    verify_only: bool,
    balances: Vec<String>,
}

/// Options of an index.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct BuildOptions {
    first_block: Option<u64>,
    last_block: Option<u64>,
    with_internal: bool,
    with_transactions: bool,
    quick: bool,
}

/// Reads an address.
pub(crate) fn address(text: &str) -> Result<Address> {
    Ok(parse_address(text, Checksum::Verify)?)
}

#[pymethods]
impl Node {
    /// Closes the source, and stops what runs on it.
    fn close(&self) {
        self.session.close();
    }

    /// The source, its chain and its newest block, as JSON.
    fn about(&self, py: Python<'_>) -> PyResult<String> {
        self.session.run(py, |source| {
            let capabilities = Capability::ALL.iter();
            let capabilities = capabilities.filter(|it| source.capabilities().contains(**it));
            let words: Vec<_> = capabilities
                .map(|it| format!("{it:?}").to_lowercase())
                .collect();
            let chain = source.chain()?;
            to_json(&json!({
                "source": source.spec().to_string(),
                "kind": source.spec().kind(),
                "chain_id": chain.chain_id,
                "chain_name": chain.name,
                "genesis_hash": chain.genesis_hash,
                "tip": source.tip()?,
                "can": words,
            }))
        })
    }

    /// A description of the node's data, as JSON.
    fn info(&self, py: Python<'_>) -> PyResult<String> {
        self.session.run(py, |source| to_json(&source.info()?))
    }

    /// The schema of a query for transfers.
    fn transfers_schema<'py>(
        &self,
        py: Python<'py>,
        options: &str,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.columns(py, options)?)
    }

    /// The names of the columns of a query for transfers.
    fn transfers_columns(&self, py: Python<'_>, options: &str) -> PyResult<Vec<String>> {
        Ok(names(&self.columns(py, options)?))
    }

    /// All transfers of a query.
    fn transfers(&self, py: Python<'_>, options: &str) -> PyResult<Table> {
        let query = self.transfers_query(py, options)?;
        let (table, labels) = self.session.run(py, move |source| {
            let (collector, target) = ArrowCollector::new();
            let (prepared, mut output) = query.on(source)?;
            output.target = target;
            prepared.write(&output)?;
            Ok((collected(&collector)?, output.labels))
        })?;
        warn_of(py, labels.as_ref())?;
        Ok(table)
    }

    /// The transfers of a query as they are read.
    fn batches(&self, py: Python<'_>, options: &str) -> PyResult<Batches> {
        let query = self.transfers_query(py, options)?;
        Batches::start(py, &self.session, query)
    }

    /// The blocks of a query for transfers: first and last of each range.
    fn blocks(&self, py: Python<'_>, options: &str) -> PyResult<Vec<(u64, u64)>> {
        let query = self.transfers_query(py, options)?;
        self.session.run(py, move |source| {
            let (prepared, _) = query.on(source)?;
            let blocks = prepared.blocks().iter();
            Ok(blocks.map(|blocks| (blocks.first, blocks.last)).collect())
        })
    }

    /// The graph around some addresses.
    fn graph(&self, py: Python<'_>, options: &str) -> PyResult<Graph> {
        let query = options::query::<GraphQuery>(options).map_err(|error| raise(py, &error))?;
        let (graph, names) = self.session.run(py, move |source| {
            let (prepared, outputs) = query.on(source)?;
            let names = Names {
                tokens: outputs.tokens,
                labels: outputs.labels,
            };
            Ok((prepared.run()?.detach(), names))
        })?;
        warn_of(py, names.labels.as_ref())?;
        Ok(Graph::new(self.session.clone(), graph, names))
    }

    /// A measure: its tables by name, the main one first, and the whole result as JSON.
    fn analyze(&self, py: Python<'_>, options: &str) -> PyResult<(Vec<(String, Table)>, String)> {
        let query = options::query::<AnalyzeQuery>(options).map_err(|error| raise(py, &error))?;
        let (tables, result, labels) = self.session.run(py, move |source| {
            // A format for data: human-readable tables are cut.
            let query = AnalyzeQuery {
                table: None,
                output: arrow(),
                ..query
            };
            let (prepared, _) = query.on(source)?;
            let labels = prepared.labels().clone();
            let analysis = prepared.run()?;
            let mut tables = Vec::new();
            for table in analysis.tables() {
                let (collector, target) = ArrowCollector::new();
                analysis.write(&[AnalysisOutput {
                    target,
                    format: AnalysisFormat::Table(TableFormat::Ipc),
                    table: Some(table.id.to_string()),
                    overwrite: false,
                }])?;
                tables.push((table.id.to_string(), collected(&collector)?));
            }
            Ok((tables, to_json(&analysis.result)?, labels))
        })?;
        warn_of(py, Some(&labels))?;
        Ok((tables, result))
    }

    /// Replays. Returns the table, unless there is none, and a report as JSON.
    fn replay(&self, py: Python<'_>, options: &str) -> PyResult<(Option<Table>, String)> {
        let options: ReplayOptions = options::read(options).map_err(|error| raise(py, &error))?;
        self.session.run(py, move |source| {
            let mut replay = source.replay();
            for blocks in parse::block_specs(&options.blocks)? {
                replay = replay.blocks(blocks);
            }
            if let Some(name) = &options.transaction {
                replay = replay.transaction(parse_transaction(name)?);
            }
            if let Some(word) = &options.trace {
                let mut known = [Trace::Call, Trace::Diff].into_iter();
                let trace = known.find(|trace| trace.as_str() == word);
                replay = replay.trace(trace.ok_or_else(|| {
                    Error::usage(format!("unknown trace `{word}`; one of call, diff"))
                })?);
            }
            for token in &options.balances {
                replay = replay.balances(address(token)?);
            }
            if options.fees {
                replay = replay.fees();
            }
            if options.verify_only {
                replay = replay.verify_only();
            }
            let (collector, target) = ArrowCollector::new();
            let summary = replay.prepare()?.write(&[ReplayOutput {
                target,
                format: Some(TableFormat::Ipc),
                overwrite: false,
            }])?;
            let report = &summary.report;
            let mismatches = summary.mismatches.iter().map(ToString::to_string);
            let report = json!({
                "blocks": report.blocks,
                "transactions": report.transactions,
                "gas_used": report.gas_used,
                "differences": report.mismatches,
                "first_differences": mismatches.collect::<Vec<_>>(),
                "without_receipt": report.without_receipt,
                "without_changes": report.without_changes,
            });
            let table = match options.verify_only {
                true => None,
                false => Some(collected(&collector)?),
            };
            Ok((table, to_json(&report)?))
        })
    }

    /// Does something with the index. Returns a report as JSON.
    fn index(&self, py: Python<'_>, action: &str, options: &str) -> PyResult<String> {
        let options: BuildOptions = options::read(options).map_err(|error| raise(py, &error))?;
        let action = action.to_owned();
        self.session.run(py, move |source| {
            let index = source.index()?;
            let build = txgraph::BuildOptions {
                first_block: options.first_block.unwrap_or_default(),
                last_block: options.last_block,
                transactions: options.with_transactions,
                ..txgraph::BuildOptions::default()
            };
            let report = match action.as_str() {
                "build" => index.build(&build, options.with_internal).map(drop),
                "update" => index.update(&build).map(drop),
                "verify" => index.verify(options.quick).map(drop),
                "delete" => index.delete().map(drop),
                _ => Ok(()),
            };
            report?;
            match action.as_str() {
                "directory" => to_json(&index.directory()?),
                "delete" => to_json(&Value::Null),
                _ => to_json(&index.status()?),
            }
        })
    }
}

impl Node {
    /// The columns of a query for transfers, without reading any.
    fn columns(&self, py: Python<'_>, options: &str) -> PyResult<SchemaRef> {
        let query = self.transfers_query(py, options)?;
        self.session.run(py, move |source| {
            let (collector, target) = ArrowCollector::new();
            let (prepared, mut output) = query.on(source)?;
            output.target = target;
            drop(prepared.writer(&output)?);
            Ok(collected(&collector)?.0.columns)
        })
    }

    fn transfers_query(&self, py: Python<'_>, options: &str) -> PyResult<TransfersQuery> {
        let query = options::query(options).map_err(|error| raise(py, &error));
        query.map(|mut query: TransfersQuery| {
            ColumnChoice::with_exact_numbers(&mut query.columns);
            query.output = arrow();
            query
        })
    }
}
