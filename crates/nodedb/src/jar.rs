//! A static file in NippyJar format (`crates/storage/nippy-jar/src/` of reth): data, `.off`
//! (where each cell begins) and `.conf` (ranges and counts), as listed by one snapshot.

use crate::{
    BlockRange, Error, Result,
    conf::{Conf, Segment},
    files::{open_regular, regular_metadata},
};
use std::{
    fs::{self, Metadata},
    io::ErrorKind,
    os::unix::fs::{FileExt, MetadataExt},
    path::{Path, PathBuf},
};

/// A `.conf` has less than 200 bytes. A longer file is something else.
const CONF_BYTES_MAX: u64 = 4096;

/// Distinguishes a file from another one with the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
        }
    }
}

/// A static file as listed by one snapshot. Opened by [`JarReader`].
#[derive(Debug)]
pub(crate) struct Jar {
    pub(crate) path: PathBuf,
    pub(crate) segment: Segment,
    pub(crate) conf: Conf,
    conf_identity: (Identity, i64, i64),
    pub(crate) data_identity: Identity,
}

impl Jar {
    /// Reads the `.conf` of a data file. Returns `None` if a part is missing, as while a node
    /// creates or deletes a jar.
    pub(crate) fn load(path: &Path, segment: Segment) -> Result<Option<Self>> {
        let Some(data) = present(regular_metadata(path), path)? else {
            return Ok(None);
        };
        let conf_path = satellite(path, "conf");
        let Some((file, meta)) = present(open_regular(&conf_path), &conf_path)? else {
            return Ok(None);
        };
        let offsets_path = satellite(path, "off");
        if present(regular_metadata(&offsets_path), &offsets_path)?.is_none() {
            return Ok(None);
        }
        if meta.len() > CONF_BYTES_MAX {
            return Err(Error::corrupt(conf_path, "it is too long"));
        }
        // Replaced by renaming, so an open file is one complete version.
        let mut bytes = vec![0; usize::try_from(meta.len()).unwrap_or_default()];
        file.read_exact_at(&mut bytes, 0)
            .map_err(|error| Error::io("read", &conf_path, error))?;
        let conf = Conf::decode(segment, &bytes).map_err(|what| Error::corrupt(conf_path, what))?;
        Ok(Some(Self {
            path: path.to_path_buf(),
            segment,
            conf,
            conf_identity: conf_identity(&meta),
            data_identity: Identity::of(&data),
        }))
    }

    /// Returns whether the files on disk still belong to this jar. If so, invalid rows are
    /// damage; otherwise the reader is stale.
    pub(crate) fn is_current(&self) -> bool {
        let same = |path: &Path, check: &dyn Fn(&Metadata) -> bool| {
            fs::metadata(path).is_ok_and(|metadata| check(&metadata))
        };
        same(&self.path, &|data| Identity::of(data) == self.data_identity)
            && same(&satellite(&self.path, "conf"), &|conf| {
                conf_identity(conf) == self.conf_identity
            })
    }

    /// Returns the blocks (headers) or transactions (other segments) whose rows are present.
    pub(crate) fn row_range(&self) -> Option<BlockRange> {
        match self.segment {
            Segment::Headers => self.conf.blocks,
            Segment::Transactions | Segment::Receipts | Segment::TransactionSenders => {
                self.conf.txs
            }
            Segment::AccountChangeSets | Segment::StorageChangeSets => None,
        }
    }

    /// Returns the row of a block or transaction, if present.
    pub(crate) fn row_of(&self, number: u64) -> Option<u64> {
        let range = self.row_range()?;
        range.contains(number).then(|| number - range.first)
    }

    pub(crate) fn stale(&self, what: impl Into<String>) -> Error {
        Error::stale(&self.path, what)
    }

    /// The error for a row that cannot be decoded.
    pub(crate) fn bad_row(&self, row: u64, what: &str) -> Error {
        let what = format!("row {row}: {what}");
        if self.is_current() {
            Error::corrupt(&self.path, what)
        } else {
            self.stale(what)
        }
    }
}

fn conf_identity(metadata: &Metadata) -> (Identity, i64, i64) {
    (
        Identity::of(metadata),
        metadata.mtime(),
        metadata.mtime_nsec(),
    )
}

pub(crate) fn satellite(path: &Path, extension: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(".");
    path.push(extension);
    path.into()
}

/// Maps "not found" to `None`.
fn present<T>(found: std::io::Result<T>, path: &Path) -> Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("open", path, error)),
    }
}
