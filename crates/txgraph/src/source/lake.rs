//! A lake as a source.

use super::{backend::Backend, run_control::RunControl};
use crate::{Config, Error, Hint, ProtectedPaths, Result, SourceSpec};
use std::path::Path;
use txgraph_lake::{Lake, LakeSource};
use txgraph_transfers::{BlockRange, ChainInfo, TransferFilter, TransferSource};

/// The directory of a lake.
#[derive(Debug)]
pub(crate) struct LakeFolder {
    lake: Lake,
    control: RunControl,
}

impl LakeFolder {
    pub(crate) fn open(spec: &SourceSpec, config: &Config, control: &RunControl) -> Result<Self> {
        let lake = Lake::open(Path::new(spec.location()))?;
        let chain_id = lake.chain().chain_id;
        if let Some(other) = config.chain_id.filter(|other| *other != chain_id) {
            return Err(Error::usage(format!(
                "{spec} is of chain {chain_id}, not of chain {other}"
            ))
            .with_hint(Hint::DropSetting("chain-id")));
        }
        Ok(Self {
            lake,
            control: control.clone(),
        })
    }
}

impl Backend for LakeFolder {
    fn chain(&self) -> Result<&ChainInfo> {
        Ok(self.lake.chain())
    }

    /// The last block of the lake.
    fn tip(&self) -> Result<u64> {
        Ok(self.default_range()?.last)
    }

    /// From the first to the last block of the lake.
    fn default_range(&self) -> Result<BlockRange> {
        let span = self.lake.blocks().span();
        let empty =
            || Error::unavailable(format!("{} has no blocks yet", self.lake.path().display()));
        span.ok_or_else(empty)
    }

    fn block_time(&self, block: u64) -> Result<Option<u64>> {
        Ok(self.lake.block_time(block)?)
    }

    fn transfers(&self, _: &TransferFilter) -> Result<Box<dyn TransferSource + Sync + '_>> {
        if let Some(explain) = &self.control.explain {
            let (path, blocks) = (self.lake.path().display(), self.lake.blocks());
            explain(&format_args!(
                "blocks {blocks} are answered from the lake {path}"
            ));
        }
        Ok(Box::new(LakeSource::new(&self.lake, self.control.work())))
    }

    fn has_internal(&self) -> bool {
        self.lake.has_internal()
    }

    fn why_no_internal(&self) -> Option<String> {
        let why = "the lake was built without internal transfers; build another one with them";
        Some(why.to_owned())
    }

    fn protected_paths(&self) -> ProtectedPaths {
        ProtectedPaths::directory(self.lake.path())
    }
}
