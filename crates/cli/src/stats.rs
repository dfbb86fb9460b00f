//! `--stats`: what a command cost, as JSON.

use nix::sys::{
    resource::{UsageWho, getrusage},
    time::TimeValLike,
};
use serde_json::{Map, Value, json};
use std::{
    io::Write,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};
use txgraph::{
    BlockRanges, Config, Error, LineWriter, ProtectedPaths, Result, ScanReport, Source, Written,
};

/// The phases, counts and files of a command so far.
#[derive(Debug)]
pub(crate) struct Stats {
    start: Instant,
    done: Mutex<Done>,
}

#[derive(Debug, Default)]
struct Done {
    /// Seconds from the start to the end of the last phase.
    until: f64,
    /// Names and seconds.
    phases: Vec<(&'static str, f64)>,
    counts: Map<String, Value>,
    files: Vec<Value>,
    /// Outputs, without links.
    paths: Vec<PathBuf>,
    /// The files of the source.
    protected: ProtectedPaths,
}

/// The file for them, which gets its name when the command ends.
pub(crate) struct StatsFile {
    path: PathBuf,
    out: LineWriter,
    command: String,
    config: Config,
}

impl Stats {
    pub(crate) fn new() -> Self {
        Self {
            start: Instant::now(),
            done: Mutex::default(),
        }
    }

    fn done(&self) -> MutexGuard<'_, Done> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the files of a source from being replaced.
    pub(crate) fn protect(&self, source: &Source) {
        self.done().protected.add(&source.protected_paths());
    }

    /// Ends a phase, which began with the end of the last one.
    pub(crate) fn phase(&self, name: &'static str) {
        let now = self.start.elapsed().as_secs_f64();
        let mut done = self.done();
        let seconds = now - done.until;
        done.until = now;
        done.phases.push((name, seconds));
    }

    /// Sets a number.
    pub(crate) fn count(&self, name: &str, count: u64) {
        self.done().counts.insert(name.to_owned(), count.into());
    }

    /// Sets the blocks of the query.
    pub(crate) fn ranges(&self, blocks: &BlockRanges) {
        let ranges = blocks.iter();
        let ranges = ranges.map(|range| json!({ "first": range.first, "last": range.last }));
        let ranges = ranges.collect::<Vec<_>>();
        self.done().counts.insert("requested".into(), ranges.into());
    }

    /// Sets what a scan read.
    pub(crate) fn scan(&self, scan: &ScanReport) {
        let counts = &scan.counts;
        for (name, count) in [
            ("blocks", counts.blocks),
            ("skipped_blocks", counts.skipped_blocks),
            ("transactions", counts.transactions),
            ("logs", counts.logs),
            ("transfers", counts.transfers),
        ] {
            self.count(name, count);
        }
        if let Some(hash) = scan.last_block_hash {
            let hash = hash.to_string();
            self.done()
                .counts
                .insert("last_block_hash".into(), hash.into());
        }
    }

    /// Adds outputs that were written.
    pub(crate) fn written(&self, written: &[Written]) {
        let files = written.iter().map(|file| {
            let path = file.path.as_ref();
            let path = path.map(|path| path.display().to_string());
            json!({ "path": path, "rows": file.rows, "bytes": file.bytes })
        });
        let paths = (written.iter()).flat_map(|file| file.path.iter().chain(&file.metadata_path));
        let paths = paths.filter_map(|path| path.canonicalize().ok());
        let mut done = self.done();
        done.files.extend(files);
        done.paths.extend(paths);
    }

    /// Everything, in the order of the documentation.
    fn document(&self, file: &StatsFile, error: Option<&Error>) -> Value {
        let done = self.done();
        let usage = getrusage(UsageWho::RUSAGE_SELF).ok();
        let seconds = |time: nix::sys::time::TimeVal| {
            #[expect(clippy::cast_precision_loss, reason = "a time for people")]
            let seconds = time.num_microseconds() as f64 / 1e6;
            seconds
        };
        let phases = done.phases.iter();
        let cores = std::thread::available_parallelism().map_or(1, Into::into);
        let mut document = json!({
            "command": file.command,
            "version": env!("CARGO_PKG_VERSION"),
            "error": error.map(ToString::to_string),
            "seconds": self.start.elapsed().as_secs_f64(),
            "cpu_seconds": usage.map(|usage| seconds(usage.user_time()) + seconds(usage.system_time())),
            // Linux counts it in KiB.
            "memory_max_bytes": usage.map(|usage| usage.max_rss().saturating_mul(1024)),
            "threads": file.config.threads.filter(|count| *count > 0).unwrap_or(cores),
            "chunk_blocks": file.config.chunk_blocks,
            "phases": phases
                .map(|(name, seconds)| json!({ "name": name, "seconds": seconds }))
                .collect::<Vec<_>>(),
            "files": done.files,
        });
        if let Value::Object(fields) = &mut document {
            fields.extend(done.counts.clone());
        }
        document
    }
}

impl StatsFile {
    /// Opens the file. One that exists is replaced.
    pub(crate) fn open(path: &Path, config: Config, command: String) -> Result<Self> {
        Ok(Self {
            out: LineWriter::new(&path.to_path_buf().into(), true)?,
            path: path.to_path_buf(),
            command,
            config,
        })
    }

    /// Writes the file.
    pub(crate) fn finish(mut self, stats: &Stats, error: Option<&Error>) -> Result<()> {
        stats.phase("end");
        stats.done().protected.check(&self.path)?;
        let path = self.path.canonicalize();
        if path.is_ok_and(|path| stats.done().paths.contains(&path)) {
            let path = self.path.display();
            return Err(Error::usage(format!(
                "{path}: an output has this name, so --stats did not replace it"
            )));
        }
        let text = serde_json::to_string_pretty(&stats.document(&self, error));
        let text = text.map_err(|error| Error::io(&self.path, error.into()))?;
        let written = self.out.write_all(format!("{text}\n").as_bytes());
        written.map_err(|error| Error::io(&self.path, error))?;
        self.out.finish()?;
        Ok(())
    }
}
