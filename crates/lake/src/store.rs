//! Where the files of a lake are: a directory, or a bucket of an object store.
//!
//! Names are relative to the lake, with `/` between their parts. Files of partitions never
//! change, and the manifest is replaced as a whole, so both kinds of places need the same few
//! operations.

#[cfg(feature = "s3")]
use crate::bucket::{Bucket, BucketLock, Object};
use crate::{
    error::{Error, Result, wrong_length},
    names::PARTITIONS,
};
use bytes::{Bytes, BytesMut};
#[cfg(feature = "s3")]
use std::sync::Arc;
use std::{
    fs::{self, File},
    io::{self, ErrorKind},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};
use txgraph_stored::folder::{self, FolderLock, sync_folder};

/// The start of the location of a lake in a bucket.
const SCHEME: &str = "s3://";

/// The place of a lake.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    /// The directory, or the location as it was given.
    path: PathBuf,
    #[cfg(feature = "s3")]
    bucket: Option<Arc<Bucket>>,
}

impl Store {
    /// The place at a path, or at a location `s3://BUCKET/PREFIX`.
    pub(crate) fn at(location: &Path) -> Result<Self> {
        let path = location.to_owned();
        if !is_remote(location) {
            return Ok(Self {
                path,
                #[cfg(feature = "s3")]
                bucket: None,
            });
        }
        #[cfg(feature = "s3")]
        return Ok(Self {
            bucket: Some(Arc::new(Bucket::open(&path)?)),
            path,
        });
        #[cfg(not(feature = "s3"))]
        Err(Error::Options(format!(
            "{} cannot be read: this program was built without the feature `s3`",
            path.display()
        )))
    }

    /// The place, for messages.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is in a bucket.
    pub(crate) fn is_remote(&self) -> bool {
        is_remote(&self.path)
    }

    /// Whether the directory exists. A bucket has no directories.
    pub(crate) fn exists(&self) -> bool {
        #[cfg(feature = "s3")]
        if self.bucket.is_some() {
            return true;
        }
        self.path.is_dir()
    }

    /// Reads a whole file; `None` if it does not exist.
    pub(crate) fn read(&self, name: &str) -> Result<Option<Bytes>> {
        #[cfg(feature = "s3")]
        if let Some(bucket) = &self.bucket {
            return bucket.read(name);
        }
        let path = self.path.join(name);
        match fs::read(&path) {
            Ok(bytes) => Ok(Some(bytes.into())),
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                Ok(None)
            }
            Err(error) => Err(Error::io("read", path, error)),
        }
    }

    /// Opens a file with this many bytes.
    pub(crate) fn open(&self, name: &str, bytes: u64) -> Result<Blob> {
        let path = self.path.join(name);
        #[cfg(feature = "s3")]
        if let Some(bucket) = &self.bucket {
            let object = Object::new(bucket.clone(), name, bytes);
            return Ok(Blob {
                path,
                bytes,
                content: Content::Object(object),
            });
        }
        let file = File::open(&path).map_err(|error| Error::io("open", &path, error))?;
        let metadata = file.metadata();
        let found = metadata.map_err(|error| Error::io("read", &path, error))?;
        if found.len() != bytes {
            return Err(wrong_length(&path, found.len(), bytes));
        }
        Ok(Blob {
            path,
            bytes,
            content: Content::File(file),
        })
    }

    /// Prepares an empty place.
    pub(crate) fn create(&self) -> Result<()> {
        #[cfg(feature = "s3")]
        if self.bucket.is_some() {
            return Ok(());
        }
        let partitions = self.path.join(PARTITIONS);
        fs::create_dir_all(&partitions).map_err(|error| Error::io("create", partitions, error))
    }

    /// Locks the lake for writing, until the returned lock is dropped.
    pub(crate) fn lock(&self) -> Result<Lock> {
        #[cfg(feature = "s3")]
        if let Some(bucket) = &self.bucket {
            return Ok(Lock::Object(bucket.lock()?));
        }
        Ok(Lock::File {
            _lock: folder::lock(&self.path)?,
            staging: self.path.join(PARTITIONS),
        })
    }

    /// Keeps the partitions that a reader may open, until the returned lock is dropped. `None` if
    /// the place has no such locks.
    pub(crate) fn lock_for_reading(&self) -> Option<FolderLock> {
        #[cfg(feature = "s3")]
        if self.bucket.is_some() {
            return None;
        }
        folder::lock_for_reading(&self.path.join(PARTITIONS))
    }

    /// Keeps readers away while partitions are deleted; `None` if there are readers.
    pub(crate) fn lock_unread(&self) -> Result<Option<Unread>> {
        #[cfg(feature = "s3")]
        if self.bucket.is_some() {
            return Ok(Some(Unread { _lock: None }));
        }
        let lock = folder::lock_unread(&self.path.join(PARTITIONS))?;
        Ok(lock.map(|lock| Unread { _lock: Some(lock) }))
    }

    /// Replaces the manifest, which is the file `name`, as a whole.
    pub(crate) fn replace(&self, name: &str, content: &[u8]) -> Result<()> {
        #[cfg(feature = "s3")]
        if let Some(bucket) = &self.bucket {
            return bucket.replace(name, content);
        }
        Ok(folder::replace(&self.path, name, content)?)
    }

    /// Moves a folder with the files of a partition from the staging folder of the lock to its
    /// name.
    pub(crate) fn publish(&self, staged: &Path, name: &str) -> Result<()> {
        #[cfg(feature = "s3")]
        if let Some(bucket) = &self.bucket {
            return bucket.publish(staged, &format!("{PARTITIONS}/{name}"));
        }
        Ok(folder::publish(staged, &self.path.join(PARTITIONS), name)?)
    }

    /// The names in the folder of partitions.
    pub(crate) fn partitions(&self) -> Result<Vec<String>> {
        #[cfg(feature = "s3")]
        if let Some(bucket) = &self.bucket {
            return bucket.folders(PARTITIONS);
        }
        let names = folder::names(&self.path.join(PARTITIONS))?.unwrap_or_default();
        let names = names.into_iter();
        Ok(names.filter_map(|name| name.into_string().ok()).collect())
    }

    pub(crate) fn remove_partition(&self, name: &str) -> Result<()> {
        #[cfg(feature = "s3")]
        if let Some(bucket) = &self.bucket {
            return bucket.remove_folder(&format!("{PARTITIONS}/{name}"));
        }
        let path = self.path.join(PARTITIONS).join(name);
        folder::step("remove", &path);
        fs::remove_dir_all(&path).map_err(|error| Error::io("remove", path, error))
    }

    /// Makes the removal of partitions durable.
    pub(crate) fn sync_partitions(&self) -> Result<()> {
        #[cfg(feature = "s3")]
        if self.bucket.is_some() {
            return Ok(());
        }
        Ok(sync_folder(&self.path.join(PARTITIONS))?)
    }
}

/// Whether a location is in a bucket, and not a path.
fn is_remote(location: &Path) -> bool {
    let text = location.to_str();
    text.is_some_and(|text| text.starts_with(SCHEME))
}

/// Keeps readers away until it is dropped, if the place has such locks.
#[derive(Debug)]
pub(crate) struct Unread {
    _lock: Option<FolderLock>,
}

/// Keeps other writers away until it is dropped.
#[derive(Debug)]
pub(crate) enum Lock {
    File {
        _lock: FolderLock,
        staging: PathBuf,
    },
    #[cfg(feature = "s3")]
    Object(BucketLock),
}

impl Lock {
    /// The local folder in which partitions are written before they are published.
    pub(crate) fn staging(&self) -> &Path {
        match self {
            Self::File { staging, .. } => staging,
            #[cfg(feature = "s3")]
            Self::Object(lock) => lock.staging(),
        }
    }
}

/// A file that is read in pieces, on several threads.
#[derive(Debug)]
pub(crate) struct Blob {
    path: PathBuf,
    bytes: u64,
    content: Content,
}

#[derive(Debug)]
enum Content {
    File(File),
    #[cfg(feature = "s3")]
    Object(Object),
}

impl Blob {
    /// The path, for messages.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The length.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Reads bytes that are within the file.
    pub(crate) fn read_at(&self, start: u64, length: u64) -> Result<Bytes> {
        let failed = |error| Error::io("read", &self.path, error);
        let length =
            usize::try_from(length).map_err(|_| failed(io::ErrorKind::OutOfMemory.into()))?;
        match &self.content {
            Content::File(file) => {
                let mut bytes = BytesMut::zeroed(length);
                file.read_exact_at(&mut bytes, start).map_err(failed)?;
                Ok(bytes.freeze())
            }
            #[cfg(feature = "s3")]
            Content::Object(object) => object.read_at(start, length),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_locations_with_the_scheme_are_buckets() {
        assert!(is_remote(Path::new("s3://bucket/x")));
        for local in ["./s3://bucket", "/s3://b", "s3:/b", "x.lake", ""] {
            assert!(!is_remote(Path::new(local)), "{local}");
        }
    }

    #[cfg(not(feature = "s3"))]
    #[test]
    fn refuses_buckets_without_the_feature() {
        let error = Store::at(Path::new("s3://bucket/x")).unwrap_err();
        assert!(matches!(error, Error::Options(_)), "{error}");
        assert!(error.to_string().contains("feature `s3`"), "{error}");
    }
}
