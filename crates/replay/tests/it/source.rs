//! Sources of transfers that include those inside transactions.

use crate::support::{Opened, database, open};
use std::{
    ops::ControlFlow,
    sync::{Arc, Mutex},
};
use txgraph_chaingen::{
    BlockSample, Layout,
    execgen::{Miner, MinerPlan, Plan},
};
use txgraph_nodedb::NodeDb;
use txgraph_reader::{NodeSource, ScanOptions};
use txgraph_replay::{ChainRules, Genesis, Internal, WithInternal};
use txgraph_state::{StateDb, StateOptions};
use txgraph_testkit::{fixtures, or_skip};
use txgraph_transfers::{
    BlockRange, BlockRanges, InternalSource, Kind, ScanReport, ScanRequest, Sink, SourceError,
    Transfer, TransferSource, WrappedNative,
};
use txgraph_work::{CancelFlag, Threads};

pub(crate) fn request(first: u64, last: u64) -> ScanRequest {
    ScanRequest {
        blocks: BlockRange { first, last }.into(),
        wrapped_native: WrappedNative::Any,
        with_times: true,
        with_hashes: true,
        ..ScanRequest::default()
    }
}

pub(crate) fn scan(
    source: &dyn TransferSource,
    request: &ScanRequest,
) -> (ScanReport, Vec<Transfer>) {
    let mut all = Vec::new();
    let report = source.scan(request, &mut |batch| {
        let mut blocks = batch.transfers.iter().map(|transfer| transfer.block_number);
        assert!(blocks.all(|block| batch.blocks.contains(block)));
        all.extend(batch.transfers);
        ControlFlow::Continue(())
    });
    (report.unwrap(), all)
}

pub(crate) fn node(db: &Arc<NodeDb>) -> NodeSource {
    NodeSource::new(Arc::clone(db), ScanOptions::default(), None).unwrap()
}

/// The transfers inside the transactions of a database.
pub(crate) fn internal(db: &Arc<NodeDb>, rules: ChainRules) -> Internal<'_> {
    let state = StateDb::new(Arc::clone(db), StateOptions::default());
    Internal::new(
        db,
        state,
        rules,
        Threads::new(2).unwrap(),
        CancelFlag::new(),
    )
}

fn with_internal(opened: &Opened, rules: ChainRules) -> WithInternal<'_, NodeSource> {
    WithInternal::new(node(&opened.db), internal(&opened.db, rules))
}

fn is_fee(transfer: &Transfer) -> bool {
    matches!(transfer.kind, Kind::Fee | Kind::Priority)
}

/// Without the transfers that only a replay finds, the result equals the node source's.
/// All transfers are in order.
#[test]
fn adds_internal_transfers_in_order() {
    for name in ["small/v1", "small/v2", "dev-v2"] {
        let opened = or_skip!(Opened::fixture(name));
        let mut query = request(0, opened.blocks.last);
        let (expected_report, expected) = scan(&node(&opened.db), &query);
        query.filter.kinds = Kind::ALL.to_vec();
        query.filter.internal = true;
        let source = with_internal(&opened, opened.rules.clone());
        let (report, mut found) = scan(&source, &query);
        assert!(found.is_sorted_by(|a, b| a.position() < b.position()));
        let count = found.len();
        found.retain(|transfer| !is_replayed(transfer));
        assert!(count > found.len());
        assert_eq!(found, expected, "{name}");
        assert_eq!(report.covered, expected_report.covered);
        assert_eq!(report.last_block_hash, expected_report.last_block_hash);
        assert_eq!(report.counts.transfers, count as u64);
        assert_eq!(report.counts.logs, expected_report.counts.logs);
    }
}

#[test]
fn filters_apply_to_internal_transfers() {
    let [fixture, _] = fixtures::committed();
    let opened = open(&fixture);
    let source = with_internal(&opened, opened.rules.clone());
    let mut query = request(1, 30);
    query.filter.internal = true;
    let (_, all) = scan(&source, &query);
    assert!(!all.iter().any(is_fee), "fees are returned only if named");
    query.filter.kinds = vec![Kind::Internal];
    let (report, internal) = scan(&source, &query);
    let expected: Vec<_> = all
        .into_iter()
        .filter(|one| one.kind == Kind::Internal)
        .collect();
    assert!(!internal.is_empty());
    assert_eq!(internal, expected);
    assert_eq!(report.counts.transfers, internal.len() as u64);
}

/// Whether only a replay finds the transfer.
fn is_replayed(transfer: &Transfer) -> bool {
    let burnt = transfer.kind == Kind::Burn && transfer.token_address.is_none();
    burnt || matches!(transfer.kind, Kind::Internal | Kind::Fee | Kind::Priority)
}

#[test]
fn replayed_transfers_keep_times_and_hashes() {
    let [fixture, _] = fixtures::committed();
    let opened = open(&fixture);
    let source = with_internal(&opened, opened.rules.clone());
    let mut query = request(1, 30);
    query.filter.kinds = Kind::ALL.to_vec();
    query.filter.internal = true;
    let (_, expected) = scan(&source, &query);
    (query.with_times, query.with_hashes) = (false, false);
    let (report, mut found) = scan(&source, &query);
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        let unknown = Transfer {
            block_timestamp: None,
            transaction_hash: None,
            ..expected.clone()
        };
        match is_replayed(expected) {
            true => assert_eq!(found, expected),
            false => assert_eq!(*found, unknown),
        }
    }
    source.fill_hashes(&mut found, &report.anchors).unwrap();
    assert_eq!(found, expected);

    // An index is built from the same transfers.
    let internal = internal(&opened.db, opened.rules.clone());
    let blocks = BlockRange { first: 1, last: 30 };
    let found = internal.reader(&blocks.into(), false).unwrap().read(blocks);
    let is_internal = |one: &&Transfer| is_replayed(one) && !is_fee(one);
    let expected: Vec<_> = expected.iter().filter(is_internal).cloned().collect();
    assert!(!expected.is_empty());
    assert_eq!(found.unwrap().transfers, expected);
}

#[test]
fn blocks_without_state_are_reported() {
    let opened = or_skip!(Opened::fixture("pruned/dev-v2-distance"));
    let source = with_internal(&opened, opened.rules.clone());
    let mut query = request(440, 800);
    query.filter.internal = true;
    let error = source.scan(&query, &mut |_| ControlFlow::Continue(()));
    let SourceError::Unavailable { missing, available } = error.unwrap_err() else {
        panic!("blocks are missing");
    };
    // More receipts are pruned than states. Available is what has both.
    for (gap, (last, reason)) in missing.iter().zip([(449, "no state"), (499, "receipts")]) {
        assert_eq!(gap.blocks, BlockRange::from_to(440, last));
        assert!(gap.reason.contains(reason), "{missing:?}");
    }
    assert_eq!(missing.len(), 2, "{missing:?}");
    assert_eq!(available, BlockRange::from_to(500, 800).into());
    query.allow_partial = true;
    let (report, _) = scan(&source, &query);
    let missing: BlockRanges = report.missing.iter().map(|gap| gap.blocks).collect();
    assert_eq!(missing.span().map(|span| span.first), Some(440));
    let both = report.covered.iter().chain(missing.iter()).collect();
    assert_eq!(BlockRanges::new(both), request(440, 800).blocks);
}

/// The node's source. Reorganizes the chain before it scans a certain block.
struct ReorganizingSource {
    node: NodeSource,
    miner: Mutex<Miner>,
    at: u64,
}

impl txgraph_transfers::Wrapper for ReorganizingSource {
    type Inner = NodeSource;

    fn inner(&self) -> &Self::Inner {
        &self.node
    }

    fn scan(&self, request: &ScanRequest, sink: &mut Sink<'_>) -> Result<ScanReport, SourceError> {
        if request
            .blocks
            .span()
            .is_some_and(|span| span.first == self.at)
        {
            let progress = self.miner.lock().unwrap().step().unwrap();
            assert_eq!((progress.reorgs, progress.taken_back), (1, 10));
        }
        self.node.scan(request, sink)
    }
}

/// Runs of blocks are replayed one after the other and must belong to one branch.
#[test]
fn reorganization_between_runs_of_blocks_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("node");
    let plan = MinerPlan {
        chain: Plan::new(41, Layout::V1, 1),
        blocks_at_start: 1030,
        commit_blocks_max: 1,
        step_ms: None,
        reorgs_permille: 1000,
        reorg_blocks: (10, 10),
        flushes_permille: 0,
    };
    let miner = Miner::start("soak::miner", &folder, plan).unwrap();
    let db = Arc::new(database(&folder));
    let rules = ChainRules::of_database(&db, Some(&folder.join("genesis.json"))).unwrap();
    let internal = || internal(&db, rules.clone());
    let mut query = request(0, 1030);
    query.filter.internal = true;
    // Without a reorganization the scan succeeds.
    let (report, _) = scan(&WithInternal::new(node(&db), internal()), &query);
    assert_eq!(report.covered, query.blocks);
    // The runs are linked, so one anchor covers them.
    let pinned: Vec<_> = report.anchors.iter().map(|anchor| anchor.blocks).collect();
    assert_eq!(pinned, query.blocks.iter().collect::<Vec<_>>());
    assert_eq!(report.anchors[0].hash, report.last_block_hash.unwrap());
    // Blocks from 1021 on are replaced after the first run, which ends with 1023.
    let reorganizing = ReorganizingSource {
        node: node(&db),
        miner: Mutex::new(miner),
        at: 1024,
    };
    let source = WithInternal::new(reorganizing, internal());
    let error = source.scan(&query, &mut |_| ControlFlow::Continue(()));
    let error = error.unwrap_err();
    assert!(
        matches!(error, SourceError::Reorged { block: 1023 }),
        "{error}"
    );
}

/// Blocks of Amsterdam have logs of the transfers inside of transactions, so they need no state.
#[test]
fn blocks_of_amsterdam_are_not_replayed() {
    let (first, last, fork) = (50, 99, 70);
    let sample = BlockSample::logged(8, first, last - first + 1, fork);
    let dir = tempfile::tempdir().unwrap();
    sample.write(dir.path(), Layout::V2.into()).unwrap();
    let db = Arc::new(database(dir.path()));
    let [fixture, _] = fixtures::committed();
    let rules = open(&fixture).rules;
    let source = NodeSource::new(Arc::clone(&db), ScanOptions::default(), Some(1337)).unwrap();
    let internal = || internal(&db, rules.clone());
    let source = WithInternal::new(source, internal());

    let expected = sample.transfers.iter().filter(|it| it.block_number >= fork);
    let expected: Vec<_> = expected.cloned().collect();
    assert!(expected.iter().any(|it| it.kind == Kind::Internal));
    let mut query = request(fork, last);
    query.filter.internal = true;
    let (report, found) = scan(&source, &query);
    assert_eq!(found, expected);
    assert_eq!(report.covered, query.blocks);
    assert_eq!(report.counts.transfers, expected.len() as u64);

    // Older blocks have no state here.
    query.blocks = BlockRange { first, last }.into();
    let error = source.scan(&query, &mut |_| ControlFlow::Continue(()));
    let SourceError::Unavailable { missing, .. } = error.unwrap_err() else {
        panic!("blocks are missing");
    };
    let gap = BlockRange::from_to(first, fork - 1);
    assert_eq!(missing.len(), 1);
    assert_eq!(missing[0].blocks, gap);
    query.allow_partial = true;
    let (report, found) = scan(&source, &query);
    assert_eq!(found, expected);
    assert_eq!(report.missing, missing);

    // The same for an index.
    let logged = BlockRange { first: fork, last };
    let internal = internal();
    let reader = internal.reader(&logged.into(), false).unwrap();
    assert_eq!(reader.read(logged).unwrap().last_block, None);
    let blocks = BlockRange { first, last };
    assert!(internal.reader(&blocks.into(), false).is_err());
}

/// Transfers of a replay that differs from the node are not delivered.
#[test]
fn wrong_replay_delivers_no_transfers() {
    let [fixture, _] = fixtures::committed();
    let opened = open(&fixture);
    let mut file = fixture.genesis.clone();
    file["config"]["cancunTime"] = file["config"]["pragueTime"].clone();
    let wrong = Genesis::parse(&file.to_string()).unwrap().rules;
    assert_eq!(wrong.genesis_hash, opened.rules.genesis_hash);
    let source = with_internal(&opened, wrong);
    let mut delivered = 0;
    let mut query = request(10, 20);
    query.filter.internal = true;
    let error = source.scan(&query, &mut |batch| {
        delivered += batch.transfers.len();
        ControlFlow::Continue(())
    });
    let error = error.unwrap_err();
    assert!(matches!(error, SourceError::Failed(_)), "{error}");
    // Cancun begins at block 14; the first receipt that shows it is in block 15.
    assert!(error.to_string().contains("block 15"), "{error}");
    assert_eq!(delivered, 0);
}
