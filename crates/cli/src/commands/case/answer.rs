//! The record of an answer, `answers/NAME/answer.json`, and hashes of files.

use alloy_primitives::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{
    fmt,
    fs::{self, File},
    io::{self, Read},
    path::{Component, Path},
};
use txgraph::{ChainInfo, Error, ErrorKind, Result, thousands};

/// The file name of the record.
pub(super) const RECORD: &str = "answer.json";

/// The standard output of the command.
pub(super) const STDOUT: &str = "stdout.txt";

/// The standard error of the command, which states times and is never the same twice.
pub(super) const STDERR: &str = "stderr.txt";

/// The labels of the case when the command ran.
pub(super) const LABELS: &str = "labels.csv";

/// A command and its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Answer {
    pub(super) name: String,
    /// A title in words.
    pub(super) title: Option<String>,
    /// The command as it was typed, without the program.
    pub(super) command: Vec<String>,
    /// Options of every command that were given apart from the command.
    pub(super) options: Vec<String>,
    /// Arguments that the case added. Their files are files of the answer.
    pub(super) added: Vec<String>,
    /// The program with version and commit.
    pub(super) program: String,
    /// Where the blocks came from.
    pub(super) source: Option<String>,
    /// When the command began, in UTC.
    pub(super) time: String,
    pub(super) seconds: f64,
    pub(super) status: i32,
    /// The chain of the source, if it could be opened.
    #[serde(default)]
    pub(super) chain: Option<ChainInfo>,
    /// The last block of the source.
    pub(super) tip: Option<u64>,
    /// The blocks of the query, if it states them.
    pub(super) blocks: Vec<Blocks>,
    /// The hash of the last block that was read, which fixes all blocks below it.
    #[serde(default)]
    pub(super) last_block_hash: Option<String>,
    /// Files that the command line and the configuration name.
    pub(super) inputs: Vec<FileRecord>,
    pub(super) files: Vec<FileRecord>,
}

/// Consecutive blocks; both ends are included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Blocks {
    pub(super) first: u64,
    pub(super) last: u64,
}

impl fmt::Display for Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.first, self.last.saturating_add(1))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileRecord {
    pub(super) name: String,
    pub(super) bytes: u64,
    pub(super) sha256: String,
    /// Rows, of a table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rows: Option<u64>,
}

impl Answer {
    /// Whether its last block was the newest one.
    pub(super) fn ends_at_tip(&self) -> bool {
        (self.blocks.last()).is_some_and(|range| Some(range.last) == self.tip)
    }

    /// The blocks in words, as in `--blocks`; empty if they are not known.
    pub(super) fn blocks_text(&self) -> String {
        let words: Vec<_> = self.blocks.iter().map(ToString::to_string).collect();
        words.join(", ")
    }

    /// The chain and the last block of the source in words; empty if they are not known.
    pub(super) fn source_text(&self) -> String {
        let chain = self.chain.as_ref();
        let chain = chain.map(|chain| format!("chain {}", chain_text(chain)));
        let tip = self.tip.map(|tip| format!("last block {}", thousands(tip)));
        let words: Vec<_> = chain.into_iter().chain(tip).collect();
        words.join(", ")
    }

    pub(super) fn file(&self, name: &str) -> Option<&FileRecord> {
        self.files.iter().find(|file| file.name == name)
    }
}

/// A chain by its name and number.
pub(super) fn chain_text(chain: &ChainInfo) -> String {
    let name = chain.name.iter().map(|name| format!("{name} "));
    format!("{}{}", name.collect::<String>(), chain.chain_id)
}

impl FileRecord {
    /// A file of which only the hash is known.
    pub(super) fn hashed(name: &str, sha256: &str) -> Self {
        Self {
            name: name.to_owned(),
            bytes: u64::MAX,
            sha256: sha256.to_owned(),
            rows: None,
        }
    }

    /// Reads and hashes a file.
    pub(super) fn of(path: &Path, name: impl Into<String>) -> Result<Self> {
        Self::start_of(path, name, u64::MAX)
    }

    /// Reads and hashes at most `most` bytes of a file.
    fn start_of(path: &Path, name: impl Into<String>, most: u64) -> Result<Self> {
        let failed = |error| Error::io(path, error);
        let mut hash = Sha256::new();
        let mut file = File::open(path).map_err(failed)?.take(most);
        let bytes = io::copy(&mut file, &mut hash).map_err(failed)?;
        Ok(Self {
            name: name.into(),
            bytes,
            sha256: hex::encode(hash.finalize()),
            rows: None,
        })
    }

    /// How a file differs from the record, in words. A longer file is not read to its end.
    pub(super) fn difference(&self, path: &Path) -> Result<Option<String>> {
        let found = Self::start_of(path, "", self.bytes.saturating_add(1))?;
        Ok(if found.bytes > self.bytes {
            Some(format!("it has more than {} bytes", self.bytes))
        } else if found.sha256 != self.sha256 {
            Some(format!(
                "SHA-256 {}, recorded {}",
                found.sha256, self.sha256
            ))
        } else {
            None
        })
    }

    /// Fails if the file in `folder` is not as recorded.
    pub(super) fn check(&self, folder: &Path) -> Result<()> {
        let path = folder.join(&self.name);
        check_regular(&path)?;
        let Some(difference) = self.difference(&path)? else {
            return Ok(());
        };
        let message = format!(
            "{}: the file differs from its record: {difference}",
            path.display()
        );
        Err(Error::new(ErrorKind::Failed, message))
    }
}

/// Fails if a file of a case is a link, a device or a pipe: reading it may have no end.
pub(super) fn check_regular(path: &Path) -> Result<()> {
    let found = fs::symlink_metadata(path).map_err(|error| Error::io(path, error))?;
    if found.is_file() {
        return Ok(());
    }
    let message = format!("{}: this is not a regular file", path.display());
    Err(Error::new(ErrorKind::Failed, message))
}

/// The files of a folder, by name.
pub(super) fn names(folder: &Path) -> Result<Vec<String>> {
    let failed = |error| Error::io(folder, error);
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        names.push(entry.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// Whether a text is the name of a file or folder that can be in a case.
pub(super) fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !text.is_empty()
        && text.len() <= 100
        && !text.starts_with(['.', '-'])
        && text.chars().all(plain)
}

pub(super) fn is_file_name(text: &str) -> bool {
    let mut parts = Path::new(text).components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(name)), None) if name == text)
}
