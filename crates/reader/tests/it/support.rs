//! Opening, asking, collecting.

use std::{
    path::Path,
    sync::{Arc, Mutex},
};
use txgraph_nodedb::{DataDir, NodeDb};
use txgraph_reader::{NodeSource, Progress, ScanOptions};
use txgraph_testkit::queries;
pub(crate) use txgraph_testkit::queries::{assert_same, range};
use txgraph_transfers::{
    BlockRanges, ScanReport, ScanRequest, SourceError, Transfer, WrappedNative,
};

pub(crate) fn database(path: &Path) -> Arc<NodeDb> {
    let db = NodeDb::open(&DataDir::new(path));
    Arc::new(db.unwrap_or_else(|e| panic!("{}: {e}", path.display())))
}

pub(crate) fn open_with(path: &Path, options: ScanOptions) -> NodeSource {
    let db = database(path);
    // Some small test chains have no transaction with a chain ID.
    let given = db.chain().unwrap().chain_id.is_none().then_some(1337);
    NodeSource::new(db, options, given).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

pub(crate) fn open(path: &Path) -> NodeSource {
    open_with(path, ScanOptions::default())
}

/// Every transfer, as the naive decoder sees them.
pub(crate) fn everything(blocks: impl Into<BlockRanges>) -> ScanRequest {
    ScanRequest {
        wrapped_native: WrappedNative::Any,
        with_hashes: true,
        ..queries::everything(blocks)
    }
}

/// Asks, collects, and checks what holds of every result.
pub(crate) fn ask(
    source: &NodeSource,
    request: &ScanRequest,
) -> Result<(Vec<Transfer>, ScanReport), SourceError> {
    let (transfers, report) = queries::ask(source, request)?;
    assert_eq!(report.counts.blocks, report.covered.blocks());
    assert_eq!(report.counts.transfers, transfers.len() as u64);
    let missing: BlockRanges = report.missing.iter().map(|gap| gap.blocks).collect();
    assert_eq!(request.blocks.subtract(&missing), report.covered);
    assert!(request.allow_partial || missing.is_empty());
    Ok((transfers, report))
}

/// [`ask`] for what must be there.
pub(crate) fn answer(source: &NodeSource, request: &ScanRequest) -> (Vec<Transfer>, ScanReport) {
    ask(source, request).unwrap_or_else(|error| panic!("{error}"))
}

/// Adds up what is reported: the expected blocks, blocks, counts and ends; and keeps what is counted.
#[derive(Default)]
pub(crate) struct Meter(Mutex<([u64; 4], &'static str)>);

impl Meter {
    /// The sums of a meter of `counted`.
    pub(crate) fn read(&self, counted: &str) -> [u64; 4] {
        let (sums, reported) = *self.0.lock().unwrap();
        assert_eq!(reported, counted);
        sums
    }
}

impl Progress for Meter {
    fn start(&self, blocks: u64, counted: &'static str) {
        let mut meter = self.0.lock().unwrap();
        meter.0[0] += blocks;
        meter.1 = counted;
    }

    fn advance(&self, blocks: u64, count: u64) {
        let mut meter = self.0.lock().unwrap();
        meter.0[1] += blocks;
        meter.0[2] += count;
    }

    fn finish(&self) {
        self.0.lock().unwrap().0[3] += 1;
    }
}
