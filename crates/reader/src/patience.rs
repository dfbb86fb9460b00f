//! Trying again. The node truncates, replaces and deletes files beneath us; what
//! cannot be read now can mostly be read under a snapshot taken a moment later.

use std::{
    fmt::Display,
    time::{Duration, Instant},
};

/// How often reading is tried before its error is believed: over 155 ms, while a
/// node finishes what it does to its files within milliseconds.
pub(crate) const ATTEMPTS_MAX: u32 = 6;

/// Pause before the second attempt; doubles from one to the next.
const PAUSE: Duration = Duration::from_millis(5);

/// Tries up to [`ATTEMPTS_MAX`] times.
pub(crate) fn retry<T, E: Display>(
    what: &str,
    mut attempt: impl FnMut() -> Result<T, E>,
) -> Result<T, E> {
    for tried in 1..ATTEMPTS_MAX {
        match attempt() {
            Ok(done) => return Ok(done),
            Err(error) => tracing::debug!(tried, %error, "{what}: trying again"),
        }
        pause(tried, &|| false);
    }
    attempt()
}

/// Waits after attempt number `tried`. False when `stop` said to stop.
pub(crate) fn pause(tried: u32, stop: &dyn Fn() -> bool) -> bool {
    let end = Instant::now() + PAUSE * 2u32.saturating_pow(tried.saturating_sub(1)).min(1000);
    while !stop() {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        std::thread::sleep(left.min(Duration::from_millis(20)));
    }
    false
}
