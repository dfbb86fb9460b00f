//! What an index or a lake is made from.

#[cfg(not(feature = "replay"))]
use crate::{Capability, Error, SourceSpec};
use crate::{Result, source::RethNode};
use txgraph_reader::NodeSource;
use txgraph_stored::Origin;
use txgraph_transfers::InternalSource;
use txgraph_work::Work;

/// Threads, cancellation and progress of a source.
pub(crate) fn source_work(source: &NodeSource) -> Work {
    let options = source.options();
    Work {
        threads: options.threads.clone(),
        cancel: options.cancel.clone(),
        progress: options.progress.clone(),
    }
}

impl RethNode {
    /// Calls `work` with what an index or a lake is made from.
    pub(crate) fn with_origin<T>(
        &self,
        internal: bool,
        work: impl FnOnce(Origin<'_>) -> Result<T>,
    ) -> Result<T> {
        #[cfg(feature = "replay")]
        let replay = internal.then(|| self.internal()).transpose()?;
        #[cfg(feature = "replay")]
        let replay = replay
            .as_ref()
            .map(|replay| -> &dyn InternalSource { replay });
        #[cfg(not(feature = "replay"))]
        let replay: Option<&dyn InternalSource> = match internal {
            true => {
                let spec = SourceSpec::reth(
                    self.config
                        .data_dir()
                        .map_or_else(Default::default, |dir| dir.root),
                );
                return Err(Error::unsupported(&spec, Capability::Replay));
            }
            false => None,
        };
        let source = self.source()?;
        work(Origin {
            source,
            internal: replay,
            work: source_work(source),
        })
    }
}
