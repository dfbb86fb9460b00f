//! An open database: follows the manifest and the logs of the writer.

use crate::{
    batch::{self, Change},
    error::{Error, Fault, Result},
    manifest::Manifest,
    memory::{DELETION, Memory, Run, VALUE},
    record::{End, Records},
    shared::{Family, Open, Shared},
    source::Source,
    state::State,
    tombstones::Tombstones,
};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, atomic::Ordering},
};

/// A RocksDB that another process may be writing. Can be shared between threads.
#[derive(Debug)]
pub struct Db {
    shared: Arc<Shared>,
    families: Vec<String>,
    followed: Mutex<Followed>,
}

/// The content of the manifest and the logs.
#[derive(Debug, Default)]
struct Followed {
    manifest: Option<OpenManifest>,
    /// By number.
    logs: BTreeMap<u64, Log>,
    state: Option<Arc<State>>,
}

#[derive(Debug)]
struct OpenManifest {
    name: String,
    path: PathBuf,
    file: File,
    manifest: Manifest,
}

#[derive(Debug)]
struct Log {
    path: PathBuf,
    file: File,
    records: Records,
    end: End,
    /// By the number of the column family.
    memory: BTreeMap<u32, Memory>,
}

impl Db {
    /// Opens a directory, without a lock and without writing. Only the column families with
    /// these names are read. `open` opens a file; it may refuse anything but a regular file.
    ///
    /// # Errors
    ///
    /// As for [`catch_up`](Self::catch_up).
    pub fn open(directory: &Path, families: &[&str], open: Open) -> Result<Self> {
        let db = Self {
            shared: Arc::new(Shared {
                directory: directory.to_path_buf(),
                open,
                blocks: Default::default(),
                tables: Default::default(),
                behind: Default::default(),
            }),
            families: families.iter().map(|&name| name.to_owned()).collect(),
            followed: Mutex::default(),
        };
        db.catch_up()?;
        Ok(db)
    }

    /// Returns whether the writer deleted a table of the newest state.
    pub fn is_behind(&self) -> bool {
        self.shared.behind.load(Ordering::Relaxed)
    }

    /// Reads what was written since the last call, and returns a state with all that the
    /// writer had written before this call, and perhaps more.
    ///
    /// # Errors
    ///
    /// [`Error::Changed`] if the writer changed its files too fast: try again. After
    /// another error, the next call reads everything again.
    pub fn catch_up(&self) -> Result<Arc<State>> {
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        let caught_up = self.try_catch_up(&mut followed);
        if caught_up.is_err() {
            *followed = Followed::default();
        }
        caught_up
    }

    fn try_catch_up(&self, followed: &mut Followed) -> Result<Arc<State>> {
        self.shared.behind.store(false, Ordering::Relaxed);
        let mut changed = self.follow_manifest(followed)?;
        // Twice, if the manifest changes while the logs are read. A third time is unlikely.
        for _ in 0..3 {
            changed |= self.follow_logs(followed)?;
            // A log is deleted after its rows are in tables, and after the manifest says so.
            // If the manifest is still the same, no log was missing.
            if !self.follow_manifest(followed)? {
                return match &followed.state {
                    Some(state) if !changed => Ok(Arc::clone(state)),
                    _ => self.new_state(followed),
                };
            }
            changed = true;
        }
        Err(Error::Changed {
            path: self.shared.directory.clone(),
            what: "its manifest grows too fast".into(),
        })
    }

    /// Reads new edits. Returns whether there were any.
    fn follow_manifest(&self, followed: &mut Followed) -> Result<bool> {
        let name = self.current()?;
        let mut fresh = false;
        let open = match &mut followed.manifest {
            Some(open) if open.name == name => open,
            manifest => {
                let path = self.shared.directory.join(&name);
                let file =
                    (self.shared.open)(&path).map_err(|error| Error::io("open", &path, error))?;
                fresh = true;
                manifest.insert(OpenManifest {
                    name,
                    path,
                    file,
                    manifest: Manifest::new(),
                })
            }
        };
        if !fresh && Source::length(&open.file).is_ok_and(|len| len == open.manifest.offset()) {
            return Ok(false);
        }
        let families = open.manifest.families.len();
        let edited = open.manifest.read(&open.file, &open.path)?;
        if !fresh && open.manifest.families.len() != families {
            // Rows of a family that was unknown were skipped.
            followed.logs.clear();
        }
        Ok(fresh || edited)
    }

    /// The name of the manifest.
    fn current(&self) -> Result<String> {
        let path = self.shared.directory.join("CURRENT");
        let mut bytes = [0; 64];
        let read = (self.shared.open)(&path)
            .and_then(|file| file.read_up_to(&mut bytes, 0))
            .map_err(|error| Error::io("read", &path, error))?;
        let name = std::str::from_utf8(&bytes[..read]).ok();
        let name = name
            .and_then(|name| name.strip_suffix('\n'))
            .filter(|name| {
                let number = name.strip_prefix("MANIFEST-").unwrap_or("");
                !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
            });
        match name {
            Some(name) => Ok(name.to_owned()),
            None => Err(Fault::damaged("it does not name a manifest").at(&path)),
        }
    }

    /// Reads new rows of the logs. Returns whether there were any.
    fn follow_logs(&self, followed: &mut Followed) -> Result<bool> {
        let Some(OpenManifest { manifest, .. }) = &followed.manifest else {
            return Ok(false);
        };
        let wanted: BTreeMap<u32, u64> = manifest
            .families
            .iter()
            .filter(|(_, family)| self.families.contains(&family.name))
            .map(|(id, family)| (*id, family.log_number))
            .collect();
        let first = wanted.values().min().copied().unwrap_or(u64::MAX);
        let first = first.max(manifest.min_log_number);
        let mut changed = false;
        followed.logs = followed.logs.split_off(&first);
        let directory = &self.shared.directory;
        let list = |error| Error::io("list", directory, error);
        let mut numbers = Vec::new();
        for entry in fs::read_dir(directory).map_err(list)? {
            let name = entry.map_err(list)?.file_name();
            numbers.extend(
                name.to_str()
                    .and_then(log_number)
                    .filter(|number| *number >= first),
            );
        }
        numbers.sort_unstable();
        for number in &numbers {
            if !followed.logs.contains_key(number) {
                let path = directory.join(format!("{number:06}.log"));
                let file =
                    (self.shared.open)(&path).map_err(|error| Error::io("open", &path, error))?;
                let log = Log {
                    path,
                    file,
                    records: Records::default(),
                    end: End::Complete,
                    memory: BTreeMap::new(),
                };
                followed.logs.insert(*number, log);
                changed = true;
            }
        }
        let last = numbers.last();
        for (number, log) in &mut followed.logs {
            changed |= log.follow(*number, &wanted)?;
            if log.end == End::Torn && Some(number) != last {
                let what = "it ends within a record, but a later log exists";
                return Err(Fault::damaged(what).at(&log.path));
            }
        }
        Ok(changed)
    }

    fn new_state(&self, followed: &mut Followed) -> Result<Arc<State>> {
        let Followed {
            manifest,
            logs,
            state,
        } = followed;
        let mut families = Vec::new();
        if let Some(OpenManifest { manifest, path, .. }) = manifest {
            for (id, family) in &mut manifest.families {
                if !self.families.contains(&family.name) {
                    continue;
                }
                let levels = family.levels().map_err(|fault| fault.at(path))?;
                // Older logs may lack the deletion of a row that they have.
                let memory = logs.range(family.log_number..).rev();
                let memory = memory.filter_map(|(_, log)| log.memory.get(id));
                let mut runs = Vec::new();
                let mut deleted = Vec::new();
                for memory in memory {
                    runs.extend(memory.runs.iter().rev().map(Arc::clone));
                    deleted.extend_from_slice(&memory.deleted);
                }
                families.push(Family {
                    name: family.name.clone(),
                    runs,
                    deleted: Tombstones::new(&deleted),
                    levels,
                });
            }
        }
        let shared = Arc::clone(&self.shared);
        Ok(Arc::clone(
            state.insert(Arc::new(State { shared, families })),
        ))
    }
}

impl Log {
    /// Reads new rows, of column families whose tables lack this log. Returns whether there
    /// were any.
    fn follow(&mut self, number: u64, wanted: &BTreeMap<u32, u64>) -> Result<bool> {
        if Source::length(&self.file).is_ok_and(|len| len == self.records.offset()) {
            return Ok(false);
        }
        let mut runs: BTreeMap<u32, Run> = BTreeMap::new();
        let memory = &mut self.memory;
        let before = self.records.offset();
        self.end = self.records.read(&self.file, &self.path, |batch| {
            batch::decode(batch, |family, sequence, change| {
                if wanted.get(&family).is_none_or(|first| number < *first) {
                    return Ok(());
                }
                let packed = |kind: u8| sequence << 8 | u64::from(kind);
                match change {
                    Change::Put { key, value } => {
                        runs.entry(family)
                            .or_default()
                            .push(key, value, packed(VALUE));
                    }
                    Change::Delete { key } => {
                        runs.entry(family)
                            .or_default()
                            .push(key, &[], packed(DELETION));
                    }
                    Change::DeleteRange { begin, end } => {
                        let deleted = (begin.to_vec(), end.to_vec(), sequence);
                        memory.entry(family).or_default().deleted.push(deleted);
                    }
                    Change::Other(name) => {
                        return Err(Fault::unsupported(format!(
                            "changes of type {name} in column family {family}"
                        )));
                    }
                }
                Ok(())
            })
        })?;
        for (family, run) in runs {
            memory.entry(family).or_default().append(run);
        }
        Ok(self.records.offset() != before)
    }
}

fn log_number(name: &str) -> Option<u64> {
    let number = name.strip_suffix(".log")?;
    let digits = number.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| number.parse().ok())?
}
