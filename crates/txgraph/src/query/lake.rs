//! Lakes: building them from a source, keeping them, and checking them.

use super::build_source::hint_for_build;
use crate::{Capability, Error, Result, RunControl, Source};
use std::path::{Path, PathBuf};
use txgraph_lake::{CompactReport, Lake, Status};
use txgraph_stored::{BuildOptions, BuildReport, BuildSource, VerifyReport};

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
        self.protected_paths().check(&directory)?;
        Ok(LakeHandle {
            source: self,
            directory,
        })
    }
}

impl LakeHandle<'_> {
    /// Builds the lake, or continues a build that was interrupted. If `internal`, it contains the
    /// transfers inside of transactions, found by replaying them.
    ///
    /// # Errors
    ///
    /// If the source cannot be read, or the directory cannot be written.
    pub fn build(&self, options: &BuildOptions, internal: bool) -> Result<BuildReport> {
        self.with_build_source(internal, |origin| {
            txgraph_lake::build(&self.directory, origin, options).map_err(hint_for_build)
        })
    }

    /// Extends the lake to the tip of the source.
    ///
    /// # Errors
    ///
    /// As [`Self::build`], and if there is no lake.
    pub fn append(&self, options: &BuildOptions) -> Result<BuildReport> {
        let internal = Lake::open(&self.directory)?.has_internal();
        self.with_build_source(internal, |origin| {
            let appended = txgraph_lake::append(&self.directory, origin, options);
            appended.map_err(|error| match Error::from(error) {
                error if error.gaps.is_some() => error.hint(
                    "a lake has no gaps: append from a source with these blocks, or build another lake",
                ),
                error => error,
            })
        })
    }

    /// Checks every byte of the lake, and compares every transfer with the source.
    ///
    /// # Errors
    ///
    /// At the first fault.
    pub fn verify(&self) -> Result<VerifyReport> {
        let lake = Lake::open(&self.directory)?;
        self.with_build_source(lake.has_internal(), |origin| {
            Ok(txgraph_lake::verify(&lake, origin)?)
        })
    }

    fn with_build_source<T>(
        &self,
        internal: bool,
        mut work: impl FnMut(BuildSource<'_>) -> Result<T>,
    ) -> Result<T> {
        let mut done = None;
        self.source
            .backend()
            .with_build_source(internal, &mut |origin| {
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
/// If there is none, its manifest is damaged, or a file is missing or has another length.
pub fn lake_status(directory: &Path) -> Result<Status> {
    let lake = Lake::open(directory)?;
    lake.check_files()?;
    Ok(lake.status())
}

/// Checks every byte of the lake in a directory, without its source.
///
/// # Errors
///
/// At the first fault.
pub fn check_lake(directory: &Path, control: &RunControl) -> Result<VerifyReport> {
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
pub fn compact_lake(directory: &Path, control: &RunControl) -> Result<CompactReport> {
    Ok(txgraph_lake::compact(directory, &control.work())?)
}
