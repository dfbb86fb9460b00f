//! Repeating what failed because a node changed its files.
//!
//! A node truncates, replaces and deletes files, and replaces its newest blocks, while
//! they are read. What cannot be read now can usually be read a moment later. The same is true of
//! a server. These policies differ by reason:
//!
//! | policy | repeats | where |
//! | --- | --- | --- |
//! | `SNAPSHOT` | taking a consistent view of the files | `nodedb` |
//! | [`Retry::REREAD`] | reading under a new view | reader, state, replay, index |
//! | `REQUEST` | a request to a server that failed or was refused | `rpc` |
//! | `REPLACED` | requests whose answers are of different blocks | `rpc` |
//! | `QUERY` | a whole query, after a reorganization | `txgraph` |
//! | `JOB` | a step of a cluster whose job was lost | `distributed` |
//!
//! The policies nest in this order, for nodes and for servers. A query that always fails takes at
//! most the product of the sums of pauses, plus the reading itself.

use std::{
    fmt::Display,
    hash::{BuildHasher, RandomState},
    time::{Duration, Instant},
};

/// How often to try, and how long to pause in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// Maximum number of attempts, including the first.
    pub attempts: u32,
    /// Pause before the second attempt; doubles with each attempt.
    pub backoff: Duration,
}

/// Longest sleep between two looks at the stop condition.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

impl Retry {
    /// Reading again under a new snapshot. 155 ms in all, while a node finishes what it does
    /// to its files within milliseconds.
    ///
    /// Repeating only whole queries would not do: a query may read for hours, and a
    /// node that prunes or appends all the time would interrupt every attempt. A reader
    /// holds a snapshot for seconds at most, so only the reading under one snapshot is
    /// repeated.
    pub const REREAD: Self = Self {
        attempts: 6,
        backoff: Duration::from_millis(5),
    };

    /// Counts attempts from the first on, which the caller is about to make.
    pub const fn start(self) -> Attempts {
        Attempts {
            retry: self,
            made: 1,
        }
    }

    /// Makes attempts until one succeeds, fails with an error for which `again` is false,
    /// or was the last. Returns the result of the last attempt. `what` names the work in
    /// the log.
    pub fn run<T, E: Display>(
        self,
        what: &str,
        again: impl Fn(&E) -> bool,
        mut attempt: impl FnMut() -> Result<T, E>,
    ) -> Result<T, E> {
        let mut attempts = self.start();
        loop {
            match attempt() {
                Err(error) if again(&error) => {
                    tracing::debug!(attempt = attempts.made, %error, "{what} failed");
                    if attempts.next(&|| false) != RetryStep::Retry {
                        return Err(error);
                    }
                }
                result => return result,
            }
        }
    }
}

/// Attempts made so far; see [`Retry::start`].
#[derive(Clone, Copy, Debug)]
pub struct Attempts {
    retry: Retry,
    made: u32,
}

/// The next step after a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryStep {
    /// Try again; the pause is over.
    Retry,
    /// The last attempt failed.
    Exhausted,
    /// The stop condition became true during the pause.
    Stopped,
}

impl Attempts {
    /// The number of the current attempt, starting with 1.
    pub const fn number(&self) -> u32 {
        self.made
    }

    /// Pauses after a failed attempt, unless it was the last. The pause ends early when
    /// `stop` becomes true.
    pub fn next(&mut self, stop: &dyn Fn() -> bool) -> RetryStep {
        self.pause(self.backoff(), stop)
    }

    /// Like [`next`](Self::next), but pauses for at least `least`, plus a random part of up to a
    /// half. For servers that others use too: attempts that were refused together do not come back
    /// together.
    pub fn next_spread(&mut self, least: Duration, stop: &dyn Fn() -> bool) -> RetryStep {
        let pause = self.backoff().max(least);
        // A new state has random keys.
        let random = RandomState::new().hash_one(self.made) % 512;
        let part = pause.mul_f64(random as f64 / 1024.0);
        self.pause(pause.saturating_add(part), stop)
    }

    /// The pause after the current attempt.
    fn backoff(&self) -> Duration {
        let factor = 2u32.saturating_pow(self.made - 1);
        self.retry.backoff.saturating_mul(factor)
    }

    fn pause(&mut self, pause: Duration, stop: &dyn Fn() -> bool) -> RetryStep {
        if self.made >= self.retry.attempts {
            return RetryStep::Exhausted;
        }
        let end = Instant::now() + pause;
        self.made += 1;
        while !stop() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return RetryStep::Retry;
            }
            std::thread::sleep(left.min(POLL_INTERVAL));
        }
        RetryStep::Stopped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAST: Retry = Retry {
        attempts: 4,
        backoff: Duration::from_micros(10),
    };

    #[test]
    fn returns_the_last_error_after_the_last_attempt() {
        let mut made = 0;
        let result: Result<(), u32> = FAST.run(
            "test",
            |_| true,
            || {
                made += 1;
                Err(made)
            },
        );
        assert_eq!((result, made), (Err(4), 4));
    }

    #[test]
    fn stops_at_success_and_at_errors_that_stay() {
        for (last, expected) in [(Ok(7), Ok(7)), (Err(9), Err(9))] {
            let mut results = vec![last, Err(1)];
            let result = FAST.run("test", |error| *error == 1, || results.pop().unwrap());
            assert_eq!(result, expected);
            assert!(results.is_empty());
        }
    }

    #[test]
    fn pauses_double_and_can_be_stopped() {
        let retry = Retry {
            attempts: 3,
            backoff: Duration::from_millis(2),
        };
        let mut attempts = retry.start();
        let begun = Instant::now();
        assert_eq!(attempts.next(&|| false), RetryStep::Retry);
        assert_eq!(attempts.next(&|| false), RetryStep::Retry);
        assert!(begun.elapsed() >= Duration::from_millis(6));
        assert_eq!(attempts.next(&|| false), RetryStep::Exhausted);
        let long = Retry {
            attempts: 2,
            backoff: Duration::from_secs(3600),
        };
        assert_eq!(long.start().next(&|| true), RetryStep::Stopped);
        assert_eq!(
            long.start().next_spread(Duration::ZERO, &|| true),
            RetryStep::Stopped
        );
    }

    #[test]
    fn pauses_last_as_long_as_a_server_asks_for() {
        let retry = Retry {
            attempts: 2,
            backoff: Duration::from_millis(1),
        };
        let mut attempts = retry.start();
        let begun = Instant::now();
        let least = Duration::from_millis(30);
        assert_eq!(attempts.next_spread(least, &|| false), RetryStep::Retry);
        assert!(begun.elapsed() >= least);
        assert_eq!(attempts.next_spread(least, &|| false), RetryStep::Exhausted);
    }
}
