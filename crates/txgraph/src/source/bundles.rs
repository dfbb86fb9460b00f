//! Bundles as a source: blocks with the state that they read, for a replay without a node.

use super::{backend::Backend, run_control::RunControl};
use crate::{Capabilities, Capability, Config, Error, ProtectedPaths, Result, SourceSpec};
use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
};
use txgraph_replay::Bundle;
use txgraph_transfers::{ChainInfo, TransferFilter, TransferSource};

/// A file with a bundle, or a directory of such files.
#[derive(Debug)]
pub(crate) struct Bundles {
    spec: SourceSpec,
    /// In the order of [`Bundle::list`].
    files: Vec<PathBuf>,
    pub(crate) config: Config,
    pub(crate) control: RunControl,
    protected: ProtectedPaths,
}

impl Bundles {
    pub(crate) fn open(spec: &SourceSpec, config: &Config, control: &RunControl) -> Result<Self> {
        let files = Bundle::list(Path::new(spec.location()))?;
        Ok(Self {
            spec: spec.clone(),
            protected: ProtectedPaths::files(&files),
            files,
            config: config.clone(),
            control: control.clone(),
        })
    }

    /// The files.
    pub(crate) fn files(&self) -> &[PathBuf] {
        &self.files
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
        Capabilities::default().with(Capability::Replay)
    }

    fn chain(&self) -> Result<&ChainInfo> {
        Err(Error::unsupported(&self.spec, Capability::Transfers))
    }

    /// The highest block of the files, all of which are read.
    fn tip(&self) -> Result<u64> {
        let mut tip = 0;
        self.find(|bundle| {
            tip = bundle.block().header.number.max(tip);
            ControlFlow::<()>::Continue(())
        })?;
        Ok(tip)
    }

    fn transfers(&self, _: &TransferFilter) -> Result<Box<dyn TransferSource + Sync + '_>> {
        Err(Error::unsupported(&self.spec, Capability::Transfers))
    }

    fn protected_paths(&self) -> &ProtectedPaths {
        &self.protected
    }
}
