//! Tables of runs: raw CSV, and a Markdown summary with medians and spread.

use crate::measure::{Cost, Spread};
use anyhow::{Context, Result};
use std::{collections::BTreeMap, fmt::Write as _, fs, path::PathBuf};

/// The settings of a run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Setting {
    /// Position of the workload in the definitions, which orders the tables.
    pub(crate) order: usize,
    /// Name of the workload.
    pub(crate) workload: String,
    /// `txgraph`, `baseline` or `limit`.
    pub(crate) program: String,
    /// `--chunk-blocks`; 0 for the default.
    pub(crate) chunk_blocks: u64,
    /// Worker threads.
    pub(crate) threads: usize,
}

/// All counted runs by setting.
pub(crate) type Runs = BTreeMap<Setting, Vec<Cost>>;

/// Where results go.
#[derive(Debug, clap::Args)]
pub(crate) struct Results {
    /// Folder for the results.
    #[arg(long)]
    pub(crate) out: Option<PathBuf>,
    /// Commit, machine and versions, for the head of the summary.
    #[arg(long, default_value = "")]
    pub(crate) setup: String,
}

impl Results {
    /// Writes a file of the results, if there is a folder for them.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<()> {
        let Some(folder) = &self.out else {
            return Ok(());
        };
        let path = folder.join(name);
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&path, text))
            .with_context(|| path.display().to_string())
    }

    /// Writes a file of the results, and prints it.
    #[cfg(any(feature = "evm", feature = "writers"))]
    pub(crate) fn publish(&self, name: &str, text: &str) -> Result<()> {
        crate::console::say(text.trim_end());
        self.write(name, text)
    }
}

/// The spread of one figure over several runs.
fn over(costs: &[Cost], figure: impl Fn(&Cost) -> f64) -> Spread {
    Spread::of(costs.iter().map(figure))
}

/// Formats all runs as CSV, one row each.
pub(crate) fn raw_csv(runs: &Runs) -> String {
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
pub(crate) fn summary_table(runs: &Runs) -> String {
    let mut text = String::from(
        "| workload | program | chunk blocks | threads | wall s (median) | wall s (mean ± sd) | CPU s (median) | user s | sys s | peak MiB |\n\
         | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for (setting, costs) in runs {
        let wall = over(costs, |cost| cost.wall_s);
        let chunk = match setting.chunk_blocks {
            0 => "auto".to_owned(),
            blocks => blocks.to_string(),
        };
        #[expect(clippy::cast_precision_loss, reason = "kibibytes of one process")]
        let peak = over(costs, |cost| cost.peak_kib as f64 / 1024.0).median;
        let _ = writeln!(
            text,
            "| {} | {} | {chunk} | {} | {:.3} | {:.3} ± {:.3} | {:.3} | {:.3} | {:.3} | {peak:.0} |",
            setting.workload,
            setting.program,
            setting.threads,
            wall.median,
            wall.mean,
            wall.deviation,
            over(costs, Cost::cpu_s).median,
            over(costs, |cost| cost.user_s).median,
            over(costs, |cost| cost.sys_s).median,
        );
    }
    text
}

/// Formats the ratios of `other` to `txgraph` with the same workload and threads and the
/// default chunk size. Ratios are computed for pairs of runs in the same round, so they do
/// not depend on slow changes of the machine's speed.
pub(crate) fn comparison_table(runs: &Runs) -> String {
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
        let cpu = Spread::of(pairs().map(|(other, our)| other.cpu_s() / our.cpu_s()));
        let wall = Spread::of(pairs().map(|(other, our)| other.wall_s / our.wall_s));
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
