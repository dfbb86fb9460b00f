//! How the search reads its source: number of scans, reorganizations, missing blocks, and
//! sources that return transfers out of order.

use crate::search_within;
use alloy_primitives::Address;
use txgraph_graph::{
    SearchError, SearchRequest, search,
    testing::{self, MemorySource},
};
use txgraph_transfers::{
    AddressFilter, Batch, BlockRange, BlockRanges, BlockTime, ByFrontier, Direction, ScanReport,
    ScanRequest, Sink, SourceError, TransferSource, Wrapper,
};

const CHAIN: &str = "a>b>c>d>e";

fn source() -> MemorySource {
    MemorySource::new(testing::transfers(CHAIN))
}

fn request(hops: Option<u32>) -> SearchRequest {
    SearchRequest {
        hops,
        ..SearchRequest::new(vec![testing::address("a")], source().available)
    }
}

fn scans(hops: Option<u32>, memory_bytes_max: u64) -> u32 {
    let source = source();
    search_within(&source, &request(hops), memory_bytes_max).expect("a graph");
    source.scans.get()
}

#[test]
fn one_pass_serves_all_hops_if_memory_allows() {
    assert_eq!(scans(Some(0), 0), 0);
    assert_eq!(scans(Some(1), 0), 1);
    assert_eq!(scans(Some(3), u64::MAX), 1);
    assert_eq!(scans(None, u64::MAX), 1);
    assert_eq!(scans(Some(3), 0), 3);
    // There is nothing new after e, which takes a scan to find out.
    assert_eq!(scans(None, 0), 5);
}

#[test]
fn edges_have_hashes() {
    for memory_bytes_max in [0, u64::MAX] {
        let graph = search_within(&source(), &request(None), memory_bytes_max).unwrap();
        let edges = graph.graph.edge_weights();
        let hashes = edges.map(|edge| edge.transfer.transaction_hash);
        assert!(hashes.eq((100..104).map(|block| Some(testing::hash(block, 0)))));
    }
}

#[test]
fn a_reorganization_ends_the_search() {
    let source = source();
    source.reorgs.set(1);
    let error = search(&source, &request(None)).expect_err("reorganized");
    assert_eq!(source.scans.get(), 1);
    assert!(
        matches!(
            error,
            SearchError::Source(SourceError::Reorged { block: 100 })
        ),
        "{error}"
    );
    // Nothing of the failed search is kept.
    let graph = search(&source, &request(None)).expect("an answer");
    assert_eq!((graph.graph.edge_count(), source.scans.get()), (4, 2));
}

#[test]
fn scans_of_different_chains_are_refused() {
    let mut source = source();
    source.unstable = true;
    assert!(
        search(&source, &request(None)).is_ok(),
        "one scan has one chain"
    );
    let error = search_within(&source, &request(None), 0);
    assert!(matches!(
        error,
        Err(SearchError::Source(SourceError::Reorged { .. }))
    ));
    assert_eq!(source.scans.get(), 1 + 2);
}

#[test]
fn missing_blocks_are_an_error_or_part_of_the_result() {
    let source = source();
    let blocks = BlockRanges::from(BlockRange::from_to(90, 103));
    let mut request = SearchRequest {
        blocks: blocks.clone(),
        ..request(None)
    };
    let error = search(&source, &request).expect_err("blocks are missing");
    assert!(
        matches!(error, SearchError::Source(SourceError::Unavailable { .. })),
        "{error}"
    );
    request.allow_partial = true;
    for memory_bytes_max in [0, u64::MAX] {
        let graph = search_within(&source, &request, memory_bytes_max).unwrap();
        assert_eq!(graph.blocks, blocks);
        assert_eq!(graph.scan.missing[0].blocks, BlockRange::from_to(90, 99));
        assert_eq!(graph.scan.counts.transfers, 4);
    }
}

#[test]
fn contradictory_requests_are_refused() {
    let refused = |change: &dyn Fn(&mut SearchRequest)| {
        let mut request = request(None);
        change(&mut request);
        match search(&source(), &request) {
            Err(SearchError::Request(problem)) => problem,
            other => panic!("{other:?}"),
        }
    };
    assert!(refused(&|r| r.roots.clear()).contains("root"));
    assert!(
        refused(&|r| (r.direction, r.time_respecting) = (Direction::Both, true)).contains("both")
    );
    let touching = AddressFilter::new([Address::ZERO], Direction::Out);
    assert!(refused(&|r| r.filter.touching = Some(touching.clone())).contains("touching"));
    assert!(refused(&|r| r.max_vertices = Some(0)).contains("1 roots"));
}

/// A source that prepares for frontiers without a report of the whole request. The first scan
/// of what it prepares counts as one.
pub(crate) struct Unreported(pub(crate) MemorySource);

impl Wrapper for Unreported {
    type Inner = MemorySource;

    fn inner(&self) -> &Self::Inner {
        &self.0
    }

    fn by_frontier(&self, _: &ScanRequest) -> Result<Option<ByFrontier<'_>>, SourceError> {
        Ok(Some(ByFrontier {
            report: None,
            source: Box::new(&self.0),
        }))
    }
}

#[test]
fn first_frontier_can_report_the_whole_request() {
    let plain = search(&source(), &request(Some(3))).unwrap();
    let prepared = Unreported(source());
    let graph = search(&prepared, &request(Some(3))).unwrap();
    // A scan for each hop, and none for a report.
    assert_eq!(prepared.0.scans.get(), 3);
    assert_eq!(testing::merged(&graph), testing::merged(&plain));
    assert_eq!(graph.scan.covered, plain.scan.covered);
    assert_eq!(graph.scan.last_block_hash, plain.scan.last_block_hash);
    // The counts of the first scan, in which only a sends.
    assert_eq!(graph.scan.counts.transfers, 1);

    // Later scans are compared with the first.
    let mut unstable = source();
    unstable.unstable = true;
    let prepared = Unreported(unstable);
    let error = search(&prepared, &request(Some(3)));
    assert!(matches!(
        error,
        Err(SearchError::Source(SourceError::Reorged { .. }))
    ));
    assert_eq!(prepared.0.scans.get(), 2);
}

/// Returns every transfer twice.
struct Repeating(MemorySource);

impl Wrapper for Repeating {
    type Inner = MemorySource;

    fn inner(&self) -> &Self::Inner {
        &self.0
    }

    fn scan(&self, request: &ScanRequest, sink: &mut Sink<'_>) -> Result<ScanReport, SourceError> {
        self.0.scan(request, &mut |batch| {
            let Batch { blocks, transfers } = batch;
            let twice = transfers.iter().chain(&transfers).cloned().collect();
            sink(Batch {
                blocks,
                transfers: twice,
            })
        })
    }
}

#[test]
fn repeated_transfers_are_an_error() {
    for hops in [Some(1), None] {
        let error = search(&Repeating(source()), &request(hops)).expect_err("not in order");
        assert!(matches!(error, SearchError::Order { .. }), "{error}");
    }
}

#[test]
fn time_zero_is_kept() {
    let mut transfers = testing::transfers(CHAIN);
    transfers[0].block_timestamp = BlockTime::new(0);
    let source = MemorySource::new(transfers);
    for memory_bytes_max in [0, u64::MAX] {
        let graph = search_within(&source, &request(None), memory_bytes_max).unwrap();
        let times: Vec<_> = graph
            .graph
            .edge_weights()
            .map(|edge| edge.transfer.block_timestamp.map(BlockTime::seconds))
            .collect();
        assert_eq!(times[..2], [Some(0), Some(1_600_001_212)]);
        assert_eq!(testing::merged(&graph)[0].first, (100, BlockTime::new(0)));
    }
}
