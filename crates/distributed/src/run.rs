//! A run: its query, and what the jobs of its steps wrote.
//!
//! ```text
//! <run>/              a folder that all hosts share, or a prefix of a bucket
//!   run.json          query, chain, blocks, state; replaced
//!   LOCK              locked by the driver that works on it: flock, or in a bucket by its existence
//!   frontiers/<hash>  large frontiers, which executors read
//!   heartbeats/…      of tasks that run for long
//!   steps/
//!     0001-<key>/     a step; <key> is a hash of everything that it depends on
//!       part-….parquet    its rows, written by executors
//!       step.json     plan, metrics, reports, files with checksums; written last, once
//! ```
//!
//! A step is finished when it has a `step.json`, which is created only if there is none. A driver
//! that continues a run trusts the files that it names, as far as they have the sizes and checksums
//! in it.

mod write;

use crate::{
    Error, Result,
    engine::JobMetrics,
    operator::Target,
    parts::{self, HEARTBEATS, STEP_FILE},
    store::{Store, StoreLock},
    wire::{ChunkReport, Part, PartitionReport},
};
use datafusion::arrow::array::RecordBatch;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};
use std::{
    collections::{BTreeMap, HashMap},
    fmt, fs,
    hash::{DefaultHasher, Hash, Hasher},
    io,
    ops::{ControlFlow, Range},
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};
use txgraph_stored::folder;
use txgraph_transfers::{BlockRanges, ScanReport};
use txgraph_work::{CancelFlag, Retry, RetryStep};
pub(crate) use write::{write_rows, write_scan};

/// The version of the files.
const VERSION: u32 = 3;
const RUN_FILE: &str = "run.json";
const STEPS: &str = "steps";
/// All sections of a file.
const ALL_SECTIONS: Range<u32> = 0..u32::MAX;

/// Attempts at a job that the engine did not finish: an executor, the scheduler or the network
/// failed. The engine itself repeats tasks and stages before.
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
    /// Unix seconds at which the run began.
    pub started: u64,
    /// The state of the run.
    pub state: RunState,
    /// The tasks that the cluster executed at a time when the run began.
    pub(crate) slots: Option<usize>,
    /// Facts found before the first step, so that a continued run has the same blocks.
    pub origin: Option<serde_json::Value>,
    /// The bytes that the driver received in its last work on the run: reports, descriptions of the
    /// cluster, and objects that it read.
    #[serde(default)]
    pub received: u64,
    /// The blocks of the times in the query: the first at or after these Unix seconds.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dates: BTreeMap<u64, u64>,
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
    /// The engine's measurements.
    pub metrics: JobMetrics,
    /// The rows of its files.
    pub rows: u64,
    /// The reports on the chunks, in their order, for steps that read transfers.
    pub(crate) chunks: Vec<ChunkReport>,
    /// The reports on the partitions, in their order, for statements.
    pub(crate) partitions: Vec<PartitionReport>,
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

    /// The slots of the cluster, counted by `count` at the beginning of the run. Steps are divided
    /// by them, so a run that is continued on another cluster finds its steps.
    pub(crate) fn slots(&self, count: impl FnOnce() -> Result<usize>) -> Result<usize> {
        let known = self.info().slots;
        if let Some(slots) = known {
            return Ok(slots);
        }
        let slots = count()?;
        self.info().slots = Some(slots);
        self.save()?;
        Ok(slots)
    }

    /// Facts about the data, determined by `find` at the beginning of the run.
    pub(crate) fn origin<T: Serialize + DeserializeOwned>(
        &self,
        find: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let damaged =
            |error: serde_json::Error| Error::run(self.location().as_ref(), error.to_string());
        let known = self.info().origin.clone();
        if let Some(origin) = known {
            return serde_json::from_value(origin).map_err(damaged);
        }
        let found = find()?;
        self.info().origin = Some(serde_json::to_value(&found).map_err(damaged)?);
        self.save()?;
        Ok(found)
    }

    /// The block of a time, determined by `find` when the run asks for it the first time.
    pub(crate) fn block_at(
        &self,
        seconds: u64,
        find: impl FnOnce() -> txgraph::Result<u64>,
    ) -> txgraph::Result<u64> {
        let known = self.info().dates.get(&seconds).copied();
        if let Some(block) = known {
            return Ok(block);
        }
        let block = find()?;
        self.info().dates.insert(seconds, block);
        self.save()?;
        Ok(block)
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

    /// Where tasks of a step write.
    pub(crate) fn target(&self, step: &str) -> Target {
        Target {
            run: self.location().to_owned(),
            step: step.to_owned(),
        }
    }
}

/// The key of a step: a hash of what it depends on.
pub(crate) fn key(of: &impl Serialize) -> Result<String> {
    let json = serde_json::to_vec(of).map_err(|error| Error::Plan(error.to_string()))?;
    Ok(alloy_primitives::hex::encode(&Sha256::digest(json)[..8]))
}

impl Committed {
    /// The rows of some of its files, or some of their columns.
    pub(crate) fn batches(
        &self,
        of: &[Part],
        columns: Option<&'static [usize]>,
    ) -> impl Iterator<Item = Result<RecordBatch>> + use<> {
        let (store, folder) = (self.store.clone(), self.folder.clone());
        let files = of.to_vec();
        files.into_iter().flat_map(move |part| {
            parts::flattened(parts::read(&store, &folder, &part, ALL_SECTIONS, columns))
        })
    }

    /// The sum of the reports on its chunks.
    pub(crate) fn report(&self) -> ScanReport {
        let mut all = ScanReport::default();
        let mut covered = Vec::new();
        for chunk in &self.step.chunks {
            let report = chunk.clone().into_report();
            covered.extend(report.covered.iter());
            all.counts += report.counts;
            for gap in report.missing {
                match all.missing.last_mut() {
                    // A gap that a chunk divided.
                    Some(last)
                        if last.reason == gap.reason
                            && last.blocks.last.checked_add(1) == Some(gap.blocks.first) =>
                    {
                        last.blocks.last = gap.blocks.last;
                    }
                    _ => all.missing.push(gap),
                }
            }
            all.caveats.extend(report.caveats);
            all.notes.extend(report.notes);
            all.anchors.extend(report.anchors);
            all.last_block_hash = report.last_block_hash.or(all.last_block_hash);
        }
        for list in [&mut all.caveats, &mut all.notes] {
            list.sort();
            list.dedup();
        }
        all.covered = BlockRanges::new(covered);
        all
    }

    /// Passes its rows to `each`: if there are none, once without rows, for its columns.
    pub(crate) fn read_rows(
        &self,
        mut each: impl FnMut(RecordBatch) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let parts: Vec<_> = self.step.parts().map(|(_, part)| part.clone()).collect();
        let mut is_empty = true;
        for batch in self.batches(&parts, None) {
            is_empty = false;
            if each(batch?)?.is_break() {
                return Ok(());
            }
        }
        match parts.first() {
            Some(part) if is_empty => {
                let columns = parts::columns(&self.store, &self.folder, part)?;
                each(RecordBatch::new_empty(columns)).map(|_| ())
            }
            _ => Ok(()),
        }
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
    let damaged = |error| Error::run(&store.place(name), format!("it is damaged: {error}"));
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
