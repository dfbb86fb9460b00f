//! Runs a command of this program, and keeps what it prints and writes in a folder.

use super::answer::{Blocks, STDERR, STDOUT};
use crate::{commands::Context, output_folder::OUTPUT_DIR_ENV, progress};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde::Deserialize;
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};
use txgraph::{CancelFlag, Error, ErrorKind, Result};

/// How often the end of the command and Ctrl-C are checked.
const POLL: Duration = Duration::from_millis(10);

/// The cost of a command, which `--stats` writes.
const STATS: &str = ".stats.json";

/// A command that succeeded.
#[derive(Debug, Default)]
pub(super) struct Finished {
    pub(super) seconds: f64,
    /// The last block of the source.
    pub(super) tip: Option<u64>,
    pub(super) blocks: Vec<Blocks>,
    /// The hash of the last block that was read.
    pub(super) last_block_hash: Option<String>,
    /// Rows of files, by name.
    pub(super) rows: BTreeMap<String, u64>,
}

/// The parts of the file of `--stats` that an answer keeps.
#[derive(Debug, Default, Deserialize)]
struct Stats {
    tip: Option<u64>,
    #[serde(default)]
    requested: Vec<Blocks>,
    last_block_hash: Option<String>,
    #[serde(default)]
    files: Vec<Written>,
}

#[derive(Debug, Deserialize)]
struct Written {
    path: Option<String>,
    rows: Option<u64>,
}

/// Runs a command with `folder`, an absolute path, as the folder of its outputs. Standard output
/// and standard error become files there. Standard error is also shown if `shown` is set, or if the
/// command fails.
pub(super) fn run(
    args: &[String],
    folder: &Path,
    shown: bool,
    context: &Context<'_>,
) -> Result<Finished> {
    let start = Instant::now();
    let failed = |error| Error::io(folder, error);
    let program = std::env::current_exe().map_err(failed)?;
    let stats = folder.join(STATS);
    let stdout = File::create_new(folder.join(STDOUT)).map_err(failed)?;
    let mut command = Command::new(program);
    command.args(args).arg("--stats").arg(&stats);
    command.env(OUTPUT_DIR_ENV, folder);
    command.stdin(Stdio::null()).stdout(stdout);
    let mut child = command.stderr(Stdio::piped()).spawn().map_err(failed)?;
    let lines = child.stderr.take();
    let mut log = File::create_new(folder.join(STDERR)).map_err(failed)?;
    let prefix = format!("{}/", folder.display());
    let reader = thread::spawn(move || -> std::io::Result<()> {
        for line in lines
            .into_iter()
            .flat_map(|pipe| BufReader::new(pipe).split(b'\n'))
        {
            let line = String::from_utf8_lossy(&line?).replace(&prefix, "");
            writeln!(log, "{line}")?;
            if shown {
                progress::say(format_args!("{line}"));
            }
        }
        log.sync_all()
    });
    let status = wait(&mut child, &context.terminal.cancel).map_err(failed)?;
    let kept = reader.join().unwrap_or(Ok(()));
    if context.terminal.cancel.is_canceled() {
        return Err(Error::new(ErrorKind::Interrupted, "interrupted"));
    }
    kept.map_err(failed)?;
    check(status).inspect_err(|_| {
        let log = fs::read_to_string(folder.join(STDERR)).unwrap_or_default();
        let lines = log.lines().filter(|_| !shown);
        lines.for_each(|line| progress::say(format_args!("{line}")));
    })?;
    let seconds = start.elapsed().as_secs_f64();
    let text = fs::read(&stats).map_err(failed)?;
    fs::remove_file(&stats).map_err(failed)?;
    let stats: Stats = serde_json::from_slice(&text).map_err(|error| failed(error.into()))?;
    let rows = stats.files.into_iter().filter_map(|file| {
        let name = Path::new(file.path.as_deref()?)
            .file_name()?
            .to_str()?
            .to_owned();
        Some((name, file.rows?))
    });
    Ok(Finished {
        seconds,
        tip: stats.tip,
        blocks: stats.requested,
        last_block_hash: stats.last_block_hash,
        rows: rows.collect(),
    })
}

/// Waits for the end of a command. Ctrl-C ends it.
fn wait(child: &mut Child, cancel: &CancelFlag) -> std::io::Result<ExitStatus> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if cancel.is_canceled() {
            // It deletes its unfinished outputs. One that has ended needs no signal.
            if let Ok(id) = i32::try_from(child.id()) {
                let _ = kill(Pid::from_raw(id), Signal::SIGTERM);
            }
            return child.wait();
        }
        thread::sleep(POLL);
    }
}

/// Passes a failure on.
fn check(status: ExitStatus) -> Result<()> {
    let kind = match status.code() {
        Some(0) => return Ok(()),
        Some(2) => ErrorKind::Usage,
        Some(3) => ErrorKind::Unavailable,
        Some(130) => ErrorKind::Interrupted,
        _ => ErrorKind::Failed,
    };
    let status = match status.code() {
        Some(code) => format!("status {code}"),
        None => "a signal".to_owned(),
    };
    Err(Error::new(kind, format!("the command ended with {status}")))
}
