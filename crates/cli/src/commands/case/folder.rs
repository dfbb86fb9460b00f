//! The folder of a case and its record, `case.json`.

use super::answer::{
    Answer, FileRecord, LABELS, RECORD, check_regular, is_file_name, is_name, names,
};
use crate::{args::CASE_FILE, document::write_whole};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};
use txgraph::{CancelFlag, Error, ErrorKind, LineWriter, Result, parse::utc};

/// The version of the files.
const VERSION: u32 = 1;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Case {
    version: u32,
    pub(super) title: String,
    pub(super) author: Option<String>,
    pub(super) created: String,
    /// The answers in the order in which they were added.
    pub(super) answers: Vec<Entry>,
    pub(super) notes: Vec<Note>,
    /// The hash of `labels.csv` when the record was written. `None`: a version without it wrote it.
    #[serde(default)]
    labels_sha256: Option<String>,
}

/// An answer, with the hash of its record.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) name: String,
    sha256: String,
}

/// A note about the case, or about an answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Note {
    pub(super) time: String,
    pub(super) on: Option<String>,
    pub(super) text: String,
}

/// An open case.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) path: PathBuf,
    pub(super) case: Case,
    /// Locked while it is open.
    _lock: Option<File>,
}

impl Folder {
    /// A case without answers, which is not saved yet.
    pub(super) fn new(path: &Path, title: String, author: Option<String>) -> Self {
        Self {
            path: path.to_path_buf(),
            case: Case {
                version: VERSION,
                title,
                author,
                created: now(),
                answers: Vec::new(),
                notes: Vec::new(),
                labels_sha256: None,
            },
            _lock: None,
        }
    }

    /// Opens a case to read it.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file = path.join(CASE_FILE);
        if !file.is_file() {
            let message = format!("{}: this folder is not a case", path.display());
            return Err(Error::usage(message).hint("`txgraph case new DIR` makes one"));
        }
        check_regular(&file)?;
        let case: Case = read_json(&file)?;
        if case.version > VERSION {
            let message = format!("{}: version {} of cases", file.display(), case.version);
            return Err(Error::usage(message).hint("a newer txgraph reads it"));
        }
        let is_known = |entry: &Entry| is_name(&entry.name);
        if !case.answers.iter().all(is_known) {
            let message = format!("{}: an answer has a wrong name", file.display());
            return Err(Error::new(ErrorKind::Failed, message));
        }
        Ok(Self {
            path: path.to_path_buf(),
            case,
            _lock: None,
        })
    }

    /// Opens a case to change it. Others wait until it is closed.
    pub(super) fn open_locked(path: &Path) -> Result<Self> {
        Self::open(path)?;
        let lock = File::open(path).map_err(|error| Error::io(path, error))?;
        lock.lock().map_err(|error| Error::io(path, error))?;
        Ok(Self {
            _lock: Some(lock),
            ..Self::open(path)?
        })
    }

    /// Writes the record of the case, with the labels as they are now.
    pub(super) fn save(&mut self) -> Result<()> {
        let labels = FileRecord::of(&self.path.join(LABELS), LABELS)?;
        self.case.labels_sha256 = Some(labels.sha256);
        write_json(&self.path.join(CASE_FILE), &self.case, true)
    }

    /// The folder of the answers.
    pub(super) fn answers(&self) -> PathBuf {
        self.path.join("answers")
    }

    /// The folder of an answer.
    pub(super) fn at(&self, name: &str) -> PathBuf {
        self.answers().join(name)
    }

    /// Whether the case has an answer of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.case.answers.iter().any(|entry| entry.name == name)
    }

    /// Reads an answer. A record with another hash is an error.
    pub(super) fn answer(&self, entry: &Entry) -> Result<Answer> {
        let folder = self.at(&entry.name);
        FileRecord::hashed(RECORD, &entry.sha256).check(&folder)?;
        let answer: Answer = read_json(&folder.join(RECORD))?;
        let are_known = answer.files.iter().all(|file| is_file_name(&file.name));
        if answer.name != entry.name || !are_known {
            let message = format!("{}: this is no record of an answer", folder.display());
            return Err(Error::new(ErrorKind::Failed, message));
        }
        Ok(answer)
    }

    /// Reads the records of all answers.
    pub(super) fn records(&self) -> Result<Vec<Answer>> {
        let entries = self.case.answers.iter();
        entries.map(|entry| self.answer(entry)).collect()
    }

    /// Reads all answers, and fails at the first file that differs from its hash.
    pub(super) fn checked(&self, cancel: &CancelFlag) -> Result<Vec<Answer>> {
        let answers = self.records()?.into_iter().map(|answer| {
            let folder = self.at(&answer.name);
            for file in &answer.files {
                if cancel.is_canceled() {
                    return Err(Error::new(ErrorKind::Interrupted, "interrupted"));
                }
                file.check(&folder)?;
            }
            let others = names(&folder)?.into_iter();
            let mut others = others.filter(|name| name != RECORD && answer.file(name).is_none());
            match others.next() {
                None => Ok(answer),
                Some(other) => {
                    let path = folder.join(other);
                    let message = format!("{}: the answer has no such file", path.display());
                    Err(Error::new(ErrorKind::Failed, message))
                }
            }
        });
        answers.collect()
    }

    /// Fails if the labels are not as recorded. Returns whether they are recorded.
    pub(super) fn check_labels(&self) -> Result<bool> {
        let Some(sha256) = &self.case.labels_sha256 else {
            return Ok(false);
        };
        let record = FileRecord::hashed(LABELS, sha256);
        let checked = record.check(&self.path).map_err(|error| {
            error.hint(
                "the next `txgraph case label`, `note` or `add` records the labels as they are",
            )
        });
        checked.map(|()| true)
    }

    /// Adds an answer, whose record is in its folder.
    pub(super) fn push(&mut self, name: &str) -> Result<()> {
        let record = FileRecord::of(&self.at(name).join(RECORD), RECORD)?;
        self.case.answers.push(Entry {
            name: name.to_owned(),
            sha256: record.sha256,
        });
        self.save()
    }

    /// The notes about an answer; without a name, about the case.
    pub(super) fn notes(&self, on: Option<&str>) -> Vec<&Note> {
        let notes = self.case.notes.iter();
        notes.filter(|note| note.on.as_deref() == on).collect()
    }
}

/// The time in UTC.
pub(super) fn now() -> String {
    let time = SystemTime::now().duration_since(UNIX_EPOCH);
    utc(time.unwrap_or_default().as_secs())
}

pub(super) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = fs::read(path).map_err(|error| Error::io(path, error))?;
    serde_json::from_slice(&text).map_err(|error| Error::io(path, error.into()))
}

/// Writes a JSON file, which gets its name when it is complete.
pub(super) fn write_json(path: &Path, value: &impl Serialize, overwrite: bool) -> Result<()> {
    let text = serde_json::to_string_pretty(value);
    let text = text.map_err(|error| Error::io(path, error.into()))?;
    write(path, &format!("{text}\n"), overwrite)
}

/// Writes a text file, which gets its name when it is complete.
pub(super) fn write(path: &Path, text: &str, overwrite: bool) -> Result<()> {
    let out = LineWriter::new(&path.to_path_buf().into(), overwrite)?;
    write_whole(out, path, text.as_bytes())?;
    Ok(())
}
