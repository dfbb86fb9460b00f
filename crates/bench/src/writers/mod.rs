//! Measures the writers, compared with `cat` of the same output and with the writers of polars.
//!
//! - `write` prepares rows, writes them with one writer, and prints the cost.
//! - `run` does so in rounds for all writers, checks every answer against
//!   `benchmarks/writers.toml`, and writes the record.

mod polars_writers;
mod record;
mod rows;
pub(crate) mod run;
pub(crate) mod write;

/// The number of prepared rows, which are written repeatedly.
const PREPARED: usize = 512 * 1024;
/// The chain id of the rows.
const CHAIN_ID: u64 = 1;
/// The seed of the rows.
const SEED: u64 = 20_261_121;

/// Splits `rows` into parts of `most` and a rest.
fn counts(rows: usize, most: usize) -> impl Iterator<Item = usize> {
    (0..rows).step_by(most).map(move |at| most.min(rows - at))
}
