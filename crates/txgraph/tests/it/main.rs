//! The library without a command line: sources, queries, and the examples.

mod approvals;
mod dates;
mod examples;
#[cfg(feature = "polars")]
mod frames;
mod memory;
mod own;
mod slot_history;
mod source;
mod statement;
mod swaps;
mod transactions;

use serde_json::json;
use std::{
    collections::BTreeSet,
    fs,
    ops::ControlFlow,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};
use txgraph::{
    Address, CancelFlag, DocumentFormat, ErrorKind, GraphOutputs, Hops, Kind, Measure,
    MeasureAnswer, Progress, Source, TransfersOutput, U256, address,
    parse::{GraphQuery, Options, Query, QueryFile, TransfersQuery},
};
use txgraph_testkit::{
    fixtures::{self, Fixture},
    naive::decode_fixture,
};

const OZA: Address = address!("0xc982f6837de3bef0547ecb84171688b6a2bd4cd2");
const PEELER: Address = address!("0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0");

fn open(fixture: &Fixture) -> Source {
    let source = Source::builder(fixture.path()).threads(2).chunk_blocks(1);
    source.open().unwrap()
}

/// A folder with the data of a chain, under the rules of the chain of this name.
fn executed(folder: &Path, chain: &str) -> Source {
    let roots = [Some(fixtures::testdata()), fixtures::root()].into_iter();
    let mut genesis = roots
        .flatten()
        .map(|root| root.join(chain).join("genesis.json"));
    let genesis = genesis.find(|path| path.exists()).unwrap();
    let source = Source::builder(folder).chain_file(genesis);
    source.open().unwrap()
}

fn small() -> Fixture {
    let [_v1, v2] = fixtures::committed();
    v2
}

/// Stops a scan after a number of blocks.
struct StopAt {
    blocks: AtomicU64,
    cancel: CancelFlag,
}

impl Progress for StopAt {
    fn advance(&self, blocks: u64, _transfers: u64) {
        if self.blocks.fetch_sub(blocks, Ordering::Relaxed) <= blocks {
            self.cancel.cancel();
        }
    }
}

#[test]
fn transfers_stream_in_order() {
    for fixture in fixtures::committed() {
        let source = open(&fixture);
        let mut found = Vec::new();
        let report = source.transfers().for_each(|batch| {
            found.extend(batch.transfers);
            Ok(ControlFlow::Continue(()))
        });
        assert_eq!(report.unwrap().counts.blocks, 41);
        assert_eq!(found, decode_fixture(&fixture).transfers);
        assert_eq!(source.transfers().collect().unwrap(), found);
        let selected = source
            .transfers()
            .token(OZA)
            .kind(Kind::Mint)
            .last_blocks(30);
        let selected = selected.collect().unwrap();
        let matching = found.iter().filter(|transfer| {
            transfer.token_address == Some(OZA)
                && transfer.kind == Kind::Mint
                && transfer.block_number > 10
        });
        assert!(selected.iter().eq(matching));
        // A caller can end the scan early.
        let mut seen = 0;
        let report = source.transfers().for_each(|batch| {
            seen += batch.transfers.len();
            Ok(if seen > 0 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            })
        });
        assert!(report.unwrap().counts.blocks < 41);
        // Or ask for the first ones only.
        for count in [0, 1, 10, found.len() - 1, found.len(), found.len() + 1] {
            let first = source.transfers().prepare().unwrap().first(count).unwrap();
            assert!(first.transfers.iter().eq(found.iter().take(count)));
            assert_eq!(first.has_more, count < found.len());
        }
    }
}

/// Names of the threads that report progress.
#[derive(Clone, Default)]
struct ThreadNames(Arc<Mutex<BTreeSet<String>>>);

impl Progress for ThreadNames {
    fn start(&self, _blocks: u64, _counted: &'static str) {
        let name = thread::current().name().unwrap_or_default().to_owned();
        self.0.lock().unwrap().insert(name);
    }

    fn advance(&self, _blocks: u64, _transfers: u64) {}
}

/// A search runs on the one thread that was asked for: what it splits off with rayon then
/// runs there too, and rayon's global pool is not used.
#[test]
fn one_thread_does_all_work_of_a_search() {
    let fixture = small();
    let names = ThreadNames::default();
    let source = Source::builder(fixture.path()).threads(1);
    let source = source.progress(names.clone()).open().unwrap();
    let graph = source.search(PEELER).hops(3).run().unwrap();
    assert!(graph.graph.edge_count() > 0);
    let names = names.0.lock().unwrap();
    assert_eq!(names.iter().collect::<Vec<_>>(), ["txgraph-0"]);
}

/// The metadata of a query does not depend on how it was asked.
#[test]
fn text_and_methods_give_the_same_files() {
    let fixture = small();
    let source = open(&fixture);
    let folder = tempfile::tempdir().unwrap();
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let options = json!({ "root": PEELER, "hops": 3, "blocks": "10:30", "min-value": "7" });
    let query = GraphQuery::from_table(&options).unwrap();
    let (query, _) = query.on(&source).unwrap();
    query
        .run()
        .unwrap()
        .write(folder.path().join("text.json"))
        .unwrap();
    let query = source
        .search(PEELER)
        .hops(3)
        .blocks(10..30)
        .min_value(U256::from(7));
    query
        .run()
        .unwrap()
        .write(folder.path().join("methods.json"))
        .unwrap();
    assert_eq!(read("text.json"), read("methods.json"));
    assert!(
        read("text.json").contains(r#""min-value":"7""#),
        "{}",
        read("text.json")
    );

    let options = json!({ "address": PEELER, "from-block": 5, "to-block": 9, "token": "eth" });
    let query = TransfersQuery::from_table(&options).unwrap();
    let (query, mut output) = query.on(&source).unwrap();
    output.target = folder.path().join("text.csv").into();
    query.write(&output).unwrap();
    let query = source.transfers().address(PEELER).native();
    let query = query.blocks(txgraph::BlockSpec::through(5, 9));
    query.write(folder.path().join("methods.csv")).unwrap();
    assert_eq!(read("text.csv.meta.json"), read("methods.csv.meta.json"));
    let expected = r#"{"address":["#;
    assert!(
        read("text.csv.meta.json")
            .replace([' ', '\n'], "")
            .contains(expected)
    );
}

#[test]
fn refuses_absurd_numbers_of_threads() {
    let fixture = small();
    let source = Source::builder(fixture.path()).threads(100_000);
    let error = source.open().unwrap_err();
    assert_eq!(error.kind, ErrorKind::Usage);
    assert!(error.message.contains("too many"), "{}", error.message);
}

#[test]
fn an_interrupted_answer_leaves_no_file() {
    let fixture = small();
    let folder = tempfile::tempdir().unwrap();
    let cancel = CancelFlag::new();
    let source = Source::builder(fixture.path()).threads(2).chunk_blocks(1);
    let source = source
        .progress(StopAt {
            blocks: AtomicU64::new(20),
            cancel: cancel.clone(),
        })
        .cancel(cancel);
    let source = source.open().unwrap();
    let error = source.transfers().write(folder.path().join("t.csv"));
    assert_eq!(error.unwrap_err().kind, ErrorKind::Interrupted);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn graphs_are_found_and_written() {
    let fixture = small();
    let source = open(&fixture);
    let graph = source.search(PEELER).hops(Hops::All).run().unwrap();
    assert_eq!(graph.roots.len(), 1);
    assert!(graph.graph.node_count() >= 13);
    let folder = tempfile::tempdir().unwrap();
    for name in ["g.csv", "g.json", "g.dot"] {
        let path = folder.path().join(name);
        let written = graph.write(&path).unwrap();
        assert_eq!(written.path.as_ref(), Some(&path));
        assert!(graph.write(&path).is_err(), "exists");
    }
    let error = graph.write(folder.path().join("g.xyz")).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Usage);
    // The query is in the metadata, as text would name it.
    let about = fs::read_to_string(folder.path().join("g.csv.meta.json")).unwrap();
    let about: serde_json::Value = serde_json::from_str(&about).unwrap();
    let root = format!("{PEELER:#x}");
    let query = json!({"hops": "all", "root": [root]});
    assert_eq!(about["question"], query);
    let written = GraphQuery::from_table(&query).unwrap();
    let (query, _) = written.on(&source).unwrap();
    let path = folder.path().join("text.csv");
    query.run().unwrap().write(&path).unwrap();
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(read("text.csv"), read("g.csv"));
    assert_eq!(read("text.csv.meta.json"), read("g.csv.meta.json"));
}

#[test]
fn measures_need_no_root() {
    let fixture = small();
    let source = open(&fixture);
    let analysis = source.analyze(Measure::Cycles).token(OZA).run().unwrap();
    let MeasureAnswer::Cycles(cycles) = &analysis.result else {
        panic!("{:?}", analysis.result);
    };
    assert_eq!(cycles.total, 1);
    let around = source.analyze(Measure::Summary).root(PEELER).hops(3);
    assert!(!around.run().unwrap().tables().is_empty());
    // Options of a search have no meaning without a root.
    let error = source.analyze(Measure::Summary).hops(2).run().unwrap_err();
    assert_eq!(error.kind, ErrorKind::Usage);
}

#[test]
fn measures_have_the_tables_that_they_list() {
    let fixture = small();
    let source = open(&fixture);
    for measure in Measure::ALL {
        let analysis = source.analyze(*measure).root(PEELER).run().unwrap();
        let ids: Vec<_> = analysis.tables().iter().map(|table| table.id).collect();
        assert_eq!(ids, measure.table_ids(), "{measure:?}");
    }
}

#[test]
fn outputs_are_checked_before_anything_is_written() {
    let fixture = small();
    let source = open(&fixture);
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let mut outputs = GraphOutputs::to(place("a.csv")).unwrap();
    outputs
        .files
        .push((DocumentFormat::Json.into(), place("b.json").into()));
    let graph = source.search(PEELER).run().unwrap();
    fs::create_dir(place("b.json")).unwrap();
    let error = graph.write_all(&outputs).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Failed, "{error}");
    assert!(!place("a.csv").exists());
    fs::remove_dir(place("b.json")).unwrap();
    let done = graph.write_all(&outputs).unwrap();
    assert!(done.failed.is_empty());
    assert_eq!(done.written.len(), 2);
    // Never into the data directory.
    let inside = fixture.path().join("new.csv");
    for error in [
        graph.write(&inside).map(drop).unwrap_err(),
        source.transfers().write(&inside).map(drop).unwrap_err(),
    ] {
        assert_eq!(error.kind, ErrorKind::Usage, "{error}");
    }
    assert!(!inside.exists());
    assert!(TransfersOutput::to("x.svg").is_err());
}

#[test]
fn saved_queries_are_asked() {
    let file = QueryFile::open("top-counterparties").unwrap();
    let query = file
        .resolve(&[("address".into(), PEELER.to_string())])
        .unwrap();
    let Query::Analyze(query) = query else {
        panic!("{query:?}")
    };
    let fixture = small();
    let source = open(&fixture);
    let (query, _) = query.on(&source).unwrap();
    let analysis = query.run().unwrap();
    let title = &analysis.table(None).unwrap().title;
    assert_eq!(title.split(' ').next(), Some("Pairs"));
    assert!(!analysis.tables()[0].rows.is_empty());
}

/// Adds up the progress.
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
fn a_replay_reports_progress() {
    for fixture in fixtures::committed() {
        let meter = Arc::new(Meter::default());
        let source = Source::builder(fixture.path())
            .chain_file(fixtures::testdata().join("small/v2/genesis.json"))
            .progress(Arc::clone(&meter))
            .open()
            .unwrap();
        // Two ranges, one progress.
        let replay = source.replay().blocks(1..11).blocks(21..41);
        let summary = replay.verify().unwrap();
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        assert_eq!((read(&meter.announced), read(&meter.finished)), (30, 1));
        assert_eq!(read(&meter.blocks), summary.report.blocks);
        assert_eq!(read(&meter.transactions), summary.report.transactions);
        assert!(summary.report.transactions > 300);
        assert_eq!(summary.report.mismatches, 0);
    }
}

#[test]
fn calls_read_past_states() {
    let fixture = small();
    let folder = tempfile::tempdir().unwrap();
    let genesis = folder.path().join("genesis.json");
    fs::copy(fixtures::testdata().join("small/v2/genesis.json"), &genesis).unwrap();
    let source = Source::builder(fixture.path()).chain_file(&genesis);
    let source = source.open().unwrap();
    // The rules are read once.
    fs::remove_file(&genesis).unwrap();
    // totalSupply()
    let call = |block| {
        source
            .call(OZA)
            .data([0x18, 0x16, 0x0d, 0xdd])
            .block(block)
            .run()
    };
    assert!(call(0).unwrap().output().unwrap().is_empty());
    assert_eq!(call(40).unwrap().output().unwrap().len(), 32);
    let names = source.token(OZA).run().unwrap();
    assert!(names[&OZA].symbol.is_some(), "{names:?}");
}
