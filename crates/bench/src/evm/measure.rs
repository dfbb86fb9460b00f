//! Timing by the CPU time of the current thread.

use crate::measure::{Spread, interleaved};
use alloy_primitives::Bytes;
use anyhow::Result;
use nix::time::{ClockId, clock_gettime};
use revm::context::result::ExecutionResult;
use serde::Serialize;
use std::hint::black_box;
use txgraph_evm::Outcome;

/// Returns the CPU time of this thread in nanoseconds. Other load on the machine does not count.
pub(crate) fn cpu_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("Linux has this clock");
    let (seconds, nanos) = (now.tv_sec(), now.tv_nsec());
    u64::try_from(seconds).unwrap_or(0) * 1_000_000_000 + u64::try_from(nanos).unwrap_or(0)
}

/// An engine with its work.
pub(crate) trait Subject {
    /// The name in tables.
    fn name(&self) -> &'static str;

    /// Runs the work once and returns the result.
    fn answer(&mut self) -> Answer;
}

/// The results on which engines must agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Whether the execution succeeded.
    pub(crate) success: bool,
    /// Gas charged.
    pub(crate) gas_used: u64,
    /// Return data.
    pub(crate) output: Bytes,
}

impl From<Outcome> for Answer {
    fn from(outcome: Outcome) -> Self {
        Self {
            success: outcome.is_success(),
            gas_used: outcome.gas_used,
            output: outcome.output,
        }
    }
}

impl From<ExecutionResult> for Answer {
    fn from(result: ExecutionResult) -> Self {
        Self {
            success: result.is_success(),
            gas_used: result.tx_gas_used(),
            output: result.into_output().unwrap_or_default(),
        }
    }
}

/// Times of one run in nanoseconds.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Times {
    /// The mean of each round, in order.
    pub(crate) rounds_ns: Vec<f64>,
    /// The fastest round.
    pub(crate) min_ns: f64,
    /// The median round.
    pub(crate) median_ns: f64,
    /// Slowest minus fastest round, divided by the median.
    pub(crate) spread: f64,
    /// Runs of each round.
    pub(crate) runs: u64,
}

impl Times {
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds of a short run")]
    fn new(rounds: &[u64], runs: u64) -> Self {
        let rounds_ns: Vec<f64> = rounds.iter().map(|ns| *ns as f64 / runs as f64).collect();
        let spread = Spread::of(rounds_ns.iter().copied());
        Self {
            rounds_ns,
            min_ns: spread.min,
            median_ns: spread.median,
            spread: (spread.max - spread.min) / spread.median,
            runs,
        }
    }
}

/// Times all subjects in turn for `rounds` rounds. Each turn takes about `round_ms`.
pub(crate) fn times(
    subjects: &mut [Box<dyn Subject>],
    rounds: usize,
    round_ms: u64,
) -> Result<Vec<Times>> {
    let mut subjects: Vec<_> = subjects
        .iter_mut()
        .map(|subject| (calibrate(&mut **subject, round_ms), subject))
        .collect();
    let samples = interleaved(&mut subjects, rounds.max(1), |(runs, subject), _| {
        Ok(time(&mut ***subject, *runs))
    })?;
    let runs = subjects.iter().map(|(runs, _)| *runs);
    let samples = samples.iter().zip(runs);
    Ok(samples
        .map(|(rounds, runs)| Times::new(rounds, runs))
        .collect())
}

fn time(subject: &mut dyn Subject, runs: u64) -> u64 {
    let start = cpu_ns();
    for _ in 0..runs {
        black_box(subject.answer());
    }
    cpu_ns() - start
}

/// Returns how many runs take about `round_ms`.
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
pub(crate) fn geometric_mean(ratios: impl Iterator<Item = f64>) -> f64 {
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
                    gas_used: (0..black_box(1000u64)).map(black_box).sum(),
                    output: Bytes::new(),
                }
            }
        }
        let times = times(&mut [Box::new(Sum)], 3, 2).unwrap();
        assert_eq!(times[0].rounds_ns.len(), 3);
        assert!(times[0].min_ns > 0.0);
    }
}
