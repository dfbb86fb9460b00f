//! One error for every user action: what failed, what kind of failure it is
//! (the command line turns that into its exit status) and what to do about it.

use crate::{AddressError, BlocksError};
use std::{error::Error as StdError, fmt, io, path::Path};
use txgraph_graph::SearchError;
use txgraph_transfers::{BlockRanges, SourceError, Unavailable};

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
    /// The chain was reorganised under the reader, again and again.
    Reorged,
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
        Self {
            kind,
            message: message.into(),
            hint: None,
            source: None,
        }
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
        self.source
            .as_deref()
            .map(|source| source as &(dyn StdError + 'static))
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

/// Gaps that a message lists; a node with filtered receipts has thousands.
const GAPS_LISTED_MAX: usize = 8;

/// Gaps in words, as many as one can read.
pub(crate) fn list_gaps(missing: &[Unavailable]) -> String {
    let words = |gap: &Unavailable| format!("{} ({})", gap.blocks, gap.reason);
    let mut listed: Vec<_> = missing.iter().take(GAPS_LISTED_MAX).map(words).collect();
    if let Some(more) = missing.len().checked_sub(GAPS_LISTED_MAX + 1) {
        listed.push(format!("and {} more gaps", more + 1));
    }
    listed.join(", ")
}

fn list_available(available: &BlockRanges) -> String {
    let ranges = available.iter();
    let more = ranges.len().saturating_sub(GAPS_LISTED_MAX);
    if more == 0 {
        return available.to_string();
    }
    let listed: BlockRanges = ranges.take(GAPS_LISTED_MAX).collect();
    format!("{listed} and {more} more ranges")
}

impl From<SourceError> for Error {
    fn from(error: SourceError) -> Self {
        let message = error.to_string();
        match error {
            SourceError::Unavailable { missing, available } => Self::new(
                ErrorKind::Unavailable,
                format!(
                    "blocks not available: {}; available: {}",
                    list_gaps(&missing),
                    list_available(&available)
                ),
            )
            .hint(match available.iter().last() {
                Some(newest) => format!(
                    "take --allow-partial to get what exists, with the gap stated in the answer, \
                     or ask for blocks that are there: --from-block {} --to-block {}",
                    newest.first, newest.last
                ),
                None => "`txgraph info` tells what the data directory holds".to_owned(),
            }),
            SourceError::Reorged { .. } => Self::new(ErrorKind::Reorged, message)
                .hint("ask again, or leave out the newest blocks"),
            SourceError::Interrupted => Self::new(ErrorKind::Interrupted, message),
            // The causes say everything that the wrappers would repeat.
            SourceError::Sink(cause) => match cause.downcast::<Self>() {
                Ok(ours) => *ours,
                Err(cause) => Self::new(ErrorKind::Failed, cause.to_string()),
            },
            SourceError::Failed(cause) => match cause.downcast::<txgraph_nodedb::Error>() {
                Ok(error) => (*error).into(),
                Err(cause) => match cause.downcast::<txgraph_reader::Error>() {
                    Ok(error) => (*error).into(),
                    Err(cause) => match cause.downcast::<txgraph_index::Error>() {
                        Ok(error) => (*error).into(),
                        Err(cause) => Self::new(ErrorKind::Failed, cause.to_string()),
                    },
                },
            },
            _ => Self::new(ErrorKind::Failed, message),
        }
    }
}

impl From<txgraph_nodedb::Error> for Error {
    fn from(error: txgraph_nodedb::Error) -> Self {
        let kind = if error.is_missing() {
            ErrorKind::Unavailable
        } else {
            ErrorKind::Failed
        };
        Self::new(kind, error.to_string())
    }
}

impl From<txgraph_reader::Error> for Error {
    fn from(error: txgraph_reader::Error) -> Self {
        use txgraph_reader::Error as Reader;
        match error {
            Reader::NodeDb(error) => error.into(),
            Reader::UnknownTransaction { .. } => {
                Self::new(ErrorKind::Unavailable, error.to_string())
            }
            Reader::ChainIdUnknown { .. }
            | Reader::ChainIdContradicts { .. }
            | Reader::Options(_) => Self::usage(error.to_string()),
            other => Self::new(ErrorKind::Failed, other.to_string()),
        }
    }
}

impl From<txgraph_index::Error> for Error {
    fn from(error: txgraph_index::Error) -> Self {
        use txgraph_index::Error as Index;
        let kind = match error {
            Index::Source(error) => return error.into(),
            Index::Options(_) | Index::WrongChain { .. } => ErrorKind::Usage,
            _ => ErrorKind::Failed,
        };
        let damaged = error.is_damage();
        let hint = match error {
            Index::NotAnIndex { .. } => "`txgraph index build` creates one",
            Index::WrongChain { .. } => "name another directory with --index, or --index off",
            Index::Locked { .. } => "wait until it is done; questions can be asked meanwhile",
            _ if damaged => {
                "build it again: `txgraph index drop`, then `txgraph index build`; with --index off \
                 the node answers"
            }
            _ => return Self::new(kind, error.to_string()),
        };
        Self::new(kind, error.to_string()).hint(hint)
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

impl From<txgraph_export::Error> for Error {
    fn from(error: txgraph_export::Error) -> Self {
        use txgraph_export::Error as Export;
        let kind = match error {
            Export::BrokenPipe => ErrorKind::BrokenPipe,
            _ if error.is_usage() => ErrorKind::Usage,
            _ => ErrorKind::Failed,
        };
        let ours = Self::new(kind, error.to_string());
        let hint = match error {
            Export::Exists { .. } => Some("choose another name, or replace it with --overwrite"),
            Export::TooLargeToDraw { .. } => Some(
                "ask for less (--hops, --min-value, --max-degree, --max-edges), or write DOT, \
                 GraphML or GEXF and open it in Gephi",
            ),
            _ => error.hint(),
        };
        match hint {
            Some(hint) => ours.hint(hint),
            None => ours,
        }
    }
}
