//! The graph around some addresses: one search, any number of outputs.

use super::{Node, formats, has_side_file, metadata, restarting};
use crate::{
    Columns, Error, ErrorKind, GraphQuery, Hops, Query, Result, Search, lists, outputs::Outputs,
};
use std::path::{Path, PathBuf};
use txgraph_export::{
    GraphFormat, GraphOptions, Metadata, Schema, TableFormat, Target, TransferTableOptions, Written,
};
use txgraph_graph::{SearchRequest, TransferGraph, search};
use txgraph_transfers::Direction;

/// What came of a `graph` question.
#[derive(Debug)]
pub struct GraphAnswer {
    /// The graph.
    pub graph: TransferGraph,
    /// What was written, in the order asked.
    pub written: Vec<Written>,
    /// Outputs that could not be written; the others were.
    pub failed: Vec<Error>,
}

impl Search {
    /// What the search is asked. `memory` is the configured bound, in bytes.
    pub fn request(&self, node: &Node) -> Result<SearchRequest> {
        let checksum = self.selection.checksum();
        let roots = lists::addresses(&self.root, checksum)?;
        if roots.is_empty() {
            return Err(Error::usage("a search needs an address to start from")
                .hint("give one or more with --root 0x…, or a file of them with --root @FILE"));
        }
        let direction = self.direction.unwrap_or_default();
        if self.time_respecting && direction == Direction::Both {
            return Err(
                Error::usage("time runs one way: in both directions there is no before")
                    .hint("take --direction out or --direction in with --time-respecting"),
            );
        }
        Ok(SearchRequest {
            filter: self.selection.filter()?,
            wrapped_native: self.selection.wrapped()?,
            hops: self.hops.unwrap_or(Hops::Number(1)).limit(),
            direction,
            time_respecting: self.time_respecting,
            max_degree: self.max_degree,
            stop_at: match &self.stop_at {
                Some(path) => lists::stop_list(Path::new(path), checksum)?,
                None => Default::default(),
            },
            max_vertices: self.max_vertices,
            max_edges: self.max_edges,
            expand_zero: self.expand_zero,
            memory_bytes_max: node.config.memory.unwrap_or(crate::MEMORY_DEFAULT),
            allow_partial: self.selection.allow_partial,
            ..SearchRequest::new(roots, node.blocks(&self.selection)?)
        })
    }
}

impl Columns {
    /// Sets what was said about columns.
    pub(crate) fn apply(&self, options: &mut TransferTableOptions) -> Result<()> {
        let wrong = |error: txgraph_base::UnknownWord| Error::usage(error.to_string());
        if let Some(word) = &self.schema {
            options.schema = word.parse::<Schema>().map_err(wrong)?;
        }
        if !self.u256_types.is_empty() {
            let words = lists::values(&self.u256_types)?;
            options.u256 = words
                .iter()
                .map(|word| word.parse())
                .collect::<Result<_, _>>()
                .map_err(wrong)?;
        }
        // Now, not after the search.
        options.validate()?;
        Ok(())
    }
}

impl GraphQuery {
    /// Where the answer goes, and in which formats.
    fn targets(&self, outputs: &mut Outputs<'_>) -> Result<Vec<(GraphFormat, Target)>> {
        let known = || words(GraphFormat::ALL.iter().map(|format| format.as_str()));
        // Vertices alone, to a file: then nothing goes to stdout unasked.
        if self.vertices.is_some() && self.output.output.is_empty() && self.output.format.is_none()
        {
            return Ok(Vec::new());
        }
        formats(
            &self.output,
            outputs,
            TableFormat::Csv.into(),
            GraphFormat::from_extension,
            GraphFormat::table,
            known,
        )
    }

    fn vertices_target(&self, outputs: &mut Outputs<'_>) -> Result<Option<(TableFormat, Target)>> {
        let Some(path) = &self.vertices else {
            return Ok(None);
        };
        let target = Target::from(PathBuf::from(path));
        let format = match target.path() {
            None => TableFormat::Csv,
            Some(path) => TableFormat::from_extension(path).ok_or_else(|| {
                Error::usage(format!(
                    "{}: its name tells no table format",
                    path.display()
                ))
                .hint(format!(
                    "give it an extension: {}",
                    words(TableFormat::ALL.iter().map(|format| format.as_str()))
                ))
            })?,
        };
        outputs.add(&target, has_side_file(format))?;
        Ok(Some((format, target)))
    }
}

pub(crate) fn words<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.collect::<Vec<_>>().join(", ")
}

/// Searches. Starts again when the chain is reorganised meanwhile.
pub fn graph(node: &Node, request: &SearchRequest) -> Result<TransferGraph> {
    let source = node.answering(&request.filter)?;
    restarting(|| Ok(search(&*source, request)?))
}

/// Asks `query` (as `request`, see [`Search::request`]) and writes the answer to
/// every output. An output that fails does not keep the others from being written.
pub fn write_graph(
    node: &Node,
    query: &GraphQuery,
    request: &SearchRequest,
) -> Result<GraphAnswer> {
    let mut outputs = Outputs::new(&node.protected, query.output.overwrite);
    let targets = query.targets(&mut outputs)?;
    let vertices = query.vertices_target(&mut outputs)?;
    let mut options = GraphOptions::new(node.chain()?.chain_id);
    options.table.threads = node.config.threads;
    query.columns.apply(&mut options.table)?;
    options.merge = query.merge;
    options.tokens = node.token_list(query.token_list.as_deref())?;
    let overwrite = query.output.overwrite;

    let graph = graph(node, request)?;
    node.check_interrupted()?;
    let about = about(&Query::Graph(query.clone()), &graph);
    let mut answer = GraphAnswer {
        graph,
        written: Vec::new(),
        failed: Vec::new(),
    };
    for (format, target) in &targets {
        let graph = &answer.graph;
        let written =
            txgraph_export::write_graph(graph, *format, &options, &about, target, overwrite);
        answer.note(written)?;
        node.check_interrupted()?;
    }
    if let Some((format, target)) = &vertices {
        let graph = &answer.graph;
        let written =
            txgraph_export::write_vertices(graph, *format, &options, &about, target, overwrite);
        answer.note(written)?;
        node.check_interrupted()?;
    }
    Ok(answer)
}

/// Metadata of an answer that is, or comes from, a graph.
pub(crate) fn about(query: &Query, graph: &TransferGraph) -> Metadata {
    let mut about = metadata(query, &graph.chain, &graph.blocks, &graph.scan);
    about.limits.clone_from(&graph.limits);
    about
}

impl GraphAnswer {
    fn note(&mut self, written: txgraph_export::Result<Written>) -> Result<()> {
        match written.map_err(Error::from) {
            Ok(written) => self.written.push(written),
            // Nobody listens any more.
            Err(error) if error.kind == ErrorKind::BrokenPipe => return Err(error),
            Err(error) => self.failed.push(error),
        }
        Ok(())
    }
}
