//! The folder of a run as objects: below a path that all hosts share, or in a bucket.
//!
//! The driver and the executors write objects whole, under names of which each is used once, and
//! never change them. So none is ever read half-written, and a task that is repeated disturbs
//! nothing.

use crate::{Error, Result};
use datafusion::object_store::{
    Error as StoreError, GetOptions, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode,
    local::LocalFileSystem, path::Path as Key,
};
use futures::TryStreamExt;
use std::{
    fmt, fs, io,
    ops::Range,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio::runtime::Runtime;
use txgraph_stored::folder::{self, FolderError, FolderLock, LOCK_FILE};

/// The beginning of the location of a bucket.
const BUCKET: &str = "s3://";

/// The objects of a run.
pub(crate) struct Store {
    location: String,
    client: Arc<dyn ObjectStore>,
    /// Before the names of objects; empty for a folder.
    prefix: Key,
    folder: Option<PathBuf>,
    /// The bytes of objects that this process read.
    received: AtomicU64,
}

/// The lock of a driver.
#[derive(Debug)]
pub(crate) struct StoreLock {
    store: Arc<Store>,
    _folder: Option<FolderLock>,
}

impl Drop for StoreLock {
    fn drop(&mut self) {
        if self.store.folder.is_none()
            && let Err(error) = self.store.remove(LOCK_FILE)
        {
            tracing::warn!("{error}");
        }
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Store").field(&self.location).finish()
    }
}

/// The threads of requests, also in processes that have others.
fn runtime() -> Result<&'static Runtime> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("objects")
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| Error::Plan(format!("threads for files: {error}")))?;
    Ok(RUNTIME.get_or_init(|| runtime))
}

impl Store {
    /// Opens a folder, or a prefix of a bucket: `s3://BUCKET/PREFIX`.
    pub(crate) fn open(location: &str) -> Result<Self> {
        if location.starts_with(BUCKET) {
            return Self::bucket(location);
        }
        let path = Path::new(location);
        // Executors have other working directories.
        let folder = path.canonicalize().map_err(|error| {
            Error::io(path, error)
                .hint("the folder of a run must be at the same path on all hosts, or in a bucket")
        })?;
        let client = LocalFileSystem::new_with_prefix(&folder)
            .map_err(|error| Error::io(&folder, io::Error::other(error)))?;
        Ok(Self {
            location: folder.display().to_string(),
            client: Arc::new(client.with_automatic_cleanup(true)),
            prefix: Key::default(),
            folder: Some(folder),
            received: AtomicU64::new(0),
        })
    }

    /// Opens a store, or returns the one that another task of this process opened.
    pub(crate) fn shared(location: &str) -> Result<Arc<Self>> {
        static OPEN: Mutex<Option<Arc<Store>>> = Mutex::new(None);
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        match &*open {
            Some(store) if store.location == location => Ok(store.clone()),
            _ => Ok(open.insert(Arc::new(Self::open(location)?)).clone()),
        }
    }

    #[cfg(feature = "s3")]
    fn bucket(location: &str) -> Result<Self> {
        let invalid = |what: String| Error::Usage(format!("{location}: {what}"));
        let rest = location.strip_prefix(BUCKET).unwrap_or_default();
        let (name, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let prefix = Key::parse(prefix.trim_end_matches('/'));
        // Without encryption only if the endpoint of the environment begins with `http:`.
        let client = object_store::aws::AmazonS3Builder::from_env()
            .with_bucket_name(name)
            .with_allow_http(true)
            .build();
        Ok(Self {
            location: location.to_owned(),
            client: Arc::new(client.map_err(|error| invalid(error.to_string()))?),
            prefix: prefix.map_err(|error| invalid(error.to_string()))?,
            folder: None,
            received: AtomicU64::new(0),
        })
    }

    #[cfg(not(feature = "s3"))]
    fn bucket(location: &str) -> Result<Self> {
        Err(Error::Usage(format!(
            "{location} is in a bucket, and this program was built without the feature `s3`"
        )))
    }

    /// Where it is, for this and other processes.
    pub(crate) fn location(&self) -> &str {
        &self.location
    }

    /// Locks it for the only driver that works on it.
    pub(crate) fn lock(self: &Arc<Self>) -> Result<StoreLock> {
        let of_folder = |error: FolderError| Error::run(self.location.as_ref(), error.to_string());
        let lock = self.folder().map(folder::lock).transpose();
        let lock = lock.map_err(of_folder)?;
        let owner = format!("process {}\n", std::process::id()).into_bytes();
        if lock.is_none() && !self.create(LOCK_FILE, owner)? {
            let reason = "another driver works on it; if none does, delete the object LOCK";
            return Err(Error::run(self.location.as_ref(), reason));
        }
        Ok(StoreLock {
            store: self.clone(),
            _folder: lock,
        })
    }

    /// The bytes of objects that this process read.
    pub(crate) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// The place of an object, for messages.
    pub(crate) fn place(&self, name: &str) -> PathBuf {
        Path::new(&self.location).join(name)
    }

    /// The folder, if it is one.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    fn key(&self, name: &str) -> Key {
        let parts = name.split('/').filter(|part| !part.is_empty());
        parts.fold(self.prefix.clone(), |key, part| key.join(part))
    }

    fn failed(&self, name: &str, error: StoreError) -> Error {
        Error::io(&self.place(name), io::Error::other(error))
    }

    /// Reads an object; `None` if it does not exist.
    pub(crate) fn read(&self, name: &str) -> Result<Option<bytes::Bytes>> {
        self.get(name, GetOptions::default())
    }

    /// Reads some bytes of an object, or fewer if it is shorter.
    pub(crate) fn read_range(&self, name: &str, bytes: Range<u64>) -> Result<Option<bytes::Bytes>> {
        self.get(name, GetOptions::new().with_range(Some(bytes)))
    }

    fn get(&self, name: &str, options: GetOptions) -> Result<Option<bytes::Bytes>> {
        let key = self.key(name);
        let read = async { self.client.get_opts(&key, options).await?.bytes().await };
        match runtime()?.block_on(read) {
            Ok(bytes) => {
                self.received
                    .fetch_add(bytes.len() as u64, Ordering::Relaxed);
                Ok(Some(bytes))
            }
            Err(StoreError::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.failed(name, error)),
        }
    }

    /// Writes an object. Returns false if there is one of this name already.
    pub(crate) fn create(&self, name: &str, content: Vec<u8>) -> Result<bool> {
        match self.put(name, content, PutMode::Create) {
            Ok(()) => self.sync(name).map(|()| true),
            Err(StoreError::AlreadyExists { .. } | StoreError::Precondition { .. }) => Ok(false),
            Err(error) => Err(self.failed(name, error)),
        }
    }

    /// Writes an object instead of the one of this name.
    pub(crate) fn replace(&self, name: &str, content: Vec<u8>) -> Result<()> {
        self.put(name, content, PutMode::Overwrite)
            .map_err(|error| self.failed(name, error))
    }

    fn put(&self, name: &str, content: Vec<u8>, mode: PutMode) -> Result<(), StoreError> {
        let key = self.key(name);
        let put = self.client.put_opts(&key, content.into(), mode.into());
        let other = |error: Error| StoreError::Generic {
            store: "threads",
            source: Box::new(error),
        };
        runtime().map_err(other)?.block_on(put).map(drop)
    }

    /// Waits until an object is on the disk, if it is in a folder.
    pub(crate) fn sync(&self, name: &str) -> Result<()> {
        let Some(folder) = &self.folder else {
            return Ok(());
        };
        let path = folder.join(name);
        let file = fs::File::open(&path).and_then(|file| file.sync_all());
        file.map_err(|error| Error::io(&path, error))?;
        let parent = path.parent().unwrap_or(folder);
        folder::sync_folder(parent).map_err(|error| Error::run(parent, error.to_string()))
    }

    /// The objects in a folder: their names below it, and their bytes. In no order.
    pub(crate) fn list(&self, folder: &str) -> Result<Vec<(String, ObjectMeta)>> {
        let key = self.key(folder);
        let found: Result<Vec<_>, _> =
            runtime()?.block_on(self.client.list(Some(&key)).try_collect());
        let found = found.map_err(|error| self.failed(folder, error))?;
        let named = found.into_iter().filter_map(|object| {
            let name = {
                let below = object.location.prefix_match(&key)?;
                let parts: Vec<_> = below.map(|part| part.as_ref().to_owned()).collect();
                parts.join("/")
            };
            Some((name, object))
        });
        Ok(named.collect())
    }

    /// The names of the folders in a folder, ascending.
    pub(crate) fn folders(&self, folder: &str) -> Result<Vec<String>> {
        let key = self.key(folder);
        let list = runtime()?.block_on(self.client.list_with_delimiter(Some(&key)));
        let list = list.map_err(|error| self.failed(folder, error))?;
        let names = list.common_prefixes.iter();
        let mut names: Vec<_> = names
            .filter_map(|prefix| Some(prefix.filename()?.to_owned()))
            .collect();
        names.sort_unstable();
        Ok(names)
    }

    /// Deletes an object.
    pub(crate) fn remove(&self, name: &str) -> Result<()> {
        match runtime()?.block_on(self.client.delete(&self.key(name))) {
            Ok(()) | Err(StoreError::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.failed(name, error)),
        }
    }

    /// Deletes the objects in a folder.
    pub(crate) fn remove_folder(&self, folder: &str) -> Result<()> {
        for (name, _) in self.list(folder)? {
            self.remove(&format!("{folder}/{name}"))?;
        }
        Ok(())
    }
}
