//! The source that an index or a lake is built from.

#[cfg(not(feature = "replay"))]
use crate::{Capability, Error, SourceSpec};
use crate::{Result, source::RethNode};
use txgraph_stored::{Additions, BuildSource};
use txgraph_transfers::{AllLogged, InternalSource};

impl RethNode {
    /// Calls `work` with what an index or a lake is made from.
    pub(crate) fn with_build_source<T>(
        &self,
        additions: Additions,
        work: impl FnOnce(BuildSource<'_>) -> Result<T>,
    ) -> Result<T> {
        #[cfg(feature = "replay")]
        let replay;
        // No log reports calls without value.
        let by_logs = || -> Result<bool> {
            Ok(!additions.participations && self.db().snapshot()?.amsterdam()? == Some(0))
        };
        let internal: Option<&dyn InternalSource> = match additions.internal {
            false => None,
            true if by_logs()? => Some(&AllLogged),
            #[cfg(feature = "replay")]
            true => {
                replay = self.internal()?;
                Some(&replay)
            }
            #[cfg(not(feature = "replay"))]
            true => {
                let spec = SourceSpec::reth(
                    self.config
                        .data_dir()
                        .map_or_else(Default::default, |dir| dir.root),
                );
                return Err(Error::unsupported(&spec, Capability::Replay));
            }
        };
        let source = self.source()?;
        work(BuildSource {
            source,
            internal,
            work: self.control.work(),
        })
    }
}
