//! Tables of runs: raw CSV, and a Markdown summary with medians and spread.

use crate::measure::Cost;
use std::{collections::BTreeMap, fmt::Write as _};

/// The settings of a run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Setting {
    /// Position of the workload in the definitions, which orders the tables.
    pub order: usize,
    /// Name of the workload.
    pub workload: String,
    /// `txgraph`, `baseline` or `limit`.
    pub program: String,
    /// `--chunk-blocks`; 0 for the default.
    pub chunk_blocks: u64,
    /// Worker threads.
    pub threads: usize,
}

/// All counted runs by setting.
pub type Runs = BTreeMap<Setting, Vec<Cost>>;

/// Median, mean and standard deviation of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The middle value, or the mean of the two middle values.
    pub median: f64,
    /// The arithmetic mean.
    pub mean: f64,
    /// The sample standard deviation; 0 for a single run.
    pub deviation: f64,
}

impl Spread {
    /// Computes the spread of a sample. All values are NaN if it is empty.
    pub fn of(mut values: Vec<f64>) -> Self {
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
        }
    }

    /// Computes the spread of one figure over several runs.
    pub fn over(costs: &[Cost], figure: impl Fn(&Cost) -> f64) -> Self {
        Self::of(costs.iter().map(figure).collect())
    }
}

/// Formats all runs as CSV, one row each.
pub fn raw_csv(runs: &Runs) -> String {
    let mut text = String::from(
        "workload,program,chunk_blocks,threads,run,wall_s,user_s,sys_s,peak_rss_kib\n",
    );
    for (setting, costs) in runs {
        for (run, cost) in costs.iter().enumerate() {
            let _ = writeln!(
                text,
                "{},{},{},{},{},{:.6},{:.6},{:.6},{}",
                setting.workload,
                setting.program,
                setting.chunk_blocks,
                setting.threads,
                run + 1,
                cost.wall_s,
                cost.user_s,
                cost.sys_s,
                cost.peak_kib
            );
        }
    }
    text
}

/// Formats a Markdown table of all settings.
pub fn summary_table(runs: &Runs) -> String {
    let mut text = String::from(
        "| workload | program | chunk blocks | threads | wall s (median) | wall s (mean ± sd) | CPU s (median) | user s | sys s | peak MiB |\n\
         | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for (setting, costs) in runs {
        let wall = Spread::over(costs, |cost| cost.wall_s);
        let chunk = match setting.chunk_blocks {
            0 => "auto".to_owned(),
            blocks => blocks.to_string(),
        };
        #[expect(clippy::cast_precision_loss, reason = "kibibytes of one process")]
        let peak = Spread::over(costs, |cost| cost.peak_kib as f64 / 1024.0).median;
        let _ = writeln!(
            text,
            "| {} | {} | {chunk} | {} | {:.3} | {:.3} ± {:.3} | {:.3} | {:.3} | {:.3} | {peak:.0} |",
            setting.workload,
            setting.program,
            setting.threads,
            wall.median,
            wall.mean,
            wall.deviation,
            Spread::over(costs, Cost::cpu_s).median,
            Spread::over(costs, |cost| cost.user_s).median,
            Spread::over(costs, |cost| cost.sys_s).median,
        );
    }
    text
}

/// Formats the ratios of `other` to `txgraph` with the same workload and threads and the
/// default chunk size. Ratios are computed for pairs of runs in the same round, so they do
/// not depend on slow changes of the machine's speed.
pub fn comparison_table(runs: &Runs) -> String {
    let mut text = String::from(
        "| workload | threads | compared with | CPU: other / txgraph (median of pairs) | wall: other / txgraph |\n\
         | --- | ---: | --- | ---: | ---: |\n",
    );
    for (setting, others) in runs
        .iter()
        .filter(|(setting, _)| setting.program != "txgraph")
    {
        let ours = Setting {
            program: "txgraph".into(),
            chunk_blocks: 0,
            ..setting.clone()
        };
        let Some(ours) = runs.get(&ours) else {
            continue;
        };
        let pairs = || others.iter().zip(ours);
        let cpu = Spread::of(
            pairs()
                .map(|(other, our)| other.cpu_s() / our.cpu_s())
                .collect(),
        );
        let wall = Spread::of(
            pairs()
                .map(|(other, our)| other.wall_s / our.wall_s)
                .collect(),
        );
        let _ = writeln!(
            text,
            "| {} | {} | {} | {:.2} | {:.2} |",
            setting.workload, setting.threads, setting.program, cpu.median, wall.median
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_of_small_samples() {
        let spread = Spread::of(vec![4.0, 1.0, 2.0, 3.0]);
        assert_eq!((spread.median, spread.mean), (2.5, 2.5));
        assert!((spread.deviation - 1.290_994).abs() < 1e-6);
        assert_eq!(Spread::of(vec![7.0]).deviation, 0.0);
    }

    #[test]
    fn pairs_are_compared_within_a_workload() {
        let setting = |program: &str| Setting {
            order: 0,
            workload: "w".into(),
            program: program.into(),
            chunk_blocks: 0,
            threads: 1,
        };
        let cost = |seconds| Cost {
            wall_s: seconds,
            user_s: seconds,
            ..Cost::default()
        };
        let runs = Runs::from([
            (setting("txgraph"), vec![cost(1.0), cost(2.0)]),
            (setting("baseline"), vec![cost(4.0), cost(8.0)]),
        ]);
        assert!(comparison_table(&runs).contains("| w | 1 | baseline | 4.00 | 4.00 |"));
    }
}
