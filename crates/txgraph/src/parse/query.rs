//! Queries as they are written, on a command line or in a file.
//!
//! A query is plain text and numbers. Its fields have the names of the options in a file.
//! [`TransfersQuery::on`] and [`GraphQuery::on`] read the text and report mistakes.

use super::{
    columns::check_columns,
    lists::addresses,
    output::Output,
    picture::Picture,
    search::{SearchArgs, read_labels},
    selection::SelectionArgs,
};
use crate::{
    Error, GraphOutputs, PreparedSearch, PreparedTransfers, Result, SearchOptions, Source,
    TransfersOutput,
    grammar::{list, words},
    outputs::Format,
};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use txgraph_export::{
    ColumnChoice, GraphFormat, GraphOptions, TableFormat, Target, TokenList, TransferTableOptions,
};
use txgraph_labels::Labels;
use txgraph_transfers::{AddressFilter, Direction};

/// Query: the transfers of a block range.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct TransfersQuery {
    /// Which transfers.
    #[serde(flatten)]
    pub selection: SelectionArgs,
    /// Files with symbols and decimals of tokens.
    #[serde(deserialize_with = "list")]
    pub token_list: Vec<String>,
    /// Files with names of addresses, in the order of their priority.
    #[serde(deserialize_with = "list")]
    pub labels: Vec<String>,
    /// Addresses that send or receive each transfer; empty: any.
    #[serde(deserialize_with = "list")]
    pub address: Vec<String>,
    /// Whether they send or receive; absent: either.
    pub direction: Option<Direction>,
    /// Transactions, by hash or as `BLOCK:INDEX`, instead of blocks.
    #[serde(deserialize_with = "list")]
    pub tx: Vec<String>,
    /// Accounts that signed the transaction; empty: any.
    #[serde(deserialize_with = "list")]
    pub initiated_by: Vec<String>,
    /// Whether an account other than the one that gives the tokens signed the transaction.
    pub not_by_owner: bool,
    /// Where the result is written.
    #[serde(flatten)]
    pub output: Output,
    /// The columns and their types, in order; empty: all.
    #[serde(deserialize_with = "words")]
    pub columns: Vec<ColumnChoice>,
}

/// Query: the graph around some addresses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct GraphQuery {
    /// The search.
    #[serde(flatten)]
    pub search: SearchArgs,
    /// Follow only this number of counterparties from each address and token, those with the
    /// largest amounts.
    pub follow_top: Option<u32>,
    /// Follow each token for itself, and through swaps into the token that was got; backward, into the
    /// token that was given for it.
    pub through_swaps: bool,
    /// One edge for all transfers of a token from one address to another.
    pub merge: bool,
    /// Another file, for the vertices.
    pub vertices: Option<String>,
    /// Files with symbols and decimals of tokens.
    #[serde(deserialize_with = "list")]
    pub token_list: Vec<String>,
    /// How pictures are drawn.
    #[serde(flatten)]
    pub picture: Picture,
    /// Where the result is written: any number of files.
    #[serde(flatten)]
    pub output: Output,
    /// The columns and their types, in order; empty: all.
    #[serde(deserialize_with = "words")]
    pub columns: Vec<ColumnChoice>,
}

/// The blocks and indices of transactions.
fn places(names: &[String], source: &Source) -> Result<Vec<(u64, u32)>> {
    let names = names.iter();
    let places = names.map(|name| source.place_of(super::transaction::parse_transaction(name)?));
    places.collect()
}

impl TransfersQuery {
    /// Reads the text, and prepares the query and its output.
    ///
    /// # Errors
    ///
    /// If the text is wrong, or the output cannot be written.
    pub fn on<'s>(&self, source: &'s Source) -> Result<(PreparedTransfers<'s>, TransfersOutput)> {
        let list = source.token_list(&self.token_list)?;
        let mut query = source
            .transfers()
            .select(self.selection.read(source, list.as_ref())?);
        if !self.address.is_empty() {
            let addresses = addresses(&self.address, self.selection.checksum())?;
            query.touching = Some(AddressFilter::new(
                addresses,
                self.direction.unwrap_or(Direction::Both),
            ));
        } else if let Some(direction) = self.direction {
            query = query.direction(direction);
        }
        for (block, index) in places(&self.tx, source)? {
            query = query.transaction(block, index);
        }
        for account in addresses(&self.initiated_by, self.selection.checksum())? {
            query = query.initiated_by(account);
        }
        if self.not_by_owner {
            query = query.not_by_owner();
        }
        let mut targets = self.output.targets()?.into_iter();
        let first = targets.next();
        let (format, target) = first.ok_or_else(|| Error::usage("there is no output"))?;
        let output = TransfersOutput {
            target,
            format,
            more: targets.collect(),
            columns: self.columns.clone(),
            tokens: list,
            labels: if self.labels.is_empty() {
                None
            } else {
                Some(read_labels(&self.labels, &self.selection, source)?)
            },
            overwrite: self.output.overwrite,
        };
        check_columns(&self.columns, !self.labels.is_empty())?;
        let mut options = TransferTableOptions::new(0);
        options.columns.clone_from(&self.columns);
        (options.standards).clone_from(&self.selection.standard);
        for format in output
            .more
            .iter()
            .map(|(format, _)| *format)
            .chain([format])
        {
            options.validate(format, false)?;
        }
        source.check_outputs([&output])?;
        Ok((query.prepare()?, output))
    }
}

impl GraphQuery {
    /// Reads the text, and prepares the query and its outputs.
    ///
    /// # Errors
    ///
    /// If the text is wrong, or an output cannot be written.
    pub fn on<'s>(&self, source: &'s Source) -> Result<(PreparedSearch<'s>, GraphOutputs)> {
        let tokens = source.token_list(&self.token_list)?;
        let options = SearchOptions {
            follow_top: self.follow_top,
            through_swaps: self.through_swaps,
            ..self.search.read(source, tokens.as_ref())?
        };
        let labels = options.labels.clone();
        let query = crate::Search::new(source).options(options);
        let labels = (!self.search.labels.is_empty()).then_some(labels);
        let outputs = self.outputs_with(source, tokens, labels)?;
        Ok((query.prepare()?, outputs))
    }

    /// Reads the outputs alone, for a graph that was found before. Its tokens and labels are used where
    /// the text names no others.
    ///
    /// # Errors
    ///
    /// If the text is wrong, or an output cannot be written.
    pub fn outputs(
        &self,
        source: &Source,
        tokens: Option<TokenList>,
        labels: Option<Labels>,
    ) -> Result<GraphOutputs> {
        let tokens = match self.token_list.is_empty() {
            true => tokens,
            false => source.token_list(&self.token_list)?,
        };
        let labels = match self.search.labels.is_empty() {
            true => labels,
            false => Some(read_labels(
                &self.search.labels,
                &self.search.selection,
                source,
            )?),
        };
        self.outputs_with(source, tokens, labels)
    }

    fn outputs_with(
        &self,
        source: &Source,
        tokens: Option<TokenList>,
        labels: Option<Labels>,
    ) -> Result<GraphOutputs> {
        check_columns(&self.columns, labels.is_some())?;
        let mut columns = self.columns.iter();
        if self.merge && columns.any(|it| !it.is_set() && !it.is_of_vertices()) {
            return Err(Error::usage(
                "columns of transfers cannot be chosen for merged edges",
            ));
        }
        let mut columns = self.columns.iter();
        if let Some(column) = columns.find(|it| it.is_of_vertices() && self.vertices.is_none()) {
            return Err(Error::usage(format!(
                "`{column}` is a vertex column, but no vertices are written"
            ))
            .hint("name a file for the vertices"));
        }
        let files = self.files()?;
        let mut options = GraphOptions::new(0);
        options.table.columns.clone_from(&self.columns);
        options.merge = self.merge;
        options.table.validate(TableFormat::Parquet, true)?;
        for (format, _) in &files {
            options.validate(*format)?;
        }
        let outputs = GraphOutputs {
            files,
            vertices: self.vertices()?,
            merge: self.merge,
            tokens,
            labels,
            columns: options.table.columns,
            drawing: self.picture.read()?,
            overwrite: self.output.overwrite,
        };
        source.check_outputs([&outputs])?;
        if outputs
            .files
            .iter()
            .any(|(format, _)| format.needs_graphviz())
        {
            txgraph_export::check_graphviz(&outputs.drawing)?;
        }
        let chain_id = source.chain()?.chain_id;
        for (format, _) in &outputs.files {
            txgraph_export::check_chain(*format, chain_id)?;
        }
        Ok(outputs)
    }

    fn files(&self) -> Result<Vec<(GraphFormat, Target)>> {
        // Vertices alone: nothing else is written unless it is asked for.
        let Output { output, format, .. } = &self.output;
        match &self.vertices {
            Some(path) if output.is_empty() && (format.is_none() || path == "-") => Ok(Vec::new()),
            _ => self.output.targets(),
        }
    }

    fn vertices(&self) -> Result<Option<(TableFormat, Target)>> {
        let Some(path) = &self.vertices else {
            return Ok(None);
        };
        // Alone on stdout, they have the format.
        if path == "-" && self.output.output.is_empty() {
            return Ok(self.output.targets()?.pop());
        }
        let target = Target::from(PathBuf::from(path));
        Ok(Some((TableFormat::of(&target)?, target)))
    }
}
