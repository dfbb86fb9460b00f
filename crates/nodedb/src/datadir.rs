//! The paths of a data directory (`crates/node/core/src/dirs.rs` of reth), and the first
//! checks of a given path.

use crate::{Error, Result, escape::escaped, files::open_regular};
use std::{
    fs,
    io::{ErrorKind, Read},
    path::{Path, PathBuf},
};

/// The content of `db/database.version` since reth 1.0. Storage v2 did not change it.
const DATABASE_VERSION: u64 = 2;
/// A decimal `u64` is shorter.
const VERSION_BYTES_MAX: u64 = 64;

/// The paths of a data directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DataDir {
    /// The directory that contains `db/`, e.g. `~/.local/share/reth/mainnet` (`--datadir` of
    /// reth).
    pub root: PathBuf,
    /// The static files, `root/static_files` by default (`--datadir.static-files` of reth).
    pub static_files: Option<PathBuf>,
    /// RocksDB, `root/rocksdb` by default (`--datadir.rocksdb` of reth).
    pub rocksdb: Option<PathBuf>,
}

impl DataDir {
    /// Creates the default paths below a directory.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            static_files: None,
            rocksdb: None,
        }
    }

    /// Returns the path of the MDBX environment.
    pub fn db_path(&self) -> PathBuf {
        self.root.join("db")
    }

    /// Returns the path of the static files.
    pub fn static_files_path(&self) -> PathBuf {
        self.static_files
            .clone()
            .unwrap_or_else(|| self.root.join("static_files"))
    }

    /// Returns the path of RocksDB, which does not exist before reth 2.0.
    pub fn rocksdb_path(&self) -> PathBuf {
        self.rocksdb
            .clone()
            .unwrap_or_else(|| self.root.join("rocksdb"))
    }

    /// Checks that the directory is complete. The messages are more precise than libmdbx's.
    pub(crate) fn check(&self) -> Result<()> {
        let root = &self.root;
        let refuse = |what: String| {
            Err(Error::NotADataDir {
                path: root.clone(),
                what,
            })
        };
        match fs::metadata(root) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => return refuse("it is a file; use the directory that contains db/".into()),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return refuse("there is no such directory".into());
            }
            Err(error) => return Err(Error::io("open", root, error)),
        }
        let data_file = self.db_path().join("mdbx.dat");
        if let Err(error) = fs::metadata(&data_file) {
            if error.kind() != ErrorKind::NotFound {
                return Err(Error::io("open", data_file, error));
            }
            return refuse(format!("it has no db/mdbx.dat{}", hint(root)));
        }
        if let Err(error) = fs::read_dir(self.static_files_path()) {
            if error.kind() != ErrorKind::NotFound {
                return Err(Error::io("list", self.static_files_path(), error));
            }
            return Err(Error::NoStaticFiles {
                path: self.static_files_path(),
            });
        }
        self.check_version()
    }

    /// A missing file is not an error: after `reth db migrate-v2` there is none until the
    /// next start of the node.
    fn check_version(&self) -> Result<()> {
        let path = self.db_path().join("database.version");
        let (file, _) = match open_regular(&path) {
            Ok(opened) => opened,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(Error::io("open", path, error)),
        };
        let mut text = String::new();
        if let Err(error) = file.take(VERSION_BYTES_MAX).read_to_string(&mut text) {
            return Err(Error::io("read", path, error));
        }
        match text.trim().parse::<u64>() {
            Ok(DATABASE_VERSION) => Ok(()),
            Ok(other) => Err(Error::Unsupported {
                path,
                what: format!(
                    "database version {other}; supported is {DATABASE_VERSION} (reth 1.0 to 2.5)"
                ),
            }),
            Err(_) => Err(Error::corrupt(path, "it does not contain a decimal number")),
        }
    }
}

/// Folders that an error suggests at most.
const HINTED_MAX: usize = 5;

/// Suggests the path that was probably meant.
fn hint(root: &Path) -> String {
    if root.join("mdbx.dat").exists() {
        return "; this is the db directory itself: use its parent".into();
    }
    let mut chains: Vec<_> = fs::read_dir(root)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.path().join("db/mdbx.dat").exists())
        .map(|entry| escaped(&entry.file_name().to_string_lossy()))
        .collect();
    chains.sort();
    match chains.as_slice() {
        [] => String::new(),
        [one] => format!("; did you mean {}?", root.join(one).display()),
        many => {
            let named = many[..many.len().min(HINTED_MAX)].join(", ");
            let dots = if many.len() > HINTED_MAX { ", …" } else { "" };
            format!("; did you mean one of its folders ({named}{dots})?")
        }
    }
}
