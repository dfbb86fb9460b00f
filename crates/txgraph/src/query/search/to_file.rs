//! Writing graphs.

use super::{Description, GraphResult, Result, TransferGraph, branch_ends};
use crate::{
    Error, ErrorKind, Source, TokenSources,
    outputs::{Format, Planned},
    query::{
        token_symbols::{ASKED_MAX, LABEL_COLUMNS, TOKEN_COLUMNS},
        transaction_columns,
    },
};
use std::{
    ops::Deref,
    path::PathBuf,
    sync::{Arc, OnceLock},
};
use txgraph_export::{
    ColumnChoice, DocumentFormat, Drawing, GraphFormat, GraphOptions, TableFormat, Target,
    TokenList, Written,
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
    /// The columns of tables and their types, in order, and the columns of vertices on
    /// request.
    pub columns: Vec<ColumnChoice>,
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
    /// If the extension does not name a format for graphs.
    pub fn to(path: impl Into<PathBuf>) -> Result<Self> {
        let target = Target::from(path.into());
        Ok(Self {
            files: vec![(GraphFormat::of(&target)?, target)],
            ..Self::default()
        })
    }

    /// Whether an output shows the names of tokens, or amounts in their units.
    fn names_tokens(&self) -> bool {
        let in_tables = ColumnChoice::adds_any(&self.columns, &TOKEN_COLUMNS);
        // JSON has amounts in the smallest unit only.
        let json = GraphFormat::from(DocumentFormat::Json);
        self.files.iter().any(|(format, _)| match format.table() {
            Some(_) => in_tables,
            None => *format != json,
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

    fn overwrite(&self) -> bool {
        self.overwrite
    }
}

/// The outputs of a graph that were written.
#[derive(Debug, Default)]
pub struct WrittenGraph {
    /// The outputs that were written, in order.
    pub written: Vec<Written>,
    /// Outputs that could not be written, although the others were.
    pub failed: Vec<Error>,
    /// Where the symbols of tokens come from, if an output has any.
    pub tokens: TokenSources,
}

/// A graph and its query without the source, see [`GraphResult::detach`]. Clones share the
/// graph.
#[derive(Clone, Debug)]
pub struct DetachedGraph {
    inner: Arc<TransferGraph>,
    unseen: Unseen,
    description: Description,
}

impl DetachedGraph {
    /// The result again, to be written. `source` is the one that was asked.
    pub fn attach<'s>(&self, source: &'s Source) -> GraphResult<'s> {
        GraphResult {
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

impl GraphResult<'_> {
    /// The graph and its query without the source, for callers that keep the source
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
    fn names(&self, outputs: &GraphOutputs) -> Result<(TokenList, TokenSources)> {
        let mut list = outputs.tokens.clone().unwrap_or_default();
        if !outputs.names_tokens() {
            return Ok((list, TokenSources::default()));
        }
        let in_tables = ColumnChoice::adds_any(&outputs.columns, &TOKEN_COLUMNS);
        let assets = self.inner.assets();
        let tokens = assets.iter().filter_map(|asset| asset.token_address);
        let limit = if in_tables { usize::MAX } else { ASKED_MAX };
        let named = (self.source).name_tokens(&mut list, tokens.take(limit), &self.inner.blocks)?;
        Ok((list, named))
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
        source.check_outputs([outputs])?;
        let mut options = GraphOptions::new(self.chain.chain_id);
        options.table.threads = source.control.threads.clone();
        options.table.columns.clone_from(&outputs.columns);
        options.merge = outputs.merge;
        for (format, _) in &outputs.files {
            options.validate(*format)?;
        }
        let (tokens, named) = self.names(outputs)?;
        options.table.tokens = tokens;
        options.table.labels.clone_from(&outputs.labels);
        if ColumnChoice::adds_any(&outputs.columns, &transaction_columns::COLUMNS) {
            let edges = self.inner.graph.edge_weights();
            let transfers = edges.map(|edge| &edge.transfer);
            source.add_transactions(&mut options.table.transactions, transfers)?;
        }
        options.drawing.clone_from(&outputs.drawing);
        let asked = ColumnChoice::adds_any(&outputs.columns, &["is_contract"]);
        if asked || (outputs.files.iter()).any(|(format, _)| format.table().is_none()) {
            options.contracts = branch_ends::contracts_of(source, &self.inner, asked)?;
        }
        let TransferGraph {
            chain,
            blocks,
            scan,
            limits,
            ..
        } = &*self.inner;
        let ends = self.branch_ends()?;
        let mut about = self.description.of_graph(chain, blocks, scan, limits, ends);
        let in_tables = ColumnChoice::adds_any(&outputs.columns, &LABEL_COLUMNS);
        about.add_names(
            outputs.tokens.as_ref().filter(|_| outputs.names_tokens()),
            outputs.labels.as_ref().filter(|_| in_tables),
        );
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
