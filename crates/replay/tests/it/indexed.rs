//! An index that holds what moved inside of transactions.

use crate::{
    source::{node, request, scan},
    support::database,
};
use alloy_primitives::Address;
use std::{collections::BTreeSet, sync::Arc};
use txgraph_chaingen::Layout;
use txgraph_chaingen::execgen::{Miner, MinerPlan, Plan};
use txgraph_index::{BuildOptions, Index, Indexed, Origin, build, update, verify};
use txgraph_reader::NodeSource;
use txgraph_replay::{ChainRules, Internal, WithInternal};
use txgraph_state::{StateDb, StateOptions};
use txgraph_transfers::{
    Direction, Kind, ScanRequest, SourceError, TokenFilter, Touching, TransferFilter,
    TransferSource,
};

/// Questions with and without internal movements, for everything and for a few addresses.
fn questions(last: u64, addresses: &[Address]) -> Vec<ScanRequest> {
    let native = TokenFilter::Only {
        tokens: Default::default(),
        native: true,
    };
    let touching = |direction| Touching {
        addresses: addresses.iter().copied().collect(),
        direction,
    };
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
        // No index has the fees.
        TransferFilter {
            kinds: vec![Kind::Fee, Kind::Internal],
            ..TransferFilter::default()
        },
    ];
    let mut questions = Vec::new();
    for filter in filters {
        for (internal, first) in [(false, 0), (true, 0), (true, last / 2)] {
            let mut question = request(first, last);
            question.filter = TransferFilter {
                internal,
                ..filter.clone()
            };
            questions.push(question);
        }
    }
    questions
}

/// Mined on, with reorganisations: after each step the index that lags behind and the one
/// that was brought up to date answer as the node and a replay do.
#[test]
fn it_follows_a_chain_and_its_branches() {
    let dir = tempfile::tempdir().unwrap();
    let (folder, place) = (dir.path().join("node"), dir.path().join("index"));
    let plan = MinerPlan {
        chain: Plan::new(43, Layout::V1, 2),
        blocks_at_start: 40,
        commit_blocks_max: 5,
        step_ms: None,
        reorgs_permille: 500,
        reorg_blocks: (1, 12),
    };
    let mut miner = Miner::start("soak::miner", &folder, plan).unwrap();
    let db = Arc::new(database(&folder));
    let rules = ChainRules::of_database(&db, Some(&folder.join("genesis.json"))).unwrap();
    let state = || StateDb::new(Arc::clone(&db), StateOptions::default());
    let internal = || Internal::new(&db, state(), rules.clone(), 2, Box::new(|| false));
    let node = node(&db);
    let replayed = internal();
    let origin = Origin {
        node: &node,
        internal: Some(&replayed),
    };
    let options = BuildOptions {
        segment_blocks: 16,
        reorg_buffer: 0,
        ..BuildOptions::default()
    };
    build(&place, origin, &options).unwrap();
    let (mut undone, mut internal_rows) = (0, 0);
    for _ in 0..8 {
        let tip = miner.step().unwrap().tip.number;
        let open = || Index::open(&place, node.chain()).unwrap();
        let lagging = open();
        undone += update(&place, origin, &options).unwrap().undone_blocks;
        let index = open();
        assert_eq!(index.blocks(), request(0, tip).blocks);
        let verified = verify(&index, origin, false).unwrap();
        assert_eq!(
            (verified.blocks, verified.unread.is_empty()),
            (tip + 1, true)
        );

        let mut asked = request(0, tip);
        asked.filter.internal = true;
        let (_, all) = scan(&WithInternal::new(&node, internal()), &asked);
        internal_rows += all.iter().filter(|it| it.kind == Kind::Internal).count();
        let ends: BTreeSet<_> = all.iter().map(|it| it.from_address).collect();
        let some: Vec<_> = ends.into_iter().step_by(5).collect();
        for question in questions(tip, &some) {
            let expected = match question.filter.internal {
                false => scan(&node, &question),
                true => scan(&WithInternal::new(&node, internal()), &question),
            };
            for index in [&lagging, &index] {
                let rest = WithInternal::new(&node, internal());
                let asked = Indexed::with_rest(index, &node, rest);
                let found = match question.filter.internal {
                    false => scan(&Indexed::new(index, &node), &question),
                    true => scan(&asked, &question),
                };
                assert_eq!(found.1, expected.1, "{question:?}");
                assert_eq!(found.0, expected.0, "{question:?}");
            }
        }
    }
    assert!(undone > 0 && internal_rows > 0);
}

fn fails<T: std::fmt::Debug>(result: txgraph_index::Result<T>) -> txgraph_index::Error {
    result.unwrap_err()
}

/// One of logs and one with more are different things, and nobody forgets which it is.
#[test]
fn what_it_holds_is_fixed_when_it_is_made() {
    let dir = tempfile::tempdir().unwrap();
    let [fixture, _] = txgraph_testkit::fixtures::committed();
    let opened = crate::support::open(&fixture);
    let state = StateDb::new(Arc::clone(&opened.db), StateOptions::default());
    let rules = opened.rules.clone();
    let internal = Internal::new(&opened.db, state, rules, 1, Box::new(|| false));
    let node: NodeSource = node(&opened.db);
    let with = Origin {
        node: &node,
        internal: Some(&internal),
    };
    let options = BuildOptions {
        last_block: Some(20),
        ..BuildOptions::default()
    };
    let place = dir.path().join("with");
    build(&place, with, &options).unwrap();
    let told = |error: txgraph_index::Error| error.to_string();
    assert!(told(fails(build(&place, &node, &options))).contains("was built with internal"));
    assert!(told(fails(update(&place, &node, &options))).contains("only a replay tells"));
    let index = Index::open(&place, node.chain()).unwrap();
    assert!(told(fails(verify(&index, &node, false))).contains("only a replay tells"));
    verify(&index, &node, true).unwrap();
    let place = dir.path().join("without");
    build(&place, &node, &options).unwrap();
    assert!(told(fails(build(&place, with, &options))).contains("was built without internal"));
    // Nothing internal to bring up to date, so that nobody is asked for it.
    update(&place, with, &BuildOptions::default()).unwrap();
}

/// Blocks without state are refused before anything is read.
#[test]
fn blocks_without_state_are_told() {
    let Some(opened) = crate::support::Opened::fixture("pruned/dev-v2-distance") else {
        return;
    };
    let state = || StateDb::new(Arc::clone(&opened.db), StateOptions::default());
    let rules = || opened.rules.clone();
    let internal = Internal::new(&opened.db, state(), rules(), 1, Box::new(|| false));
    let node = node(&opened.db);
    let origin = Origin {
        node: &node,
        internal: Some(&internal),
    };
    let dir = tempfile::tempdir().unwrap();
    let from = |first_block| BuildOptions {
        first_block,
        reorg_buffer: 0,
        ..BuildOptions::default()
    };
    let place = dir.path().join("index");
    let error = fails(build(&place, origin, &from(440)));
    let txgraph_index::Error::Source(SourceError::Unavailable { missing, .. }) = error else {
        panic!("{error}");
    };
    assert!(missing[0].reason.contains("no state"), "{missing:?}");
    // What was refused has fixed nothing.
    for first in [801, 790] {
        // Also one that holds nothing yet.
        build(&place, origin, &from(first)).unwrap();
        let index = Index::open(&place, node.chain()).unwrap();
        let verified = verify(&index, origin, false).unwrap();
        assert_eq!(verified.blocks, 801 - first);
        assert!(verified.unread.is_empty());
        txgraph_index::drop_index(&place).unwrap();
    }
}
