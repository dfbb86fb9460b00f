//! How many threads there are, and the threads themselves.

use rayon::{ThreadPool, ThreadPoolBuilder};
use std::{
    fmt,
    sync::{Arc, OnceLock},
    thread,
};

/// Cores multiplied by this are the most threads, see [`Threads::max`].
const PER_CORE_MAX: usize = 4;

/// On small machines the limit is not below this, see [`Threads::max`].
const MAX_AT_LEAST: usize = 64;

/// The threads that work may use. Clones share the same threads.
///
/// The threads are started by the first call that needs them. With one thread, tasks of
/// [`ordered`](crate::ordered) run on the calling thread and none is started for them.
///
/// Code that uses rayon directly belongs into [`Threads::install`]; elsewhere it would use
/// rayon's global pool, which has a thread for each core whatever the user asked for.
#[derive(Clone)]
pub struct Threads(Arc<Inner>);

struct Inner {
    count: usize,
    pool: OnceLock<ThreadPool>,
}

/// Threads cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ThreadsError {
    /// More threads were requested than [`Threads::max`].
    #[error("{requested} threads are too many for this machine; use at most {max}")]
    TooMany {
        /// The number of threads that was requested.
        requested: usize,
        /// The largest number that is accepted.
        max: usize,
    },
    /// The system refused to start the threads.
    #[error("cannot start {threads} threads: {source}")]
    Start {
        /// The number of threads.
        threads: usize,
        /// The cause.
        source: rayon::ThreadPoolBuildError,
    },
}

impl Threads {
    /// `count` threads; 0 stands for one per core.
    ///
    /// # Errors
    ///
    /// If `count` is above [`Threads::max`].
    pub fn new(count: usize) -> Result<Self, ThreadsError> {
        let max = Self::max();
        if count > max {
            return Err(ThreadsError::TooMany {
                requested: count,
                max,
            });
        }
        let count = if count == 0 { cores() } else { count };
        Ok(Self(Arc::new(Inner {
            count,
            pool: OnceLock::new(),
        })))
    }

    /// One thread: work is done by the caller.
    pub fn one() -> Self {
        Self(Arc::new(Inner {
            count: 1,
            pool: OnceLock::new(),
        }))
    }

    /// The largest accepted number of threads: four per core, but at least 64.
    ///
    /// Decoding is bound by the processor, so more threads than cores only help while
    /// pages of the node's files are read from disk. There a thread waits for a page
    /// fault about three quarters of the time at worst, so four per core; and solid-state
    /// disks reach their full rate with 32 to 64 requests in flight, so 64 on any
    /// machine. More threads only take memory: each holds at least 256 KiB of transfers
    /// and up to 4 MiB of buffers.
    pub fn max() -> usize {
        cores().saturating_mul(PER_CORE_MAX).max(MAX_AT_LEAST)
    }

    /// The number of threads.
    pub fn count(&self) -> usize {
        self.0.count
    }

    /// The threads as a rayon pool, started by the first call.
    ///
    /// # Errors
    ///
    /// If the system refuses to start them.
    pub fn pool(&self) -> Result<&ThreadPool, ThreadsError> {
        if let Some(pool) = self.0.pool.get() {
            return Ok(pool);
        }
        let pool = ThreadPoolBuilder::new()
            .num_threads(self.0.count)
            .thread_name(|number| format!("txgraph-{number}"))
            .build()
            .map_err(|source| ThreadsError::Start {
                threads: self.0.count,
                source,
            })?;
        // Of two callers at the same time one drops its pool again.
        Ok(self.0.pool.get_or_init(|| pool))
    }

    /// Runs `work` on these threads, with everything that it splits off with rayon.
    ///
    /// # Errors
    ///
    /// If the system refuses to start them.
    pub fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, ThreadsError> {
        Ok(self.pool()?.install(work))
    }
}

/// One thread per core.
impl Default for Threads {
    fn default() -> Self {
        Self(Arc::new(Inner {
            count: cores(),
            pool: OnceLock::new(),
        }))
    }
}

impl fmt::Debug for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Threads").field(&self.0.count).finish()
    }
}

/// Cores that this process may use, within its affinity mask and control group.
fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rayon::prelude::*;

    #[test]
    fn refuses_absurd_numbers_before_starting_any() {
        let max = Threads::max();
        assert!(max >= 64);
        assert_eq!(Threads::new(max).unwrap().count(), max);
        for requested in [max + 1, 100_000, usize::MAX] {
            let error = Threads::new(requested).unwrap_err();
            assert!(matches!(error, ThreadsError::TooMany { .. }), "{error}");
        }
    }

    #[test]
    fn zero_means_one_per_core() {
        assert_eq!(Threads::new(0).unwrap().count(), cores());
        assert_eq!(Threads::default().count(), cores());
    }

    #[test]
    fn installed_work_runs_on_these_threads() {
        let threads = Threads::new(3).unwrap();
        let names: Vec<_> = threads
            .install(|| {
                assert_eq!(rayon::current_num_threads(), 3);
                (0..100)
                    .into_par_iter()
                    .map(|_| thread::current().name().map(str::to_owned))
                    .collect()
            })
            .unwrap();
        for name in names {
            assert!(name.unwrap().starts_with("txgraph-"));
        }
    }
}
