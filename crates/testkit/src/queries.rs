//! Requests to a source, and a naive reference for their answers: a filter over all transfers.

use alloy_primitives::{Address, U256};
use rand::{Rng, SeedableRng, rngs::SmallRng, seq::IndexedRandom};
use std::{collections::BTreeSet, ops::ControlFlow, sync::Mutex};
use txgraph_transfers::{
    AddressFilter, AmountFilter, BlockRange, BlockRanges, BlockReader, Direction, Indexable, Kind,
    ScanReport, ScanRequest, SourceError, TokenFilter, TokenStandard, Transfer, TransferFilter,
    TransferSource, Wrapper,
};

/// The blocks `first..=last`.
pub fn range(first: u64, last: u64) -> BlockRange {
    BlockRange { first, last }
}

/// Returns a request for everything in these blocks.
pub fn everything(blocks: impl Into<BlockRanges>) -> ScanRequest {
    ScanRequest {
        blocks: blocks.into(),
        with_times: true,
        ..ScanRequest::default()
    }
}

/// Scans and collects all transfers.
pub fn ask(
    source: &dyn TransferSource,
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
        let inside = |t: &Transfer| batch.blocks.contains(t.block_number);
        assert!(batch.transfers.iter().all(inside));
        blocks.push(batch.blocks);
        transfers.append(&mut batch.transfers);
        ControlFlow::Continue(())
    })?;
    assert!(transfers.is_sorted_by(|a, b| a.position() < b.position()));
    assert_eq!(report.covered, BlockRanges::new(blocks));
    Ok((transfers, report))
}

/// Compares long lists, and prints the first difference only.
#[track_caller]
pub fn assert_same(found: &[Transfer], expected: &[Transfer], what: &str) {
    let longest = found.len().max(expected.len());
    if let Some(at) = (0..longest).find(|&at| found.get(at) != expected.get(at)) {
        panic!(
            "{what}: row {at} of {} is {:#?}, expected (of {}) {:#?}",
            found.len(),
            found.get(at),
            expected.len(),
            expected.get(at)
        );
    }
}

/// A source whose chain changes in every pass over its blocks.
pub struct Changing<'a, S> {
    /// The source.
    pub source: &'a S,
    /// Changes the chain. Called before the blocks of a pass are read.
    pub change: Mutex<Box<dyn FnMut() + Send + 'a>>,
}

impl<S> std::fmt::Debug for Changing<'_, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Changing").finish_non_exhaustive()
    }
}

impl<S: Indexable> Wrapper for Changing<'_, S> {
    type Inner = S;

    fn inner(&self) -> &Self::Inner {
        self.source
    }

    fn check_available(&self, request: &ScanRequest) -> Result<(), SourceError> {
        self.source.check_available(request)?;
        (self.change.lock().unwrap())();
        Ok(())
    }
}

impl<S: Indexable> Indexable for Changing<'_, S> {
    fn tip(&self) -> Result<u64, SourceError> {
        self.source.tip()
    }

    fn block_reader<'a>(
        &'a self,
        request: &'a ScanRequest,
        participations: bool,
    ) -> Box<dyn BlockReader + 'a> {
        self.source.block_reader(request, participations)
    }
}

/// The naive reference: a filter over all transfers of the chain, in memory.
#[derive(Debug)]
pub struct Reference {
    /// All transfers, in total order.
    pub all: Vec<Transfer>,
    addresses: Vec<Address>,
    tokens: Vec<Address>,
    first: u64,
    /// The last block.
    pub tip: u64,
}

impl Reference {
    /// Reads all transfers of a node, whose blocks may begin after block 0.
    pub fn of(node: &dyn Indexable) -> Self {
        let mut blocks = range(0, node.tip().unwrap());
        let all = everything(blocks);
        if let Err(SourceError::Unavailable { available, .. }) = node.check_available(&all) {
            blocks = available.span().unwrap();
        }
        let (all, _) = ask(&node, &everything(blocks)).unwrap();
        Self::among(all, blocks)
    }

    /// Uses all transfers of a range of blocks.
    pub fn among(all: Vec<Transfer>, blocks: BlockRange) -> Self {
        let ends = |t: &Transfer| [t.from_address, t.to_address];
        let addresses: BTreeSet<_> = all.iter().flat_map(ends).collect();
        let tokens: BTreeSet<_> = all.iter().filter_map(|t| t.token_address).collect();
        Self {
            all,
            addresses: addresses.into_iter().collect(),
            tokens: tokens.into_iter().collect(),
            first: blocks.first,
            tip: blocks.last,
        }
    }

    /// Returns the answer to a request.
    pub fn answer(&self, request: &ScanRequest) -> Vec<Transfer> {
        let wanted =
            |t: &&Transfer| request.blocks.contains(t.block_number) && request.filter.matches(t);
        self.all.iter().filter(wanted).cloned().collect()
    }

    /// Returns a random request, most of which match transfers.
    pub fn query(&self, chance: &mut SmallRng) -> ScanRequest {
        let mut filter = TransferFilter::default();
        let some = |chance: &mut SmallRng, from: &[Address]| -> Address {
            match chance.random_range(0..8) {
                0 => Address::from(chance.random::<[u8; 20]>()),
                1 => Address::ZERO,
                _ => *from.choose(chance).unwrap(),
            }
        };
        if chance.random_bool(0.8) {
            let count = [0, 1, 1, 2, 5, 40, 500][chance.random_range(0..7)];
            filter.touching = Some(AddressFilter {
                addresses: (0..count).map(|_| some(chance, &self.addresses)).collect(),
                direction: *[Direction::Out, Direction::In, Direction::Both]
                    .choose(chance)
                    .unwrap(),
            });
        }
        if chance.random_bool(0.4) {
            let count = chance.random_range(0..4);
            filter.tokens = TokenFilter::Only {
                tokens: (0..count).map(|_| some(chance, &self.tokens)).collect(),
                native: chance.random(),
            };
        }
        if chance.random_bool(0.3) {
            let like = self.all.choose(chance).unwrap().value;
            filter.min_value = like.saturating_add(U256::from(chance.random_range(0..2)));
        }
        if chance.random_bool(0.15) {
            let like = self.all.choose(chance).unwrap();
            let least = like
                .value
                .saturating_add(U256::from(chance.random_range(0..2)));
            let ids = self.all.iter().filter_map(|it| it.token_id);
            let ids = ids
                .filter(|_| chance.random_bool(0.1))
                .take(3)
                .collect::<Vec<_>>();
            let ids = if chance.random() { ids } else { Vec::new() };
            filter.amounts = AmountFilter::new([(like.token_address, least)], ids);
        }
        if chance.random_bool(0.2) {
            filter.standards = vec![*TokenStandard::ALL.choose(chance).unwrap()];
        }
        if chance.random_bool(0.2) {
            let kinds = Kind::ALL.iter().filter(|_| chance.random());
            filter.kinds = kinds.copied().collect();
        }
        let ranges = chance.random_range(1..4);
        let blocks: BlockRanges = (0..ranges)
            .map(|_| {
                let first = chance.random_range(self.first..=self.tip);
                let last = match chance.random_range(0..3) {
                    0 => first,
                    1 => self.tip,
                    _ => chance.random_range(first..=self.tip),
                };
                range(first, last)
            })
            .collect();
        let blocks = match chance.random_bool(0.3) {
            true => range(self.first, self.tip).into(),
            false => blocks,
        };
        ScanRequest {
            filter,
            with_hashes: chance.random_bool(0.2),
            ..everything(blocks)
        }
    }
}

/// Compares a source with the node that it was made from: answers and reports for random requests,
/// and answers with a filter over all transfers. Returns the number of rows; `each` gets
/// them with their request.
pub fn compare(
    source: &dyn TransferSource,
    node: &dyn Indexable,
    queries: usize,
    seed: u64,
    mut each: impl FnMut(&ScanRequest, &[Transfer]),
) -> usize {
    let reference = Reference::of(node);
    let mut chance = SmallRng::seed_from_u64(seed);
    let mut rows = 0;
    for number in 0..queries {
        let request = reference.query(&mut chance);
        let what = format!("query {number} of seed {seed}: {request:?}");
        let (mut found, report) = ask(source, &request).unwrap();
        let (expected, expected_report) = ask(&node, &request).unwrap();
        assert_same(&found, &expected, &what);
        assert_eq!(seen(&report), seen(&expected_report), "{what}");
        let plain: Vec<_> = found.iter().map(without_hash).collect();
        assert_same(&plain, &reference.answer(&request), &what);
        // A source prepared for frontiers has the report of the whole, and the same answers.
        let mut whole = request.clone();
        whole.filter.touching = None;
        if let Some(prepared) = source.by_frontier(&whole).unwrap() {
            let (_, of_whole) = ask(&node, &whole).unwrap();
            let of_prepared = prepared.report.as_ref().unwrap();
            assert_eq!(seen(of_prepared), seen(&of_whole), "{what}");
            let (again, report) = ask(&*prepared.source, &request).unwrap();
            assert_same(&again, &expected, &what);
            assert_eq!(seen(&report), seen(&expected_report), "{what}");
        }
        // Hashes on request equal those that are filled in later, in any order.
        let with_hashes = ScanRequest {
            with_hashes: true,
            ..request.clone()
        };
        let (expected, _) = ask(&node, &with_hashes).unwrap();
        found.reverse();
        source.fill_hashes(&mut found, &report.anchors).unwrap();
        found.reverse();
        assert_same(&found, &expected, &what);
        each(&request, &found);
        rows += found.len();
    }
    rows
}

/// Compares answers to random requests with a reference, half of them for internal transfers.
/// `adapt` may change the requests. Returns the number of internal transfers.
pub fn compare_internal(
    source: &dyn TransferSource,
    reference: &Reference,
    queries: usize,
    adapt: impl Fn(&mut ScanRequest),
) -> usize {
    let mut chance = SmallRng::seed_from_u64(6);
    let mut rows = 0;
    for number in 0..queries {
        let mut request = reference.query(&mut chance);
        request.filter.internal = number % 2 == 0;
        if request.filter.needs_fees() {
            continue;
        }
        adapt(&mut request);
        let mut expected = reference.answer(&request);
        let outside = |it: &Transfer| !it.kind.is_internal(it.log_index.is_some());
        expected.retain(|it| request.filter.internal || outside(it));
        let (mut found, _) = ask(source, &request).unwrap();
        if !request.with_hashes {
            expected = expected.iter().map(without_hash).collect();
            found = found.iter().map(without_hash).collect();
        }
        let what = format!("query {number}: {request:?}");
        assert_same(&found, &expected, &what);
        rows += found.iter().filter(|it| !outside(it)).count();
    }
    rows
}

fn without_hash(transfer: &Transfer) -> Transfer {
    Transfer {
        transaction_hash: None,
        ..transfer.clone()
    }
}

/// Returns a report without the counts that depend on how the answer was found: skipped
/// blocks, and the transactions and logs of the others.
pub fn seen(report: &ScanReport) -> ScanReport {
    let mut report = report.clone();
    report.counts.skipped_blocks = 0;
    report.counts.transactions = 0;
    report.counts.logs = 0;
    // Only sources with headers know the parent of a run within their blocks, and an anchor can span blocks
    // that were not requested.
    if let [first, ..] = report.anchors[..] {
        report.anchors.drain(..report.anchors.len() - 1);
        report.anchors[0].blocks.first = first.blocks.first;
        report.anchors[0].parent_hash = None;
    }
    report
}
