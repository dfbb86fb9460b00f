//! Signals.

use crate::progress;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ},
    flag,
    iterator::Signals,
    low_level,
};
use std::{
    fmt, fs,
    sync::{Arc, atomic::AtomicBool, mpsc},
    thread,
    time::{Duration, Instant},
};
use txgraph::{CancelFlag, Error, ErrorKind, Result};

/// How often progress and further signals are checked after a SIGINT.
const POLL: Duration = Duration::from_millis(20);

/// How long a message may take to print. Standard error can be a pipe that nothing reads.
const MESSAGE_TIME_MAX: Duration = Duration::from_millis(200);

/// Watches SIGINT, SIGTERM and SIGHUP, and returns a flag that the first SIGINT sets. Call it once.
///
/// Work that sees the flag stops in order. SIGTERM and SIGHUP end the process at once. So do a second
/// signal, and a SIGINT after which no block is finished for `grace`: the process is then
/// blocked, for example by a pipe that nothing reads. Unfinished outputs are deleted first.
///
/// # Errors
///
/// If the system refuses signal handlers or a thread.
pub fn watch_signals(grace: Duration) -> Result<CancelFlag> {
    watch(move |mut signals, flag| {
        // `wait` may also return without a signal.
        let first = loop {
            if let Some(signal) = signals.wait().next() {
                break signal;
            }
        };
        if first != SIGINT {
            exit();
        }
        stop(&flag);
        let (mut blocks, mut since) = (progress::blocks_done(), Instant::now());
        loop {
            thread::sleep(POLL);
            if signals.pending().next().is_some() {
                exit();
            }
            let now = progress::blocks_done();
            if now != blocks {
                (blocks, since) = (now, Instant::now());
            } else if since.elapsed() >= grace {
                exit();
            }
        }
    })
}

/// Watches SIGINT, SIGTERM and SIGHUP, and returns a flag that the first of them sets. A second one ends the
/// process. For a server, which ends in order.
///
/// # Errors
///
/// As [`watch_signals`].
pub(crate) fn watch_signals_to_end() -> Result<CancelFlag> {
    watch(|mut signals, flag| {
        for _ in signals.forever() {
            if flag.is_canceled() {
                exit();
            }
            stop(&flag);
        }
    })
}

/// Passes these signals to a thread that runs `watcher`, with the flag that this returns. `nohup` stays in force,
/// and a limit on the size of files is an error of the writer.
fn watch(watcher: impl FnOnce(Signals, CancelFlag) + Send + 'static) -> Result<CancelFlag> {
    let failed = |error| Error::new(ErrorKind::Failed, "cannot watch for signals").because(error);
    let ended = [SIGINT, SIGTERM, SIGHUP].into_iter();
    let ended = ended.filter(|signal| *signal != SIGHUP || !is_ignored(SIGHUP));
    let signals = Signals::new(ended).map_err(failed)?;
    // A process without a handler dies of it. With one, the write fails.
    flag::register(SIGXFSZ, Arc::<AtomicBool>::default()).map_err(failed)?;
    let cancel = CancelFlag::new();
    let flag = cancel.clone();
    let thread = thread::Builder::new().name("signals".into());
    thread
        .spawn(move || watcher(signals, flag))
        .map_err(failed)?;
    Ok(cancel)
}

/// Whether this process was started with the signal ignored.
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

fn stop(flag: &CancelFlag) {
    flag.cancel();
    say(format_args!("stopping (once more to stop at once)"));
}

/// Ends the process with status 130, whatever its threads are blocked by.
fn exit() -> ! {
    let _files = txgraph::discard_partial_files();
    say(format_args!("error: interrupted"));
    // Without exit handlers, which could wait for a blocked thread.
    low_level::exit(130)
}

/// Prints a line on a thread of its own, and waits for it only so long.
fn say(line: fmt::Arguments<'_>) {
    let line = line.to_string();
    let (printed, wait) = mpsc::channel();
    let print = move || {
        progress::say(format_args!("{line}"));
        let _ = printed.send(());
    };
    // Without a thread there is no message, which matters less than the exit.
    if thread::Builder::new().spawn(print).is_ok() {
        let _ = wait.recv_timeout(MESSAGE_TIME_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use signal_hook::consts::{SIGPIPE, SIGUSR1};

    #[test]
    fn ignored_signals_are_known() {
        // The standard library ignores it.
        assert!(is_ignored(SIGPIPE));
        assert!(!is_ignored(SIGUSR1));
    }
}
