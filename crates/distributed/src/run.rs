//! A run: its query, and what the jobs of its steps wrote.
//!
//! ```text
//! <run>/              a folder that all hosts share, or a prefix of a bucket
//!   run.json          query, chain, blocks, state; replaced
//!   LOCK              locked by the driver that works on it: flock, or in a bucket by its existence
//!   objects/<hash>    frontiers and plans, which executors read
//!   heartbeats/…      of tasks that run for long
//!   steps/
//!     0001-<key>/     a step; <key> is a hash of everything that it depends on
//!       part-…            its rows, written by executors
//!       step.json     plan, measures, reports, files with checksums; written last, once
//! ```
//!
//! A step is finished when it has a `step.json`, which is created only if there is none. A driver
//! that continues a run trusts the files that it names, as far as they have the sizes and checksums
//! in it.

mod write;

use crate::{
    Error, Result,
    measure::decode,
    parts::{self, HEARTBEATS, STEP_FILE},
    rows::{self, TransferRecord},
    store::{Store, StoreLock},
    wire::{ChunkReport, Earlier, SourceInfo},
};
use bytes::Bytes;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};
use std::{
    collections::{BTreeMap, HashMap},
    fmt, fs,
    hash::{DefaultHasher, Hash, Hasher},
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};
use txgraph_analysis::partitioned::Record;
use txgraph_stored::folder;
use txgraph_transfers::{ScanReport, Transfer};
use txgraph_work::{CancelFlag, Retry, RetryStep};
pub(crate) use write::write_scan;

/// The version of the files.
const VERSION: u32 = 6;
const RUN_FILE: &str = "run.json";
const STEPS: &str = "steps";

/// Attempts at a job that the engine did not finish: an executor, the scheduler or the network
/// failed. The engine itself repeats tasks before.
const JOB: Retry = Retry {
    attempts: 3,
    backoff: Duration::from_secs(2),
};

/// A run, as far as its query is concerned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunInfo {
    version: u32,
    /// The command line, without the name of the program.
    pub args: Vec<String>,
    /// The address of the scheduler.
    pub scheduler: String,
    /// The working directory, in which the command line names files.
    #[serde(default)]
    pub folder: PathBuf,
    /// Unix seconds at which the run began.
    pub started: u64,
    /// The state of the run.
    pub state: RunState,
    /// The tasks that the cluster executed at a time when the run began.
    pub(crate) slots: Option<usize>,
    /// Facts found before the first step, so that a continued run has the same blocks.
    pub(crate) origin: Option<SourceInfo>,
    /// The bytes that the driver received in its last work on the run: reports, descriptions of the
    /// cluster, and objects that it read.
    #[serde(default)]
    pub received: u64,
    /// The blocks of the times in the query: the first at or after these Unix seconds.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) dates: BTreeMap<u64, Option<u64>>,
}

/// The state of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunState {
    /// It is running, or its driver was killed.
    Unfinished,
    /// It has its result.
    Done,
    /// It ended with an error.
    Failed,
}

impl fmt::Display for RunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Unfinished => "unfinished",
            Self::Done => "done",
            Self::Failed => "failed",
        })
    }
}

/// A run that is open for work.
#[derive(Debug)]
pub struct Run {
    pub(crate) store: Arc<Store>,
    info: Mutex<RunInfo>,
    /// The number of the last step.
    steps: AtomicU32,
    _lock: StoreLock,
}

/// A finished step.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Step {
    version: u32,
    /// The description of the job, for users.
    pub name: String,
    /// The executed plan.
    pub plan: String,
    /// The number of attempts.
    pub attempts: u32,
    /// The id that the engine gave the job.
    pub job: String,
    /// From submission to the last report, in milliseconds.
    pub millis: u64,
    /// The bytes of the reports, which came to the driver.
    pub bytes: u64,
    /// The rows of its files.
    pub rows: u64,
    /// The reports on the chunks, or on the partitions of a statement, in their order.
    pub(crate) chunks: Vec<ChunkReport>,
    /// Whether its files were deleted, because no later step needs them.
    pub(crate) superseded: bool,
}

/// A finished step and its folder.
#[derive(Clone, Debug)]
pub struct Committed {
    pub(crate) store: Arc<Store>,
    /// The name in the store.
    pub(crate) folder: String,
    /// Its description.
    pub step: Step,
}

impl Run {
    /// Opens a run, or starts a new one.
    pub fn open(location: &Path, args: &[String], scheduler: &str) -> Result<Self> {
        let text = location.to_string_lossy();
        if !text.contains("://") {
            fs::create_dir_all(location).map_err(|error| Error::io(location, error))?;
        }
        let store = Store::shared(&text)?;
        let lock = store.lock()?;
        let info = match load::<RunInfo>(&store, RUN_FILE)? {
            Some(info) if info.version != VERSION => {
                return Err(Error::run(location, "it is of another version of txgraph"));
            }
            Some(info) if info.args != args => {
                let theirs = info.args.join(" ");
                return Err(Error::run(
                    location,
                    format!("it is the run of another query: {theirs}; name a new folder"),
                ));
            }
            Some(info) => RunInfo {
                scheduler: scheduler.to_owned(),
                state: RunState::Unfinished,
                ..info
            },
            None => RunInfo {
                version: VERSION,
                args: args.to_vec(),
                scheduler: scheduler.to_owned(),
                folder: std::env::current_dir().unwrap_or_default(),
                started: unix_seconds(),
                state: RunState::Unfinished,
                slots: None,
                origin: None,
                received: 0,
                dates: BTreeMap::new(),
            },
        };
        let mut last = 0;
        for name in store.folders(STEPS)? {
            let folder = format!("{STEPS}/{name}");
            if store.read(&format!("{folder}/{STEP_FILE}"))?.is_none() {
                // Of a driver that was killed.
                store.remove_folder(&folder)?;
            } else if let Some(number) = name.split('-').next().and_then(|text| text.parse().ok()) {
                last = last.max(number);
            }
        }
        store.remove_folder(HEARTBEATS)?;
        let run = Self {
            store,
            info: Mutex::new(info),
            steps: AtomicU32::new(last),
            _lock: lock,
        };
        run.save()?;
        Ok(run)
    }

    /// The location, for tasks and messages.
    pub fn location(&self) -> &str {
        self.store.location()
    }

    /// A fact, determined by `find` when it is wanted the first time, so that a run that is continued
    /// has the same: steps, blocks and dates.
    pub(crate) fn fact<T: Clone, E: From<Error>>(
        &self,
        place: impl Fn(&mut RunInfo) -> &mut Option<T>,
        find: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let known = place(&mut self.info()).clone();
        if let Some(known) = known {
            return Ok(known);
        }
        let found = find()?;
        *place(&mut self.info()) = Some(found.clone());
        self.save()?;
        Ok(found)
    }

    /// Records the end of the run, and the bytes that came from the engine.
    pub fn finish(&self, state: RunState, from_engine: u64) -> Result<()> {
        let received = self.store.received() + from_engine;
        {
            let mut info = self.info();
            (info.state, info.received) = (state, received);
        }
        self.save()
    }

    fn info(&self) -> MutexGuard<'_, RunInfo> {
        self.info.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn save(&self) -> Result<()> {
        self.store.replace(RUN_FILE, json(&*self.info())?)?;
        self.store.sync(RUN_FILE)
    }

    /// Returns the finished step with this key.
    fn find(&self, key: &str) -> Result<Option<Committed>> {
        let names = self.store.folders(STEPS)?.into_iter();
        let of_key = names.filter(|name| name.ends_with(&format!("-{key}")));
        for name in of_key {
            let folder = format!("{STEPS}/{name}");
            if let Some(step) = load::<Step>(&self.store, &format!("{folder}/{STEP_FILE}"))? {
                return Ok(Some(self.committed(folder, step)));
            }
        }
        Ok(None)
    }

    fn committed(&self, folder: String, step: Step) -> Committed {
        Committed {
            store: self.store.clone(),
            folder,
            step,
        }
    }

    /// Returns the step with this key: finished before, or done now by `attempt`, which gets the
    /// folder for rows. Repeats attempts that the engine did not finish.
    pub(crate) fn step(
        &self,
        key: &str,
        cancel: &CancelFlag,
        mut attempt: impl FnMut(&str) -> Result<Step>,
    ) -> Result<Committed> {
        if let Some(found) = self.find(key)? {
            tracing::info!(step = found.step.name, "finished before");
            return Ok(found);
        }
        let number = self.steps.fetch_add(1, Ordering::Relaxed) + 1;
        let folder = format!("{STEPS}/{number:04}-{key}");
        let mut attempts = JOB.start();
        loop {
            let done = attempt(&folder).and_then(|mut step| {
                step.attempts = attempts.number();
                self.commit(&folder, step)
            });
            let error = match done {
                Ok(committed) => return Ok(committed),
                Err(error) => error,
            };
            if error.is_of_engine() {
                tracing::warn!(attempt = attempts.number(), "{error}");
                match attempts.next(&|| cancel.is_canceled()) {
                    RetryStep::Retry => continue,
                    RetryStep::Stopped => return Err(Error::Interrupted),
                    RetryStep::Exhausted => {}
                }
            }
            if let Err(error) = self.store.remove_folder(&folder) {
                // The next driver deletes it. The first error is the one that matters.
                tracing::debug!("{error}");
            }
            return Err(error);
        }
    }

    /// Records a step whose files are there.
    fn commit(&self, folder: &str, step: Step) -> Result<Committed> {
        let mut others: HashMap<String, u64> = HashMap::new();
        for (name, object) in self.store.list(folder)? {
            others.insert(name, object.size);
        }
        for (executor, part) in step.parts() {
            if others.remove(&part.name) != Some(part.bytes) {
                return Err(Error::run(
                    &self.store.place(&format!("{folder}/{}", part.name)),
                    format!(
                        "executor {executor} wrote it, and it is not here: the folder of a run \
                         must be at the same path on all hosts, or in a bucket"
                    ),
                ));
            }
        }
        let file = format!("{folder}/{STEP_FILE}");
        if !self.store.create(&file, json(&step)?)? {
            let reason = "another driver finished this step";
            return Err(Error::run(&self.store.place(&file), reason));
        }
        // Of tasks that were repeated.
        let mut rests: Vec<_> = others.into_keys().collect();
        rests.sort_unstable();
        for name in rests {
            self.store.remove(&format!("{folder}/{name}"))?;
        }
        Ok(self.committed(folder.to_owned(), step))
    }

    /// Deletes the files of a step that no later step needs. The step stays finished.
    pub(crate) fn supersede(&self, done: &Committed) -> Result<()> {
        if done.step.superseded {
            return Ok(());
        }
        let step = Step {
            superseded: true,
            ..done.step.clone()
        };
        let file = format!("{}/{STEP_FILE}", done.folder);
        self.store.replace(&file, json(&step)?)?;
        self.store.sync(&file)?;
        for (_, part) in step.parts() {
            self.store
                .remove(&format!("{}/{}", done.folder, part.name))?;
        }
        Ok(())
    }

    /// A number that changes when tasks write files of a step, or heartbeats.
    pub(crate) fn written(&self, step: &str) -> Result<u64> {
        let mut seen = Vec::new();
        for folder in [step, HEARTBEATS] {
            for (name, object) in self.store.list(folder)? {
                seen.push((name, object.size, object.last_modified));
            }
        }
        seen.sort_unstable();
        let mut hasher = DefaultHasher::new();
        seen.hash(&mut hasher);
        Ok(hasher.finish())
    }
}

/// The key of a step: a hash of what it depends on.
pub(crate) fn key(of: &impl Serialize) -> Result<String> {
    let json = serde_json::to_vec(of).map_err(|error| Error::Plan(error.to_string()))?;
    Ok(alloy_primitives::hex::encode(&Sha256::digest(json)[..8]))
}

impl Committed {
    /// Its files, for tasks.
    pub(crate) fn earlier(&self, table: u32, of_tasks: bool) -> Earlier {
        Earlier {
            folder: self.folder.clone(),
            job: self.step.job.clone(),
            table,
            of_tasks,
        }
    }

    /// The sections of a chunk with this number. Most rows for the driver are in the first.
    pub(crate) fn sections<'a>(
        &'a self,
        of: &'a ChunkReport,
        number: u32,
    ) -> impl Iterator<Item = Result<Bytes>> + 'a {
        let wanted = number..number + 1;
        of.parts.iter().flat_map(move |part| {
            let read = parts::read(&self.store, &self.folder, part, wanted.clone());
            parts::flattened(read)
        })
    }

    /// The rows of sections of a chunk.
    pub(crate) fn records<'a, const K: usize, const N: usize, const A: usize>(
        &'a self,
        of: &'a ChunkReport,
        number: u32,
    ) -> impl Iterator<Item = Result<Record<K, N, A>>> + 'a {
        self.sections(of, number).flat_map(|section| {
            let rows = section.and_then(|section| decode(&section));
            parts::flattened(rows.map(|rows| rows.into_iter().map(Ok)))
        })
    }

    /// The transfers in sections of a chunk.
    pub(crate) fn transfers<'a>(
        &'a self,
        of: &'a ChunkReport,
        number: u32,
    ) -> impl Iterator<Item = Result<Transfer>> + 'a {
        let records = self.records(of, number);
        records.map(|record: Result<TransferRecord>| rows::of_record(&record?))
    }

    /// The sum of the reports on its chunks.
    pub(crate) fn report(&self) -> ScanReport {
        let chunks = self.step.chunks.iter().cloned();
        let mut all = ScanReport::joined(chunks.map(ChunkReport::into_report));
        for list in [&mut all.caveats, &mut all.notes] {
            list.sort();
        }
        all
    }
}

/// The steps of a run, in their order, with the names of their folders.
pub fn steps(run: &Path) -> Result<Vec<(String, Step)>> {
    let store = Store::open(&run.to_string_lossy())?;
    let mut found = Vec::new();
    for name in store.folders(STEPS)? {
        if let Some(step) = load(&store, &format!("{STEPS}/{name}/{STEP_FILE}"))? {
            found.push((name, step));
        }
    }
    Ok(found)
}

/// The query and state of a run; `None` if there is no run at this location.
pub fn info(run: &Path) -> Result<Option<RunInfo>> {
    match Store::open(&run.to_string_lossy()) {
        Ok(store) => load(&store, RUN_FILE),
        Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The names of the runs in a folder, ascending. Empty if it does not exist.
pub(crate) fn names(folder: &Path) -> Result<Vec<String>> {
    let failed = |error: folder::FolderError| Error::run(folder, error.to_string());
    let names = folder::names(folder).map_err(failed)?;
    let names = names.unwrap_or_default().into_iter();
    let mut names: Vec<_> = names
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    names.sort_unstable();
    Ok(names)
}

fn json(value: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec_pretty(value).map_err(|error| Error::Plan(error.to_string()))
}

/// Reads a JSON file; `None` if it does not exist.
fn load<T: DeserializeOwned>(store: &Store, name: &str) -> Result<Option<T>> {
    let Some(json) = store.read(name)? else {
        return Ok(None);
    };
    let value = serde_json::from_slice(&json);
    let place = store.place(name);
    let advice = match name {
        RUN_FILE => "ask the query again in a new folder",
        _ => "delete the folder that it is in, and its step is repeated",
    };
    let damaged = |error| Error::run(&place, format!("it is damaged: {error}; {advice}"));
    value.map(Some).map_err(damaged)
}

/// Deletes a run, unless a driver works on it.
pub(crate) fn drop(run: &Path) -> Result<()> {
    let store = Arc::new(Store::open(&run.to_string_lossy())?);
    let lock = store.lock()?;
    match store.folder() {
        Some(folder) => fs::remove_dir_all(folder).map_err(|error| Error::io(folder, error))?,
        None => store.remove_folder("")?,
    }
    std::mem::drop(lock);
    Ok(())
}

/// The time in Unix seconds.
pub(crate) fn unix_seconds() -> u64 {
    let now = std::time::SystemTime::now();
    let since = now.duration_since(std::time::UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}
