//! Lakes: building them from a source, keeping them, and checking them.

use crate::{Capability, Control, Error, Result, Source};
use std::path::{Path, PathBuf};
use txgraph_lake::{BuildOptions, BuildReport, CompactReport, Lake, Status, VerifyReport};
use txgraph_stored::Origin;
use txgraph_transfers::WrappedNative;

/// What a lake contains. `None` stands for the default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LakeOptions {
    /// The lowest block.
    pub first_block: Option<u64>,
    /// The highest block.
    pub last_block: Option<u64>,
    /// The number of blocks of a partition.
    pub partition_blocks: Option<u64>,
    /// The number of newest blocks that are left out.
    pub reorg_buffer: Option<u64>,
    /// The contracts whose `Deposit` and `Withdrawal` events are wraps.
    pub wrapped_native: WrappedNative,
    /// Whether it contains the transfers inside of transactions, found by replaying them.
    pub internal: bool,
}

impl LakeOptions {
    fn build_options(&self) -> BuildOptions {
        let default = BuildOptions::default();
        BuildOptions {
            wrapped_native: self.wrapped_native.clone(),
            first_block: self.first_block.unwrap_or(default.first_block),
            last_block: self.last_block,
            partition_blocks: self.partition_blocks,
            reorg_buffer: self.reorg_buffer.unwrap_or(default.reorg_buffer),
        }
    }
}

/// A lake that is made from a source. See [`Source::lake`].
#[derive(Clone, Debug)]
pub struct LakeHandle<'s> {
    source: &'s Source,
    directory: PathBuf,
}

impl Source {
    /// The lake of this source in a directory, which need not exist.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if no lake can be made from
    /// the source, and a usage error if the directory is a part of it.
    pub fn lake(&self, directory: impl Into<PathBuf>) -> Result<LakeHandle<'_>> {
        let directory = directory.into();
        self.require(Capability::Lake)?;
        self.protected().check(&directory)?;
        Ok(LakeHandle {
            source: self,
            directory,
        })
    }
}

impl LakeHandle<'_> {
    /// Builds the lake, or continues a build that was interrupted.
    ///
    /// # Errors
    ///
    /// If the source cannot be read, or the directory cannot be written.
    pub fn build(&self, options: &LakeOptions) -> Result<BuildReport> {
        self.with_origin(options.internal, |origin| {
            let options = options.build_options();
            Ok(txgraph_lake::build(&self.directory, origin, &options)?)
        })
    }

    /// Extends the lake to the tip of the source.
    ///
    /// # Errors
    ///
    /// As [`Self::build`], and if there is no lake.
    pub fn append(&self, options: &LakeOptions) -> Result<BuildReport> {
        let internal = Lake::open(&self.directory)?.has_internal();
        self.with_origin(internal, |origin| {
            let options = options.build_options();
            Ok(txgraph_lake::append(&self.directory, origin, &options)?)
        })
    }

    /// Checks every byte of the lake, and compares every transfer with the source.
    ///
    /// # Errors
    ///
    /// At the first fault.
    pub fn verify(&self) -> Result<VerifyReport> {
        let lake = Lake::open(&self.directory)?;
        self.with_origin(lake.has_internal(), |origin| {
            Ok(txgraph_lake::verify(&lake, origin)?)
        })
    }

    fn with_origin<T>(
        &self,
        internal: bool,
        mut work: impl FnMut(Origin<'_>) -> Result<T>,
    ) -> Result<T> {
        let mut done = None;
        self.source.backend().with_origin(internal, &mut |origin| {
            done = Some(work(origin)?);
            Ok(())
        })?;
        done.ok_or_else(|| Error::unsupported(self.source.spec(), Capability::Lake))
    }
}

/// Describes the lake in a directory.
///
/// # Errors
///
/// If there is none, or its manifest is damaged.
pub fn lake_status(directory: &Path) -> Result<Status> {
    Ok(Lake::open(directory)?.status())
}

/// Checks every byte of the lake in a directory, without its source.
///
/// # Errors
///
/// At the first fault.
pub fn check_lake(directory: &Path, control: &Control) -> Result<VerifyReport> {
    Ok(txgraph_lake::check(
        &Lake::open(directory)?,
        &control.work(),
    )?)
}

/// Joins the small partitions at the end of the lake in a directory.
///
/// # Errors
///
/// If there is no lake, it is damaged, or another process writes it.
pub fn compact_lake(directory: &Path, control: &Control) -> Result<CompactReport> {
    Ok(txgraph_lake::compact(directory, &control.work())?)
}
