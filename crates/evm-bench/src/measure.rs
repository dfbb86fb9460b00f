//! Timing in interleaved rounds, by the CPU time of the current thread.

use nix::time::{ClockId, clock_gettime};
use serde::Serialize;
use std::hint::black_box;
use txgraph_evm::Outcome;

/// Returns the CPU time of this thread in nanoseconds. Other load on the machine does not count.
pub fn cpu_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("Linux has this clock");
    let (seconds, nanos) = (now.tv_sec(), now.tv_nsec());
    u64::try_from(seconds).unwrap_or(0) * 1_000_000_000 + u64::try_from(nanos).unwrap_or(0)
}

/// An engine with its work.
pub trait Subject {
    /// The name in tables.
    fn name(&self) -> &'static str;

    /// Runs the work once and returns the result, for comparison.
    fn answer(&mut self) -> Answer;

    /// Runs the work once and returns a value that depends on the run.
    fn run(&mut self) -> u64;
}

/// The results on which engines must agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Whether the execution succeeded.
    pub success: bool,
    /// Gas charged.
    pub gas_used: u64,
    /// Return data.
    pub output: Vec<u8>,
}

impl From<Outcome> for Answer {
    fn from(outcome: Outcome) -> Self {
        Self {
            success: outcome.is_success(),
            gas_used: outcome.gas_used,
            output: outcome.output.into(),
        }
    }
}

/// Times of one run in nanoseconds.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Times {
    /// The mean of each round, in order.
    pub rounds_ns: Vec<f64>,
    /// The fastest round.
    pub min_ns: f64,
    /// The median round.
    pub median_ns: f64,
    /// Slowest minus fastest round, divided by the median.
    pub spread: f64,
    /// Runs of each round.
    pub runs: u64,
}

impl Times {
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds of a short run")]
    fn new(rounds: &[u64], runs: u64) -> Self {
        let rounds_ns: Vec<f64> = rounds.iter().map(|ns| *ns as f64 / runs as f64).collect();
        let mut sorted = rounds_ns.clone();
        sorted.sort_by(f64::total_cmp);
        let (min_ns, max_ns) = (sorted[0], sorted[sorted.len() - 1]);
        let median_ns = sorted[sorted.len() / 2];
        let spread = (max_ns - min_ns) / median_ns;
        Self {
            rounds_ns,
            min_ns,
            median_ns,
            spread,
            runs,
        }
    }
}

/// Times all subjects in turn for `rounds` rounds. Each turn takes about `round_ms`.
pub fn interleaved(subjects: &mut [Box<dyn Subject>], rounds: usize, round_ms: u64) -> Vec<Times> {
    let runs: Vec<u64> = subjects
        .iter_mut()
        .map(|subject| calibrate(&mut **subject, round_ms))
        .collect();
    let mut samples = vec![Vec::new(); subjects.len()];
    for _ in 0..rounds.max(1) {
        for ((subject, runs), samples) in subjects.iter_mut().zip(&runs).zip(&mut samples) {
            samples.push(time(&mut **subject, *runs));
        }
    }
    samples
        .iter()
        .zip(runs)
        .map(|(rounds, runs)| Times::new(rounds, runs))
        .collect()
}

fn time(subject: &mut dyn Subject, runs: u64) -> u64 {
    let start = cpu_ns();
    for _ in 0..runs {
        black_box(subject.run());
    }
    cpu_ns() - start
}

/// Returns how many runs take about `round_ms`. Also warms the caches.
fn calibrate(subject: &mut dyn Subject, round_ms: u64) -> u64 {
    let wanted = round_ms * 1_000_000;
    let mut runs = 1;
    loop {
        let took = time(subject, runs).max(1);
        if took * 4 > wanted {
            return (runs * wanted / took).max(1);
        }
        runs *= 2;
    }
}

/// The geometric mean, or 1 if there are no ratios.
pub fn geometric_mean(ratios: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = ratios.fold((0.0, 0.0), |(sum, count), ratio| {
        (sum + ratio.ln(), count + 1.0)
    });
    if count == 0.0 {
        1.0
    } else {
        f64::exp(sum / count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_and_medians() {
        assert!((geometric_mean([2.0, 8.0].into_iter()) - 4.0).abs() < 1e-9);
        let times = Times::new(&[30, 10, 20], 10);
        assert_eq!(
            (times.min_ns, times.median_ns, times.spread),
            (1.0, 2.0, 1.0)
        );
    }

    #[test]
    fn rounds_are_timed() {
        struct Sum;
        impl Subject for Sum {
            fn name(&self) -> &'static str {
                "sum"
            }
            fn answer(&mut self) -> Answer {
                Answer {
                    success: true,
                    gas_used: 0,
                    output: Vec::new(),
                }
            }
            fn run(&mut self) -> u64 {
                (0..black_box(1000u64)).map(black_box).sum()
            }
        }
        let times = interleaved(&mut [Box::new(Sum)], 3, 2);
        assert_eq!(times[0].rounds_ns.len(), 3);
        assert!(times[0].min_ns > 0.0);
    }
}
