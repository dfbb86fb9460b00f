//! Timed runs of txgraph and of the methods it is compared with. Built by `bench.sh` only.
//!
//! Input is the binaries to time, sample chains, real blocks, and the definitions in
//! `benchmarks/`. Output is raw figures and a summary (Markdown). A run with a wrong answer is an
//! error, not a figure.
//!
//! ```text
//! sweep             whole processes; their cost comes from the operating system
//! baseline, limit   the reference method, and the lower bound of any scan: peers of `sweep`
//! index, lake       the stores, in this process (feature `stores`)
//! writers           our writers, polars' writers, and `cat` (feature `writers`)
//! evm, precompiles, threads, mainnet, replay, compare, geth
//!                   the interpreter and its peers (feature `evm`)
//! count             fixed work, whose instructions are counted (feature `count`)
//! ```
//!
//! Modules, each using only those before it: answer, console, count, measure, rows, definition,
//! limit, report, stores, baseline, evm, sweep, writers.

mod answer;
mod baseline;
mod console;
#[cfg(feature = "count")]
mod count;
mod definition;
#[cfg(feature = "evm")]
mod evm;
mod limit;
mod measure;
mod report;
mod rows;
#[cfg(feature = "stores")]
mod stores;
mod sweep;
#[cfg(feature = "writers")]
mod writers;

use anyhow::Result;
use clap::{Parser, Subcommand};
use std::path::PathBuf;

#[derive(Parser)]
struct Args {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run one command and print its cost, as `sweep` does for every run.
    Measure {
        /// File for the output of the command.
        stdout: PathBuf,
        /// The command.
        #[arg(last = true)]
        command: Vec<String>,
    },
    /// Time the workloads with whole processes.
    Sweep(Box<sweep::Options>),
    /// Search by the reference method.
    Baseline(baseline::Options),
    /// Decompress every receipt of a range.
    Limit(limit::Range),
    /// Compare the index with scans.
    #[cfg(feature = "stores")]
    Index {
        #[command(flatten)]
        options: stores::Options,
        /// Root of the search.
        #[arg(long)]
        root: alloy_primitives::Address,
    },
    /// Compare the lake with the index.
    #[cfg(feature = "stores")]
    Lake(stores::Options),
    /// Compare the writers with polars and `cat`.
    #[cfg(feature = "writers")]
    Writers(writers::run::Options),
    /// Run one writer in a process of its own, as `writers` does.
    #[cfg(feature = "writers")]
    Write(writers::write::Options),
    /// Time programs on our interpreter and on revm.
    #[cfg(feature = "evm")]
    Evm(evm::programs::Options),
    /// Time the contracts of BN254, ours and revm's.
    #[cfg(feature = "evm")]
    Precompiles(evm::precompiles::Timing),
    /// Time calls of one contract by many threads.
    #[cfg(feature = "evm")]
    Threads(evm::precompiles::Timing),
    /// Time real blocks on our interpreter and on revm.
    #[cfg(feature = "evm")]
    Mainnet(evm::mainnet::Options),
    /// Time the replay of a chain with our interpreter and with revm.
    #[cfg(feature = "evm")]
    Replay(evm::replay::Options),
    /// Run public tests on our interpreter and on revm, and print the differences.
    #[cfg(feature = "evm")]
    Compare(evm::compare::Options),
    /// Execute random blocks of Amsterdam on our interpreter and in geth.
    #[cfg(feature = "evm")]
    Geth(evm::geth::Options),
    /// Fixed work for counting instructions.
    #[cfg(feature = "count")]
    #[command(subcommand)]
    Count(count::Action),
}

fn main() -> Result<()> {
    match Args::parse().task {
        Task::Measure { stdout, command } => {
            console::say(measure::measure_here(&command, &stdout)?);
            Ok(())
        }
        Task::Sweep(options) => sweep::run(&options),
        Task::Baseline(options) => baseline::run(&options),
        Task::Limit(options) => limit::run(&options),
        #[cfg(feature = "stores")]
        Task::Index { options, root } => stores::index(&options, root),
        #[cfg(feature = "stores")]
        Task::Lake(options) => stores::lake(&options),
        #[cfg(feature = "writers")]
        Task::Writers(options) => writers::run::run(&options),
        #[cfg(feature = "writers")]
        Task::Write(options) => writers::write::write(&options),
        #[cfg(feature = "evm")]
        Task::Evm(options) => evm::programs::run(&options),
        #[cfg(feature = "evm")]
        Task::Precompiles(options) => evm::precompiles::run(&options),
        #[cfg(feature = "evm")]
        Task::Threads(options) => evm::threads::run(&options),
        #[cfg(feature = "evm")]
        Task::Mainnet(options) => evm::mainnet::run(&options),
        #[cfg(feature = "evm")]
        Task::Replay(options) => evm::replay::run(&options),
        #[cfg(feature = "evm")]
        Task::Compare(options) => evm::compare::run(&options),
        #[cfg(feature = "evm")]
        Task::Geth(options) => evm::geth::run(&options),
        #[cfg(feature = "count")]
        Task::Count(action) => count::run(action),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn arguments_are_consistent() {
        Args::command().debug_assert();
    }
}
