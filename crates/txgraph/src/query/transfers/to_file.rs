//! Writing transfers.

use super::{
    Address, BlockRanges, ControlFlow, FirstTransfers, PreparedTransfers, Result, ScanReport,
    Source, Transfer, retry_on_reorg,
};
use crate::{
    TokenSources,
    outputs::{Format, Planned},
    query::{
        retry::unless_streamed,
        token_symbols::{LABEL_COLUMNS, TOKEN_COLUMNS},
    },
};
use std::{collections::BTreeSet, path::PathBuf};
use txgraph_export::{
    ColumnChoice, TableFormat, Target, TokenList, TransferTableOptions, TransferWriter, Written,
};
use txgraph_labels::Labels;
use txgraph_transfers::{QueriedNames, Unseen};

/// The result of writing transfers.
#[derive(Clone, Debug)]
pub struct TransfersResult {
    /// The report of the scan.
    pub scan: ScanReport,
    /// The files that were written, one for each output.
    pub written: Vec<Written>,
    /// Tokens and addresses that the query names and no transfer has.
    pub unseen: Unseen,
    /// Where the symbols of tokens come from, if the table has any.
    pub tokens: TokenSources,
}

/// Where transfers are written, and how.
#[derive(Clone, Debug)]
pub struct TransfersOutput {
    /// The file, or standard output.
    pub target: Target,
    /// The format.
    pub format: TableFormat,
    /// Further files with the same rows.
    pub more: Vec<(TableFormat, Target)>,
    /// The columns and their types, in order; empty: all.
    pub columns: Vec<ColumnChoice>,
    /// Symbols and decimals of tokens, for columns on request.
    pub tokens: Option<TokenList>,
    /// Names of addresses, for columns on request.
    pub labels: Option<Labels>,
    /// Whether a file that exists is replaced.
    pub overwrite: bool,
}

impl TransfersOutput {
    /// A file whose extension chooses the format.
    ///
    /// # Errors
    ///
    /// If the extension does not name a table format.
    pub fn to(path: impl Into<PathBuf>) -> Result<Self> {
        let target = Target::from(path.into());
        Ok(Self {
            format: TableFormat::of(&target)?,
            target,
            more: Vec::new(),
            columns: Vec::new(),
            tokens: None,
            labels: None,
            overwrite: false,
        })
    }
}

impl Planned for TransfersOutput {
    fn targets(&self) -> Vec<(&Target, bool)> {
        let more = self.more.iter().map(|(format, target)| (format, target));
        let all = std::iter::once((&self.format, &self.target)).chain(more);
        all.map(|(format, target)| (target, format.has_metadata_file()))
            .collect()
    }

    fn overwrite(&self) -> bool {
        self.overwrite
    }
}

impl PreparedTransfers<'_> {
    /// Opens the first file of an output for these transfers.
    ///
    /// # Errors
    ///
    /// If the columns are wrong, or the target cannot be written.
    pub fn writer(&self, output: &TransfersOutput) -> Result<TransferWriter> {
        let source = self.source;
        let mut options = TransferTableOptions::new(source.chain()?.chain_id);
        options.threads = source.control.threads.clone();
        options.columns.clone_from(&output.columns);
        (options.standards).clone_from(&self.request.filter.standards);
        options.tokens = output.tokens.clone().unwrap_or_default();
        options.labels.clone_from(&output.labels);
        let TransfersOutput {
            target,
            format,
            overwrite,
            ..
        } = output;
        Ok(TransferWriter::new(*format, &options, target, *overwrite)?)
    }

    /// Writes all transfers.
    ///
    /// When the chain is reorganized in the meantime, a file is started again. What went
    /// to standard output cannot be taken back; there it is an error.
    ///
    /// # Errors
    ///
    /// If reading or writing fails.
    pub fn write(&self, output: &TransfersOutput) -> Result<TransfersResult> {
        let source = self.source;
        source.check_outputs([output])?;
        let targets = output.targets();
        let is_stream = targets.iter().any(|(target, _)| target.is_stream());
        let mut streamed = false;
        retry_on_reorg(source, || {
            let mut files = Files::open(self, output)?;
            let scan = self.for_each(|batch| {
                streamed |= is_stream && !batch.transfers.is_empty();
                files.write(&batch.transfers)?;
                Ok(ControlFlow::Continue(()))
            });
            files.finish(unless_streamed(scan, streamed)?)
        })
    }

    /// Writes transfers that this query has found.
    ///
    /// # Errors
    ///
    /// If writing fails, or reading what the columns need.
    pub fn write_found(
        &self,
        found: &FirstTransfers,
        output: &TransfersOutput,
    ) -> Result<TransfersResult> {
        let mut files = Files::open(self, output)?;
        files.write(&found.transfers)?;
        files.finish(found.scan.clone())
    }
}

/// The open files of an output.
struct Files<'a> {
    query: &'a PreparedTransfers<'a>,
    output: &'a TransfersOutput,
    writers: Vec<TransferWriter>,
    names: Names,
    queried: QueriedNames,
}

impl<'a> Files<'a> {
    fn open(query: &'a PreparedTransfers<'_>, output: &'a TransfersOutput) -> Result<Self> {
        let mut writers = vec![query.writer(output)?];
        for (format, target) in &output.more {
            writers.push(query.writer(&TransfersOutput {
                format: *format,
                target: target.clone(),
                ..output.clone()
            })?);
        }
        Ok(Self {
            query,
            output,
            writers,
            names: Names::new(output.tokens.as_ref()),
            queried: QueriedNames::of(&query.request.filter),
        })
    }

    fn write(&mut self, transfers: &[Transfer]) -> Result<()> {
        let source = self.query.source;
        self.queried.see(transfers);
        let blocks = &self.query.request.blocks;
        self.names
            .add(source, &mut self.writers, transfers, blocks)?;
        for writer in &mut self.writers {
            if let Some(facts) = writer.transactions() {
                // The facts of earlier batches are written.
                facts.clear();
                source.add_transactions(facts, transfers.iter())?;
            }
            writer.write(transfers)?;
        }
        Ok(())
    }

    fn finish(self, scan: ScanReport) -> Result<TransfersResult> {
        let (query, output) = (self.query, self.output);
        let chain = query.source.chain()?;
        let mut about = (query.description).metadata(chain, &query.request.blocks, &scan);
        let unseen = self.queried.unseen();
        about.unseen.clone_from(&unseen);
        about.state = self.names.sources.state;
        let shows = |names: &[&str]| ColumnChoice::adds_any(&output.columns, names);
        about.add_names(
            output.tokens.as_ref().filter(|_| shows(&TOKEN_COLUMNS)),
            output.labels.as_ref().filter(|_| shows(&LABEL_COLUMNS)),
        );
        let written = self.writers.into_iter();
        let written = written.map(|writer| writer.finish(&about));
        Ok(TransfersResult {
            scan,
            written: written.collect::<Result<_, _>>()?,
            unseen,
            tokens: self.names.sources,
        })
    }
}

/// The tokens of all files by name.
struct Names {
    list: TokenList,
    /// Tokens that were asked for their names.
    named: BTreeSet<Address>,
    /// Where the names come from.
    sources: TokenSources,
}

impl Names {
    fn new(list: Option<&TokenList>) -> Self {
        Self {
            list: list.cloned().unwrap_or_default(),
            named: BTreeSet::new(),
            sources: TokenSources::default(),
        }
    }

    /// Adds the tokens of transfers to the files whose columns have names.
    fn add(
        &mut self,
        source: &Source,
        writers: &mut [TransferWriter],
        transfers: &[Transfer],
        blocks: &BlockRanges,
    ) -> Result<()> {
        let lists = writers.iter_mut().filter_map(TransferWriter::tokens);
        let mut lists = lists.peekable();
        if lists.peek().is_none() {
            return Ok(());
        }
        let tokens = transfers.iter().filter_map(|it| it.token_address);
        let new: BTreeSet<_> = tokens.filter(|it| !self.named.contains(it)).collect();
        if new.is_empty() {
            return Ok(());
        }
        let names = source.name_tokens(&mut self.list, new.iter().copied(), blocks)?;
        self.sources.add(names);
        for list in lists {
            list.copy_claims(&self.list, new.iter().copied());
        }
        self.named.extend(new);
        Ok(())
    }
}
