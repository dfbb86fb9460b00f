//! One error for every user action: its kind, its message, and what to do about it.
//!
//! Nothing here names an option of a command line. A program that has such options maps
//! [`Hint`] to them.

use crate::{BlocksError, Capability, Hint, SourceSpec, grammar::AddressError, words::number};
use std::{error::Error as StdError, fmt, io, path::Path};
use txgraph_graph::SearchError;
#[cfg(any(feature = "index", feature = "lake"))]
use txgraph_stored::{StoreError, StoreKind};
use txgraph_transfers::{BlockRanges, FailureKind, SourceError, SourceFailure, Unavailable};

/// Result of a user action.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kind of an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The query or the configuration is wrong.
    Usage,
    /// The source cannot do what the query needs.
    Unsupported(Capability),
    /// Requested blocks are missing, pruned or above the tip.
    Unavailable,
    /// The chain was reorganized during every attempt to answer.
    Reorged,
    /// The caller asked to stop.
    Interrupted,
    /// The reader of the output closed it.
    BrokenPipe,
    /// The result has more rows than the query may have.
    TooMany,
    /// Everything else: damaged files, full disks, no permission.
    Failed,
}

/// A failed user action.
#[derive(Debug)]
pub struct Error {
    /// The kind of failure.
    pub kind: ErrorKind,
    /// A description of the failure, with path, block or key.
    pub message: String,
    /// A remedy, if one is known.
    pub hint: Option<Hint>,
    /// Which blocks are missing, if that is the failure and it is known.
    pub gaps: Option<Box<Gaps>>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// Blocks that are missing, and those that exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gaps {
    /// The missing blocks with the reasons, ascending.
    pub missing: Vec<Unavailable>,
    /// The blocks that are available.
    pub available: BlockRanges,
}

impl Error {
    /// An error without a cause.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hint: None,
            gaps: None,
            source: None,
        }
    }

    /// A wrong query.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Usage, message)
    }

    /// Blocks or transactions that the source does not contain.
    pub(crate) fn unavailable(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unavailable, message)
    }

    /// A result with more than the query may have.
    pub(crate) fn too_many(most: String) -> Self {
        Self::new(
            ErrorKind::TooMany,
            format!("there are more than {most}: ask for fewer blocks"),
        )
    }

    /// A replay gave another result than the node stored.
    pub(crate) fn disagrees(mismatch: &txgraph_replay::Mismatch) -> Self {
        let why = format!("the replay disagrees with the node: {mismatch}");
        Self::new(ErrorKind::Failed, why)
    }

    /// A query that the source cannot answer.
    pub(crate) fn unsupported(source: &SourceSpec, capability: Capability) -> Self {
        let message = format!("{source}: this source cannot {capability}");
        let ours = Self::new(ErrorKind::Unsupported(capability), message);
        match (source.kind(), capability) {
            ("reth", _) => ours,
            (_, Capability::Lake) => ours.with_hint(Hint::NameNodeOrServer),
            ("bundle", _) => ours.with_hint(Hint::ReplayBundle),
            _ => ours.with_hint(Hint::NameNode),
        }
    }

    /// A failure of reading or writing `path`.
    pub fn io(path: &Path, error: io::Error) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::BrokenPipe => ErrorKind::BrokenPipe,
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                return txgraph_export::Error::NoSpace { path: path.into() }.into();
            }
            _ => ErrorKind::Failed,
        };
        Self::new(kind, path.display().to_string()).because(error)
    }

    /// Adds the place before the message: a file, a key.
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

    /// Adds a hint.
    #[must_use]
    pub(crate) fn with_hint(mut self, hint: Hint) -> Self {
        self.hint = Some(hint);
        self
    }

    /// Adds the blocks that are missing.
    #[must_use]
    fn with_gaps(mut self, missing: Vec<Unavailable>, available: BlockRanges) -> Self {
        self.gaps = Some(Box::new(Gaps { missing, available }));
        self
    }

    /// Adds a hint in words.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        self.with_hint(Hint::Text(hint.into()))
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
            AddressError::Checksum { .. } => usage.with_hint(Hint::IgnoreChecksum),
        }
    }
}

impl From<BlocksError> for Error {
    fn from(error: BlocksError) -> Self {
        if error.beyond_chain {
            return Self::unavailable(error.to_string()).with_hint(Hint::ListBlocks);
        }
        Self::usage(error.to_string()).hint(
            "examples: 18M:18.1M (end excluded), -1000: (the last thousand), 15M:+1000 (a \
             thousand from there), 17000000 (one block)",
        )
    }
}

/// Gaps that a message lists. A node with filtered receipts has thousands.
const GAPS_LISTED_MAX: usize = 8;

/// Describes gaps, up to a number that can be read.
pub(crate) fn list_gaps(missing: &[Unavailable]) -> String {
    let words = |gap: &Unavailable| format!("{} ({})", gap.blocks, gap.reason);
    let mut listed: Vec<_> = missing.iter().take(GAPS_LISTED_MAX).map(words).collect();
    if let Some(more) = missing.len().checked_sub(GAPS_LISTED_MAX + 1) {
        listed.push(format!(
            "and {}",
            number(more as u64 + 1, "more gap", "more gaps")
        ));
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
    let more = number(more as u64, "more range", "more ranges");
    format!("{listed}, and {more}")
}

impl From<SourceError> for Error {
    fn from(error: SourceError) -> Self {
        let message = error.to_string();
        match error {
            SourceError::Unavailable { missing, available } => Self::unavailable(format!(
                "blocks not available: {}; available: {}",
                list_gaps(&missing),
                list_available(&available)
            ))
            .with_hint(match available.iter().last() {
                Some(newest) => Hint::AllowPartial { newest },
                None => Hint::ListBlocks,
            })
            .with_gaps(missing, available),
            SourceError::Reorged { .. } => Self::new(ErrorKind::Reorged, message)
                .hint("ask again, or leave out the newest blocks"),
            SourceError::Unsupported { .. } => Self::usage(message),
            SourceError::Interrupted => Self::new(ErrorKind::Interrupted, message),
            // The message of the cause contains everything that the wrapper would repeat.
            SourceError::Sink(cause) => Self::new(ErrorKind::Failed, cause.to_string()),
            SourceError::Failed(failure) => match failure.kind {
                FailureKind::Missing => Self::unavailable(message),
                FailureKind::Replaced => Self::new(ErrorKind::Reorged, message)
                    .hint("ask again, or leave out the newest blocks"),
                FailureKind::Options => Self::usage(message),
                FailureKind::NoStaticFiles => {
                    Self::new(ErrorKind::Failed, message).with_hint(Hint::NameStaticFiles)
                }
                FailureKind::NoRocksDb => {
                    Self::new(ErrorKind::Failed, message).with_hint(Hint::NameRocksDb)
                }
                FailureKind::UnusableIndex => {
                    Self::new(ErrorKind::Failed, message).with_hint(Hint::RebuildIndex)
                }
                _ => Self::new(ErrorKind::Failed, message),
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
        let ours = Self::new(kind, error.to_string());
        match error {
            txgraph_nodedb::Error::NoStaticFiles { .. } => ours.with_hint(Hint::NameStaticFiles),
            txgraph_nodedb::Error::NoRocksDb { .. } => ours.with_hint(Hint::NameRocksDb),
            txgraph_nodedb::Error::AboveTip { tip, .. } => ours.hint(format!(
                "ask for blocks up to {tip}, or wait until the node has stored later ones"
            )),
            _ => ours,
        }
    }
}

impl From<txgraph_era::Error> for Error {
    fn from(error: txgraph_era::Error) -> Self {
        use txgraph_era::Error as Era;
        let hint = match error {
            Era::UnknownChain { .. } => Some(Hint::NameChainId),
            Era::Exists { .. } => Some(Hint::Overwrite),
            Era::ChainContradicts { .. } if error.is_configured() => {
                Some(Hint::DropSetting("chain-id"))
            }
            _ => None,
        };
        let ours = Self::from(SourceError::from(SourceFailure::from(error)));
        match hint {
            Some(hint) => ours.with_hint(hint),
            None => ours,
        }
    }
}

impl From<txgraph_abi::AbiError> for Error {
    fn from(error: txgraph_abi::AbiError) -> Self {
        use txgraph_abi::AbiError as Abi;
        match error {
            Abi::Output { .. } | Abi::Io { .. } | Abi::File { .. } => {
                Self::new(ErrorKind::Failed, error.to_string())
            }
            _ => Self::usage(error.to_string()),
        }
    }
}

#[cfg(feature = "rpc")]
impl From<txgraph_rpc::Error> for Error {
    fn from(error: txgraph_rpc::Error) -> Self {
        let is_configured = matches!(error, txgraph_rpc::Error::WrongChain { .. });
        let ours = Self::from(SourceError::from(error));
        if is_configured {
            ours.with_hint(Hint::DropSetting("chain-id"))
        } else {
            ours
        }
    }
}

impl From<txgraph_reader::Error> for Error {
    fn from(error: txgraph_reader::Error) -> Self {
        use txgraph_reader::Error as Reader;
        match error {
            Reader::NodeDb(error) => error.into(),
            Reader::UnknownTransaction { .. } => Self::unavailable(error.to_string()),
            Reader::ChainIdUnknown { .. } => {
                Self::usage(error.to_string()).with_hint(Hint::NameChainId)
            }
            Reader::ChainIdContradicts { .. } => {
                Self::usage(error.to_string()).with_hint(Hint::DropSetting("chain-id"))
            }
            Reader::Options(_) => Self::usage(error.to_string()),
            other => Self::new(ErrorKind::Failed, other.to_string()),
        }
    }
}

#[cfg(feature = "import")]
impl From<txgraph_import::Error> for Error {
    fn from(error: txgraph_import::Error) -> Self {
        let message = error.to_string();
        match error {
            txgraph_import::Error::ChainIdUnknown { .. } => {
                Self::usage(message).with_hint(Hint::NameChainId)
            }
            _ if error.is_usage() => Self::usage(message),
            _ => Self::new(ErrorKind::Failed, message),
        }
    }
}

#[cfg(any(feature = "index", feature = "lake"))]
impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        if let StoreError::Source(error) = error {
            return error.into();
        }
        let failure = error.failure_kind();
        let kind = match failure {
            FailureKind::Options => ErrorKind::Usage,
            _ => ErrorKind::Failed,
        };
        let ours = Self::new(kind, error.to_string());
        match error {
            StoreError::NotAStore { kind, .. } => match kind {
                StoreKind::Index => ours.with_hint(Hint::BuildIndex),
                StoreKind::Lake => ours.hint("`lake build` makes a lake"),
            },
            StoreError::WrongChain {
                kind: StoreKind::Index,
                ..
            } => ours.with_hint(Hint::OtherIndex),
            StoreError::AheadOfSource { .. } => {
                ours.hint("wait until the node has these blocks, or make the store again")
            }
            _ if error.is_locked() => {
                ours.hint("wait until it is finished; queries can run in the meantime")
            }
            _ if failure == FailureKind::UnusableIndex => ours.with_hint(Hint::RebuildIndex),
            _ => ours,
        }
    }
}

impl From<SearchError> for Error {
    fn from(error: SearchError) -> Self {
        match error {
            SearchError::Request(message) => Self::usage(message),
            SearchError::Source(error) => error.into(),
            // Not the limits of a graph, which no memory raises.
            SearchError::TooLarge { what } if what.ends_with("memory that is allowed") => {
                let ours = Self::new(ErrorKind::Failed, error.to_string());
                ours.with_hint(Hint::RaiseMemory)
            }
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
        match &error {
            Export::Exists { .. } => ours.with_hint(Hint::Overwrite),
            Export::TooLargeToDraw { .. } => ours.with_hint(Hint::NarrowGraph),
            other => match other.hint() {
                Some(hint) => ours.hint(hint),
                None => ours,
            },
        }
    }
}

impl From<txgraph_replay::Error> for Error {
    fn from(error: txgraph_replay::Error) -> Self {
        use txgraph_replay::Error as Replay;
        let message = error.to_string();
        match error {
            Replay::NodeDb(error) => error.into(),
            Replay::Interrupted => Self::new(ErrorKind::Interrupted, message),
            _ if error.is_stale() => Self::new(ErrorKind::Reorged, message),
            Replay::State { block, source, .. } | Replay::Changes { block, source } => {
                match source.downcast::<txgraph_state::Error>() {
                    Ok(error) => Self::from(*error).at(format!("block {block}")),
                    Err(source) if source.is::<txgraph_replay::Missing>() => {
                        Self::unavailable(message)
                    }
                    Err(_) => Self::new(ErrorKind::Failed, message),
                }
            }
            Replay::NotInBundle { .. } | Replay::NoSuchTransaction { .. } => {
                Self::unavailable(message)
            }
            Replay::UnknownChain { .. }
            | Replay::UnknownBundleChain { .. }
            | Replay::WrongChainId { .. } => {
                Self::new(ErrorKind::Unsupported(Capability::Replay), message)
                    .with_hint(Hint::NameChainFile)
            }
            Replay::OpStack { .. } => {
                Self::new(ErrorKind::Unsupported(Capability::Replay), message)
            }
            Replay::Genesis
            | Replay::WrongChain { .. }
            | Replay::WrongBundleChain { .. }
            | Replay::ChainFile { .. }
            | Replay::StateOverrides { .. }
            | Replay::Trace { .. } => Self::usage(message),
            _ => Self::new(ErrorKind::Failed, message),
        }
    }
}

impl From<txgraph_replay::BundleError> for Error {
    fn from(error: txgraph_replay::BundleError) -> Self {
        use std::io::ErrorKind as Io;
        use txgraph_replay::BundleError as Bundle;
        let message = error.to_string();
        match &error {
            Bundle::Io { source, .. } if source.kind() == Io::AlreadyExists => {
                Self::usage(message).with_hint(Hint::Overwrite)
            }
            Bundle::Io { .. } => Self::new(ErrorKind::Failed, message),
            _ => Self::usage(message),
        }
    }
}

impl From<txgraph_state::Error> for Error {
    fn from(error: txgraph_state::Error) -> Self {
        use txgraph_state::Error as State;
        let kind = match &error {
            State::Interrupted => ErrorKind::Interrupted,
            error if error.is_missing() => ErrorKind::Unavailable,
            error if error.is_stale() => ErrorKind::Reorged,
            _ => ErrorKind::Failed,
        };
        let ours = Self::new(kind, error.to_string());
        match error {
            State::Node(error) => Self {
                kind,
                ..error.into()
            },
            // Blocks without a stored state are executed if the rules of the chain are known.
            State::NotAvailable {
                block, available, ..
            } if block > available.last => ours.with_hint(Hint::NameChainFile),
            _ => ours,
        }
    }
}
