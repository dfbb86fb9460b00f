//! How fast a server is asked: the rate, requests at a time, and sizes that adapt.

use std::{
    sync::{
        Condvar, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// Longest sleep between two looks at the stop condition.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Limits the calls in a second and the requests at a time. Shared between threads.
#[derive(Debug)]
pub(crate) struct Pace {
    /// The time of one call.
    interval: Duration,
    /// When the next call may be made.
    next: Mutex<Option<Instant>>,
    /// Requests that may still start.
    free: Mutex<usize>,
    ended: Condvar,
}

/// A running request. Ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Running<'a>(&'a Pace);

impl Pace {
    pub(crate) fn new(rate: Option<f64>, connections: usize) -> Self {
        Self {
            interval: rate.map_or(Duration::ZERO, |rate| Duration::from_secs_f64(1.0 / rate)),
            next: Mutex::new(None),
            free: Mutex::new(connections),
            ended: Condvar::new(),
        }
    }

    /// Waits until a request with this number of calls may start. `None` when `stop` becomes
    /// true.
    pub(crate) fn start(&self, calls: u32, stop: &dyn Fn() -> bool) -> Option<Running<'_>> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        while *free == 0 {
            if stop() {
                return None;
            }
            let waited = self.ended.wait_timeout(free, POLL_INTERVAL);
            (free, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        *free -= 1;
        drop(free);
        let running = Running(self);
        let at = {
            let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
            let now = Instant::now();
            let at = next.unwrap_or(now).max(now);
            *next = Some(at + self.interval.saturating_mul(calls));
            at
        };
        while !stop() {
            let left = at.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Some(running);
            }
            std::thread::sleep(left.min(POLL_INTERVAL));
        }
        None
    }

    /// Lets no call start for a while, because the server asked for a pause.
    pub(crate) fn pause(&self, pause: Duration) {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let end = Instant::now() + pause;
        *next = Some(next.map_or(end, |next| next.max(end)));
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let free = &self.0.free;
        *free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.ended.notify_one();
    }
}

/// A size that is halved when the server refuses it, and grows when it succeeds.
///
/// It grows towards the smallest size that was refused, and not beyond: most servers have fixed
/// limits. Successes that cannot grow raise this limit by 1/16, because other limits depend on how
/// many logs the blocks have. If that is refused, too, four times as many successes are needed for
/// the next attempt, so that a fixed limit is met less and less often.
#[derive(Debug)]
pub(crate) struct Adaptive {
    size: AtomicU64,
    /// The smallest refused size.
    refused: AtomicU64,
    /// Successes at the limit, until it is raised.
    patience: AtomicU64,
    /// Successes at the limit.
    successes: AtomicU64,
    /// The size at which the limit was raised, until a larger one is answered or refused; or 0.
    raised_at: AtomicU64,
    max: u64,
}

/// The most successes at a limit until it is raised.
const PATIENCE_MAX: u64 = 1 << 12;

impl Adaptive {
    pub(crate) fn new(first: u64, max: u64) -> Self {
        Self {
            size: AtomicU64::new(first.clamp(1, max)),
            refused: AtomicU64::new(max.saturating_add(1)),
            patience: AtomicU64::new(1),
            successes: AtomicU64::new(0),
            raised_at: AtomicU64::new(0),
            max,
        }
    }

    /// The size to ask for.
    pub(crate) fn get(&self) -> u64 {
        self.size.load(Ordering::Relaxed)
    }

    /// The server refused `size`.
    pub(crate) fn shrink(&self, size: u64) {
        let half = (size / 2).max(1);
        self.size.fetch_min(half, Ordering::Relaxed);
        self.refused.store(size.max(2), Ordering::Relaxed);
        if self.is_beyond(size) {
            let patience = self.patience.load(Ordering::Relaxed) * 4;
            self.patience
                .store(patience.min(PATIENCE_MAX), Ordering::Relaxed);
        }
    }

    /// Whether a size is the first beyond a limit that was raised.
    fn is_beyond(&self, size: u64) -> bool {
        let raised_at = self.raised_at.load(Ordering::Relaxed);
        let is_beyond = raised_at > 0 && size > raised_at;
        if is_beyond {
            self.raised_at.store(0, Ordering::Relaxed);
        }
        is_beyond
    }

    /// The server answered a call of `size`.
    pub(crate) fn grow(&self, size: u64) {
        let now = self.get();
        if size < now {
            return;
        }
        if self.is_beyond(size) {
            let patience = self.patience.load(Ordering::Relaxed) / 2;
            self.patience.store(patience.max(1), Ordering::Relaxed);
        }
        let refused = self.refused.load(Ordering::Relaxed);
        let next = now
            .saturating_mul(2)
            .min(now.midpoint(refused))
            .min(self.max);
        match next > now {
            true => {
                self.size.store(next, Ordering::Relaxed);
                self.successes.store(0, Ordering::Relaxed);
            }
            false if now >= self.max => {}
            false => {
                let successes = self.successes.fetch_add(1, Ordering::Relaxed) + 1;
                if successes < self.patience.load(Ordering::Relaxed) {
                    return;
                }
                self.successes.store(0, Ordering::Relaxed);
                self.raised_at.store(now, Ordering::Relaxed);
                let raised = refused.saturating_add(refused / 16).saturating_add(1);
                let limit = self.max.saturating_add(1);
                self.refused.store(raised.min(limit), Ordering::Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn finds_a_fixed_limit() {
        for limit in [1, 2, 7, 100, 999, 5000] {
            let size = Adaptive::new(2000, 10_000);
            let (mut refusals, mut blocks) = (0, 0);
            for _ in 0..200 {
                let asked = size.get();
                assert!((1..=10_000).contains(&asked));
                match asked <= limit {
                    true => {
                        blocks += asked;
                        size.grow(asked);
                    }
                    false => {
                        refusals += 1;
                        size.shrink(asked);
                    }
                }
            }
            assert!(refusals < 30, "limit {limit}: {refusals} refusals");
            assert!(blocks >= limit * 80, "limit {limit}: {blocks} blocks");
        }
    }

    #[test]
    fn a_fixed_limit_is_met_less_and_less_often() {
        let size = Adaptive::new(2000, 10_000);
        let mut refused = [0, 0];
        for number in 0..2000 {
            match size.get() {
                asked if asked <= 10 => size.grow(asked),
                asked => {
                    refused[number / 1000] += 1;
                    size.shrink(asked);
                }
            }
        }
        assert!(refused[1] <= 2, "{refused:?}");
        // A limit that is gone is forgotten.
        for _ in 0..40_000 {
            size.grow(size.get());
        }
        assert_eq!(size.get(), 10_000);
    }

    #[test]
    fn grows_to_the_maximum_without_refusals() {
        let size = Adaptive::new(2, 1000);
        for _ in 0..30 {
            size.grow(size.get());
        }
        assert_eq!(size.get(), 1000);
        size.shrink(1000);
        assert_eq!(size.get(), 500);
        // A smaller call says nothing about a larger one.
        size.grow(20);
        assert_eq!(size.get(), 500);
    }

    #[test]
    fn limits_requests_at_a_time() {
        let pace = Pace::new(None, 2);
        let (first, second) = (pace.start(1, &|| false), pace.start(1, &|| false));
        assert!(first.is_some() && second.is_some());
        assert!(pace.start(1, &|| true).is_none());
        drop(first);
        assert!(pace.start(1, &|| false).is_some());
    }

    #[test]
    fn calls_have_a_rate() {
        let pace = Pace::new(Some(1000.0), 1);
        let begun = Instant::now();
        for _ in 0..3 {
            assert!(pace.start(10, &|| false).is_some());
        }
        // The first does not wait, the third waits for twenty calls.
        assert!(begun.elapsed() >= Duration::from_millis(20));
        pace.pause(Duration::from_secs(3600));
        let asked = Cell::new(0);
        let stop = || asked.replace(asked.get() + 1) == 2;
        assert!(pace.start(1, &stop).is_none());
    }
}
