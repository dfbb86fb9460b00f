//! The folder of a run: its query, and what the jobs of its steps returned.
//!
//! ```text
//! <run>/
//!   run.json          query, chain, blocks, state; replaced by rename
//!   LOCK              locked (flock) by the driver that works on it
//!   frontier-*.bin    large frontiers, which executors read
//!   steps/
//!     0001-<key>/     one finished step; <key> is a hash of everything that it depends on
//!       step.json     plan, metrics, reports, files with checksums; written last
//!       rows.parquet
//!     tmp-…/          a step that is being written, or whose driver was killed
//! ```
//!
//! A step is written into a `tmp-…` folder, flushed and renamed. A driver that continues a run
//! trusts only steps with a `step.json` whose files have the sizes and checksums in it.

mod write;

use crate::{Error, Result, engine::JobMetrics, rows, wire::ChunkReport};
use datafusion::{
    arrow::array::RecordBatch, parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeMap,
    fmt,
    fs::{self, File},
    io::{self, Read},
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};
use txgraph_stored::folder::{self, FolderError, FolderLock};
use txgraph_work::{CancelFlag, Retry, RetryStep};
pub(crate) use write::{write_rows, write_scan};

/// The version of the files.
const VERSION: u32 = 1;
const RUN_FILE: &str = "run.json";
const STEP_FILE: &str = "step.json";
const ROWS_FILE: &str = "rows.parquet";
const STEPS: &str = "steps";
const UNFINISHED: &str = "tmp-";

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
    /// Facts found before the first step, so that a continued run has the same blocks.
    pub origin: Option<serde_json::Value>,
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

/// The folder of a run that is open for work.
#[derive(Debug)]
pub struct Run {
    folder: PathBuf,
    info: Mutex<RunInfo>,
    /// The number of the last step.
    steps: AtomicU32,
    _lock: FolderLock,
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
    pub(crate) chunks: Vec<StepChunk>,
    /// Its files.
    pub(crate) files: Vec<StepFile>,
}

/// A chunk of a step.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct StepChunk {
    pub(crate) rows: u64,
    pub(crate) report: ChunkReport,
}

/// A file of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StepFile {
    pub(crate) name: String,
    pub(crate) bytes: u64,
    pub(crate) crc32: u32,
}

/// A finished step and its folder.
#[derive(Clone, Debug)]
pub struct Committed {
    pub(crate) folder: PathBuf,
    /// Its description.
    pub step: Step,
}

impl Run {
    /// Opens the folder of a run, or starts a new one in it.
    pub fn open(folder: &Path, args: &[String], scheduler: &str) -> Result<Self> {
        let steps = folder.join(STEPS);
        fs::create_dir_all(&steps).map_err(|error| Error::io(&steps, error))?;
        let lock = folder::lock(folder).map_err(|error| of_folder(folder, &error))?;
        let path = folder.join(RUN_FILE);
        let info = match load::<RunInfo>(&path)? {
            Some(info) if info.version != VERSION => {
                return Err(Error::run(folder, "it is of another version of txgraph"));
            }
            Some(info) if info.args != args => {
                let theirs = info.args.join(" ");
                return Err(Error::run(
                    folder,
                    format!("it is the run of another question: {theirs}; name a new folder"),
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
                origin: None,
                dates: BTreeMap::new(),
            },
        };
        let mut last = 0;
        for name in names(&steps)? {
            if name.starts_with(UNFINISHED) {
                // Of a driver that was killed.
                remove(&steps.join(&name))?;
            } else if let Some(number) = name.split('-').next().and_then(|text| text.parse().ok()) {
                last = last.max(number);
            }
        }
        let run = Self {
            folder: folder.to_owned(),
            info: Mutex::new(info),
            steps: AtomicU32::new(last),
            _lock: lock,
        };
        run.save()?;
        Ok(run)
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The facts that the run began with, determined by `find` when it is new.
    pub(crate) fn origin<T: Serialize + DeserializeOwned>(
        &self,
        find: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let damaged = |error: serde_json::Error| Error::run(&self.folder, error.to_string());
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

    /// Records the end of the run.
    pub fn finish(&self, state: RunState) -> Result<()> {
        self.info().state = state;
        self.save()
    }

    fn info(&self) -> MutexGuard<'_, RunInfo> {
        self.info.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn save(&self) -> Result<()> {
        let json = serde_json::to_vec_pretty(&*self.info());
        let json = json.map_err(|error| Error::run(&self.folder, error.to_string()))?;
        folder::replace(&self.folder, RUN_FILE, &json)
            .map_err(|error| of_folder(&self.folder, &error))
    }

    /// Writes a file that executors read. Returns its path.
    pub(crate) fn write_frontier(&self, bytes: &[u8]) -> Result<PathBuf> {
        let name = format!("frontier-{}.bin", hex(&Sha256::digest(bytes)[..8]));
        folder::replace(&self.folder, &name, bytes)
            .map_err(|error| of_folder(&self.folder, &error))?;
        let path = self.folder.join(name);
        path.canonicalize().map_err(|error| Error::io(&path, error))
    }

    /// Returns the finished step with this key, if its files are as they were written.
    pub(crate) fn find(&self, key: &str) -> Result<Option<Committed>> {
        let steps = self.folder.join(STEPS);
        for name in names(&steps)? {
            if !name.ends_with(&format!("-{key}")) || name.starts_with(UNFINISHED) {
                continue;
            }
            let folder = steps.join(name);
            let Some(step) = load::<Step>(&folder.join(STEP_FILE))? else {
                continue;
            };
            for file in &step.files {
                let path = folder.join(&file.name);
                if measure(&path)? != (file.bytes, file.crc32) {
                    return Err(Error::run(
                        &self.folder,
                        format!("{} was changed; delete its folder", path.display()),
                    ));
                }
            }
            return Ok(Some(Committed { folder, step }));
        }
        Ok(None)
    }

    /// Returns the step with this key: finished before, or done now by `attempt`, which gets the
    /// folder to write into. Repeats attempts that the engine did not finish.
    pub(crate) fn step(
        &self,
        key: &str,
        cancel: &CancelFlag,
        mut attempt: impl FnMut(&Path) -> Result<Step>,
    ) -> Result<Committed> {
        if let Some(found) = self.find(key)? {
            tracing::info!(step = found.step.name, "finished before");
            return Ok(found);
        }
        let mut attempts = JOB.start();
        loop {
            let number = attempts.number();
            let unfinished = self
                .folder
                .join(STEPS)
                .join(format!("{UNFINISHED}{key}-{number}"));
            remove(&unfinished)?;
            fs::create_dir(&unfinished).map_err(|error| Error::io(&unfinished, error))?;
            let done = attempt(&unfinished).and_then(|mut step| {
                step.attempts = number;
                self.commit(key, &unfinished, step)
            });
            match done {
                Ok(committed) => return Ok(committed),
                Err(error) => {
                    if let Err(error) = remove(&unfinished) {
                        // The next driver deletes it. The first error is the one that matters.
                        tracing::debug!("{error}");
                    }
                    if !error.is_of_engine() {
                        return Err(error);
                    }
                    tracing::warn!(attempt = number, "{error}");
                    match attempts.next(&|| cancel.is_canceled()) {
                        RetryStep::Retry => {}
                        RetryStep::Exhausted => return Err(error),
                        RetryStep::Stopped => return Err(Error::Interrupted),
                    }
                }
            }
        }
    }

    fn commit(&self, key: &str, unfinished: &Path, step: Step) -> Result<Committed> {
        let json = serde_json::to_vec_pretty(&step);
        let json = json.map_err(|error| Error::run(&self.folder, error.to_string()))?;
        let failed = |error: FolderError| of_folder(&self.folder, &error);
        folder::replace(unfinished, STEP_FILE, &json).map_err(failed)?;
        let number = self.steps.fetch_add(1, Ordering::Relaxed) + 1;
        let steps = self.folder.join(STEPS);
        let folder = steps.join(format!("{number:04}-{key}"));
        fs::rename(unfinished, &folder).map_err(|error| Error::io(&folder, error))?;
        folder::sync_folder(&steps).map_err(failed)?;
        Ok(Committed { folder, step })
    }
}

/// The key of a step: a hash of what it depends on.
pub(crate) fn key(of: &impl Serialize) -> Result<String> {
    let json = serde_json::to_vec(of).map_err(|error| Error::Plan(error.to_string()))?;
    Ok(hex(&Sha256::digest(json)[..8]))
}

impl Committed {
    /// The file with its rows.
    pub(crate) fn rows_path(&self) -> PathBuf {
        self.folder.join(ROWS_FILE)
    }

    /// Passes its rows to `each`.
    pub(crate) fn read_rows(
        &self,
        mut each: impl FnMut(RecordBatch) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let path = self.rows_path();
        let file = File::open(&path).map_err(|error| Error::io(&path, error))?;
        let damaged = |error: &dyn std::fmt::Display| {
            Error::run(&self.folder, format!("{ROWS_FILE}: {error}"))
        };
        let reader = ParquetRecordBatchReaderBuilder::try_new(file)
            .and_then(|builder| builder.with_batch_size(rows::BATCH_ROWS).build())
            .map_err(|error| damaged(&error))?;
        for batch in reader {
            if each(batch.map_err(|error| damaged(&error))?)?.is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// The steps of a run, in their order, with the names of their folders.
pub fn steps(run: &Path) -> Result<Vec<(String, Step)>> {
    let mut found = Vec::new();
    for name in names(&run.join(STEPS))? {
        if let Some(step) = load(&run.join(STEPS).join(&name).join(STEP_FILE))? {
            found.push((name, step));
        }
    }
    Ok(found)
}

/// The query and state of a run; `None` if the folder is not one of a run.
pub fn info(run: &Path) -> Result<Option<RunInfo>> {
    load(&run.join(RUN_FILE))
}

/// The names in a folder, ascending. Empty if it does not exist.
pub(crate) fn names(folder: &Path) -> Result<Vec<String>> {
    let names = folder::names(folder).map_err(|error| of_folder(folder, &error))?;
    let names = names.unwrap_or_default().into_iter();
    let mut names: Vec<_> = names
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    names.sort_unstable();
    Ok(names)
}

/// Reads a JSON file; `None` if it does not exist.
fn load<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    match fs::read(path) {
        Ok(json) => match serde_json::from_slice(&json) {
            Ok(value) => Ok(Some(value)),
            Err(error) => Err(Error::run(path, format!("it is damaged: {error}"))),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io(path, error)),
    }
}

/// The length and CRC-32 of a file.
pub(crate) fn measure(path: &Path) -> Result<(u64, u32)> {
    let io = |error| Error::io(path, error);
    let mut file = File::open(path).map_err(io)?;
    let mut hasher = crc32fast::Hasher::new();
    let mut buffer = vec![0; 1 << 20];
    let mut bytes = 0;
    loop {
        match file.read(&mut buffer).map_err(io)? {
            0 => return Ok((bytes, hasher.finalize())),
            read => {
                hasher.update(&buffer[..read]);
                bytes += read as u64;
            }
        }
    }
}

fn of_folder(folder: &Path, error: &FolderError) -> Error {
    Error::run(folder, error.to_string())
}

fn hex(bytes: &[u8]) -> String {
    alloy_primitives::hex::encode(bytes)
}

/// Deletes the folder of a run, unless a driver works on it.
pub(crate) fn drop(run: &Path) -> Result<()> {
    let lock = folder::lock(run).map_err(|error| of_folder(run, &error))?;
    remove(run)?;
    std::mem::drop(lock);
    Ok(())
}

/// Deletes a folder with everything in it, if it exists.
fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io(folder, error)),
        _ => Ok(()),
    }
}

/// The time in Unix seconds.
pub(crate) fn unix_seconds() -> u64 {
    let now = std::time::SystemTime::now();
    let since = now.duration_since(std::time::UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}
