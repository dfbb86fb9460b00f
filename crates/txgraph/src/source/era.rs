//! Archives of blocks as a source.

use super::{backend::Backend, run_control::RunControl};
use crate::{Config, Error, ProtectedPaths, Result, SourceSpec};
use std::path::Path;
use txgraph_era::{Archive, EraOptions};
use txgraph_stored::{StoredBlocks, StoredSource};
use txgraph_transfers::{ChainInfo, TransferFilter, TransferSource};

/// A file with archived blocks (`.ere`, `.era1`), or a directory of such files.
#[derive(Debug)]
pub(crate) struct EraFiles {
    source: StoredSource<Archive>,
}

impl EraFiles {
    pub(crate) fn open(spec: &SourceSpec, config: &Config, control: &RunControl) -> Result<Self> {
        let options = EraOptions {
            chain_id: config.chain_id,
            chunk_blocks: config.chunk_blocks,
            verify: config.check_roots.unwrap_or(false),
        };
        let archive = Archive::open(Path::new(spec.location()), &options)?;
        Ok(Self {
            source: StoredSource::new(archive, control.work()),
        })
    }
}

impl Backend for EraFiles {
    fn chain(&self) -> Result<&ChainInfo> {
        Ok(self.source.chain())
    }

    fn tip(&self) -> Result<u64> {
        let span = self.source.blocks().available().span();
        let span = span.ok_or_else(|| Error::unavailable("there are no blocks"))?;
        Ok(span.last)
    }

    fn block_time(&self, block: u64) -> Result<Option<u64>> {
        Ok(self.source.blocks().block_time(block)?)
    }

    fn transfers(&self, _: &TransferFilter) -> Result<Box<dyn TransferSource + Sync + '_>> {
        Ok(Box::new(&self.source))
    }

    /// Whether the newest blocks have logs of them. The scan refuses older blocks.
    fn has_internal(&self) -> bool {
        let newest = self.source.blocks().available().span();
        newest.is_some_and(|all| matches!(self.source.blocks().is_logged(all.last), Ok(true)))
    }

    fn protected_paths(&self) -> ProtectedPaths {
        ProtectedPaths::files(self.source.blocks().paths())
    }
}
