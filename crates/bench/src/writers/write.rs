//! Runs one writer in a process of its own. The time starts after the rows are prepared.

use super::{CHAIN_ID, PREPARED, SEED, counts, polars_writers, rows::transfers};
use crate::{
    console::progress,
    measure::{Cost, status_kib},
};
use anyhow::{Result, bail, ensure};
use clap::{Args, ValueEnum};
use nix::sys::resource::UsageWho;
use std::{
    fs::{self, File},
    io,
    os::fd::AsFd,
    path::PathBuf,
};
use txgraph_export::Threads;
use txgraph_export::{
    DocumentFormat, GraphOptions, Metadata, TableFormat, Target, TransferTableOptions,
    TransferWriter, write_graph,
};
use txgraph_graph::TransferGraph;
use txgraph_transfers::{BlockRange, ChainInfo, ScanReport};

/// A writer and its format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum What {
    /// CSV of transfers.
    Csv,
    /// JSON lines of transfers.
    Jsonl,
    /// DOT of a graph with an arrow for each transfer.
    Dot,
    /// DOT of a graph with an arrow for each pair of addresses and asset.
    DotMerged,
    /// Parquet of transfers.
    Parquet,
    /// CSV by polars from columns of text.
    PolarsCsv,
    /// CSV by polars from transfers, as we do.
    PolarsCsvRows,
    /// Parquet by polars.
    PolarsParquet,
}

impl What {
    /// The name on the command line.
    pub(crate) fn word(self) -> String {
        self.to_possible_value()
            .map(|value| value.get_name().to_owned())
            .unwrap_or_default()
    }
}

#[derive(Args)]
pub(crate) struct Options {
    /// Writer and format.
    #[arg(long)]
    what: What,
    /// Number of rows.
    #[arg(long)]
    rows: usize,
    /// Threads of the writer.
    #[arg(long)]
    threads: usize,
    /// Output file, or `-` for standard output.
    #[arg(long)]
    to: PathBuf,
}

/// Writes, and prints the cost to standard error:
/// `wall_s user_s sys_s peak_kib prepared_kib rows`.
pub(crate) fn write(options: &Options) -> Result<()> {
    let rows = options.rows;
    ensure!(rows > 0, "no rows");
    let target = Target::from(options.to.clone());
    let mut table = TransferTableOptions::new(CHAIN_ID);
    table.threads = Threads::new(options.threads)?;
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
                Ok(writer.finish(&metadata)?.rows.unwrap_or_default())
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
                Ok(written.rows.unwrap_or_default())
            })
        }
        What::PolarsCsv => {
            let frame = polars_writers::text_frame(&prepared, CHAIN_ID)?;
            drop(prepared);
            timed(|| {
                polars_writers::write_csv(&frame, rows, options.threads, sink(&target)?)?;
                Ok(rows as u64)
            })
        }
        What::PolarsCsvRows => timed(|| {
            let frame = |count| polars_writers::text_frame(&prepared[..count], CHAIN_ID);
            let frames = counts(rows, prepared.len()).map(frame);
            polars_writers::write_csv_of(frames, options.threads, sink(&target)?)?;
            Ok(rows as u64)
        }),
        What::PolarsParquet => {
            let frames = polars_writers::binary_frames(&prepared, &table)?;
            drop(prepared);
            timed(|| {
                polars_writers::write_parquet(&frames, rows, sink(&target)?)?;
                Ok(rows as u64)
            })
        }
    }
}

fn sink(target: &Target) -> Result<File> {
    Ok(match target {
        Target::File(path) => File::create(path)?,
        Target::Stdout => io::stdout().as_fd().try_clone_to_owned()?.into(),
        Target::Arrow(_) | Target::Memory(_) => bail!("bytes are not written to memory"),
    })
}

/// Prints to standard error, because standard output is the timed output.
fn timed(work: impl FnOnce() -> Result<u64>) -> Result<()> {
    let prepared_kib = status_kib("self", "VmRSS:")?;
    // Resets the peak, so that it does not include the preparation.
    let _ = fs::write("/proc/self/clear_refs", "5");
    let (rows, mut cost) = Cost::of(UsageWho::RUSAGE_SELF, work)?;
    cost.peak_kib = status_kib("self", "VmHWM:")?;
    progress(format_args!("{cost} {prepared_kib} {rows}"));
    Ok(())
}
