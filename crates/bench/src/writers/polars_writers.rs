//! The same rows with polars: prepared frames, and its own writers.

use anyhow::{Context, Result};
use polars::prelude::{
    Column, CsvWriter, DataFrame, IntoColumn, NamedFrom, ParquetCompression, ParquetReader,
    ParquetWriter, SerReader, SerWriter, Series,
};
use std::{fs::File, path::Path};
use txgraph_export::TransferTableOptions;
use txgraph_transfers::{BlockTime, Transfer};

/// Columns of text and integers in the order of our CSV. Hex and long decimals are already
/// text, so polars only joins the fields.
pub(crate) fn text_frame(rows: &[Transfer], chain_id: u64) -> Result<DataFrame> {
    let columns = vec![
        column("transaction_hash", rows, |row| {
            row.transaction_hash.map(|hash| format!("{hash:#x}"))
        }),
        column("token_address", rows, |row| {
            row.token_address.map(|token| format!("{token:#x}"))
        }),
        column("from_address", rows, |row| {
            format!("{:#x}", row.from_address)
        }),
        column("to_address", rows, |row| format!("{:#x}", row.to_address)),
        column("value", rows, |row| row.value.to_string()),
        column("token_id", rows, |row| {
            row.token_id.map(|id| id.to_string())
        }),
    ];
    frame(rows, chain_id, columns)
}

/// The columns of our Parquet files, one frame for each row group.
pub(crate) fn binary_frames(
    rows: &[Transfer],
    options: &TransferTableOptions,
) -> Result<Vec<DataFrame>> {
    let groups = rows.chunks(options.group_rows);
    groups
        .map(|rows| binary_frame(rows, options.chain_id))
        .collect()
}

fn binary_frame(rows: &[Transfer], chain_id: u64) -> Result<DataFrame> {
    let double = |number: alloy_primitives::U256| number.to_string().parse::<f64>().ok();
    let columns = vec![
        column("transaction_hash", rows, |row| {
            row.transaction_hash.map(|hash| hash.to_vec())
        }),
        column("token_address", rows, |row| {
            row.token_address.map(|token| token.to_vec())
        }),
        column("from_address", rows, |row| row.from_address.to_vec()),
        column("to_address", rows, |row| row.to_address.to_vec()),
        column("value_binary", rows, |row| row.value.to_be_bytes_vec()),
        column("value_string", rows, |row| row.value.to_string()),
        column("value_f64", rows, |row| double(row.value)),
        column("token_id_binary", rows, |row| {
            row.token_id.map(|id| id.to_be_bytes_vec())
        }),
        column("token_id_string", rows, |row| {
            row.token_id.map(|id| id.to_string())
        }),
        column("token_id_f64", rows, |row| row.token_id.and_then(double)),
    ];
    frame(rows, chain_id, columns)
}

/// A frame with the columns that all formats share before and behind the given ones.
fn frame(rows: &[Transfer], chain_id: u64, between: Vec<Column>) -> Result<DataFrame> {
    let mut columns = vec![
        column("block_number", rows, |row| row.block_number),
        column("block_timestamp", rows, |row| {
            row.block_timestamp.map(BlockTime::seconds)
        }),
        column("transaction_index", rows, |row| row.transaction_index),
        column("log_index", rows, |row| row.log_index),
        column("sub_index", rows, |row| row.sub_index),
    ];
    columns.extend(between);
    columns.extend([
        column("token_standard", rows, |row| row.token_standard.to_string()),
        column("kind", rows, |row| row.kind.to_string()),
        column("chain_id", rows, |_| chain_id),
    ]);
    Ok(DataFrame::new_infer_height(columns)?)
}

fn column<'a, T>(name: &str, rows: &'a [Transfer], value: impl Fn(&'a Transfer) -> T) -> Column
where
    Series: NamedFrom<Vec<T>, [T]>,
{
    let values: Vec<T> = rows.iter().map(value).collect();
    Series::new(name.into(), values).into_column()
}

/// Writes `rows` rows of CSV by repeating the frame.
pub(crate) fn write_csv(frame: &DataFrame, rows: usize, threads: usize, sink: File) -> Result<()> {
    let frames = super::counts(rows, frame.height()).map(|count| Ok(frame.slice(0, count)));
    write_csv_of(frames, threads, sink)
}

/// Writes CSV of frames that are created one by one.
pub(crate) fn write_csv_of(
    mut frames: impl Iterator<Item = Result<DataFrame>>,
    threads: usize,
    sink: File,
) -> Result<()> {
    let first = frames.next().context("no rows")??;
    let writer = CsvWriter::new(sink).n_threads(threads);
    let mut writer = writer.batched(first.schema())?;
    writer.write_batch(&first)?;
    for frame in frames {
        writer.write_batch(&frame?)?;
    }
    Ok(writer.finish()?)
}

/// Writes `rows` rows of Parquet by repeating the frames.
pub(crate) fn write_parquet(frames: &[DataFrame], rows: usize, sink: File) -> Result<()> {
    let writer = ParquetWriter::new(sink).with_compression(ParquetCompression::Zstd(None));
    let mut writer = writer.batched(frames[0].schema())?;
    let mut left = rows;
    for frame in frames.iter().cycle() {
        let count = frame.height().min(left);
        writer.write_batch(&frame.slice(0, count))?;
        left -= count;
        if left == 0 {
            break;
        }
    }
    writer.finish()?;
    Ok(())
}

/// Returns whether a Parquet file begins with these rows.
pub(crate) fn parquet_begins_with(path: &Path, frames: &[DataFrame]) -> Result<bool> {
    let read = ParquetReader::new(File::open(path)?).finish()?;
    let mut at = 0;
    for frame in frames {
        let part = read.slice(at, frame.height());
        if !part.equals_missing(&frame.slice(0, part.height())) {
            return Ok(false);
        }
        at += i64::try_from(part.height())?;
    }
    Ok(true)
}
