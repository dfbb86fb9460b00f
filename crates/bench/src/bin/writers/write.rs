//! One way of writing, in a process of its own: rows are prepared, then the clock
//! starts.

use crate::{CHAIN_ID, PREPARED, SEED, counts, rival, rows::transfers};
use anyhow::{Context, Result, bail, ensure};
use clap::{Args, ValueEnum};
use nix::sys::{
    resource::{UsageWho, getrusage},
    time::TimeValLike,
};
use std::{
    fs::{self, File},
    io,
    os::fd::AsFd,
    path::PathBuf,
    time::Instant,
};
use txgraph_export::{
    DocumentFormat, GraphOptions, Metadata, TableFormat, Target, TransferTableOptions,
    TransferWriter, write_graph,
};
use txgraph_graph::TransferGraph;
use txgraph_transfers::{BlockRange, ChainInfo, ScanReport};

/// What is written, and by whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum What {
    /// CSV of transfers.
    Csv,
    /// JSON lines of transfers.
    Jsonl,
    /// DOT of a graph, an arrow for each transfer.
    Dot,
    /// DOT of a graph, an arrow for each pair of addresses and asset.
    DotMerged,
    /// Parquet of transfers.
    Parquet,
    /// CSV by polars, of text that is ready.
    PolarsCsv,
    /// CSV by polars, which is given the transfers as we are.
    PolarsCsvRows,
    /// Parquet by polars.
    PolarsParquet,
}

impl What {
    /// The word of the command line.
    pub(crate) fn word(self) -> String {
        self.to_possible_value()
            .map(|value| value.get_name().to_owned())
            .unwrap_or_default()
    }
}

#[derive(Args)]
pub(crate) struct Options {
    /// What to write.
    #[arg(long)]
    what: What,
    /// How many rows.
    #[arg(long)]
    rows: usize,
    /// Threads that format.
    #[arg(long)]
    threads: usize,
    /// A file, or `-` for standard output.
    #[arg(long)]
    to: PathBuf,
}

/// Writes, and prints what it cost to standard error:
/// `wall_s user_s sys_s peak_kib prepared_kib rows`.
pub(crate) fn write(options: &Options) -> Result<()> {
    let rows = options.rows;
    ensure!(rows > 0, "no rows");
    let target = Target::from(options.to.clone());
    let mut table = TransferTableOptions::new(CHAIN_ID);
    table.threads = Some(options.threads);
    let metadata = Metadata::new("bench", serde_json::Value::Null);
    let prepared = transfers(rows.min(PREPARED), SEED);

    match options.what {
        What::Csv | What::Jsonl | What::Parquet => {
            let format = match options.what {
                What::Csv => TableFormat::Csv,
                What::Jsonl => TableFormat::Jsonl,
                _ => TableFormat::Parquet,
            };
            timed(|| {
                let mut writer = TransferWriter::new(format, &table, &target, true)?;
                for count in counts(rows, prepared.len()) {
                    writer.write(&prepared[..count])?;
                }
                Ok(writer.finish(&metadata)?.rows)
            })
        }
        What::Dot | What::DotMerged => {
            drop(prepared);
            let all = transfers(rows, SEED);
            let first = all[0].block_number;
            let last = all[rows - 1].block_number;
            let chain = ChainInfo {
                chain_id: CHAIN_ID,
                genesis_hash: Default::default(),
                name: None,
            };
            let blocks = BlockRange { first, last };
            let graph =
                TransferGraph::from_transfers(chain, blocks.into(), ScanReport::default(), all)?;
            let mut how = GraphOptions::new(CHAIN_ID);
            how.table = table;
            how.drawing.every_transfer = options.what == What::Dot;
            timed(|| {
                let written =
                    write_graph(&graph, DocumentFormat::Dot, &how, &metadata, &target, true)?;
                Ok(written.rows)
            })
        }
        What::PolarsCsv => {
            let frame = rival::text_frame(&prepared, CHAIN_ID)?;
            drop(prepared);
            timed(|| {
                rival::write_csv(&frame, rows, options.threads, sink(&target)?)?;
                Ok(rows as u64)
            })
        }
        What::PolarsCsvRows => timed(|| {
            let frame = |count| rival::text_frame(&prepared[..count], CHAIN_ID);
            let frames = counts(rows, prepared.len()).map(frame);
            rival::write_csv_of(frames, options.threads, sink(&target)?)?;
            Ok(rows as u64)
        }),
        What::PolarsParquet => {
            let frames = rival::binary_frames(&prepared, &table)?;
            drop(prepared);
            timed(|| {
                rival::write_parquet(&frames, rows, sink(&target)?)?;
                Ok(rows as u64)
            })
        }
    }
}

fn sink(target: &Target) -> Result<File> {
    Ok(match target {
        Target::File(path) => File::create(path)?,
        Target::Stdout => io::stdout().as_fd().try_clone_to_owned()?.into(),
    })
}

#[expect(
    clippy::print_stderr,
    reason = "the result of a programme whose output is taken"
)]
fn timed(work: impl FnOnce() -> Result<u64>) -> Result<()> {
    let prepared_kib = status_kib("VmRSS")?;
    // What preparing took at its highest is not what writing takes.
    let _ = fs::write("/proc/self/clear_refs", "5");
    let before = getrusage(UsageWho::RUSAGE_SELF)?;
    let start = Instant::now();
    let rows = work()?;
    let wall_s = start.elapsed().as_secs_f64();
    let after = getrusage(UsageWho::RUSAGE_SELF)?;
    let seconds = |from: nix::sys::time::TimeVal, to: nix::sys::time::TimeVal| {
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
        let micros = (to.num_microseconds() - from.num_microseconds()) as f64;
        micros / 1e6
    };
    eprintln!(
        "{wall_s:.6} {:.6} {:.6} {} {prepared_kib} {rows}",
        seconds(before.user_time(), after.user_time()),
        seconds(before.system_time(), after.system_time()),
        status_kib("VmHWM")?,
    );
    Ok(())
}

fn status_kib(key: &str) -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    let Some(line) = line else {
        bail!("/proc/self/status has no {key}")
    };
    let number = line.trim_start_matches(':').trim().trim_end_matches(" kB");
    number.parse().context("a size in /proc/self/status")
}
