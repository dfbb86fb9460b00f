//! The source that an index or a lake is built from.

use crate::{Error, Hint, Result, source::RethNode};
use txgraph_stored::{Additions, BuildSource};
use txgraph_transfers::{AllLogged, InternalSource};

/// The error of a build. An index or a lake cannot have gaps, so the hint is another one.
pub(super) fn hint_for_build(error: impl Into<Error>) -> Error {
    let error = error.into();
    match error.hint {
        Some(Hint::AllowPartial { newest }) => error.with_hint(Hint::StoreExisting { newest }),
        _ => error,
    }
}

impl RethNode {
    /// Calls `work` with what an index or a lake is made from.
    pub(crate) fn with_build_source<T>(
        &self,
        additions: Additions,
        work: impl FnOnce(BuildSource<'_>) -> Result<T>,
    ) -> Result<T> {
        let replay;
        // No log reports calls without value.
        let by_logs = || -> Result<bool> {
            Ok(!additions.participations && self.db().snapshot()?.amsterdam()? == Some(0))
        };
        let internal: Option<&dyn InternalSource> = match additions.internal {
            false => None,
            true if by_logs()? => Some(&AllLogged),
            true => {
                replay = self.internal()?;
                Some(&replay)
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
