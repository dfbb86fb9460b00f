//! The writers, against what no writer can beat and against polars' own.
//!
//! - `write` prepares rows, then writes them in one way and says what that cost;
//! - `run` does so round by round, beside `cat` of the same finished file, checks
//!   every answer against `benchmarks/writers.toml`, and writes the record.

mod record;
mod rival;
mod rows;
mod run;
mod table;
mod write;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// Rows that are prepared; what is written is these, again and again.
const PREPARED: usize = 512 * 1024;
/// Chain of the rows.
const CHAIN_ID: u64 = 1;
/// What the rows are made from.
const SEED: u64 = 20_261_121;

#[derive(Parser)]
struct Args {
    #[command(subcommand)]
    command: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Everything, and the record of it.
    Run(run::Options),
    /// One way of writing, in a process of its own.
    Write(write::Options),
}

fn main() -> Result<()> {
    match Args::parse().command {
        Task::Run(options) => run::run(&options),
        Task::Write(options) => write::write(&options),
    }
}

/// `rows` as whole parts of `most` and what is left.
fn counts(rows: usize, most: usize) -> impl Iterator<Item = usize> {
    (0..rows).step_by(most).map(move |at| most.min(rows - at))
}
