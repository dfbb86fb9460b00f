//! The cost of work, and its spread over runs.
//!
//! `ru_maxrss` of `RUSAGE_CHILDREN` is the maximum over *all* children so far. Each run of a
//! process therefore has a measuring process of its own: this binary, started again with
//! `measure`, runs one child and prints one line.

use anyhow::{Context, Result, ensure};
use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use std::{
    fmt,
    fs::{self, File},
    path::Path,
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

/// The cost of some work.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Cost {
    /// Elapsed time in seconds.
    pub(crate) wall_s: f64,
    /// CPU time in user mode of all threads, in seconds.
    pub(crate) user_s: f64,
    /// CPU time in the kernel, in seconds.
    pub(crate) sys_s: f64,
    /// Largest resident set in KiB.
    pub(crate) peak_kib: u64,
}

impl Cost {
    /// The sum of user and system time.
    pub(crate) fn cpu_s(&self) -> f64 {
        self.user_s + self.sys_s
    }

    /// Measures work that this process does, or that its children do and end.
    pub(crate) fn of<T>(who: UsageWho, work: impl FnOnce() -> Result<T>) -> Result<(T, Self)> {
        let before = getrusage(who)?;
        let start = Instant::now();
        let value = work()?;
        let wall_s = start.elapsed().as_secs_f64();
        let after = getrusage(who)?;
        let seconds = |time: fn(&Usage) -> nix::sys::time::TimeVal| {
            let micros = time(&after).num_microseconds() - time(&before).num_microseconds();
            #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
            let micros = micros as f64;
            micros / 1e6
        };
        let cost = Self {
            wall_s,
            user_s: seconds(Usage::user_time),
            sys_s: seconds(Usage::system_time),
            peak_kib: u64::try_from(after.max_rss())?,
        };
        Ok((value, cost))
    }

    /// Parses a line that begins with the form of [`fmt::Display`]. Returns the cost, and the
    /// numbers behind it.
    pub(crate) fn from_line(line: &str) -> Result<(Self, Vec<u64>)> {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [wall_s, user_s, sys_s, peak_kib, ref rest @ ..] = fields[..] else {
            anyhow::bail!("unexpected output of a measuring process: {line}");
        };
        let cost = Self {
            wall_s: wall_s.parse()?,
            user_s: user_s.parse()?,
            sys_s: sys_s.parse()?,
            peak_kib: peak_kib.parse()?,
        };
        let rest = rest.iter().map(|field| field.parse());
        Ok((cost, rest.collect::<Result<_, _>>()?))
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (user_s, sys_s) = (self.user_s, self.sys_s);
        write!(
            f,
            "{:.6} {user_s:.6} {sys_s:.6} {}",
            self.wall_s, self.peak_kib
        )
    }
}

/// A sample of figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    /// The middle value, or the mean of the two middle values.
    pub(crate) median: f64,
    /// The arithmetic mean.
    pub(crate) mean: f64,
    /// The sample standard deviation; 0 for a single run.
    pub(crate) deviation: f64,
    /// The least value.
    pub(crate) min: f64,
    /// The greatest value.
    pub(crate) max: f64,
}

impl Spread {
    /// Computes the spread of a sample. All values are NaN if it is empty.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        #[expect(clippy::cast_precision_loss, reason = "a handful of runs")]
        let count = values.len() as f64;
        let middle = values.len() / 2;
        let median = match values.len() {
            0 => f64::NAN,
            n if n % 2 == 1 => values[middle],
            _ => f64::midpoint(values[middle - 1], values[middle]),
        };
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = if values.len() > 1 {
            (squares / (count - 1.0)).sqrt()
        } else {
            0.0
        };
        Self {
            median,
            mean,
            deviation,
            min: values.first().copied().unwrap_or(f64::NAN),
            max: values.last().copied().unwrap_or(f64::NAN),
        }
    }
}

/// Runs all subjects in each round, one after the other: if the machine is slow for a minute, all
/// are affected. Returns the figures of each subject. Round 0 only warms up.
pub(crate) fn interleaved<S, F>(
    subjects: &mut [S],
    rounds: usize,
    mut run: impl FnMut(&mut S, usize) -> Result<F>,
) -> Result<Vec<Vec<F>>> {
    let mut figures: Vec<Vec<F>> = subjects.iter().map(|_| Vec::new()).collect();
    for round in 0..=rounds {
        for (subject, figures) in subjects.iter_mut().zip(&mut figures) {
            let figure = run(subject, round)?;
            if round > 0 {
                figures.push(figure);
            }
        }
    }
    Ok(figures)
}

/// Runs `command` in the measuring process, with its output in the file `stdout`. Returns the
/// line that [`measured`] reads.
pub(crate) fn measure_here(command: &[String], stdout: &Path) -> Result<String> {
    let (program, arguments) = command.split_first().context("no command to measure")?;
    let output = File::create(stdout).with_context(|| stdout.display().to_string())?;
    let ((sampler, status), cost) = Cost::of(UsageWho::RUSAGE_CHILDREN, || {
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(output)
            .spawn()
            .with_context(|| format!("cannot start {program}"))?;
        Ok((AnonymousMemory::start(child.id()), child.wait()?))
    })?;
    ensure!(status.success(), "{program}: {status}");
    Ok(format!("{cost} {}", sampler.finish()))
}

/// Samples the memory that a process allocated, until it ends: the resident set without mapped
/// files. The kernel does not keep a maximum of it, as it does for the resident set.
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
            let process = process.to_string();
            move || {
                let mut peak = 0;
                while !ended.load(Ordering::Relaxed) {
                    peak = peak.max(status_kib(&process, "RssAnon:").unwrap_or(0));
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

/// A size in the status of a process, in KiB.
pub(crate) fn status_kib(process: &str, key: &str) -> Result<u64> {
    let path = format!("/proc/{process}/status");
    let text = fs::read_to_string(&path)?;
    let size = text.lines().find_map(|line| line.strip_prefix(key));
    let size = size.and_then(|size| size.split_whitespace().next());
    let size = size.with_context(|| format!("{path} has no {key}"))?;
    Ok(size.parse()?)
}

/// Runs `command` through a measuring process, with its output in the file `stdout`.
pub(crate) fn measured(command: &[String], threads: usize, stdout: &Path) -> Result<Cost> {
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
    Ok(Cost::from_line(&String::from_utf8(output.stdout)?)?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_of_small_samples() {
        let spread = Spread::of([4.0, 1.0, 2.0, 3.0]);
        assert_eq!((spread.median, spread.mean), (2.5, 2.5));
        assert_eq!((spread.min, spread.max), (1.0, 4.0));
        assert!((spread.deviation - 1.290_994).abs() < 1e-6);
        assert_eq!(Spread::of([7.0]).deviation, 0.0);
    }

    #[test]
    fn the_first_round_is_not_counted() {
        let figures = interleaved(&mut [0, 10], 3, |subject, round| Ok(*subject + round));
        assert_eq!(figures.unwrap(), [[1, 2, 3], [11, 12, 13]]);
    }
}
