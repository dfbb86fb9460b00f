//! Files that other tools write, as a source.

use super::{backend::Backend, run_control::RunControl};
use crate::{Config, Error, ProtectedPaths, Result, SourceSpec, grammar::parse_blocks};
use std::path::Path;
use txgraph_import::{Columns, Family, ImportOptions, ImportedFiles};
use txgraph_stored::StoredSource;
use txgraph_transfers::{BlockRange, BlockRanges, ChainInfo, TransferFilter, TransferSource};

/// Files of cryo, ethereum-etl, Dune and others.
#[derive(Debug)]
pub(crate) struct Import {
    spec: SourceSpec,
    source: StoredSource<ImportedFiles>,
    available: BlockRanges,
}

impl Import {
    pub(crate) fn open(spec: &SourceSpec, config: &Config, control: &RunControl) -> Result<Self> {
        let family = spec.kind().parse::<Family>();
        let family = family.map_err(|error| Error::usage(error.to_string()))?;
        let mut options = ImportOptions::new(family);
        options.chain_id = config.chain_id;
        options.columns = config
            .source_columns
            .as_deref()
            .map(Columns::parse)
            .transpose()?;
        let work = control.work();
        let threads = u64::try_from(work.threads.count()).unwrap_or(u64::MAX);
        let memory = config.memory.unwrap_or(crate::config::MEMORY_DEFAULT);
        options.memory_per_thread = memory / threads.max(1);
        options.covers = config.covers.as_deref().map(covers).transpose()?;
        let files = ImportedFiles::open(Path::new(spec.location()), &options)?;
        let available = txgraph_stored::StoredBlocks::available(&files);
        Ok(Self {
            spec: spec.clone(),
            source: StoredSource::new(files, work),
            available,
        })
    }
}

/// The blocks that the user states. Without a tip, the end of a range has to be named.
fn covers(text: &str) -> Result<BlockRanges> {
    let mut blocks = Vec::new();
    for spec in parse_blocks(text)? {
        blocks.extend(spec.resolve(u64::MAX)?.iter());
    }
    let blocks = BlockRanges::new(blocks);
    match blocks.span() {
        Some(span) if span.last < u64::MAX => Ok(blocks),
        _ => Err(Error::usage(format!(
            "covered blocks {text}: name the first and the last one"
        ))),
    }
}

impl Backend for Import {
    /// With tables of traces.
    fn has_internal(&self) -> bool {
        self.source.blocks().has_internal()
    }

    fn why_no_internal(&self) -> Option<String> {
        Some(self.source.blocks().tables_without_internal())
    }

    fn chain(&self) -> Result<&ChainInfo> {
        Ok(self.source.chain())
    }

    fn tip(&self) -> Result<u64> {
        Ok(self.default_range()?.last)
    }

    fn default_range(&self) -> Result<BlockRange> {
        self.available
            .span()
            .ok_or_else(|| Error::unavailable(format!("{}: no block is in all tables", self.spec)))
    }

    fn block_time(&self, block: u64) -> Result<Option<u64>> {
        Ok(self.source.blocks().block_time(block)?)
    }

    fn timed_range(&self) -> Result<BlockRange> {
        match self.source.blocks().rows() {
            Some(rows) => Ok(rows),
            None => self.default_range(),
        }
    }

    fn first_timed_at(&self, seconds: u64) -> Result<Option<u64>> {
        Ok(self.source.blocks().first_block_at(seconds)?)
    }

    fn transfers(&self, _: &TransferFilter) -> Result<Box<dyn TransferSource + Sync + '_>> {
        Ok(Box::new(&self.source))
    }

    fn protected_paths(&self) -> ProtectedPaths {
        ProtectedPaths::files(self.source.blocks().paths())
    }
}
