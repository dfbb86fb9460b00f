//! Scans a data directory and says what that cost:
//! `cargo run --release -p txgraph-reader --example scan -- DATADIR [TOKEN …]`
//!
//! `SCAN_ROUNDS=N` scans N times, for counts of instructions on small chains.

use std::{ops::ControlFlow, sync::Arc, time::Instant};
use txgraph_nodedb::{DataDir, NodeDb};
use txgraph_reader::{NodeSource, ScanOptions};
use txgraph_transfers::{
    BlockRange, ScanRequest, TokenFilter, TransferFilter, TransferSource, WrappedNative,
};

#[expect(clippy::print_stdout, reason = "an example shows its result")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let datadir = words.next().ok_or("which data directory?")?;
    let tokens = words.map(|word| word.parse()).collect::<Result<_, _>>()?;
    let db = Arc::new(NodeDb::open(&DataDir::new(datadir))?);
    let last = db.snapshot()?.tip();
    let source = NodeSource::new(db, ScanOptions::default(), None)?;
    let mut filter = TransferFilter::default();
    let only = TokenFilter::Only {
        tokens,
        native: false,
    };
    if !matches!(&only, TokenFilter::Only { tokens, .. } if tokens.is_empty()) {
        filter.tokens = only;
    }
    let request = ScanRequest {
        blocks: BlockRange::up_to(last).into(),
        filter,
        wrapped_native: WrappedNative::Auto,
        with_times: false,
        with_hashes: false,
        allow_partial: true,
    };
    let rounds = std::env::var("SCAN_ROUNDS").map_or(Ok(1), |rounds| rounds.parse::<u32>())?;
    let begun = Instant::now();
    let mut batches = 0u64;
    let mut scan = || {
        source.scan(&request, &mut |_| {
            batches += 1;
            ControlFlow::Continue(())
        })
    };
    let mut report = scan()?;
    for _ in 1..rounds {
        report = scan()?;
    }
    println!("{:?}", report.counts);
    println!("{batches} batches in {:?}", begun.elapsed());
    for gap in report.missing {
        println!("missing: {} ({})", gap.blocks, gap.reason);
    }
    Ok(())
}
