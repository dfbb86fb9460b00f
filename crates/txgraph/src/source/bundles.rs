//! Bundles as a source: blocks with the state that they read, which are executed without a node.

use super::{backend::Backend, bundle_blocks::BundleBlocks, run_control::RunControl};
use crate::{Capabilities, Capability, Config, Error, ProtectedPaths, Result, SourceSpec};
use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::OnceLock,
};
use txgraph_replay::Bundle;
use txgraph_stored::{StoredBlocks, StoredSource};
use txgraph_transfers::{BlockRange, ChainInfo, TransferFilter, TransferSource};

/// A file with a bundle, or a directory of such files.
#[derive(Debug)]
pub(crate) struct Bundles {
    /// In the order of [`Bundle::list`].
    files: Vec<PathBuf>,
    pub(crate) config: Config,
    pub(crate) control: RunControl,
    /// Made when transfers are first asked for.
    source: OnceLock<StoredSource<BundleBlocks>>,
}

impl Bundles {
    pub(crate) fn open(spec: &SourceSpec, config: &Config, control: &RunControl) -> Result<Self> {
        let files = Bundle::list(Path::new(spec.location()))?;
        Ok(Self {
            files,
            config: config.clone(),
            control: control.clone(),
            source: OnceLock::new(),
        })
    }

    /// The transfers of all blocks.
    pub(crate) fn source(&self) -> Result<&StoredSource<BundleBlocks>> {
        if let Some(source) = self.source.get() {
            return Ok(source);
        }
        let blocks = BundleBlocks::open(&self.files, self.config.chain.as_deref())?;
        let source = StoredSource::new(blocks, self.control.work());
        Ok(self.source.get_or_init(|| source))
    }

    /// The files.
    pub(crate) fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Opens the file of a block.
    pub(crate) fn open_block(&self, block: u64) -> Result<Bundle> {
        let file = self.source()?.blocks().file(block);
        let none = || Error::unavailable(format!("no bundle contains block {block}"));
        Ok(Bundle::open(file.ok_or_else(none)?)?)
    }

    /// Opens the files in order, until `visit` breaks.
    pub(crate) fn find<T>(
        &self,
        mut visit: impl FnMut(Bundle) -> ControlFlow<T>,
    ) -> Result<Option<T>> {
        for file in &self.files {
            if let ControlFlow::Break(found) = visit(Bundle::open(file)?) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}

impl Backend for Bundles {
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
            .with(Capability::Transfers)
            .with(Capability::Hashes)
            .with(Capability::Replay)
    }

    fn chain(&self) -> Result<&ChainInfo> {
        Ok(self.source()?.chain())
    }

    fn tip(&self) -> Result<u64> {
        Ok(self.default_range()?.last)
    }

    fn default_range(&self) -> Result<BlockRange> {
        let blocks = self.source()?.blocks().available();
        blocks
            .span()
            .ok_or_else(|| Error::unavailable("there are no bundles"))
    }

    fn block_time(&self, block: u64) -> Result<Option<u64>> {
        Ok(self.source()?.blocks().time(block))
    }

    fn transfers(&self, _: &TransferFilter) -> Result<Box<dyn TransferSource + Sync + '_>> {
        Ok(Box::new(self.source()?))
    }

    /// A replay finds them.
    fn has_internal(&self) -> bool {
        true
    }

    fn protected_paths(&self) -> ProtectedPaths {
        ProtectedPaths::files(&self.files)
    }
}
