//! The questions, one file each: their options, and how they are answered.

mod analyze;
mod describe;
#[cfg(feature = "index")]
mod index;
#[cfg(feature = "replay")]
pub(crate) mod replay;
mod search;
mod transfers;

pub use analyze::{Analysis, Analyze, Measure, PreparedAnalysis};
#[cfg(feature = "export")]
pub use analyze::{AnalysisFormat, AnalysisOutput};
#[cfg(feature = "index")]
pub(crate) use index::index_work;
#[cfg(feature = "index")]
pub use index::{DeletedIndex, IndexHandle, IndexOptions, IndexState};
#[cfg(feature = "replay")]
pub use replay::{
    Call, CallResult, PreparedReplay, Replay, ReplaySummary, TokenNames, Tokens, Trace,
    TransactionName,
};
#[cfg(all(feature = "replay", feature = "export"))]
pub use replay::{ReplayFormat, ReplayOutput};
pub use search::{GraphAnswer, Hops, PreparedSearch, Search, SearchOptions};
#[cfg(feature = "export")]
pub use search::{GraphOutputs, WrittenGraph};
#[cfg(feature = "export")]
pub use transfers::{Columns, TransfersAnswer, TransfersOutput};
pub use transfers::{PreparedTransfers, Transfers};

pub(crate) use describe::Description;

use crate::{Error, ErrorKind, Result};

/// How often a question is asked again when the chain is reorganised in the meantime.
const RESTARTS_MAX: u32 = 3;

/// Asks again when the chain was reorganised in the meantime, a bounded number of times.
pub(crate) fn restarting<T>(mut ask: impl FnMut() -> Result<T>) -> Result<T> {
    for attempt in 1..=RESTARTS_MAX {
        match ask() {
            Err(error) if error.kind == ErrorKind::Reorged => {
                tracing::warn!(attempt, "{error}; starting again");
            }
            done => return done,
        }
    }
    ask()
}

/// The error for a question without a root.
fn no_root() -> Error {
    Error::usage("a search needs an address to start from").advise(crate::Advice::NameRoot)
}

#[cfg(test)]
mod tests {
    use super::*;
    use txgraph_transfers::SourceError;

    #[test]
    fn a_reorganisation_starts_the_question_again() {
        for (failures, asked, right) in [(0, 1, true), (3, 4, true), (4, 4, false), (9, 4, false)] {
            let mut count = 0;
            let answer = restarting(|| {
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
        let answer: Result<()> = restarting(|| {
            count += 1;
            Err(SourceError::Interrupted.into())
        });
        assert_eq!(
            (count, answer.unwrap_err().kind),
            (1, ErrorKind::Interrupted)
        );
    }
}
