//! Opening, asking, collecting.

use std::{ops::ControlFlow, path::Path, sync::Arc};
use txgraph_nodedb::{DataDir, NodeDb};
use txgraph_reader::{NodeSource, ScanOptions};
use txgraph_transfers::{
    BlockRange, BlockRanges, ScanReport, ScanRequest, SourceError, Transfer, TransferFilter,
    TransferSource, WrappedNative,
};

pub(crate) fn range(first: u64, last: u64) -> BlockRange {
    BlockRange { first, last }
}

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
        blocks: blocks.into(),
        filter: TransferFilter::default(),
        wrapped_native: WrappedNative::Any,
        with_times: true,
        with_hashes: true,
        allow_partial: false,
    }
}

/// Asks, collects, and checks what holds of every answer.
pub(crate) fn ask(
    source: &NodeSource,
    request: &ScanRequest,
) -> Result<(Vec<Transfer>, ScanReport), SourceError> {
    let mut transfers = Vec::new();
    let mut blocks: Vec<BlockRange> = Vec::new();
    let report = source.scan(request, &mut |mut batch| {
        assert!(
            blocks
                .last()
                .is_none_or(|before| before.last < batch.blocks.first)
        );
        blocks.push(batch.blocks);
        assert!(
            batch
                .transfers
                .iter()
                .all(|t| batch.blocks.contains(t.block_number))
        );
        transfers.append(&mut batch.transfers);
        ControlFlow::Continue(())
    })?;
    assert!(
        transfers.is_sorted_by(|a, b| a.position() < b.position()),
        "not in total order"
    );
    assert_eq!(report.covered, BlockRanges::new(blocks));
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

/// Compares long lists without printing all of them.
#[track_caller]
pub(crate) fn assert_same(found: &[Transfer], expected: &[Transfer], what: &str) {
    if let Some(at) =
        (0..found.len().max(expected.len())).find(|&at| found.get(at) != expected.get(at))
    {
        panic!(
            "{what}: row {at} of {} is {:#?}, expected (of {}) {:#?}",
            found.len(),
            found.get(at),
            expected.len(),
            expected.get(at)
        );
    }
}
