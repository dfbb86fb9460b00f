//! Fixed work for counting instructions: decoding the rows of a scan, and the interpreter.
//! Times differ between machines and hours. Instruction counts do not, so CI can compare them
//! with committed figures (`scripts/count-instructions.sh`).
//!
//! libmdbx does not open under valgrind. `prepare` therefore copies rows from a data directory
//! to a plain file, which `run` reads.

use crate::console::say;
use alloy_primitives::{Address, Bytes, keccak256};
use anyhow::{Context, Result, bail, ensure};
use clap::Subcommand;
use serde::{Deserialize, Serialize};
use std::{
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
};
use txgraph_evm::Fork;
use txgraph_evm_tools::program::{Program, run_program};
use txgraph_nodedb::{
    BlockRange, DataDir, NodeDb, Parts, Scratch,
    fuzzing::{self, Buffers},
};
use txgraph_transfers::{Decoder, LogView, TokenFilter, Transfer, TransferFilter, WrappedNative};

#[derive(Subcommand)]
pub(crate) enum Action {
    /// Write the rows of a data directory into a file.
    Prepare {
        #[arg(long)]
        datadir: PathBuf,
        #[arg(long)]
        out: PathBuf,
    },
    /// Repeat one kind of work, and print its results.
    Run {
        /// The file that `prepare` wrote.
        #[arg(long)]
        rows: PathBuf,
        /// The folder of the benchmark programs.
        #[arg(long)]
        programs: PathBuf,
        /// `scan-all`, `scan-token`, `hashes`, or the name of a program.
        work: String,
        rounds: u32,
    },
}

/// Stored rows.
#[derive(Default, Serialize, Deserialize)]
struct Rows {
    receipts: Vec<Bytes>,
    transactions: Vec<Bytes>,
}

pub(crate) fn run(action: Action) -> Result<()> {
    match action {
        Action::Prepare { datadir, out } => prepare(&datadir, &out),
        Action::Run {
            rows,
            programs,
            work,
            rounds,
        } => {
            let bytes = fs::read(&rows).with_context(|| rows.display().to_string())?;
            let rows = serde_json::from_slice(&bytes)?;
            let done = match work.as_str() {
                "scan-all" => scan(&rows, &TransferFilter::default(), rounds)?,
                "scan-token" => scan(&rows, &common_token(&rows)?, rounds)?,
                "hashes" => hashes(&rows, rounds)?,
                program => run_times(
                    &Program::open(&programs.join(format!("{program}.prog")))?,
                    rounds,
                )?,
            };
            say(format_args!("{work}: {rounds} rounds, {done}"));
            Ok(())
        }
    }
}

fn prepare(datadir: &Path, out: &Path) -> Result<()> {
    let db = NodeDb::open(&DataDir::new(datadir))?;
    let snapshot = db.snapshot()?;
    let blocks = BlockRange::up_to(snapshot.tip());
    let parts = Parts {
        receipts: true,
        transactions: true,
        ..Parts::default()
    };
    let mut rows = Rows::default();
    let mut scratch = Scratch::default();
    snapshot.for_each_block(blocks, parts, &mut scratch, &mut |block| {
        for index in (0..).take(usize::try_from(block.body.tx_count).unwrap_or(usize::MAX)) {
            let receipt = Bytes::copy_from_slice(block.receipt_bytes(index)?);
            rows.receipts.push(receipt);
            let transaction = Bytes::copy_from_slice(block.transaction_bytes(index)?);
            rows.transactions.push(transaction);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    fs::write(out, serde_json::to_vec(&rows)?).with_context(|| out.display().to_string())
}

/// The work of a scan: decompress receipts, decode their logs, apply the filter.
fn scan(rows: &Rows, filter: &TransferFilter, rounds: u32) -> Result<String> {
    let mut transfers = Vec::new();
    decode(rows, filter, rounds, &mut transfers)?;
    ensure!(!transfers.is_empty(), "no transfers in these rows");
    Ok(format!(
        "{} receipts, {} transfers",
        rows.receipts.len(),
        transfers.len()
    ))
}

fn decode(
    rows: &Rows,
    filter: &TransferFilter,
    rounds: u32,
    transfers: &mut Vec<Transfer>,
) -> Result<()> {
    let mut buffers = Buffers::default();
    let mut decoder = Decoder::new(1, &WrappedNative::Auto, filter);
    for round in 0..rounds {
        transfers.clear();
        decoder.begin_block(round.into(), None);
        for (index, row) in (0..).zip(&rows.receipts) {
            let receipt = fuzzing::receipt(row, &mut buffers).map_err(anyhow::Error::msg)?;
            let logs = receipt.logs().map(|log| LogView {
                address: log.address,
                topics: log.topics,
                data: log.data,
            });
            decoder.transaction(index, None, logs, transfers);
        }
    }
    Ok(())
}

/// A filter for the token with the most transfers; of several, for the lowest address.
fn common_token(rows: &Rows) -> Result<TransferFilter> {
    let mut transfers = Vec::new();
    decode(rows, &TransferFilter::default(), 1, &mut transfers)?;
    let mut tokens: Vec<Address> = transfers
        .iter()
        .filter_map(|transfer| transfer.token_address)
        .collect();
    tokens.sort_unstable();
    let runs = tokens.chunk_by(|a, b| a == b);
    let most = runs.max_by_key(|run| (run.len(), std::cmp::Reverse(run[0])));
    let token = most.context("no transfers in these rows")?[0];
    Ok(TransferFilter {
        tokens: TokenFilter::only([token]),
        ..TransferFilter::default()
    })
}

/// Computes transaction hashes: decompress, decode, encode, hash.
fn hashes(rows: &Rows, rounds: u32) -> Result<String> {
    let mut buffers = Buffers::default();
    let mut all = Vec::new();
    for _ in 0..rounds {
        all.clear();
        for row in &rows.transactions {
            let tx = fuzzing::transaction(row, &mut buffers).map_err(anyhow::Error::msg)?;
            all.extend(*tx.tx_hash());
        }
    }
    Ok(format!(
        "{} transactions, {}",
        rows.transactions.len(),
        keccak256(all)
    ))
}

fn run_times(program: &Program, rounds: u32) -> Result<String> {
    let mut gas = 0;
    for _ in 0..rounds {
        let outcome = run_program(program, Fork::Osaka)?;
        if !outcome.is_success() {
            bail!("{} does not succeed", program.name);
        }
        gas = outcome.gas_used;
    }
    Ok(format!("{gas} gas each"))
}
