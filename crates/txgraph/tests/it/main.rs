//! The façade as a library: no arguments, no terminal.

use std::{
    fs,
    ops::ControlFlow,
    sync::Arc,
    sync::atomic::{AtomicU64, Ordering},
};
use txgraph::{
    AnalyzeQuery, CancelFlag, Config, Control, ErrorKind, GraphQuery, GraphRequest, Hops, Measure,
    Node, Output, Progress, Query, QueryFile, ReplayQuery, Search, Selection, TransfersQuery,
};
use txgraph_testkit::{
    fixtures::{self, Fixture},
    naive::decode_fixture,
};

const OZA: &str = "0xc982f6837de3bef0547ecb84171688b6a2bd4cd2";
const PEELER: &str = "0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0";

fn open(fixture: &Fixture, control: &Control) -> Node {
    let config = Config {
        datadir: Some(fixture.path().into()),
        threads: Some(2),
        chunk_blocks: Some(1),
        ..Config::default()
    };
    txgraph::open(&config, control).unwrap()
}

/// Stops a scan when it has come so far.
struct StopAt {
    blocks: AtomicU64,
    cancel: CancelFlag,
}

impl Progress for StopAt {
    fn start(&self, _blocks: u64, _counted: &'static str) {}

    fn advance(&self, blocks: u64, _transfers: u64) {
        if self.blocks.fetch_sub(blocks, Ordering::Relaxed) <= blocks {
            self.cancel.cancel();
        }
    }

    fn finish(&self) {}
}

#[test]
fn transfers_stream_into_the_callers_hands() {
    for fixture in fixtures::committed() {
        let node = open(&fixture, &Control::default());
        let query = TransfersQuery::default();
        let request = query.request(&node).unwrap();
        let mut found = Vec::new();
        let report = txgraph::transfers(&node, &request, &mut |batch| {
            found.extend(batch.transfers);
            Ok(ControlFlow::Continue(()))
        });
        assert_eq!(report.unwrap().counts.blocks, 41);
        assert_eq!(found, decode_fixture(&fixture).transfers);
        // Who has seen enough may say so.
        let mut seen = 0;
        let report = txgraph::transfers(&node, &request, &mut |batch| {
            seen += batch.transfers.len();
            Ok(if seen > 0 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            })
        });
        assert!(report.unwrap().counts.blocks < 41);
    }
}

#[test]
fn an_interrupted_answer_leaves_no_file() {
    let [_, fixture] = fixtures::committed();
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("t.csv").display().to_string();
    let cancel = CancelFlag::new();
    let stop = StopAt {
        blocks: AtomicU64::new(20),
        cancel: cancel.clone(),
    };
    let node = open(
        &fixture,
        &Control {
            progress: Some(Arc::new(stop)),
            explain: None,
            cancel,
        },
    );
    let query = TransfersQuery {
        output: Output {
            output: vec![place],
            ..Output::default()
        },
        ..TransfersQuery::default()
    };
    let request = query.request(&node).unwrap();
    let error = txgraph::write_transfers(&node, &query, &request).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Interrupted);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn graphs_come_without_being_written() {
    let [_, fixture] = fixtures::committed();
    let node = open(&fixture, &Control::default());
    let search = Search {
        root: vec![PEELER.into()],
        hops: Some(Hops::All),
        ..Search::default()
    };
    let graph = txgraph::graph(&node, &search.request(&node).unwrap()).unwrap();
    assert_eq!(graph.roots.len(), 1);
    assert!(graph.graph.node_count() >= 13);

    let query = AnalyzeQuery {
        measure: Measure::Loops,
        search: Search {
            selection: Selection {
                token: vec![OZA.into()],
                ..Selection::default()
            },
            ..Search::default()
        },
        ..AnalyzeQuery::default()
    };
    let request = query.request(&node).unwrap();
    assert!(matches!(request, GraphRequest::Everything(_)));
    let analysis = txgraph::analyze(&node, &query, &request).unwrap();
    assert_eq!(analysis.result["total"], 1);
}

#[test]
fn targets_are_checked_before_the_search() {
    let [_, fixture] = fixtures::committed();
    let node = open(&fixture, &Control::default());
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).display().to_string();
    let query = GraphQuery {
        search: Search {
            root: vec![PEELER.into()],
            ..Search::default()
        },
        output: Output {
            output: vec![place("a.csv"), place("b.json")],
            ..Output::default()
        },
        ..GraphQuery::default()
    };
    let request = query.search.request(&node).unwrap();
    let answer = {
        fs::create_dir(folder.path().join("b.json")).unwrap();
        txgraph::write_graph(&node, &query, &request)
    };
    let error = answer.unwrap_err();
    assert_eq!(
        error.kind,
        ErrorKind::Failed,
        "seen before the search: {error}"
    );
    fs::remove_dir(folder.path().join("b.json")).unwrap();
    let answer = txgraph::write_graph(&node, &query, &request).unwrap();
    assert!(answer.failed.is_empty());
    assert_eq!(answer.written.len(), 2);
}

#[test]
fn blocks_are_resolved_against_the_tip() {
    let [_, fixture] = fixtures::committed();
    let node = open(&fixture, &Control::default());
    let blocks = |blocks: &[&str], from: Option<u64>, to: Option<u64>| {
        let selection = Selection {
            blocks: blocks.iter().map(|text| (*text).to_owned()).collect(),
            from_block: from,
            to_block: to,
            ..Selection::default()
        };
        match node.blocks(&selection) {
            Ok(blocks) => blocks.to_string(),
            Err(error) => format!("{:?}", error.kind),
        }
    };
    for (ranges, from, to, expected) in [
        (&[][..], None, None, "0..=40"),
        (&["latest"], None, None, "40..=40"),
        (&["-3:", "1:3,7"], None, None, "1..=2, 7..=7, 38..=40"),
        (&["0:100"], None, None, "0..=99"),
        (&["41:"], None, None, "Unavailable"),
        (&["-42:"], None, None, "Unavailable"),
        (&["5:4"], None, None, "Usage"),
        (&["5"], Some(1), None, "Usage"),
        (&[], Some(7), None, "7..=40"),
        (&[], None, Some(50), "0..=50"),
        (&[], Some(9), Some(8), "Usage"),
        (&[], Some(41), None, "Unavailable"),
        (&[","], None, None, "Usage"),
    ] {
        assert_eq!(
            blocks(ranges, from, to),
            expected,
            "{ranges:?} {from:?} {to:?}"
        );
    }
}

#[test]
fn saved_questions_are_questions() {
    let file = QueryFile::open("top-counterparties").unwrap();
    let query = file.resolve(&[("address".into(), PEELER.into())]).unwrap();
    let Query::Analyze(query) = query else {
        panic!("{query}")
    };
    let [_, fixture] = fixtures::committed();
    let node = open(&fixture, &Control::default());
    let analysis = txgraph::analyze(&node, &query, &query.request(&node).unwrap()).unwrap();
    assert_eq!(
        analysis.table(None).unwrap().title.split(' ').next(),
        Some("Pairs")
    );
    assert!(!analysis.tables[0].rows.is_empty());
}

/// Adds up what it is told.
#[derive(Default)]
struct Meter {
    announced: AtomicU64,
    blocks: AtomicU64,
    transactions: AtomicU64,
    finished: AtomicU64,
}

impl Progress for Meter {
    fn start(&self, blocks: u64, counted: &'static str) {
        assert_eq!(counted, "transactions");
        self.announced.fetch_add(blocks, Ordering::Relaxed);
    }

    fn advance(&self, blocks: u64, count: u64) {
        self.blocks.fetch_add(blocks, Ordering::Relaxed);
        self.transactions.fetch_add(count, Ordering::Relaxed);
    }

    fn finish(&self) {
        self.finished.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_replay_tells_how_far_it_came() {
    for fixture in fixtures::committed() {
        let meter = Arc::new(Meter::default());
        let control = Control {
            progress: Some(Arc::clone(&meter) as Arc<dyn Progress>),
            ..Control::default()
        };
        let config = Config {
            datadir: Some(fixture.path().into()),
            chain: Some(fixtures::testdata().join("small/v2/genesis.json")),
            ..Config::default()
        };
        let node = txgraph::open(&config, &control).unwrap();
        // Two ranges, whose ends are not in them; one bar.
        let query = ReplayQuery {
            blocks: vec!["1:11".to_owned(), "21:41".to_owned()],
            verify_only: true,
            ..ReplayQuery::default()
        };
        let replayed = txgraph::write_replay(&node, &query).unwrap();
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        assert_eq!((read(&meter.announced), read(&meter.finished)), (30, 1));
        assert_eq!(read(&meter.blocks), replayed.report.blocks);
        assert_eq!(read(&meter.transactions), replayed.report.transactions);
        assert!(replayed.report.transactions > 300);
    }
}
