//! Errors of a query on a cluster.

use serde::{Deserialize, Serialize};
use std::{io, path::Path, path::PathBuf};
use txgraph_transfers::{BlockRanges, FailureKind, SourceError, SourceFailure, Unavailable};

/// Result of work on a cluster.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The scheduler cannot be reached, or refused a request.
    #[error("scheduler {address}: {message}")]
    Scheduler {
        /// Its address.
        address: String,
        /// Its answer, or why there is none.
        message: String,
    },
    /// A job ended with an error of the engine.
    #[error("job {job} on the cluster failed: {message}")]
    Job {
        /// The id that the scheduler gave it.
        job: String,
        /// The message of the engine.
        message: String,
    },
    /// A job made no progress, and was canceled.
    #[error("job {job} on the cluster was canceled: {reason}")]
    Stuck {
        /// The id that the scheduler gave it.
        job: String,
        /// The limit that it reached.
        reason: String,
    },
    /// An executor cannot answer.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Chunks of different chains: the chain was reorganized, or executors have different ones.
    #[error(
        "executors {before} and {after} are on different branches of the chain at block {next}",
        next = block + 1
    )]
    Unlinked {
        /// The last block of the first chunk.
        block: u64,
        /// The executor that read this block.
        before: String,
        /// The executor that read the block after it.
        after: String,
    },
    /// A file cannot be read or written.
    #[error("{}: {source}{}", path.display(), hint.map(|hint| format!("; {hint}")).unwrap_or_default())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
        /// The recommended action.
        hint: Option<&'static str>,
    },
    /// A run folder cannot be used.
    #[error("run {}: {reason}", path.display())]
    Run {
        /// The folder.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The result of the cluster is not what was asked for.
    #[error("answer of the cluster: {0}")]
    Answer(String),
    /// A plan cannot be made, encoded or decoded.
    #[error("{0}")]
    Plan(String),
    /// The query is wrong.
    #[error("{0}")]
    Usage(String),
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
}

impl Error {
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io {
            path: path.to_owned(),
            source,
            hint: None,
        }
    }

    /// Adds what to do about a file.
    pub(crate) fn hint(mut self, text: &'static str) -> Self {
        if let Self::Io { hint, .. } = &mut self {
            *hint = Some(text);
        }
        self
    }

    pub(crate) fn run(path: &Path, reason: impl Into<String>) -> Self {
        Self::Run {
            path: path.to_owned(),
            reason: reason.into(),
        }
    }

    /// Whether another attempt can succeed: the engine failed, and not the query.
    pub(crate) fn is_of_engine(&self) -> bool {
        matches!(
            self,
            Self::Scheduler { .. } | Self::Job { .. } | Self::Stuck { .. }
        )
    }
}

impl From<datafusion::error::DataFusionError> for Error {
    fn from(error: datafusion::error::DataFusionError) -> Self {
        let message = error.to_string();
        match Refusal::find(&message) {
            Some(refusal) => Self::Refused(refusal),
            None => Self::Plan(message),
        }
    }
}

impl From<datafusion::arrow::error::ArrowError> for Error {
    fn from(error: datafusion::arrow::error::ArrowError) -> Self {
        Self::Answer(error.to_string())
    }
}

/// An executor cannot answer a part of a query.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("executor {executor}: {message}")]
pub struct Refusal {
    /// Its host and process.
    pub executor: String,
    /// The meaning for the caller.
    pub kind: RefusalKind,
    /// Why.
    pub message: String,
}

/// The kind of a [`Refusal`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RefusalKind {
    /// Requested blocks are missing.
    Unavailable {
        /// The missing blocks.
        missing: Vec<Unavailable>,
        /// The blocks that the executor has.
        available: BlockRanges,
    },
    /// The chain was reorganized.
    Reorged {
        /// The lowest block known to have been replaced.
        block: u64,
    },
    /// The executor was asked to stop.
    Interrupted,
    /// Its data is missing.
    Missing,
    /// Its source cannot answer such queries, or has another chain.
    Options,
    /// Everything else.
    Failed,
}

impl From<Error> for SourceError {
    fn from(error: Error) -> Self {
        let failure = |kind, error| SourceFailure::new(kind, Box::new(error)).into();
        match &error {
            Error::Interrupted => Self::Interrupted,
            // A reorganization, or an executor on another branch: the message names both executors.
            Error::Unlinked { .. } => failure(FailureKind::Replaced, error),
            Error::Refused(refusal) => match &refusal.kind {
                RefusalKind::Reorged { block } => Self::Reorged { block: *block },
                RefusalKind::Unavailable { .. } | RefusalKind::Missing => {
                    failure(FailureKind::Missing, error)
                }
                RefusalKind::Options => failure(FailureKind::Options, error),
                RefusalKind::Interrupted | RefusalKind::Failed => {
                    failure(FailureKind::Unreadable, error)
                }
            },
            Error::Usage(_) => failure(FailureKind::Options, error),
            _ => failure(FailureKind::Unreadable, error),
        }
    }
}

impl From<Error> for txgraph::Error {
    fn from(error: Error) -> Self {
        SourceError::from(error).into()
    }
}
