//! Where answers are written. Every output is checked before anything is read: hours of
//! reading must not end with a result that cannot be written.

use crate::{Error, Hint, ProtectedPaths, Result, Source, protected_paths::resolve};
use std::{
    io,
    path::{Path, PathBuf},
};
use txgraph_export::{GraphFormat, TableFormat, Target};

/// The outputs of one query.
pub(crate) trait Planned {
    /// Each target, and whether its metadata goes to a file next to it.
    fn targets(&self) -> Vec<(&Target, bool)>;

    /// Whether files that exist are replaced.
    fn overwrite(&self) -> bool;
}

impl Source {
    /// Refuses outputs that could not be written, or that must not.
    pub(crate) fn check_outputs<'a, P: Planned + 'a>(
        &self,
        outputs: impl IntoIterator<Item = &'a P, IntoIter: Clone>,
    ) -> Result<()> {
        let outputs = outputs.into_iter();
        let overwrite = outputs.clone().all(P::overwrite);
        let protected = self.protected_paths();
        let mut checked = Outputs::new(&protected, overwrite);
        for output in outputs {
            for (target, side) in output.targets() {
                checked.add(target, side)?;
            }
        }
        Ok(())
    }
}

/// A format that the extension of a file chooses.
pub(crate) trait Format: Sized {
    /// The format on standard output.
    const ON_STDOUT: Self;

    /// The format of a file.
    fn by_extension(path: &Path) -> Option<Self>;

    /// The words of the formats.
    fn words() -> Vec<&'static str>;

    /// The format of a target.
    fn of(target: &Target) -> Result<Self> {
        let Some(path) = target.path() else {
            return Ok(Self::ON_STDOUT);
        };
        Self::by_extension(path).ok_or_else(|| {
            let known = Self::words().join(", ");
            Error::usage(format!(
                "{}: cannot infer a format from the file name",
                path.display()
            ))
            .with_hint(Hint::ChooseFormat { known })
        })
    }
}

impl Format for TableFormat {
    const ON_STDOUT: Self = Self::Csv;

    fn by_extension(path: &Path) -> Option<Self> {
        Self::from_extension(path)
    }

    fn words() -> Vec<&'static str> {
        Self::ALL.iter().map(|format| format.as_str()).collect()
    }
}

impl Format for GraphFormat {
    const ON_STDOUT: Self = Self::Table(TableFormat::Csv);

    fn by_extension(path: &Path) -> Option<Self> {
        Self::from_extension(path)
    }

    fn words() -> Vec<&'static str> {
        Self::ALL.iter().map(|format| format.as_str()).collect()
    }
}

/// The file next to an output for its metadata, if the format cannot contain it.
fn side_file(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".meta.json");
    name.into()
}

/// Outputs that were checked, to find a file that is named twice.
#[derive(Debug)]
struct Outputs<'a> {
    protected: &'a ProtectedPaths,
    overwrite: bool,
    /// Resolved.
    files: Vec<PathBuf>,
    stdout: bool,
}

impl<'a> Outputs<'a> {
    const fn new(protected: &'a ProtectedPaths, overwrite: bool) -> Self {
        Self {
            protected,
            overwrite,
            files: Vec::new(),
            stdout: false,
        }
    }

    /// Checks one more output. With `side`, its metadata goes to a file next to it.
    fn add(&mut self, target: &Target, side: bool) -> Result<()> {
        let twice = || Err(Error::usage(format!("{target} is named twice as output")));
        let Some(path) = target.path() else {
            if std::mem::replace(&mut self.stdout, true) {
                return twice();
            }
            return Ok(());
        };
        let mut files = vec![path.to_owned()];
        if side {
            files.push(side_file(path));
        }
        for path in files {
            self.protected.check(&path)?;
            let resolved = resolve(&path);
            if self.files.contains(&resolved) {
                return twice();
            }
            self.files.push(resolved);
            match path.metadata() {
                Ok(found) if found.is_dir() => {
                    return Err(Error::io(&path, io::ErrorKind::IsADirectory.into()));
                }
                Ok(found) if found.is_file() && !self.overwrite => {
                    return Err(txgraph_export::Error::Exists { path }.into());
                }
                // Pipes and devices are written to, not replaced.
                _ => {}
            }
        }
        match path.parent() {
            Some(folder) if folder != Path::new("") && !folder.is_dir() => {
                Err(txgraph_export::Error::NoFolder {
                    path: path.to_owned(),
                }
                .into())
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::symlink};

    #[test]
    fn refuses_one_file_by_two_names() {
        let folder = tempfile::tempdir().unwrap();
        let protected = ProtectedPaths::default();
        let file = |name: &str| Target::File(folder.path().join(name));
        fs::create_dir(folder.path().join("x")).unwrap();
        symlink("a.csv", folder.path().join("link.csv")).unwrap();
        for (one, other) in [
            ("a.csv", "a.csv"),
            ("a.csv", "./a.csv"),
            ("a.csv", "x/../a.csv"),
            ("a.csv", "link.csv"),
            ("a.csv", "a.csv.meta.json"),
        ] {
            let mut outputs = Outputs::new(&protected, true);
            outputs.add(&file(one), true).unwrap();
            let error = outputs.add(&file(other), false).unwrap_err();
            assert!(error.message.contains("named twice"), "{other}: {error}");
        }
        let mut outputs = Outputs::new(&protected, true);
        for name in ["a.csv", "b.csv", "x/a.csv"] {
            outputs.add(&file(name), true).unwrap();
        }
        outputs.add(&Target::Stdout, false).unwrap();
        assert!(outputs.add(&Target::Stdout, false).is_err());
    }
}
