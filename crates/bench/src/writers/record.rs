//! The record of a run: all figures, and their summary.

use crate::{
    measure::{Cost, Spread},
    report::Results,
};
use anyhow::Result;
use std::fmt::Write;

/// One run of one process.
pub(crate) struct Sample {
    pub(crate) workload: String,
    pub(crate) who: String,
    pub(crate) threads: usize,
    /// The round, from 1. 0 is outside the rounds.
    pub(crate) round: usize,
    /// Bytes of the output.
    pub(crate) bytes: u64,
    pub(crate) cost: Cost,
    /// Resident set before writing.
    pub(crate) prepared_kib: u64,
}

/// The name of polars when it has to convert rows to text, as we do.
pub(crate) const FROM_ROWS: &str = "polars from rows";

/// All figures of a run.
#[derive(Default)]
pub(crate) struct Record {
    pub(crate) samples: Vec<Sample>,
}

impl Record {
    /// Writes `raw.csv` and `summary.md`.
    pub(crate) fn save(&self, results: &Results) -> Result<()> {
        let mut raw =
            "workload,who,threads,round,bytes,wall_s,user_s,sys_s,peak_kib,prepared_kib\n"
                .to_owned();
        for s in &self.samples {
            writeln!(
                raw,
                "{},{},{},{},{},{:.6},{:.6},{:.6},{},{}",
                s.workload,
                s.who,
                s.threads,
                s.round,
                s.bytes,
                s.cost.wall_s,
                s.cost.user_s,
                s.cost.sys_s,
                s.cost.peak_kib,
                s.prepared_kib
            )?;
        }
        results.write("raw.csv", &raw)?;
        results.publish("summary.md", &self.summary(&results.setup)?)
    }

    fn summary(&self, setup: &str) -> Result<String> {
        let mut out = format!("# Writers\n\n{setup}\n\n");
        writeln!(
            out,
            "Medians of the rounds; each round runs every line once, one after the other. Ratios are \
             medians of the ratios within a round. Text goes through a pipe to `cat > /dev/null`; \
             `file` is a finished, synced file; Parquet goes to `/dev/null`. CPU is that of the \
             writer alone (for `cat`: of both processes). `polars` starts from columns of text, \
             `polars from rows` from transfers, as we do.\n"
        )?;
        writeln!(
            out,
            "| workload | who | threads | GB/s | wall s | user s | sys s | peak MiB (prepared) | speed / cat | speed / polars | speed / polars from rows |"
        )?;
        writeln!(
            out,
            "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
        )?;
        let mut seen = Vec::new();
        for s in &self.samples {
            let key = (&s.workload, &s.who, s.threads);
            if seen.contains(&key) {
                continue;
            }
            seen.push(key);
            let all = |value: fn(&Sample) -> f64| {
                let same = |o: &&Sample| (&o.workload, &o.who, o.threads) == key;
                Spread::of(self.samples.iter().filter(same).map(value)).median
            };
            let ratio = |who: &str| {
                let ratios = self.samples.iter().filter(|o| {
                    (&o.workload, &o.who, o.threads) == key && o.round > 0 && o.who != who
                });
                let ratios: Vec<_> = ratios
                    .filter_map(|ours| {
                        let other = self.samples.iter().find(|o| {
                            o.workload == ours.workload && o.who == who && o.round == ours.round
                        });
                        other.map(|other| other.cost.wall_s / ours.cost.wall_s)
                    })
                    .collect();
                if ratios.is_empty() {
                    String::new()
                } else {
                    format!("{:.2}", Spread::of(ratios).median)
                }
            };
            let mib = |value: f64| value / 1024.0;
            #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
            let speed = s.bytes as f64 / all(|o| o.cost.wall_s) / 1e9;
            #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
            let (peak, before) = (
                all(|o| o.cost.peak_kib as f64),
                all(|o| o.prepared_kib as f64),
            );
            writeln!(
                out,
                "| {} | {} | {} | {speed:.2} | {:.3} | {:.3} | {:.3} | {:.0} ({:.0}) | {} | {} | {} |",
                s.workload,
                s.who,
                s.threads,
                all(|o| o.cost.wall_s),
                all(|o| o.cost.user_s),
                all(|o| o.cost.sys_s),
                mib(peak),
                mib(before),
                ratio("cat"),
                ratio("polars"),
                ratio(FROM_ROWS),
            )?;
        }
        Ok(out)
    }
}
