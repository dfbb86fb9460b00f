//! A lake in a bucket of an object store with the interface of S3.
//!
//! The client is asynchronous. Its runtime is in this file, and each function waits for its
//! requests, so that the rest of the crate is the same for files and objects.

use crate::{
    error::{Error, Result, damaged, wrong_length},
    names::FILE,
};
use bytes::{Bytes, BytesMut};
use object_store::{
    BackoffConfig, Error as StoreError, GetOptions, GetRange, ObjectStore, ObjectStoreExt, PutMode,
    PutPayload, RetryConfig, UpdateVersion,
    aws::{AmazonS3, AmazonS3Builder},
    path::Path as Key,
};
use std::{
    collections::{HashMap, VecDeque},
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tempfile::TempDir;
use tokio::runtime::{self, Runtime};
use txgraph_stored::folder::{FolderError, LOCK_FILE, step};

/// The bytes that one request reads at least. Requests take so long that more bytes cost less
/// than more requests.
const SPAN_BYTES: u64 = 1 << 20;
/// The number of spans that are kept.
const SPANS: usize = 256;

/// Objects below a prefix of a bucket.
pub(crate) struct Bucket {
    /// As it was given, for messages.
    location: PathBuf,
    name: String,
    prefix: Key,
    client: AmazonS3,
    runtime: Runtime,
    spans: Mutex<Spans>,
    next_object: AtomicU64,
    /// The version of the manifest that was last read or written; `None` if it did not exist.
    manifest: Mutex<Option<UpdateVersion>>,
}

impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Bucket").field(&self.location).finish()
    }
}

impl Bucket {
    /// Prepares to read `s3://BUCKET/PREFIX`, with credentials, region and endpoint from the
    /// environment. Sends no request.
    pub(crate) fn open(location: &Path) -> Result<Self> {
        let invalid = |what: String| Error::Options(format!("{}: {what}", location.display()));
        let text = location.to_str().unwrap_or_default();
        let rest = text.split_once("://").map_or("", |(_, rest)| rest);
        let (name, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if name.is_empty() {
            return Err(invalid("the location names no bucket".to_owned()));
        }
        let prefix =
            Key::parse(prefix.trim_end_matches('/')).map_err(|error| invalid(error.to_string()))?;
        let retry = RetryConfig {
            backoff: BackoffConfig::default(),
            max_retries: 4,
            retry_timeout: Duration::from_secs(60),
        };
        // Without encryption only if the endpoint of the environment begins with `http:`.
        let client = AmazonS3Builder::from_env()
            .with_bucket_name(name)
            .with_allow_http(true)
            .with_retry(retry)
            .build()
            .map_err(|error| invalid(error.to_string()))?;
        let runtime = runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("s3")
            .enable_all()
            .build()
            .map_err(|error| Error::io("start a thread for", location, error))?;
        Ok(Self {
            location: location.to_owned(),
            name: name.to_owned(),
            prefix,
            client,
            runtime,
            spans: Mutex::default(),
            next_object: AtomicU64::new(0),
            manifest: Mutex::new(None),
        })
    }

    fn key(&self, name: &str) -> Key {
        let parts = name.split('/');
        parts.fold(self.prefix.clone(), |key, part| key.join(part))
    }

    /// Describes an error of the server or the connection.
    fn failed(&self, action: &'static str, name: &str, error: &StoreError) -> Error {
        let text = error.to_string();
        let answer = answer(&text).unwrap_or_else(|| text.clone());
        let (kind, what) = match error {
            _ if lacks_bucket(error) => (
                io::ErrorKind::NotFound,
                format!("there is no bucket `{}`", self.name),
            ),
            StoreError::NotFound { .. } => (
                io::ErrorKind::NotFound,
                "the object does not exist".to_owned(),
            ),
            StoreError::PermissionDenied { .. } | StoreError::Unauthenticated { .. } => (
                io::ErrorKind::PermissionDenied,
                format!("the server refuses the credentials of the environment ({answer})"),
            ),
            _ => (io::ErrorKind::Other, answer),
        };
        let path = self.location.join(name);
        Error::io(action, path, io::Error::new(kind, what))
    }

    /// Reads an object; `None` if it does not exist.
    pub(crate) fn read(&self, name: &str) -> Result<Option<Bytes>> {
        let key = self.key(name);
        let read = self.runtime.block_on(async {
            let found = self.client.get(&key).await?;
            let version = UpdateVersion {
                e_tag: found.meta.e_tag.clone(),
                version: found.meta.version.clone(),
            };
            Ok::<_, StoreError>((found.bytes().await?, version))
        });
        let (read, version) = match read {
            Ok((bytes, version)) => (Some(bytes), Some(version)),
            Err(error @ StoreError::NotFound { .. }) if !lacks_bucket(&error) => (None, None),
            Err(error) => return Err(self.failed("read", name, &error)),
        };
        if name == FILE {
            *lock(&self.manifest) = version;
        }
        Ok(read)
    }

    /// Replaces the manifest. Fails if another process replaced it after it was last read or
    /// written, on servers that can compare the two.
    pub(crate) fn replace(&self, name: &str, content: &[u8]) -> Result<()> {
        let key = self.key(name);
        let mut known = lock(&self.manifest);
        let mode = match &*known {
            None => PutMode::Create,
            Some(version) if version.e_tag.is_some() => PutMode::Update(version.clone()),
            Some(_) => PutMode::Overwrite,
        };
        let content = Bytes::copy_from_slice(content);
        step("write", &self.location.join(name));
        let put = |mode: PutMode| {
            let payload = PutPayload::from(content.clone());
            let put = self.client.put_opts(&key, payload, mode.into());
            self.runtime.block_on(put)
        };
        let put = match put(mode) {
            Err(StoreError::NotImplemented { .. }) => put(PutMode::Overwrite),
            put => put,
        };
        match put {
            Ok(put) => {
                *known = Some(UpdateVersion {
                    e_tag: put.e_tag,
                    version: put.version,
                });
                Ok(())
            }
            Err(StoreError::Precondition { .. } | StoreError::AlreadyExists { .. }) => {
                Err(FolderError::Locked {
                    path: self.location.clone(),
                }
                .into())
            }
            Err(error) => Err(self.failed("write", name, &error)),
        }
    }

    /// Creates the object that marks the lake as being written.
    pub(crate) fn lock(self: &Arc<Self>) -> Result<BucketLock> {
        let staging = tempfile::tempdir()
            .map_err(|error| Error::io("create a folder in", std::env::temp_dir(), error))?;
        let key = self.key(LOCK_FILE);
        let content = format!("written by process {}\n", std::process::id());
        let put = |mode: PutMode| {
            let put = self
                .client
                .put_opts(&key, content.clone().into(), mode.into());
            self.runtime.block_on(put)
        };
        let locked = || {
            let path = self.location.join(LOCK_FILE);
            Error::InUse(format!(
                "{} exists: another process writes the lake, or was killed while it did; delete this \
                 object when no process writes the lake",
                path.display()
            ))
        };
        let put = match put(PutMode::Create) {
            // The server cannot create exclusively.
            Err(StoreError::NotImplemented { .. }) => {
                if self.read(LOCK_FILE)?.is_some() {
                    return Err(locked());
                }
                put(PutMode::Overwrite)
            }
            put => put,
        };
        match put {
            Ok(_) => Ok(BucketLock {
                bucket: self.clone(),
                staging,
            }),
            Err(StoreError::AlreadyExists { .. } | StoreError::Precondition { .. }) => {
                Err(locked())
            }
            Err(error) => Err(self.failed("write", LOCK_FILE, &error)),
        }
    }

    /// Uploads the files of a local folder, and deletes the folder.
    pub(crate) fn publish(&self, staged: &Path, folder: &str) -> Result<()> {
        let failed = |error| Error::io("read", staged, error);
        for entry in fs::read_dir(staged).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            let name = format!("{folder}/{file}");
            let content = fs::read(&path).map_err(|error| Error::io("read", &path, error))?;
            let key = self.key(&name);
            step("write", &self.location.join(&name));
            let put = self.client.put(&key, Bytes::from(content).into());
            let put = self.runtime.block_on(put);
            put.map_err(|error| self.failed("write", &name, &error))?;
        }
        fs::remove_dir_all(staged).map_err(|error| Error::io("remove", staged, error))
    }

    pub(crate) fn folders(&self, folder: &str) -> Result<Vec<String>> {
        let key = self.key(folder);
        let list = self.client.list_with_delimiter(Some(&key));
        let list = self.runtime.block_on(list);
        let list = list.map_err(|error| self.failed("list", folder, &error))?;
        let prefixes = list.common_prefixes.iter();
        Ok(prefixes
            .filter_map(|prefix| Some(prefix.filename()?.to_owned()))
            .collect())
    }

    /// Deletes the objects in a folder.
    pub(crate) fn remove_folder(&self, folder: &str) -> Result<()> {
        let key = self.key(folder);
        let removed = self.runtime.block_on(async {
            for object in self.client.list_with_delimiter(Some(&key)).await?.objects {
                step("remove", &self.location.join(folder));
                self.client.delete(&object.location).await?;
            }
            Ok::<_, StoreError>(())
        });
        removed.map_err(|error| self.failed("remove", folder, &error))
    }
}

/// Whether the server answers that the bucket, and not an object in it, does not exist.
fn lacks_bucket(error: &StoreError) -> bool {
    error.to_string().contains("<Code>NoSuchBucket</Code>")
}

/// The code and the message in an answer of the server.
fn answer(text: &str) -> Option<String> {
    let element = |name: &str| {
        let (_, rest) = text.split_once(&format!("<{name}>"))?;
        Some(rest.split_once(&format!("</{name}>"))?.0)
    };
    Some(format!("{}: {}", element("Code")?, element("Message")?))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The lock of a writer: an object that is deleted at its end.
#[derive(Debug)]
pub(crate) struct BucketLock {
    bucket: Arc<Bucket>,
    staging: TempDir,
}

impl BucketLock {
    /// The local folder for partitions that are being written.
    pub(crate) fn staging(&self) -> &Path {
        self.staging.path()
    }
}

impl Drop for BucketLock {
    fn drop(&mut self) {
        let Bucket {
            client, runtime, ..
        } = &*self.bucket;
        let key = self.bucket.key(LOCK_FILE);
        if let Err(error) = runtime.block_on(client.delete(&key)) {
            tracing::warn!(lake = %self.bucket.location.display(), %error, "the lock is left");
        }
    }
}

/// An object of known length, which does not change.
#[derive(Debug)]
pub(crate) struct Object {
    bucket: Arc<Bucket>,
    name: String,
    /// Distinguishes it among the spans of its bucket.
    number: u64,
    bytes: u64,
}

impl Object {
    pub(crate) fn new(bucket: Arc<Bucket>, name: &str, bytes: u64) -> Self {
        Self {
            number: bucket.next_object.fetch_add(1, Ordering::Relaxed),
            bucket,
            name: name.to_owned(),
            bytes,
        }
    }

    /// Reads bytes that are within the object, through the spans that are kept.
    pub(crate) fn read_at(&self, start: u64, length: usize) -> Result<Bytes> {
        if length == 0 {
            return Ok(Bytes::new());
        }
        let end = start.saturating_add(length as u64).min(self.bytes);
        let numbers = start / SPAN_BYTES..end.div_ceil(SPAN_BYTES);
        let first = numbers.start * SPAN_BYTES;
        let mut spans: Vec<Option<Bytes>> = {
            let kept = lock(&self.bucket.spans);
            let kept = |number| kept.bytes.get(&(self.number, number)).cloned();
            numbers.clone().map(kept).collect()
        };
        let missing = spans.iter().position(Option::is_none);
        if let (Some(from), Some(to)) = (missing, spans.iter().rposition(Option::is_none)) {
            let at = first + from as u64 * SPAN_BYTES;
            let until = (first + (to as u64 + 1) * SPAN_BYTES).min(self.bytes);
            let read = self.request(at, until)?;
            let size = usize::try_from(SPAN_BYTES).unwrap_or(usize::MAX);
            let mut kept = lock(&self.bucket.spans);
            for (at, span) in (from..=to).zip(0..) {
                let bytes = read.slice(span * size..((span + 1) * size).min(read.len()));
                let bytes = match from == to {
                    true => bytes,
                    // A slice would keep the bytes of all of them.
                    false => Bytes::copy_from_slice(&bytes),
                };
                kept.keep((self.number, numbers.start + at as u64), &bytes);
                spans[at] = Some(bytes);
            }
        }
        let skip = usize::try_from(start - first).unwrap_or(usize::MAX);
        let spans: Vec<Bytes> = spans.into_iter().flatten().collect();
        if let [span] = &spans[..] {
            return Ok(span.slice(skip..skip + length));
        }
        let mut whole = BytesMut::with_capacity(spans.iter().map(Bytes::len).sum());
        for span in &spans {
            whole.extend_from_slice(span);
        }
        Ok(whole.freeze().slice(skip..skip + length))
    }

    /// Requests bytes from the server, and checks the length of the object.
    fn request(&self, start: u64, end: u64) -> Result<Bytes> {
        let bucket = &*self.bucket;
        let key = bucket.key(&self.name);
        let path = bucket.location.join(&self.name);
        let options = GetOptions {
            range: Some(GetRange::Bounded(start..end)),
            ..GetOptions::default()
        };
        let read = bucket.runtime.block_on(async {
            let found = bucket.client.get_opts(&key, options).await?;
            let length = found.meta.size;
            Ok::<_, StoreError>((found.bytes().await?, length))
        });
        match read {
            Ok((_, length)) if length != self.bytes => Err(wrong_length(&path, length, self.bytes)),
            Ok((bytes, _)) if bytes.len() as u64 != end - start => Err(damaged(
                path,
                format!(
                    "the server returned {} bytes instead of {}",
                    bytes.len(),
                    end - start
                ),
            )),
            Ok((bytes, _)) => Ok(bytes),
            Err(
                error @ (StoreError::NotFound { .. }
                | StoreError::PermissionDenied { .. }
                | StoreError::Unauthenticated { .. }),
            ) => Err(bucket.failed("read", &self.name, &error)),
            // A range behind the end of a truncated object is an error of the server.
            Err(error) => match bucket.runtime.block_on(bucket.client.head(&key)) {
                Ok(meta) if meta.size != self.bytes => {
                    Err(wrong_length(&path, meta.size, self.bytes))
                }
                _ => Err(bucket.failed("read", &self.name, &error)),
            },
        }
    }
}

/// Parts of objects that were read, without those that were read first.
#[derive(Debug, Default)]
struct Spans {
    bytes: HashMap<(u64, u64), Bytes>,
    order: VecDeque<(u64, u64)>,
}

impl Spans {
    fn keep(&mut self, place: (u64, u64), bytes: &Bytes) {
        if self.bytes.insert(place, bytes.clone()).is_some() {
            return;
        }
        self.order.push_back(place);
        if self.order.len() > SPANS
            && let Some(oldest) = self.order.pop_front()
        {
            self.bytes.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_object_is_no_missing_bucket() {
        let missing = |code: &str| StoreError::NotFound {
            path: "no bucket/manifest.json".to_owned(),
            source: format!("<Error><Code>{code}</Code></Error>").into(),
        };
        assert!(lacks_bucket(&missing("NoSuchBucket")));
        assert!(!lacks_bucket(&missing("NoSuchKey")));
    }

    #[test]
    fn errors_of_the_server_are_shortened() {
        let text = "status 403: <Error><Code>AccessDenied</Code><Message>No.</Message></Error>";
        assert_eq!(answer(text).as_deref(), Some("AccessDenied: No."));
        assert_eq!(answer("connection refused"), None);
    }

    /// With the server of `scripts/lake-s3.sh`.
    #[test]
    fn a_newer_manifest_is_not_replaced() {
        let Ok(name) = std::env::var("TXGRAPH_S3_BUCKET") else {
            return;
        };
        let location = PathBuf::from(format!("s3://{name}/versions"));
        let [first, second] = [0, 1].map(|_| Bucket::open(&location).unwrap());
        for bucket in [&first, &second] {
            assert_eq!(bucket.read(FILE).unwrap(), None);
        }
        first.replace(FILE, b"1").unwrap();
        let error = second.replace(FILE, b"2").unwrap_err();
        assert!(error.is_locked(), "{error}");
        assert_eq!(second.read(FILE).unwrap().as_deref(), Some(&b"1"[..]));
        second.replace(FILE, b"2").unwrap();
        second.replace(FILE, b"3").unwrap();
        let error = first.replace(FILE, b"4").unwrap_err();
        assert!(error.is_locked(), "{error}");
        assert_eq!(first.read(FILE).unwrap().as_deref(), Some(&b"3"[..]));
    }

    #[test]
    fn oldest_spans_are_dropped() {
        let mut spans = Spans::default();
        for number in 0..SPANS as u64 + 10 {
            spans.keep((1, number), &Bytes::from_static(b"x"));
            spans.keep((1, number), &Bytes::from_static(b"x"));
        }
        assert_eq!(spans.bytes.len(), SPANS);
        assert!(!spans.bytes.contains_key(&(1, 9)) && spans.bytes.contains_key(&(1, 10)));
    }
}
