//! SIGINT and SIGTERM.

use crate::progress;
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    iterator::Signals,
    low_level,
};
use std::{
    fmt,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};
use txgraph::{CancelFlag, Error, ErrorKind, Result};

/// How often progress and further signals are checked after a SIGINT.
const POLL: Duration = Duration::from_millis(20);

/// How long a message may take to print. Standard error can be a pipe that nothing reads.
const MESSAGE_TIME_MAX: Duration = Duration::from_millis(200);

/// Watches SIGINT and SIGTERM, and returns a flag that the first SIGINT sets. Call it once.
///
/// Work that sees the flag stops in order. SIGTERM ends the process at once. So do a second
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
        if first == SIGTERM {
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

/// Watches SIGINT and SIGTERM, and returns a flag that the first of them sets. A second one ends the
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

/// Passes SIGINT and SIGTERM to a thread that runs `watcher`, with the flag that this returns.
fn watch(watcher: impl FnOnce(Signals, CancelFlag) + Send + 'static) -> Result<CancelFlag> {
    let failed = |error| Error::new(ErrorKind::Failed, "cannot watch for signals").because(error);
    let signals = Signals::new([SIGINT, SIGTERM]).map_err(failed)?;
    let cancel = CancelFlag::new();
    let flag = cancel.clone();
    let thread = thread::Builder::new().name("signals".into());
    thread
        .spawn(move || watcher(signals, flag))
        .map_err(failed)?;
    Ok(cancel)
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
