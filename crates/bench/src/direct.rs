//! Measurements of sources in this process, without the command line.

use alloy_primitives::Address;
use anyhow::{Context, Result};
use nix::sys::resource::{UsageWho, getrusage};
use std::{
    ops::ControlFlow,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};
use txgraph_nodedb::{DataDir, NodeDb};
use txgraph_reader::{NodeSource, ScanOptions, Threads};
use txgraph_transfers::{
    BlockRange, ScanReport, ScanRequest, Transfer, TransferFilter, TransferSource, WrappedNative,
};

/// The newest blocks, which neither index nor lake contain.
pub const REORG_BUFFER: u64 = 64;

/// Opens the node of a data directory.
///
/// # Errors
///
/// If it cannot be opened.
pub fn open_node(datadir: &Path, threads: usize) -> Result<NodeSource> {
    let db = NodeDb::open(&DataDir::new(datadir)).context("opening the chain")?;
    let options = ScanOptions {
        threads: Threads::new(threads)?,
        ..ScanOptions::default()
    };
    Ok(NodeSource::new(Arc::new(db), options, None)?)
}

/// A request for everything but the newest blocks.
pub fn everything(blocks: BlockRange) -> ScanRequest {
    ScanRequest {
        // The newest blocks, in the reorganisation buffer, are not stored.
        blocks: BlockRange {
            last: blocks.last.saturating_sub(REORG_BUFFER),
            ..blocks
        }
        .into(),
        filter: TransferFilter::default(),
        wrapped_native: WrappedNative::Auto,
        with_times: true,
        with_hashes: false,
        allow_partial: false,
    }
}

/// Counts the transfers of an answer.
///
/// # Errors
///
/// If the source fails.
pub fn count(source: &dyn TransferSource, request: &ScanRequest) -> Result<u64> {
    let mut count = 0;
    source.scan(request, &mut |batch| {
        count += batch.transfers.len() as u64;
        ControlFlow::Continue(())
    })?;
    Ok(count)
}

/// Counts the transfers of an answer, with its report.
///
/// # Errors
///
/// If the source fails.
pub fn rows(source: &dyn TransferSource, request: &ScanRequest) -> Result<(usize, ScanReport)> {
    let mut count = 0;
    let report = source.scan(request, &mut |batch| {
        count += batch.transfers.len();
        ControlFlow::Continue(())
    })?;
    Ok((count, report))
}

/// Returns distinct addresses, spread evenly over all senders and receivers.
pub fn frontier(all: &[Transfer], count: usize) -> Vec<Address> {
    let ends = |transfer: &Transfer| [transfer.from_address, transfer.to_address];
    let mut addresses: Vec<_> = all.iter().flat_map(ends).collect();
    addresses.sort_unstable();
    addresses.dedup();
    let step = (addresses.len() / count.max(1)).max(1);
    addresses.into_iter().step_by(step).take(count).collect()
}

/// The cost of some work.
#[derive(Debug)]
pub struct Cost<T> {
    /// Its result.
    pub value: T,
    /// The time of the processor, user and system.
    pub cpu: Duration,
    /// The elapsed time.
    pub elapsed: Duration,
}

/// Measures some work.
///
/// # Errors
///
/// If the work fails.
pub fn cost<T>(work: impl FnOnce() -> Result<T>) -> Result<Cost<T>> {
    let before = processor_time()?;
    let began = Instant::now();
    let value = work()?;
    Ok(Cost {
        value,
        elapsed: began.elapsed(),
        cpu: processor_time()?.saturating_sub(before),
    })
}

fn processor_time() -> Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    let micros = [usage.user_time(), usage.system_time()]
        .map(|time| time.tv_sec() * 1_000_000 + time.tv_usec());
    Ok(Duration::from_micros(u64::try_from(micros[0] + micros[1])?))
}

/// The shortest time.
pub fn least(times: &[Duration]) -> Duration {
    times.iter().copied().min().unwrap_or_default()
}

/// A time as text.
pub fn ms(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

/// Prints a figure.
#[expect(clippy::print_stdout, reason = "the output of a command line tool")]
pub fn say(what: &str, figure: String) {
    println!("{what:32} {figure}");
}
