//! The record of a run: all figures, and their summary.

use crate::{
    run::save,
    table::{Entry, Way},
};
use anyhow::Result;
use std::{fmt::Write, fs, path::Path};

/// One run of one process.
pub(crate) struct Sample {
    pub(crate) workload: String,
    pub(crate) who: String,
    pub(crate) threads: usize,
    /// The round, from 1. 0 is outside the rounds.
    pub(crate) round: usize,
    /// Bytes of the output.
    pub(crate) bytes: u64,
    pub(crate) wall_s: f64,
    pub(crate) user_s: f64,
    pub(crate) sys_s: f64,
    /// Largest resident set while writing.
    pub(crate) peak_kib: u64,
    /// Resident set before writing.
    pub(crate) prepared_kib: u64,
}

/// The name of polars when it has to convert rows to text, as we do.
pub(crate) const FROM_ROWS: &str = "polars from rows";

/// All figures of a run.
#[derive(Default)]
pub(crate) struct Record {
    pub(crate) samples: Vec<Sample>,
    /// Bytes per second.
    pub(crate) yes: Vec<f64>,
    pub(crate) table: Vec<Entry>,
}

impl Record {
    /// Writes `raw.csv`, `table.csv` and `summary.md`.
    pub(crate) fn save(&self, folder: &Path, setup: &str) -> Result<()> {
        fs::create_dir_all(folder)?;
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
                s.wall_s,
                s.user_s,
                s.sys_s,
                s.peak_kib,
                s.prepared_kib
            )?;
        }
        save(&folder.join("raw.csv"), &raw)?;
        let mut raw = "sink,piece_bytes,way,bytes_per_s\n".to_owned();
        for e in &self.table {
            let sink = if e.pipe { "pipe" } else { "null" };
            writeln!(raw, "{sink},{},{:?},{:.0}", e.piece_bytes, e.way, e.speed)?;
        }
        save(&folder.join("table.csv"), &raw)?;
        save(&folder.join("summary.md"), &self.summary(setup)?)
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
                median(self.samples.iter().filter(same).map(value).collect())
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
                        other.map(|other| other.wall_s / ours.wall_s)
                    })
                    .collect();
                if ratios.is_empty() {
                    String::new()
                } else {
                    format!("{:.2}", median(ratios))
                }
            };
            let mib = |value: f64| value / 1024.0;
            #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
            let speed = s.bytes as f64 / all(|o| o.wall_s) / 1e9;
            #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
            let (peak, before) = (all(|o| o.peak_kib as f64), all(|o| o.prepared_kib as f64));
            writeln!(
                out,
                "| {} | {} | {} | {speed:.2} | {:.3} | {:.3} | {:.3} | {:.0} ({:.0}) | {} | {} | {} |",
                s.workload,
                s.who,
                s.threads,
                all(|o| o.wall_s),
                all(|o| o.user_s),
                all(|o| o.sys_s),
                mib(peak),
                mib(before),
                ratio("cat"),
                ratio("polars"),
                ratio(FROM_ROWS),
            )?;
        }
        writeln!(
            out,
            "\n`yes`: {:.2} GB/s through its pipe.\n",
            median(self.yes.clone()) / 1e9
        )?;
        writeln!(out, "## Ways to write pieces, GB/s\n")?;
        writeln!(
            out,
            "| into | piece bytes | written alone | copied into a buffer | created in a buffer | vectored |"
        )?;
        writeln!(out, "| --- | ---: | ---: | ---: | ---: | ---: |")?;
        for pipe in [true, false] {
            for piece_bytes in [100, 1_000, 10_000] {
                let at = |way: Way| {
                    let same =
                        |e: &&Entry| (e.pipe, e.piece_bytes, e.way) == (pipe, piece_bytes, way);
                    let speeds = self.table.iter().filter(same).map(|e| e.speed);
                    median(speeds.collect()) / 1e9
                };
                let sink = if pipe { "a pipe" } else { "`/dev/null`" };
                writeln!(
                    out,
                    "| {sink} | {piece_bytes} | {:.2} | {:.2} | {:.2} | {:.2} |",
                    at(Way::Alone),
                    at(Way::Copied),
                    at(Way::Reused),
                    at(Way::Vectored)
                )?;
            }
        }
        Ok(out)
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        n if n % 2 == 1 => values[n / 2],
        n => (values[n / 2 - 1] + values[n / 2]) / 2.0,
    }
}
