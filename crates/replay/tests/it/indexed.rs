//! An index that contains the transfers inside transactions.

use crate::{
    source::{internal, node, request, scan},
    support::database,
};
use alloy_primitives::Address;
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::ControlFlow,
    sync::Arc,
};
use txgraph_chaingen::Layout;
use txgraph_chaingen::execgen::{Miner, MinerPlan, Plan};
use txgraph_index::{BuildOptions, BuildSource, Index, Indexed, build, update, verify};
use txgraph_nodedb::NodeDb;
use txgraph_reader::NodeSource;
use txgraph_replay::{
    BlockReplay, ChainRules, FrameDetail, Record, ReplayOptions, Replayer, WithInternal,
};
use txgraph_state::{StateDb, StateOptions};
use txgraph_testkit::or_skip;
use txgraph_transfers::{
    AddressFilter, BlockRange, Direction, Kind, Roles, ScanRequest, SourceError, TokenFilter,
    TransferFilter, TransferSource,
};
use txgraph_work::WorkContext;

/// Requests with and without internal transfers, for all addresses and for some.
fn requests(last: u64, addresses: &[Address]) -> Vec<ScanRequest> {
    let native = TokenFilter::native();
    let touching = |direction| AddressFilter::new(addresses.iter().copied(), direction);
    let filters = [
        TransferFilter::default(),
        TransferFilter {
            tokens: native,
            touching: Some(touching(Direction::Both)),
            ..TransferFilter::default()
        },
        TransferFilter {
            kinds: vec![Kind::Internal, Kind::Burn],
            touching: Some(touching(Direction::Out)),
            ..TransferFilter::default()
        },
        // An index does not contain fees.
        TransferFilter {
            kinds: vec![Kind::Fee, Kind::Internal],
            ..TransferFilter::default()
        },
    ];
    let mut requests = Vec::new();
    for filter in filters {
        for (internal, first) in [(false, 0), (true, 0), (true, last / 2)] {
            let mut request = request(first, last);
            request.filter = TransferFilter {
                internal,
                ..filter.clone()
            };
            requests.push(request);
        }
    }
    requests
}

/// The chain grows and is reorganized. After each step, the outdated and the updated index return
/// the same transfers as the node with a replay.
#[test]
fn index_follows_reorganizations() {
    let dir = tempfile::tempdir().unwrap();
    let (folder, place) = (dir.path().join("node"), dir.path().join("index"));
    let plan = MinerPlan {
        chain: Plan::new(43, Layout::V1, 2),
        blocks_at_start: 40,
        commit_blocks_max: 5,
        step_ms: None,
        reorgs_permille: 500,
        reorg_blocks: (1, 12),
        flushes_permille: 0,
    };
    let mut miner = Miner::start("soak::miner", &folder, plan).unwrap();
    let db = Arc::new(database(&folder));
    let rules = ChainRules::of_database(&db, Some(&folder.join("genesis.json"))).unwrap();
    let internal = || internal(&db, rules.clone());
    let node = node(&db);
    let replayed = internal();
    let origin = BuildSource {
        source: &node,
        internal: Some(&replayed),
        work: WorkContext::default(),
    };
    let options = BuildOptions {
        unit_blocks: Some(16),
        reorg_buffer: 0,
        transactions: true,
        ..BuildOptions::default()
    };
    build(&place, origin.clone(), &options).unwrap();
    let (mut undone, mut internal_rows, mut inside) = (0, 0, 0);
    for _ in 0..8 {
        let tip = miner.step().unwrap().tip.number;
        let open = || Index::open(&place, node.chain()).unwrap();
        let lagging = open();
        undone += update(&place, origin.clone(), &options)
            .unwrap()
            .removed_blocks;
        let index = open();
        assert_eq!(index.blocks(), request(0, tip).blocks);
        let verified = verify(&index, origin.clone(), false).unwrap();
        assert_eq!(
            (verified.blocks, verified.unread.is_empty()),
            (tip + 1, true)
        );

        let mut everything = request(0, tip);
        everything.filter.internal = true;
        let (_, all) = scan(&WithInternal::new(&node, internal()), &everything);
        internal_rows += all.iter().filter(|it| it.kind == Kind::Internal).count();
        let ends: BTreeSet<_> = all.iter().map(|it| it.from_address).collect();
        let some: Vec<_> = ends.into_iter().step_by(5).collect();
        assert!(index.has_transactions(true));
        inside += compare_participations(&index, &db, &rules, tip);
        for request in requests(tip, &some) {
            let expected = match request.filter.internal {
                false => scan(&node, &request),
                true => scan(&WithInternal::new(&node, internal()), &request),
            };
            for index in [&lagging, &index] {
                let rest = WithInternal::new(&node, internal());
                let indexed = Indexed::with_rest(index, &node, rest);
                let found = match request.filter.internal {
                    false => scan(&Indexed::new(index, &node), &request),
                    true => scan(&indexed, &request),
                };
                assert_eq!(found.1, expected.1, "{request:?}");
                assert_eq!(found.0, expected.0, "{request:?}");
            }
        }
    }
    assert!(undone > 0 && internal_rows > 0 && inside > 0);
}

/// Compares the participants of every transaction with a replay. Returns the number of participants
/// that take part in calls only.
fn compare_participations(index: &Index, db: &Arc<NodeDb>, rules: &ChainRules, tip: u64) -> usize {
    let mut expected: BTreeMap<Address, Vec<(u64, u32, Roles)>> = BTreeMap::new();
    let blocks = BlockRange::from_to(1, tip);
    let options = ReplayOptions::recording(Record {
        frames: Some(FrameDetail::Calls),
        ..Record::default()
    });
    let state = StateDb::new(Arc::clone(db), StateOptions::default());
    let states = state.range(BlockRange::from_to(0, tip - 1));
    let replayer = Replayer::new(rules.clone(), &**db, states.unwrap(), options).unwrap();
    let each = &mut |block: BlockReplay| {
        for it in &block.transactions {
            for (address, roles) in it.participants() {
                assert_eq!(it.roles_of(address), Some(roles));
                let place = (it.block, it.index, roles);
                expected.entry(address).or_default().push(place);
            }
        }
        ControlFlow::Continue(())
    };
    replayer.range(blocks, each).unwrap();
    for (address, expected) in &expected {
        let mut found = Vec::new();
        let _ = index.transactions_of(*address, blocks, false, &mut |it| {
            found.push((it.block, it.transaction, it.roles));
            ControlFlow::Continue(())
        });
        assert_eq!(found, *expected, "{address}");
    }
    let inside = expected.values().flatten();
    inside
        .filter(|(.., roles)| roles.among(Roles::ENDS).is_none())
        .count()
}

fn fails<T: std::fmt::Debug>(result: txgraph_index::Result<T>) -> txgraph_index::Error {
    result.unwrap_err()
}

/// An index is built with or without internal transfers; later commands must agree.
#[test]
fn content_of_an_index_is_fixed_when_built() {
    let dir = tempfile::tempdir().unwrap();
    let [fixture, _] = txgraph_testkit::fixtures::committed();
    let opened = crate::support::open(&fixture);
    let internal = internal(&opened.db, opened.rules.clone());
    let node: NodeSource = node(&opened.db);
    let with = BuildSource {
        source: &node,
        internal: Some(&internal),
        work: WorkContext::default(),
    };
    let options = BuildOptions {
        last_block: Some(20),
        ..BuildOptions::default()
    };
    let place = dir.path().join("with");
    build(&place, with.clone(), &options).unwrap();
    let text = |error: txgraph_index::Error| error.to_string();
    assert!(text(fails(build(&place, &node, &options))).contains("was built with internal"));
    assert!(text(fails(update(&place, &node, &options))).contains("only a replay finds"));
    let index = Index::open(&place, node.chain()).unwrap();
    assert!(text(fails(verify(&index, &node, false))).contains("only a replay finds"));
    verify(&index, &node, true).unwrap();
    let place = dir.path().join("without");
    build(&place, &node, &options).unwrap();
    assert!(
        text(fails(build(&place, with.clone(), &options))).contains("was built without internal")
    );
    // An index without internal transfers is updated without a replay.
    update(&place, with.clone(), &BuildOptions::default()).unwrap();
}

/// A build fails before it reads anything if blocks have no state.
#[test]
fn build_rejects_blocks_without_state() {
    let opened = or_skip!(crate::support::Opened::fixture("pruned/dev-v2-distance"));
    let internal = internal(&opened.db, opened.rules.clone());
    let node = node(&opened.db);
    let origin = BuildSource {
        source: &node,
        internal: Some(&internal),
        work: WorkContext::default(),
    };
    let dir = tempfile::tempdir().unwrap();
    let from = |first_block| BuildOptions {
        first_block,
        reorg_buffer: 0,
        ..BuildOptions::default()
    };
    let place = dir.path().join("index");
    let error = fails(build(&place, origin.clone(), &from(440)));
    let txgraph_index::Error::Source(SourceError::Unavailable { missing, .. }) = error else {
        panic!("{error}");
    };
    assert!(missing[0].reason.contains("no state"), "{missing:?}");
    // The rejected build has not fixed the content of the index.
    for first in [801, 790] {
        // The first of these contains no blocks yet.
        build(&place, origin.clone(), &from(first)).unwrap();
        let index = Index::open(&place, node.chain()).unwrap();
        let verified = verify(&index, origin.clone(), false).unwrap();
        assert_eq!(verified.blocks, 801 - first);
        assert!(verified.unread.is_empty());
        txgraph_index::drop_index(&place).unwrap();
    }
}
