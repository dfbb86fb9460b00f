use super::*;
use alloy_primitives::{Address, U256, keccak256};
use proptest::prelude::*;
use txgraph_transfers::{DecodeCounts, FailureKind, WrappedNative, testing::transfer};
use txgraph_work::{CancelFlag, Threads};

/// Blocks in memory, each with one transfer of its number in wei.
#[derive(Debug)]
struct Memory {
    chain: ChainInfo,
    available: BlockRanges,
    chunk_blocks: u64,
    /// This block belongs to another chain than its parent.
    forked_at: Option<u64>,
    /// This block cannot be read.
    unreadable: Option<u64>,
}

impl Memory {
    fn new(available: BlockRanges, chunk_blocks: u64) -> Self {
        Self {
            chain: ChainInfo {
                chain_id: 1,
                genesis_hash: B256::ZERO,
                name: None,
            },
            available,
            chunk_blocks,
            forked_at: None,
            unreadable: None,
        }
    }

    fn source(self, threads: usize) -> StoredSource<Self> {
        let threads = Threads::new(threads).unwrap();
        StoredSource::new(
            self,
            WorkContext {
                threads,
                ..WorkContext::default()
            },
        )
    }
}

fn hash(block: u64) -> B256 {
    keccak256(block.to_be_bytes())
}

impl StoredBlocks for Memory {
    type Scratch = ();

    fn chain(&self) -> &ChainInfo {
        &self.chain
    }

    fn available(&self) -> BlockRanges {
        self.available.clone()
    }

    fn chunks(
        &self,
        blocks: &BlockRanges,
        _: &ScanRequest,
    ) -> Result<Vec<BlockRange>, SourceFailure> {
        let chunks = |range: BlockRange| range.chunks(self.chunk_blocks);
        Ok(blocks.iter().flat_map(chunks).collect())
    }

    fn read(
        &self,
        (): &mut (),
        chunk: BlockRange,
        _: &ScanRequest,
    ) -> Result<StoredChunk, SourceFailure> {
        if self.unreadable.is_some_and(|block| chunk.contains(block)) {
            return Err(SourceFailure::new(FailureKind::Unreadable, "bad block"));
        }
        let rows = (chunk.first..=chunk.last).map(|block| Transfer {
            to_address: Address::with_last_byte(1),
            value: U256::from(block),
            ..transfer(block)
        });
        let parent = match self.forked_at == Some(chunk.first) {
            true => B256::ZERO,
            false => hash(chunk.first.wrapping_sub(1)),
        };
        Ok(StoredChunk {
            transfers: rows.collect(),
            counts: DecodeCounts {
                blocks: chunk.blocks(),
                ..DecodeCounts::default()
            },
            parent_hash: Some(parent),
            last_hash: Some(hash(chunk.last)),
        })
    }
}

fn ranges(parts: &[(u64, u64)]) -> BlockRanges {
    let parts = parts
        .iter()
        .map(|&(first, last)| BlockRange { first, last });
    parts.collect()
}

fn request(blocks: BlockRanges, allow_partial: bool) -> ScanRequest {
    ScanRequest {
        blocks,
        wrapped_native: WrappedNative::default(),
        allow_partial,
        ..ScanRequest::default()
    }
}

fn scan(
    source: &StoredSource<Memory>,
    request: &ScanRequest,
) -> Result<(Vec<u64>, ScanReport), SourceError> {
    let mut blocks = Vec::new();
    let report = source.scan(request, &mut |batch| {
        let numbers = batch.transfers.iter().map(|row| row.block_number);
        blocks.extend(numbers);
        ControlFlow::Continue(())
    })?;
    Ok((blocks, report))
}

proptest! {
    #[test]
    fn delivers_every_available_block_once_and_in_order(
        has in proptest::collection::vec((0u64..200, 0u64..60), 0..5),
        wants in proptest::collection::vec((0u64..200, 0u64..60), 0..5),
        chunk_blocks in 1u64..50,
        threads in 1usize..4,
    ) {
        let set = |parts: Vec<(u64, u64)>| -> BlockRanges {
            parts.into_iter().map(|(at, more)| BlockRange { first: at, last: at + more }).collect()
        };
        let (has, wants) = (set(has), set(wants));
        let source = Memory::new(has.clone(), chunk_blocks).source(threads);
        let (blocks, report) = scan(&source, &request(wants.clone(), true)).unwrap();
        let present = wants.intersect(&has);
        let expected: Vec<u64> =
            present.iter().flat_map(|range| range.first..=range.last).collect();
        prop_assert_eq!(&blocks, &expected);
        prop_assert_eq!(&report.covered, &present);
        prop_assert_eq!(report.counts.blocks, present.blocks());
        prop_assert_eq!(report.last_block_hash, expected.last().map(|block| hash(*block)));
        let missing: BlockRanges = report.missing.iter().map(|gap| gap.blocks).collect();
        prop_assert_eq!(&missing, &wants.subtract(&has));
        let strict = request(wants.clone(), false);
        let complete = missing.is_empty();
        prop_assert_eq!(source.check_available(&strict).is_ok(), complete);
        prop_assert_eq!(scan(&source, &strict).is_ok(), complete);
    }
}

#[test]
fn missing_blocks_are_named_with_the_available_ones() {
    let source = Memory::new(ranges(&[(10, 19), (30, 39)]), 4).source(2);
    let error = scan(&source, &request(ranges(&[(15, 35)]), false)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "blocks not available: 20:30 (not in the files); available: 10:20, 30:40"
    );
}

#[test]
fn refuses_chunks_of_different_chains() {
    let mut blocks = Memory::new(ranges(&[(0, 99)]), 10);
    blocks.forked_at = Some(50);
    let error = scan(&blocks.source(2), &request(ranges(&[(0, 99)]), false)).unwrap_err();
    let message = error.to_string();
    assert!(
        message.starts_with("block 50 has the parent hash 0x00"),
        "{message}"
    );
    assert!(message.contains("block 49 has the hash"), "{message}");
}

#[test]
fn blocks_after_a_gap_need_not_link() {
    let mut blocks = Memory::new(ranges(&[(0, 9), (20, 29)]), 10);
    blocks.forked_at = Some(20);
    let (rows, report) = scan(&blocks.source(1), &request(ranges(&[(0, 29)]), true)).unwrap();
    assert_eq!(rows.len(), 20);
    assert_eq!(report.anchors.len(), 2);
}

#[test]
fn the_first_error_in_block_order_ends_the_scan() {
    for threads in 1..=3 {
        let mut blocks = Memory::new(ranges(&[(0, 99)]), 5);
        blocks.unreadable = Some(57);
        let source = blocks.source(threads);
        let mut last = None;
        let request = request(ranges(&[(0, 99)]), false);
        let end = source.scan(&request, &mut |batch| {
            last = Some(batch.blocks.last);
            ControlFlow::Continue(())
        });
        assert_eq!(end.unwrap_err().to_string(), "bad block");
        assert_eq!(last, Some(54));
    }
}

#[test]
fn a_sink_that_breaks_ends_the_scan_without_an_error() {
    let source = Memory::new(ranges(&[(0, 99)]), 10).source(2);
    let mut batches = 0;
    let request = request(ranges(&[(0, 99)]), false);
    let report = source.scan(&request, &mut |_| {
        batches += 1;
        match batches {
            3 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    });
    assert_eq!(report.unwrap().covered, ranges(&[(0, 29)]));
}

#[test]
fn a_canceled_scan_is_interrupted() {
    let cancel = CancelFlag::new();
    cancel.cancel();
    let blocks = Memory::new(ranges(&[(0, 99)]), 10);
    let work = WorkContext {
        cancel,
        ..WorkContext::default()
    };
    let source = StoredSource::new(blocks, work);
    let end = scan(&source, &request(ranges(&[(0, 99)]), false));
    assert!(matches!(end, Err(SourceError::Interrupted)));
}

#[test]
fn requests_for_internal_transfers_are_refused() {
    let source = Memory::new(ranges(&[(0, 9)]), 10).source(1);
    let mut request = request(ranges(&[(0, 9)]), false);
    request.filter.internal = true;
    let error = scan(&source, &request).unwrap_err();
    assert!(matches!(error, SourceError::Unsupported { .. }), "{error}");
    assert!(source.check_available(&request).is_err());
}
