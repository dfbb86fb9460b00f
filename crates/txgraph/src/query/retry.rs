//! Asking again after a reorganization.

use crate::{ErrorKind, Result, Source};
use std::time::Duration;
use txgraph_transfers::SourceError;
use txgraph_work::{CancelFlag, Retry, RetryStep};

/// The attempts at a query whose chain is reorganized in the meantime, within 3.5 s: a
/// node that removes many blocks needs seconds until its tip is as high as before.
const QUERY: Retry = Retry {
    attempts: 4,
    backoff: Duration::from_millis(500),
};

/// Asks again when the chain was reorganized in the meantime, see [`QUERY`].
pub(crate) fn retry_on_reorg<T>(source: &Source, ask: impl FnMut() -> Result<T>) -> Result<T> {
    retry(QUERY, &source.control.cancel, ask)
}

/// Ends a query whose rows went to a stream, which cannot be taken back, instead of asking it
/// again.
pub(crate) fn unless_streamed<T>(done: Result<T>, streamed: bool) -> Result<T> {
    done.map_err(|error| match error.kind {
        ErrorKind::Reorged if streamed => {
            crate::Error::new(ErrorKind::Failed, error.message).with_hint(crate::Hint::WriteToFile)
        }
        _ => error,
    })
}

fn retry<T>(retry: Retry, cancel: &CancelFlag, mut ask: impl FnMut() -> Result<T>) -> Result<T> {
    let mut attempts = retry.start();
    loop {
        match ask() {
            Err(error) if error.kind == ErrorKind::Reorged => {
                let attempt = attempts.number();
                match attempts.next(&|| cancel.is_canceled()) {
                    RetryStep::Retry => tracing::warn!(attempt, "{error}; starting again"),
                    RetryStep::Exhausted => return Err(error),
                    RetryStep::Stopped => return Err(SourceError::Interrupted.into()),
                }
            }
            done => return done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reorganization_starts_the_query_again() {
        let at_once = Retry {
            backoff: Duration::ZERO,
            ..QUERY
        };
        let cancel = CancelFlag::new();
        for (failures, asked, right) in [(0, 1, true), (3, 4, true), (4, 4, false), (9, 4, false)] {
            let mut count = 0;
            let answer = retry(at_once, &cancel, || {
                count += 1;
                if count <= failures {
                    Err(SourceError::Reorged { block: 7 }.into())
                } else {
                    Ok(())
                }
            });
            assert_eq!((count, answer.is_ok()), (asked, right));
        }
        // No other error does.
        let mut count = 0;
        let answer: Result<()> = retry(at_once, &cancel, || {
            count += 1;
            Err(SourceError::Interrupted.into())
        });
        assert_eq!(
            (count, answer.unwrap_err().kind),
            (1, ErrorKind::Interrupted)
        );
    }

    #[test]
    fn canceling_ends_the_pause_before_another_start() {
        let cancel = CancelFlag::new();
        let mut asked = 0;
        let end: Result<()> = retry(QUERY, &cancel, || {
            asked += 1;
            cancel.cancel();
            Err(SourceError::Reorged { block: 7 }.into())
        });
        assert_eq!(end.unwrap_err().kind, ErrorKind::Interrupted);
        assert_eq!(asked, 1);
    }
}
