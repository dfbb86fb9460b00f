//! Joined sources equal one source that has everything, or refuse.

use super::*;
use proptest::prelude::*;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use txgraph_graph::{SearchRequest, search, testing};
use txgraph_transfers::{BlockTime, DecodeCounts};

/// The last block of the chain.
const TIP: u64 = 60;

/// Blocks of a chain in memory. Those from `fork` on are of another branch.
#[derive(Debug)]
struct Fake {
    blocks: BlockRanges,
    transfers: Vec<Transfer>,
    fork: u64,
    /// Whether hashes of blocks are known.
    hashes: bool,
    /// Whether the first block of each run has its parent hash.
    parents: bool,
    by_frontier: bool,
    scans: AtomicU32,
}

fn chain() -> &'static ChainInfo {
    static CHAIN: std::sync::LazyLock<ChainInfo> = std::sync::LazyLock::new(|| ChainInfo {
        chain_id: 1,
        genesis_hash: B256::repeat_byte(1),
        name: None,
    });
    &CHAIN
}

/// Two transfers in every third block, in which each name pays the next three names.
fn everything() -> Vec<Transfer> {
    let mut text = String::new();
    let names = ["a", "b", "c", "d", "e", "f", "g"];
    for number in 1..=TIP / 3 {
        let block = number * 3;
        let step = 1 + number / 7;
        let at = |n: u64| names[((number + n * step) % 7) as usize];
        text += &format!("{}>{}>{}:{block}#{block} ", at(0), at(1), at(2));
    }
    testing::transfers(&text)
}

impl Fake {
    fn new(first: u64, last: u64) -> Self {
        Self {
            blocks: BlockRange { first, last }.into(),
            transfers: everything(),
            fork: u64::MAX,
            hashes: true,
            parents: true,
            by_frontier: false,
            scans: AtomicU32::new(0),
        }
    }

    fn hash(&self, block: u64) -> B256 {
        let mut hash = B256::repeat_byte(if block < self.fork { 1 } else { 2 });
        hash[..8].copy_from_slice(&block.to_be_bytes());
        hash
    }
}

impl TransferSource for Fake {
    fn chain(&self) -> &ChainInfo {
        chain()
    }

    fn scan(&self, request: &ScanRequest, sink: &mut Sink<'_>) -> Result<ScanReport, SourceError> {
        self.scans.fetch_add(1, Ordering::Relaxed);
        self.check_available(request)?;
        let mut report = ScanReport::default();
        for blocks in request.blocks.intersect(&self.blocks).iter() {
            let wanted = self
                .transfers
                .iter()
                .filter(|it| blocks.contains(it.block_number) && request.filter.matches(it));
            let transfers: Vec<_> = wanted.cloned().collect();
            report.counts += DecodeCounts {
                blocks: blocks.blocks(),
                transfers: transfers.len() as u64,
                ..DecodeCounts::default()
            };
            report.covered = report.covered.iter().chain([blocks]).collect();
            if self.hashes {
                let before = blocks.first.checked_sub(1);
                report.anchors.push(BlockAnchor {
                    blocks,
                    parent_hash: before.filter(|_| self.parents).map(|it| self.hash(it)),
                    hash: self.hash(blocks.last),
                });
                report.last_block_hash = Some(self.hash(blocks.last));
            }
            if sink(Batch { blocks, transfers }).is_break() {
                break;
            }
        }
        Ok(report)
    }

    fn fill_hashes(
        &self,
        transfers: &mut [Transfer],
        anchors: &[BlockAnchor],
    ) -> Result<(), SourceError> {
        for anchor in anchors {
            assert!(self.blocks.contains(anchor.blocks.last));
            if self.hash(anchor.blocks.last) != anchor.hash {
                return Err(SourceError::Reorged {
                    block: anchor.blocks.last,
                });
            }
        }
        for transfer in transfers {
            assert!(self.blocks.contains(transfer.block_number));
            transfer.block_timestamp = BlockTime::new(1000 + transfer.block_number);
        }
        Ok(())
    }

    fn check_available(&self, request: &ScanRequest) -> Result<(), SourceError> {
        request.check_blocks(&self.blocks, "not here")
    }

    fn canonical_hashes(&self, blocks: &[u64]) -> Result<Vec<Option<B256>>, SourceError> {
        let known = |block: &u64| self.hashes && self.blocks.contains(*block);
        let hash = |block: &u64| known(block).then(|| self.hash(*block));
        Ok(blocks.iter().map(hash).collect())
    }

    fn by_frontier(&self, request: &ScanRequest) -> Result<Option<ByFrontier<'_>>, SourceError> {
        if !self.by_frontier {
            return Ok(None);
        }
        let report = self.scan(request, &mut |_| ControlFlow::Continue(()))?;
        Ok(Some(ByFrontier {
            report: Some(report),
            source: Box::new(self),
        }))
    }
}

fn join<'a>(
    sources: impl IntoIterator<Item = &'a Fake>,
    seam: Option<&'a dyn Seam>,
) -> JoinedTransfers<'a> {
    let member = |(number, source)| Member {
        name: format!("source {number}"),
        source: Box::new(source) as Box<dyn TransferSource + Sync + 'a>,
    };
    let members = sources.into_iter().enumerate().map(member);
    JoinedTransfers::new(chain(), members.collect(), seam)
}

fn request(first: u64, last: u64) -> ScanRequest {
    ScanRequest {
        blocks: BlockRange { first, last }.into(),
        ..ScanRequest::default()
    }
}

/// A request that no transfer matches.
fn nothing(first: u64, last: u64) -> ScanRequest {
    let mut request = request(first, last);
    request.filter.min_value = alloy_primitives::U256::MAX;
    request
}

type Answer = Result<(Vec<Transfer>, ScanReport), SourceError>;

/// The result of two sources.
fn both(sources: [&Fake; 2], request: &ScanRequest) -> Answer {
    collect(&join(sources, None), request)
}

/// The message of a failure that is read again.
fn refused(answer: Answer) -> String {
    match answer {
        Err(SourceError::Failed(failure)) if failure.kind == FailureKind::Replaced => {
            failure.to_string()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn branches_are_never_mixed() {
    let base = Fake::new(0, 30);
    let forked = |first, last, fork| Fake {
        fork,
        ..Fake::new(first, last)
    };
    // (the other source, whether it is of the branch of blocks 0 to 30)
    for (other, is_same) in [
        (forked(31, TIP, 31), true),
        (forked(31, TIP, 30), false),
        (forked(20, TIP, 31), true),
        (forked(20, TIP, 25), false),
        (forked(20, TIP, 30), false),
        (forked(10, 20, 20), false),
        (forked(10, 20, 21), true),
    ] {
        for [one, two] in [[&base, &other], [&other, &base]] {
            let last = if other.blocks.contains(TIP) { TIP } else { 30 };
            // A filter that matches nothing proves as much as any other.
            for request in [request(0, last), nothing(0, last)] {
                if is_same {
                    let (_, report) = both([one, two], &request).unwrap();
                    assert_eq!(report.caveats, [""; 0]);
                } else {
                    let text = refused(both([one, two], &request));
                    assert!(text.contains("different branches"), "{text}");
                    assert!(
                        text.contains("source 0") && text.contains("source 1"),
                        "{text}"
                    );
                }
            }
        }
    }
}

#[test]
fn blocks_that_no_hash_links_are_stated() {
    let base = Fake::new(0, 30);
    let unknown = Fake {
        hashes: false,
        ..Fake::new(31, TIP)
    };
    let apart = Fake {
        parents: false,
        ..Fake::new(40, TIP)
    };
    let caveat = "no hash of a block shows that source 0 and source 1 are of the same branch";
    let joined = join([&base, &unknown], None);
    let (_, report) = collect(&joined, &request(0, TIP)).unwrap();
    assert_eq!(report.caveats, [caveat]);
    let joined = join([&base, &apart], None);
    let mut partial = request(0, TIP);
    assert!(matches!(
        collect(&joined, &partial),
        Err(SourceError::Unavailable { missing, .. }) if missing[0].blocks == BlockRange { first: 31, last: 39 }
    ));
    partial.allow_partial = true;
    let (_, report) = collect(&joined, &partial).unwrap();
    assert_eq!(report.caveats, [caveat]);
    assert_eq!(report.missing.len(), 1);
    // One of two sources answers alone: there is nothing to link.
    let (_, report) = collect(&joined, &request(45, 50)).unwrap();
    assert_eq!(report.caveats, [""; 0]);
    assert_eq!(report.notes, ["blocks 45:51 from source 1"]);
}

#[test]
fn rows_are_compared_where_hashes_are_unknown() {
    let base = Fake::new(0, 40);
    let mut other = Fake {
        hashes: false,
        ..Fake::new(20, TIP)
    };
    let all = both([&base, &other], &request(0, TIP)).unwrap();
    assert_eq!(all.0, everything());
    other.transfers.retain(|it| it.block_number != 30);
    let error = both([&base, &other], &request(0, TIP)).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("block 30: the transfers in source 0 and source 1 differ"));
    // With hashes they are not read twice.
    other.hashes = true;
    let scans = base.scans.load(Ordering::Relaxed) + other.scans.load(Ordering::Relaxed);
    both([&base, &other], &request(0, TIP)).unwrap();
    let now = base.scans.load(Ordering::Relaxed) + other.scans.load(Ordering::Relaxed);
    assert_eq!(now - scans, 3);
}

#[test]
fn a_search_reads_the_rest_once() {
    let mut base = Fake::new(0, 49);
    base.by_frontier = true;
    let rest = Fake::new(50, TIP);
    let whole = Fake::new(0, TIP);
    let root = testing::address("a");
    let query = SearchRequest {
        hops: Some(4),
        ..SearchRequest::new(vec![root], BlockRange::up_to(TIP).into())
    };
    let found = search(&join([&base, &rest], None), &query).unwrap();
    let expected = search(&whole, &query).unwrap();
    assert!(expected.graph.edge_count() > 10);
    assert_eq!(testing::merged(&found), testing::merged(&expected));
    assert_eq!(found.scan.covered, expected.scan.covered);
    assert_eq!(found.scan.last_block_hash, expected.scan.last_block_hash);
    assert_eq!(rest.scans.load(Ordering::Relaxed), 1);
    assert!(base.scans.load(Ordering::Relaxed) > 2);
    // Too much to keep: one pass over everything.
    base.blocks = BlockRange::up_to(9).into();
    let rest = Fake::new(10, 5000);
    let query = SearchRequest {
        blocks: BlockRange::up_to(5000).into(),
        ..query
    };
    search(&join([&base, &rest], None), &query).unwrap();
    assert_eq!(rest.scans.load(Ordering::Relaxed), 1);
}

/// A node whose files end with a block that moves.
struct Disk(AtomicU64);

impl Seam for Disk {
    fn stored_tip(&self) -> Result<u64, SourceError> {
        Ok(self.0.load(Ordering::Relaxed))
    }

    fn before(&self, _: u64) -> Result<(), SourceError> {
        Ok(())
    }
}

#[test]
fn a_server_is_asked_for_blocks_above_the_files() {
    let mut disk = Fake::new(0, 30);
    let mut server = Fake::new(0, TIP);
    let seam = Disk(AtomicU64::new(30));
    let ask = |disk: &Fake, server: &Fake, request: &ScanRequest| {
        collect(&join([disk, server], Some(&seam)), request)
    };
    let (transfers, report) = ask(&disk, &server, &request(0, TIP)).unwrap();
    assert_eq!(transfers, everything());
    let notes = ["blocks 0:31 from source 0", "blocks 31:61 from source 1"];
    assert_eq!(report.notes, notes);
    // Below the seam, only what the files have.
    disk.blocks = BlockRange::from_to(10, 30).into();
    assert!(matches!(
        ask(&disk, &server, &request(0, TIP)),
        Err(SourceError::Unavailable { missing, .. }) if missing[0].blocks == BlockRange::up_to(9)
    ));
    // The server is of another branch, even if no block of the files is asked.
    server.fork = 30;
    for request in [request(10, TIP), nothing(40, TIP)] {
        let text = refused(ask(&disk, &server, &request));
        assert!(text.contains("different branches"), "{text}");
    }
    ask(&disk, &server, &request(10, 20)).unwrap();
    // A branch that begins in the server only is no contradiction.
    server.fork = 31;
    ask(&disk, &server, &request(10, TIP)).unwrap();
    // A server that lags.
    server.blocks = BlockRange::up_to(29).into();
    ask(&disk, &server, &request(10, 30)).unwrap();
    assert!(ask(&disk, &server, &request(10, 31)).is_err());
    // The files move on.
    server.blocks = BlockRange::up_to(TIP).into();
    seam.0.store(40, Ordering::Relaxed);
    disk.blocks = BlockRange::from_to(10, 40).into();
    disk.fork = 31;
    let (_, report) = ask(&disk, &server, &request(10, TIP)).unwrap();
    assert_eq!(report.notes[1], "blocks 41:61 from source 1");
}

fn fakes() -> impl Strategy<Value = Vec<Fake>> {
    let ranges = prop::collection::vec((0..=TIP, 0..=TIP), 1..4);
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    let fake = (ranges, flags).prop_map(|(ranges, (hashes, parents, by_frontier))| {
        let range = |(a, b): (u64, u64)| BlockRange::from_to(a.min(b), a.max(b));
        Fake {
            blocks: ranges.into_iter().map(range).collect(),
            hashes,
            parents,
            by_frontier,
            ..Fake::new(0, 0)
        }
    });
    prop::collection::vec(fake, 1..4)
}

proptest! {
    /// The result equals the result of one source with all blocks, or the blocks that no
    /// source has are missing.
    #[test]
    fn joined_sources_equal_one(
        mut sources in fakes(),
        (a, b) in (0..=TIP, 0..=TIP),
        allow_partial: bool,
        min in 0u64..60,
    ) {
        let mut request = request(a.min(b), a.max(b));
        request.allow_partial = allow_partial;
        request.filter.min_value = alloy_primitives::U256::from(min);
        let available: BlockRanges = sources.iter().flat_map(|it| it.blocks.iter()).collect();
        let missing = request.blocks.subtract(&available);
        let whole = Fake { blocks: available, ..Fake::new(0, 0) };
        let joined = join(&sources, None);
        match collect(&joined, &request) {
            Err(SourceError::Unavailable { missing: found, .. }) => {
                let found: BlockRanges = found.iter().map(|gap| gap.blocks).collect();
                prop_assert!(!allow_partial && !missing.is_empty());
                prop_assert_eq!(found, missing);
            }
            Err(error) => prop_assert!(false, "{}", error),
            Ok((mut transfers, report)) => {
                let (expected, all) = collect(&whole, &request).unwrap();
                prop_assert_eq!(&transfers, &expected);
                prop_assert_eq!(report.covered, all.covered);
                prop_assert_eq!(report.counts, all.counts);
                let found: BlockRanges = report.missing.iter().map(|gap| gap.blocks).collect();
                prop_assert_eq!(found, missing);
                joined.fill_hashes(&mut transfers, &report.anchors).unwrap();
                let filled = |it: &Transfer| {
                    it.block_timestamp == BlockTime::new(1000 + it.block_number)
                };
                prop_assert!(transfers.iter().all(filled));
            }
        }
        // A branch in one of the sources is never a result without a word.
        if sources.len() > 1 && sources.iter().all(|it| it.hashes && it.parents) {
            drop(joined);
            sources.last_mut().unwrap().fork = 0;
            let joined = join(&sources, None);
            if let Ok((_, report)) = collect(&joined, &request) {
                let last = format!("source {}", sources.len() - 1);
                let is_branch = report.notes.iter().any(|note| note.ends_with(&last));
                let is_mixed = report.notes.len() > 1 && is_branch;
                prop_assert!(!is_mixed || !report.caveats.is_empty(), "{:?}", report);
            }
        }
    }

    /// A search by frontiers finds what one over a single source does.
    #[test]
    fn searches_equal_those_of_one_source(sources in fakes(), root in 0usize..7, hops in 1u32..5) {
        let name = ["a", "b", "c", "d", "e", "f", "g"][root];
        let blocks: BlockRanges = sources.iter().flat_map(|it| it.blocks.iter()).collect();
        let whole = Fake { blocks: blocks.clone(), ..Fake::new(0, 0) };
        let request = SearchRequest {
            hops: Some(hops),
            ..SearchRequest::new(vec![testing::address(name)], blocks)
        };
        let found = search(&join(&sources, None), &request).unwrap();
        let expected = search(&whole, &request).unwrap();
        prop_assert_eq!(testing::merged(&found), testing::merged(&expected));
        prop_assert_eq!(found.scan.covered, expected.scan.covered);
        prop_assert_eq!(found.scan.counts.transfers, expected.scan.counts.transfers);
    }
}
