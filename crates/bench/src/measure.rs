//! The cost of a whole process, as the operating system counts it.
//!
//! `ru_maxrss` of `RUSAGE_CHILDREN` is the maximum over *all* children so far. Each run
//! therefore has a measuring process of its own: this binary, started again with `measure`,
//! runs one child and prints one line.

use anyhow::{Context, Result, ensure};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use std::{
    fs::File,
    path::Path,
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

/// The cost of one run of a command.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Elapsed time in seconds.
    pub wall_s: f64,
    /// CPU time in user mode of all threads, in seconds.
    pub user_s: f64,
    /// CPU time in the kernel, in seconds.
    pub sys_s: f64,
    /// Largest resident set in KiB.
    pub peak_kib: u64,
    /// Largest sampled size of the memory that the process allocated, in KiB: the resident set
    /// without mapped files.
    pub peak_anonymous_kib: u64,
}

impl Cost {
    /// The sum of user and system time.
    pub fn cpu_s(&self) -> f64 {
        self.user_s + self.sys_s
    }
}

/// Runs `command` in the measuring process, with its output in the file `stdout`. Returns the
/// line that [`measured`] reads.
pub fn measure_here(command: &[String], stdout: &Path) -> Result<String> {
    let (program, arguments) = command.split_first().context("no command to measure")?;
    let output = File::create(stdout).with_context(|| stdout.display().to_string())?;
    let start = Instant::now();
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(output)
        .spawn()
        .with_context(|| format!("cannot start {program}"))?;
    let sampler = AnonymousMemory::start(child.id());
    let status = child.wait()?;
    let wall_s = start.elapsed().as_secs_f64();
    ensure!(status.success(), "{program}: {status}");
    let anonymous = sampler.finish();
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let seconds = |time: nix::sys::time::TimeVal| {
        // Microseconds of a benchmark run fit a f64 exactly.
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
        let micros = time.num_microseconds() as f64;
        micros / 1e6
    };
    Ok(format!(
        "{wall_s:.6} {:.6} {:.6} {} {anonymous}",
        seconds(usage.user_time()),
        seconds(usage.system_time()),
        usage.max_rss()
    ))
}

/// Samples the allocated memory of a process until it ends. The kernel does not keep a maximum
/// of it, as it does for the resident set.
struct AnonymousMemory {
    ended: Arc<AtomicBool>,
    thread: JoinHandle<u64>,
}

impl AnonymousMemory {
    const INTERVAL: Duration = Duration::from_millis(5);

    fn start(process: u32) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let thread = std::thread::spawn({
            let ended = Arc::clone(&ended);
            let status = format!("/proc/{process}/status");
            move || {
                let mut peak = 0;
                while !ended.load(Ordering::Relaxed) {
                    peak = peak.max(anonymous_kib(&status).unwrap_or(0));
                    std::thread::sleep(Self::INTERVAL);
                }
                peak
            }
        });
        Self { ended, thread }
    }

    fn finish(self) -> u64 {
        self.ended.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or(0)
    }
}

fn anonymous_kib(status: &str) -> Option<u64> {
    let text = std::fs::read_to_string(status).ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Runs `command` through a measuring process, with its output in the file `stdout`.
pub fn measured(command: &[String], threads: usize, stdout: &Path) -> Result<Cost> {
    let this = std::env::current_exe()?;
    let output = Command::new(this)
        .arg("measure")
        .arg(stdout)
        .arg("--")
        .args(command)
        .env("RAYON_NUM_THREADS", threads.to_string())
        .stdin(Stdio::null())
        .output()?;
    ensure!(
        output.status.success(),
        "`{}` failed:\n{}",
        command.join(" "),
        String::from_utf8_lossy(&output.stderr)
    );
    let line = String::from_utf8(output.stdout)?;
    let fields: Vec<_> = line.split_whitespace().collect();
    let [wall, user, sys, peak, anonymous] = fields[..] else {
        anyhow::bail!("unexpected line from the measuring process: {line}");
    };
    Ok(Cost {
        wall_s: wall.parse()?,
        user_s: user.parse()?,
        sys_s: sys.parse()?,
        peak_kib: peak.parse()?,
        peak_anonymous_kib: anonymous.parse()?,
    })
}
