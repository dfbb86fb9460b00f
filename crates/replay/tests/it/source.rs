//! What moved inside of transactions, in between what logs tell.

use crate::support::{Opened, database, open};
use std::{
    ops::ControlFlow,
    sync::{Arc, Mutex},
};
use txgraph_chaingen::Layout;
use txgraph_chaingen::execgen::{Miner, MinerPlan, Plan};
use txgraph_nodedb::NodeDb;
use txgraph_reader::{NodeSource, ScanOptions};
use txgraph_replay::{ChainRules, Genesis, Internal, WithInternal};
use txgraph_state::{StateDb, StateOptions};
use txgraph_testkit::fixtures;
use txgraph_transfers::{
    Batch, BlockRange, BlockRanges, ChainInfo, Kind, ScanReport, ScanRequest, SourceError,
    Transfer, TransferFilter, TransferSource, WrappedNative,
};

pub(crate) fn request(first: u64, last: u64) -> ScanRequest {
    ScanRequest {
        blocks: BlockRange { first, last }.into(),
        filter: TransferFilter::default(),
        wrapped_native: WrappedNative::Any,
        with_times: true,
        with_hashes: true,
        allow_partial: false,
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

fn with_internal(opened: &Opened, rules: ChainRules) -> WithInternal<'_, NodeSource> {
    let state = StateDb::new(Arc::clone(&opened.db), StateOptions::default());
    let internal = Internal::new(&opened.db, state, rules, 2, Box::new(|| false));
    WithInternal::new(node(&opened.db), internal)
}

/// Without what only a replay tells, it is what the node's source tells; and all of it is
/// in order.
#[test]
fn logs_tell_a_part_of_it() {
    for name in ["small/v1", "small/v2", "dev-v2"] {
        let Some(opened) = Opened::fixture(name) else {
            return;
        };
        let mut asked = request(0, opened.blocks.last);
        let (expected_report, expected) = scan(&node(&opened.db), &asked);
        asked.filter.kinds = Kind::ALL.to_vec();
        asked.filter.internal = true;
        let source = with_internal(&opened, opened.rules.clone());
        let (report, mut found) = scan(&source, &asked);
        assert!(found.is_sorted_by(|a, b| a.position() < b.position()));
        let count = found.len();
        let only_replayed = |transfer: &Transfer| {
            let burnt = transfer.kind == Kind::Burn && transfer.token_address.is_none();
            burnt || matches!(transfer.kind, Kind::Internal | Kind::Fee | Kind::Priority)
        };
        found.retain(|transfer| !only_replayed(transfer));
        assert!(count > found.len());
        assert_eq!(found, expected, "{name}");
        assert_eq!(report.covered, expected_report.covered);
        assert_eq!(report.last_block_hash, expected_report.last_block_hash);
        assert_eq!(report.counts.transfers, count as u64);
        assert_eq!(report.counts.logs, expected_report.counts.logs);
    }
}

#[test]
fn filters_hold_for_internal_transfers() {
    let [fixture, _] = fixtures::committed();
    let opened = open(&fixture);
    let source = with_internal(&opened, opened.rules.clone());
    let mut asked = request(1, 30);
    asked.filter.internal = true;
    let (_, all) = scan(&source, &asked);
    let is_fee = |transfer: &Transfer| matches!(transfer.kind, Kind::Fee | Kind::Priority);
    assert!(!all.iter().any(is_fee), "only when they are named");
    asked.filter.kinds = vec![Kind::Internal];
    let (report, internal) = scan(&source, &asked);
    let expected: Vec<_> = all
        .into_iter()
        .filter(|one| one.kind == Kind::Internal)
        .collect();
    assert!(!internal.is_empty());
    assert_eq!(internal, expected);
    assert_eq!(report.counts.transfers, internal.len() as u64);
}

#[test]
fn what_cannot_be_replayed_is_said() {
    let Some(opened) = Opened::fixture("pruned/dev-v2-distance") else {
        return;
    };
    let source = with_internal(&opened, opened.rules.clone());
    let mut asked = request(440, 800);
    asked.filter.internal = true;
    let error = source.scan(&asked, &mut |_| ControlFlow::Continue(()));
    let SourceError::Unavailable { missing, .. } = error.unwrap_err() else {
        panic!("blocks are missing");
    };
    let gap = BlockRange {
        first: 440,
        last: 449,
    };
    assert_eq!(missing[0].blocks, gap);
    assert!(missing[0].reason.contains("no state"), "{missing:?}");
    asked.allow_partial = true;
    let (report, _) = scan(&source, &asked);
    // Its receipts are pruned further than its state.
    let missing: BlockRanges = report.missing.iter().map(|gap| gap.blocks).collect();
    assert_eq!(missing.span().map(|span| span.first), Some(440));
    let both = report.covered.iter().chain(missing.iter()).collect();
    assert_eq!(BlockRanges::new(both), request(440, 800).blocks);
}

/// Of the node, but before it answers for a certain block, the chain is reorganised.
struct Reorganising {
    node: NodeSource,
    miner: Mutex<Miner>,
    at: u64,
}

impl TransferSource for Reorganising {
    fn chain(&self) -> &ChainInfo {
        self.node.chain()
    }

    fn scan(
        &self,
        request: &ScanRequest,
        sink: &mut dyn FnMut(Batch) -> ControlFlow<()>,
    ) -> Result<ScanReport, SourceError> {
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

    fn fill_hashes(&self, transfers: &mut [Transfer]) -> Result<(), SourceError> {
        self.node.fill_hashes(transfers)
    }
}

/// Stretches of blocks are replayed one after the other, and must be of one branch.
#[test]
fn a_reorganisation_between_two_stretches_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("node");
    let plan = MinerPlan {
        chain: Plan::new(41, Layout::V1, 1),
        blocks_at_start: 1030,
        commit_blocks_max: 1,
        step_ms: None,
        reorgs_permille: 1000,
        reorg_blocks: (10, 10),
    };
    let miner = Miner::start("soak::miner", &folder, plan).unwrap();
    let db = Arc::new(database(&folder));
    let rules = ChainRules::of_database(&db, Some(&folder.join("genesis.json"))).unwrap();
    let internal = || {
        let state = StateDb::new(Arc::clone(&db), StateOptions::default());
        Internal::new(&db, state, rules.clone(), 2, Box::new(|| false))
    };
    let mut asked = request(0, 1030);
    asked.filter.internal = true;
    // While nothing happens, all is well.
    let (report, _) = scan(&WithInternal::new(node(&db), internal()), &asked);
    assert_eq!(report.covered, asked.blocks);
    // Blocks from 1021 on are replaced after the first stretch, which ends with 1023.
    let reorganising = Reorganising {
        node: node(&db),
        miner: Mutex::new(miner),
        at: 1024,
    };
    let source = WithInternal::new(reorganising, internal());
    let error = source.scan(&asked, &mut |_| ControlFlow::Continue(()));
    let error = error.unwrap_err();
    assert!(
        matches!(error, SourceError::Reorged { block: 1023 }),
        "{error}"
    );
}

/// Transfers of a replay that disagrees with the node are not handed over.
#[test]
fn a_wrong_replay_tells_nothing() {
    let [fixture, _] = fixtures::committed();
    let opened = open(&fixture);
    let mut file = fixture.genesis.clone();
    file["config"]["cancunTime"] = file["config"]["pragueTime"].clone();
    let wrong = Genesis::parse(&file.to_string()).unwrap().rules;
    assert_eq!(wrong.genesis_hash, opened.rules.genesis_hash);
    let source = with_internal(&opened, wrong);
    let mut handed_over = 0;
    let mut asked = request(10, 20);
    asked.filter.internal = true;
    let error = source.scan(&asked, &mut |batch| {
        handed_over += batch.transfers.len();
        ControlFlow::Continue(())
    });
    let error = error.unwrap_err();
    assert!(matches!(error, SourceError::Failed(_)), "{error}");
    // Cancun begins with block 14, and shows in a receipt of the next.
    assert!(error.to_string().contains("block 15"), "{error}");
    assert_eq!(handed_over, 0);
}
