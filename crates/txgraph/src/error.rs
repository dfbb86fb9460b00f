//! One error for every user action: what failed, what kind of failure it is
//! (the command line turns that into its exit status) and what to do about it.

use crate::{AddressError, BlocksError};
use std::{error::Error as StdError, fmt, io, path::Path};
use txgraph_graph::SearchError;
use txgraph_transfers::SourceError;

/// Result of a user action.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What kind of failure an [`Error`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The question or the configuration is wrong: ask differently.
    Usage,
    /// Requested blocks are missing, pruned or above the tip.
    Unavailable,
    /// The caller asked to stop.
    Interrupted,
    /// Whoever read the output has closed it.
    BrokenPipe,
    /// Everything else: damaged files, full disks, no permission.
    Failed,
}

/// A failed user action.
#[derive(Debug)]
pub struct Error {
    /// What kind of failure.
    pub kind: ErrorKind,
    /// What failed, with path, block or key.
    pub message: String,
    /// What to do about it, where that is known.
    pub hint: Option<String>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    /// An error without a cause.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None, source: None }
    }

    /// A wrong question.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Usage, message)
    }

    /// A failure of reading or writing `path`.
    pub fn io(path: &Path, error: io::Error) -> Self {
        Self::new(ErrorKind::Failed, path.display().to_string()).because(error)
    }

    /// Says where: in which file, at which key.
    #[must_use]
    pub fn at(mut self, place: impl fmt::Display) -> Self {
        self.message = format!("{place}: {}", self.message);
        self
    }

    /// Adds the cause.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Adds advice.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

impl From<AddressError> for Error {
    fn from(error: AddressError) -> Self {
        let usage = Self::usage(error.to_string());
        match error {
            AddressError::Malformed(_) => usage,
            AddressError::Checksum { .. } => usage.hint(
                "mixed case is a checksum: look for a typing error, write the address in lower \
                 case, or ask with --no-checksum",
            ),
        }
    }
}

impl From<BlocksError> for Error {
    fn from(error: BlocksError) -> Self {
        if error.beyond_chain {
            return Self::new(ErrorKind::Unavailable, error.to_string())
                .hint("`txgraph info` tells which blocks exist");
        }
        Self::usage(error.to_string()).hint(
            "ranges look like 18M:18.1M (end not included), -1000: (the last thousand), \
             15M:+1000 or 17000000 (one block)",
        )
    }
}

impl From<SourceError> for Error {
    fn from(error: SourceError) -> Self {
        let message = error.to_string();
        match error {
            SourceError::Unavailable { .. } => Self::new(ErrorKind::Unavailable, message).hint(
                "ask for available blocks with --blocks, or take --allow-partial to get what \
                 exists, with the gap stated in the answer",
            ),
            SourceError::Reorged { .. } => Self::new(ErrorKind::Failed, message)
                .hint("ask again, or leave out the newest blocks"),
            SourceError::Interrupted => Self::new(ErrorKind::Interrupted, message),
            // The causes say everything that the wrappers would repeat.
            SourceError::Sink(cause) => match cause.downcast::<Self>() {
                Ok(ours) => *ours,
                Err(cause) => Self::unwrapped(cause),
            },
            SourceError::Failed(cause) => Self::unwrapped(cause),
            _ => Self::new(ErrorKind::Failed, message),
        }
    }
}

impl Error {
    fn unwrapped(cause: Box<dyn StdError + Send + Sync>) -> Self {
        Self {
            kind: ErrorKind::Failed,
            message: cause.to_string(),
            hint: None,
            source: None,
        }
    }
}

impl From<SearchError> for Error {
    fn from(error: SearchError) -> Self {
        match error {
            SearchError::Request(message) => Self::usage(message),
            SearchError::Source(error) => error.into(),
            other => Self::new(ErrorKind::Failed, other.to_string()),
        }
    }
}
