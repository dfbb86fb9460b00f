//! Output to files and streams. A file gets its name when it is complete and synced; any
//! failure leaves no file behind.

use crate::{
    ArrowTarget, Error, Metadata, Result, Target, Written,
    atomic_file::PartialFile,
    compression::{CompressedFile, Compression},
    json_text::pretty_json,
};
use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

/// Buffer for small writes. Rows are written in large pieces past it.
const BUFFER_BYTES: usize = 64 * 1024;

/// An open target. Dropped before [`Self::finish`], it leaves no file.
pub(crate) struct Output {
    writer: BufWriter<Sink>,
    /// The final name of a file; used in errors.
    path: PathBuf,
    /// The name that the caller gave, which may be a link.
    given: PathBuf,
    overwrite: bool,
    /// The file for the metadata, for formats that cannot hold it.
    side: Option<PathBuf>,
    bytes: u64,
    /// The first failure, typed. Encoders receive only an [`io::Error`] and may lose it.
    failure: Option<Error>,
}

enum Sink {
    /// Standard output, a device, a pipe.
    Stream(Box<dyn Write + Send>),
    Temporary(PartialFile),
    Compressed(Box<CompressedFile>),
    /// Takes columns, and no bytes.
    Arrow(ArrowTarget),
}

impl Write for Sink {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stream(stream) => stream.write(data),
            Self::Temporary(file) => file.write(data),
            Self::Compressed(file) => file.write(data),
            Self::Arrow(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stream(stream) => stream.flush(),
            Self::Temporary(file) => file.flush(),
            // The end of the compressed data is written by `finish`.
            Self::Compressed(_) | Self::Arrow(_) => Ok(()),
        }
    }
}

impl Output {
    /// Opens `target`. Fails if it could not be finished. With `side`, the metadata goes to
    /// a file next to it.
    pub(crate) fn open(target: &Target, overwrite: bool, side: bool) -> Result<Self> {
        match target {
            Target::Stdout => {
                let name = target.to_string().into();
                Ok(match bare_stdout() {
                    Some(stdout) => Self::stream(stdout, name),
                    None => Self::stream(io::stdout(), name),
                })
            }
            Target::File(path) => Self::file(path, overwrite, side),
            Target::Memory(file) => Ok(Self::stream(file.clone(), target.to_string().into())),
            Target::Arrow(receiver) => Ok(Self::new(
                Sink::Arrow(receiver.clone()),
                target.to_string().into(),
            )),
        }
    }

    /// The receiver of columns, if the output is one.
    pub(crate) fn arrow(&self) -> Option<&ArrowTarget> {
        match self.writer.get_ref() {
            Sink::Arrow(target) => Some(target),
            _ => None,
        }
    }

    /// Writes to an open stream. `name` is for errors.
    pub(crate) fn stream(stream: impl Write + Send + 'static, name: PathBuf) -> Self {
        Self::new(Sink::Stream(Box::new(stream)), name)
    }

    fn new(sink: Sink, path: PathBuf) -> Self {
        let writer = BufWriter::with_capacity(BUFFER_BYTES, sink);
        Self {
            writer,
            given: path.clone(),
            path,
            overwrite: false,
            side: None,
            bytes: 0,
            failure: None,
        }
    }

    fn file(path: &Path, overwrite: bool, side: bool) -> Result<Self> {
        let failed = |source| io_error(path, source);
        let old = match fs::metadata(path) {
            Ok(found) if found.is_file() && !overwrite => {
                return Err(Error::Exists { path: path.into() });
            }
            Ok(found) if found.is_file() => Some(found.permissions()),
            Ok(found) if found.is_dir() => return Err(failed(io::ErrorKind::IsADirectory.into())),
            // A device or a pipe (/dev/fd/63) is written directly, never replaced.
            Ok(_) => {
                let stream = OpenOptions::new().write(true).open(path).map_err(failed)?;
                widen_pipe(&stream);
                return Ok(Self::stream(stream, path.into()));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error)),
        };
        let given = path.to_path_buf();
        // Other formats have a compression of their own.
        let compression = Compression::of(path).filter(|_| side);
        let side = side.then(|| {
            let mut name = given.clone().into_os_string();
            name.push(".meta.json");
            PathBuf::from(name)
        });
        // A link to a file stays a link, and its target is replaced.
        let path = if old.is_some() {
            fs::canonicalize(path).map_err(failed)?
        } else {
            given.clone()
        };
        if let Some(side) = side.as_ref().filter(|side| !overwrite && side.exists()) {
            return Err(Error::Exists { path: side.clone() });
        }
        let temporary = temporary(&path)?;
        if let Some(permissions) = old {
            temporary
                .as_file()
                .set_permissions(permissions)
                .map_err(|e| io_error(&path, e))?;
        }
        let sink = match compression {
            None => Sink::Temporary(temporary),
            Some(compression) => {
                let file = CompressedFile::new(compression, temporary);
                Sink::Compressed(Box::new(file.map_err(|error| io_error(&path, error))?))
            }
        };
        Ok(Self {
            given,
            overwrite,
            side,
            ..Self::new(sink, path)
        })
    }

    pub(crate) fn put(&mut self, data: &[u8]) -> Result<()> {
        self.write_all(data).map_err(|error| self.failed(error))
    }

    /// Returns the typed failure behind an error of an encoder.
    pub(crate) fn failed(&mut self, error: io::Error) -> Error {
        self.take_failure()
            .unwrap_or_else(|| io_error(&self.path, error))
    }

    /// Takes the first failure of writing, if there was one.
    pub(crate) fn take_failure(&mut self) -> Option<Error> {
        self.failure.take()
    }

    /// Syncs, writes the metadata file if there is one, and gives the file its name last.
    pub(crate) fn finish(mut self, metadata: Option<&Metadata>, rows: u64) -> Result<Written> {
        self.flush().map_err(|error| self.failed(error))?;
        let Self {
            writer,
            path,
            given,
            overwrite,
            side,
            bytes,
            ..
        } = self;
        let sink = writer
            .into_inner()
            .map_err(|error| io_error(&path, error.into_error()))?;
        let mut written = Written {
            path: None,
            metadata_path: None,
            rows: Some(rows),
            bytes,
            notes: Vec::new(),
        };
        let file = match sink {
            Sink::Temporary(file) => file,
            Sink::Compressed(file) => file.finish().map_err(|error| io_error(&path, error))?,
            Sink::Stream(_) | Sink::Arrow(_) => return Ok(written),
        };
        file.as_file()
            .sync_all()
            .map_err(|error| io_error(&path, error))?;
        let side = match (side, metadata) {
            (Some(side), Some(metadata)) => {
                let text = pretty_json(metadata)?;
                let file = temporary(&side)?;
                let written = (file.as_file())
                    .write_all(&text)
                    .and_then(|()| file.as_file().sync_all());
                written.map_err(|error| io_error(&side, error))?;
                let replaced = side.exists();
                persist(file, &side, overwrite)?;
                Some((side, replaced))
            }
            _ => None,
        };
        if let Err(error) = persist(file, &path, overwrite) {
            if let Some((side, false)) = &side {
                // Metadata without its file. If it cannot be removed, the first error matters.
                let _ = fs::remove_file(side);
            }
            return Err(error);
        }
        // Makes the names durable. Not every file system can, and the data is safe already.
        let _ = File::open(folder(&path)).and_then(|folder| folder.sync_all());
        written.path = Some(given);
        written.metadata_path = side.map(|(side, _)| side);
        Ok(written)
    }

    fn note(&mut self, error: io::Error) -> io::Error {
        let kind = error.kind();
        if kind != io::ErrorKind::Interrupted && self.failure.is_none() {
            self.failure = Some(io_error(&self.path, error));
        }
        kind.into()
    }
}

impl Write for Output {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let written = self.writer.write(data).map_err(|error| self.note(error))?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush().map_err(|error| self.note(error))
    }
}

/// Returns standard output without the buffer of the standard library, which searches every
/// piece for its last line end and copies what follows it.
fn bare_stdout() -> Option<File> {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd;
        let mut stdout = io::stdout();
        // Earlier output comes first.
        stdout.flush().ok()?;
        let stdout: File = stdout.as_fd().try_clone_to_owned().ok()?.into();
        widen_pipe(&stdout);
        Some(stdout)
    }
    #[cfg(not(unix))]
    None
}

/// Capacity of a widened pipe: the most that Linux allows without privileges.
#[cfg(target_os = "linux")]
const PIPE_BYTES: i32 = 1 << 20;

/// Widens a pipe from its 64 KiB, where writer and reader wait for each other in turns, so
/// that whole pieces fit. Does nothing if `file` is no pipe or the system refuses.
#[cfg(target_os = "linux")]
fn widen_pipe(file: &File) {
    use nix::fcntl::{FcntlArg, fcntl};
    let is_narrow = fcntl(file, FcntlArg::F_GETPIPE_SZ).is_ok_and(|bytes| bytes < PIPE_BYTES);
    if is_narrow && let Err(error) = fcntl(file, FcntlArg::F_SETPIPE_SZ(PIPE_BYTES)) {
        tracing::debug!(%error, "the pipe stays narrow");
    }
}

#[cfg(not(target_os = "linux"))]
fn widen_pipe(_: &File) {}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Creates a temporary file in the same folder, so that renaming it is atomic.
fn temporary(path: &Path) -> Result<PartialFile> {
    let folder = folder(path);
    if !folder.is_dir() {
        return Err(Error::NoFolder { path: path.into() });
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let prefix = format!(".{name}.");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(".partial");
    // A temporary file is private by default; a result has the permissions of the umask.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    PartialFile::create(&builder, folder).map_err(|error| io_error(path, error))
}

fn persist(file: PartialFile, path: &Path, overwrite: bool) -> Result<()> {
    let renamed = file.persist(path, overwrite);
    match renamed {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(Error::Exists { path: path.into() })
        }
        Err(error) => Err(io_error(path, error)),
    }
}

fn io_error(path: &Path, source: io::Error) -> Error {
    match source.kind() {
        io::ErrorKind::BrokenPipe => Error::BrokenPipe,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Error::NoSpace { path: path.into() }
        }
        _ => Error::Io {
            path: path.into(),
            source,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    #[cfg(target_os = "linux")]
    #[test]
    fn widens_only_pipes() {
        use nix::fcntl::{FcntlArg, fcntl};
        let (_reader, writer) = io::pipe().unwrap();
        let pipe = File::from(std::os::fd::OwnedFd::from(writer));
        let size = || fcntl(&pipe, FcntlArg::F_GETPIPE_SZ).unwrap();
        let before = size();
        widen_pipe(&pipe);
        // A user with many pipes may get no more.
        assert!(size() == PIPE_BYTES || size() == before, "{}", size());
        widen_pipe(&tempfile::tempfile().unwrap());
    }

    fn names(folder: &TempDir) -> Vec<String> {
        let entries = fs::read_dir(folder.path()).unwrap();
        let name =
            |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
        let mut names: Vec<_> = entries.map(name).collect();
        names.sort();
        names
    }

    fn open(path: &Path, overwrite: bool) -> Result<Output> {
        Output::open(&Target::File(path.into()), overwrite, true)
    }

    fn metadata() -> Metadata {
        Metadata::new("test", serde_json::json!({}))
    }

    #[test]
    fn file_gets_its_name_at_the_end() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("out.csv");
        let mut output = open(&path, false).unwrap();
        output.put(b"hello").unwrap();
        assert!(!path.exists());
        assert!(names(&folder).iter().all(|name| name.ends_with(".partial")));
        let written = output.finish(Some(&metadata()), 1).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"hello");
        assert_eq!(names(&folder), ["out.csv", "out.csv.meta.json"]);
        assert_eq!((written.rows, written.bytes), (Some(1), 5));
        assert_eq!(
            written.metadata_path,
            Some(folder.path().join("out.csv.meta.json"))
        );

        assert!(matches!(open(&path, false), Err(Error::Exists { .. })));
        drop(open(&path, true).unwrap());
        assert_eq!(
            fs::read(&path).unwrap(),
            b"hello",
            "dropped: nothing happened"
        );
        let mut output = open(&path, true).unwrap();
        output.put(b"new").unwrap();
        output.finish(Some(&metadata()), 1).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(&folder), ["out.csv", "out.csv.meta.json"]);
    }

    #[test]
    fn file_that_appears_concurrently_is_not_replaced() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("out.csv");
        let output = open(&path, false).unwrap();
        fs::write(&path, "theirs").unwrap();
        assert!(matches!(
            output.finish(Some(&metadata()), 0),
            Err(Error::Exists { .. })
        ));
        assert_eq!(fs::read(&path).unwrap(), b"theirs");
        assert_eq!(names(&folder), ["out.csv"]);
    }

    #[test]
    fn unwritable_targets_fail_on_open() {
        let folder = TempDir::new().unwrap();
        let missing = folder.path().join("no/such/out.csv");
        let error = open(&missing, false).err().unwrap();
        assert!(
            matches!(error, Error::NoFolder { .. }) && error.hint().is_some(),
            "{error}"
        );
        let remote = open(Path::new("s3://bucket/out.csv"), false).err().unwrap();
        assert!(remote.hint().unwrap().contains("copy"), "{remote}");
        assert!(matches!(open(folder.path(), true), Err(Error::Io { .. })));
        fs::write(folder.path().join("a.csv.meta.json"), "").unwrap();
        let error = open(&folder.path().join("a.csv"), false).err().unwrap();
        assert!(
            error
                .to_string()
                .contains("a.csv.meta.json: already exists"),
            "{error}"
        );
    }

    #[cfg(unix)]
    #[test]
    fn permissions_follow_the_umask_or_the_old_file() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = TempDir::new().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let (plain, path) = (folder.path().join("plain"), folder.path().join("out"));
        fs::write(&plain, "").unwrap();
        open(&path, false).unwrap().finish(None, 0).unwrap();
        assert_eq!(mode(&path), mode(&plain));
        fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
        let link = folder.path().join("link");
        symlink(&path, &link).unwrap();
        let mut output = open(&link, true).unwrap();
        output.put(b"through the link").unwrap();
        let written = output.finish(Some(&metadata()), 0).unwrap();
        assert_eq!(written.path.as_ref(), Some(&link));
        let side = folder.path().join("link.meta.json");
        assert_eq!(written.metadata_path, Some(side));
        assert_eq!(mode(&path), 0o640);
        assert_eq!(fs::read(&path).unwrap(), b"through the link");
        assert!(link.is_symlink());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn full_disk_is_an_error_of_its_own() {
        let mut output = open(Path::new("/dev/full"), false).unwrap();
        let failed = output
            .put(&[0; 2 * BUFFER_BYTES])
            .and_then(|()| output.finish(None, 0));
        assert!(matches!(failed, Err(Error::NoSpace { .. })), "{failed:?}");
        // Small enough for the buffer: found at the end.
        let mut output = open(Path::new("/dev/full"), false).unwrap();
        output.put(b"x").unwrap();
        assert!(matches!(output.finish(None, 0), Err(Error::NoSpace { .. })));
    }
}
