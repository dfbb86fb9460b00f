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
    time::Instant,
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
    let status = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(output)
        .status()
        .with_context(|| format!("cannot start {program}"))?;
    let wall_s = start.elapsed().as_secs_f64();
    ensure!(status.success(), "{program}: {status}");
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let seconds = |time: nix::sys::time::TimeVal| {
        // Microseconds of a benchmark run fit a f64 exactly.
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
        let micros = time.num_microseconds() as f64;
        micros / 1e6
    };
    Ok(format!(
        "{wall_s:.6} {:.6} {:.6} {}",
        seconds(usage.user_time()),
        seconds(usage.system_time()),
        usage.max_rss()
    ))
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
    let [wall, user, sys, peak] = fields[..] else {
        anyhow::bail!("unexpected line from the measuring process: {line}");
    };
    Ok(Cost {
        wall_s: wall.parse()?,
        user_s: user.parse()?,
        sys_s: sys.parse()?,
        peak_kib: peak.parse()?,
    })
}
