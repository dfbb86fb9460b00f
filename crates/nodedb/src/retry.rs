//! Repeats what a running node disturbs.

use crate::{Error, Result};
use std::time::Duration;
use txgraph_work::Retry;

/// The attempts at everything in this crate that a node can disturb, within about 250 ms.
/// It finishes its file operations within milliseconds.
pub(crate) const SNAPSHOT: Retry = Retry {
    attempts: 8,
    backoff: Duration::from_millis(2),
};

/// Repeats an attempt while it gives a stale error, see [`retry`].
pub(crate) fn retry_stale<T>(attempt: impl FnMut() -> Result<T>) -> Result<T> {
    retry(Error::is_stale, attempt)
}

/// Repeats an attempt while its error satisfies `again`, see [`SNAPSHOT`].
pub(crate) fn retry<T>(
    again: impl Fn(&Error) -> bool,
    attempt: impl FnMut() -> Result<T>,
) -> Result<T> {
    SNAPSHOT.run("reading the files of the node", again, attempt)
}
