//! Files and directories that are read, into which nothing is written.

use crate::{Error, Result};
use std::{
    fs,
    path::{Path, PathBuf},
};
use txgraph_nodedb::DataDir;

/// Links that are followed from one path, as in Linux.
const LINKS_MAX: usize = 40;

/// The directories of a node and the files of a query, into which nothing is ever written.
#[derive(Clone, Debug, Default)]
pub struct ProtectedPaths {
    /// Resolved. Everything inside them is protected.
    directories: Vec<PathBuf>,
    /// Resolved. Files that are read, and files of the node that links in its directories point to.
    files: Vec<PathBuf>,
}

impl ProtectedPaths {
    /// The parts of a data directory, wherever they are and wherever links lead.
    pub fn data_directory(dir: &DataDir) -> Self {
        let parts = [
            dir.root.clone(),
            dir.db_path(),
            dir.static_files_path(),
            dir.rocksdb_path(),
        ];
        let mut protected = Self::default();
        for part in parts {
            let entries = fs::read_dir(&part).into_iter().flatten().flatten();
            let is_link = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|t| t.is_symlink());
            for link in entries.filter(is_link).map(|entry| entry.path()) {
                let places = if link.is_dir() {
                    &mut protected.directories
                } else {
                    &mut protected.files
                };
                places.push(resolve(&link));
            }
            protected.directories.push(resolve(&part));
        }
        protected
    }

    /// Adds other directories and files.
    pub fn add(&mut self, other: &Self) {
        self.directories.extend_from_slice(&other.directories);
        self.files.extend_from_slice(&other.files);
    }

    /// A directory that is read.
    #[cfg(feature = "lake")]
    pub(crate) fn directory(path: &Path) -> Self {
        Self {
            directories: vec![resolve(path)],
            files: Vec::new(),
        }
    }

    /// Files that are read.
    pub fn files<P: AsRef<Path>>(files: impl IntoIterator<Item = P>) -> Self {
        let files = files.into_iter();
        Self {
            directories: Vec::new(),
            files: files.map(|file| resolve(file.as_ref())).collect(),
        }
    }

    /// Refuses a path that is one of the files, or is inside a data directory, directly or through links:
    /// this one or any other that is recognized by its `db/mdbx.dat`.
    ///
    /// # Errors
    ///
    /// A usage error that names the path and the directory.
    pub fn check(&self, path: &Path) -> Result<()> {
        let target = resolve(path);
        // A link inside the directory that points out of it would be replaced, too.
        let folder = path.parent().map(resolve);
        let name = path.file_name().unwrap_or_default();
        let places = [Some(target), folder.map(|folder| folder.join(name))];
        for place in places.into_iter().flatten() {
            if self.files.contains(&place) {
                return Err(Error::usage(format!(
                    "{} is an input, and is not replaced",
                    path.display()
                )));
            }
            let known = self.directories.iter().find(|dir| place.starts_with(dir));
            let found = || {
                let mut folders = place.ancestors().skip(1);
                folders
                    .find(|dir| dir.join("db/mdbx.dat").is_file() || dir.join("mdbx.dat").is_file())
            };
            if let Some(directory) = known.map(PathBuf::as_path).or_else(found) {
                return Err(Error::usage(format!(
                    "{} is inside the data directory {}, where nothing is written",
                    path.display(),
                    directory.display()
                )));
            }
        }
        Ok(())
    }
}

/// The absolute path without links, also of a file that does not exist (yet).
pub(crate) fn resolve(path: &Path) -> PathBuf {
    let mut path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    for _ in 0..LINKS_MAX {
        if let Ok(found) = fs::canonicalize(&path) {
            return found;
        }
        // A link to something that does not exist.
        match (fs::read_link(&path), path.parent()) {
            (Ok(target), Some(folder)) => path = folder.join(target),
            _ => break,
        }
    }
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => resolve(folder).join(name),
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use std::os::unix::fs::symlink;

    /// A data directory whose static files and one file of MDBX are somewhere else.
    fn data_directory(folder: &Path) -> ProtectedPaths {
        for name in ["data/db", "static", "free"] {
            fs::create_dir_all(folder.join(name)).unwrap();
        }
        fs::write(folder.join("data/db/mdbx.dat"), "").unwrap();
        fs::write(folder.join("free/mdbx.lck"), "").unwrap();
        symlink("../../free/mdbx.lck", folder.join("data/db/mdbx.lck")).unwrap();
        symlink("../free", folder.join("data/out")).unwrap();
        symlink("data/db", folder.join("link")).unwrap();
        symlink("data/db/new.csv", folder.join("dangling.csv")).unwrap();
        ProtectedPaths::data_directory(&DataDir {
            static_files: Some(folder.join("static")),
            ..DataDir::new(folder.join("data"))
        })
    }

    #[test]
    fn refuses_paths_inside_the_data_directory() {
        let folder = tempfile::tempdir().unwrap();
        let protected = data_directory(folder.path());
        for path in [
            "data/o.csv",
            "data/db/mdbx.dat",
            "data/none/o.csv",
            "data/db/../o.csv",
            "free/../data/o.csv",
            "static/o.csv",
            "link/o.csv",
            "dangling.csv",
            "free/mdbx.lck",
            // Through a link of the data directory.
            "data/out/o.csv",
        ] {
            let error = protected.check(&folder.path().join(path)).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Usage, "{path}");
        }
        // Without knowing where the node is: by its files.
        let unknown = ProtectedPaths::default();
        assert!(unknown.check(&folder.path().join("link/o.csv")).is_err());
        for path in ["o.csv", "database.csv", "none/o.csv"] {
            protected.check(&folder.path().join(path)).unwrap();
        }
    }
}
