//! Answers beside a node that writes blocks and replaces its newest ones, in another process: each is
//! about a block that was the newest while it was asked for, and nothing in it is of another branch.
//!
//! `TXGRAPH_SERVE_LIVE_SECONDS` is the duration (`scripts/serve-stress.sh`).

use crate::harness::{Served, call, chain_file, number, settings};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    io::{self, Write},
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};
use txgraph::{BuildOptions, IndexChoice, Source};
use txgraph_chaingen::{Config, Layout, LiveNode, serve_if_asked};
use txgraph_serve::Settings;
use txgraph_testkit::{fixtures, or_skip, random::Xorshift};

/// Blocks before the first request.
const FIRST: u64 = 60;
/// The duration of an ordinary run.
const SECONDS: u64 = 4;
/// Clients at a time.
const CLIENTS: usize = 3;

/// The states of the chain so far.
#[derive(Default)]
struct History {
    /// The newest block of each, in order.
    tips: Vec<(u64, String)>,
    /// The number and the parent of every block that ever was, by hash.
    blocks: BTreeMap<String, (u64, String)>,
}

impl History {
    /// Adds the present state.
    fn learn(&mut self, source: &Source, from: u64) {
        let (tip, hash) = source.tip_block().unwrap();
        for at in from..=tip {
            let header = source.header(at).unwrap();
            let (hash, parent) = (header.hash.to_string(), header.parent_hash.to_string());
            self.blocks.insert(hash, (at, parent));
        }
        self.tips.push((tip, hash.to_string()));
    }

    /// The hashes of a branch by number, from its newest block down to `last`.
    fn branch(&self, tip: &str, last: u64) -> BTreeMap<u64, &str> {
        let mut all = BTreeMap::new();
        let mut at = self.blocks.get_key_value(tip);
        while let Some((hash, (number, parent))) = at {
            all.insert(*number, hash.as_str());
            at = self.blocks.get_key_value(parent).filter(|_| *number > last);
        }
        all
    }
}

/// An answer, and the states between which it was asked for and came.
struct Answered {
    what: &'static str,
    first: usize,
    last: usize,
    /// The header that names its block.
    block: String,
    /// The numbers and hashes of the blocks that it says something about.
    about: Vec<(u64, String)>,
}

/// A node of the test's name, in a folder.
fn start(name: &str, folder: &Path) -> LiveNode {
    let config = Config {
        txs_per_block: 4,
        ..Config::small(7, Layout::V2)
    };
    LiveNode::start(name, folder, config).unwrap()
}

/// Opens the data directory of the node, with or without an index.
fn open(folder: &Path, index: IndexChoice) -> Source {
    let source = Source::builder(folder).threads(1).index(index);
    let source = source.chain_file(folder.join("genesis.json"));
    source.open().unwrap()
}

/// Asks, and reads what an answer is about.
fn ask(served: &Served, states: &AtomicU64, turn: usize) -> Option<Answered> {
    let count = || usize::try_from(states.load(Ordering::SeqCst)).unwrap();
    let first = count() - 1;
    let (what, response) = match turn % 3 {
        0 => {
            let calls = vec![
                call(0, "eth_getBlockByNumber", json!(["latest", true])),
                call(1, "eth_blockNumber", json!([])),
                call(
                    2,
                    "eth_getLogs",
                    json!([{ "fromBlock": "0x1", "toBlock": "latest" }]),
                ),
                call(3, "eth_getBlockReceipts", json!(["latest"])),
            ];
            ("batch", served.post(&json!(calls).to_string()))
        }
        1 => {
            let request = call(0, "eth_getLogs", json!([{ "fromBlock": "0x1" }]));
            ("logs", served.post(&request.to_string()))
        }
        _ => {
            let query = format!(
                "module=logs&action=getLogs&fromBlock=1&offset=1000&page={}",
                1
            );
            ("query", served.get(&format!("/api?{query}")))
        }
    };
    // Acknowledged at the latest after the answer: one more may be under way.
    let last = count();
    assert_eq!(response.status, 200, "{response:?}");
    let document = response.json();
    let text = document.to_string();
    if text.contains("the chain was reorganized during every attempt") {
        return None;
    }
    let block = response.headers.get("x-txgraph-block").cloned();
    let block = block.unwrap_or_else(|| panic!("{what}: {text:.500}"));
    let about = match what {
        "batch" => {
            assert!(
                document
                    .as_array()
                    .unwrap()
                    .iter()
                    .all(|it| it.get("result").is_some()),
                "{text:.2000}"
            );
            let newest = &document[0]["result"];
            assert_eq!(newest["number"], document[1]["result"]);
            let header = format!(
                "{} {}",
                number(&newest["number"]),
                newest["hash"].as_str().unwrap()
            );
            assert_eq!(header, block);
            let receipts = document[3]["result"].as_array().unwrap();
            assert_eq!(
                receipts.len(),
                newest["transactions"].as_array().unwrap().len()
            );
            // The receipts of the newest block have the same logs.
            let of_receipts: Vec<_> = receipts
                .iter()
                .flat_map(|it| it["logs"].as_array().unwrap())
                .collect();
            let logs = document[2]["result"].as_array().unwrap();
            let of_logs: Vec<_> = logs
                .iter()
                .filter(|log| log["blockHash"] == newest["hash"])
                .collect();
            assert_eq!(of_logs, of_receipts);
            places(logs)
        }
        "logs" => {
            assert!(document.get("result").is_some(), "{text:.500}");
            places(document["result"].as_array().unwrap())
        }
        _ => {
            assert_eq!(document["status"], "1", "{text:.500}");
            places(document["result"].as_array().unwrap())
        }
    };
    Some(Answered {
        what,
        first,
        last,
        block,
        about,
    })
}

/// The blocks of logs.
fn places(logs: &[Value]) -> Vec<(u64, String)> {
    let place = |log: &Value| {
        let block = u64::try_from(number(&log["blockNumber"])).unwrap();
        (block, log["blockHash"].as_str().unwrap().to_owned())
    };
    let mut all: Vec<_> = logs.iter().map(place).collect();
    all.dedup();
    all
}

#[test]
fn answers_are_never_stale_and_never_mixed() {
    if serve_if_asked() {
        return;
    }
    let seconds = env::var("TXGRAPH_SERVE_LIVE_SECONDS").ok();
    let seconds = seconds.map_or(SECONDS, |text| text.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let name = "live::answers_are_never_stale_and_never_mixed";
    let mut node = start(name, folder.path());
    node.append(FIRST).unwrap();
    let open = || open(folder.path(), IndexChoice::Off);
    let source = open();
    let history = Mutex::new(History::default());
    history.lock().unwrap().learn(&source, 0);
    let served = Served::on(open(), settings(), None);
    let (states, over) = (AtomicU64::new(1), AtomicBool::new(false));
    let unsettled = AtomicU64::new(0);
    let answers = thread::scope(|scope| {
        let ask_on = |number: usize| {
            let (served, states, over, unsettled) = (&served, &states, &over, &unsettled);
            scope.spawn(move || {
                let (mut all, mut turn) = (Vec::new(), number);
                while !over.load(Ordering::SeqCst) {
                    match ask(served, states, turn) {
                        Some(answer) => all.push(answer),
                        None => drop(unsettled.fetch_add(1, Ordering::SeqCst)),
                    }
                    turn += 1;
                }
                all
            })
        };
        let clients: Vec<_> = (0..CLIENTS).map(ask_on).collect();
        let (started, mut random) = (Instant::now(), Xorshift(88_172_645_463_325_252));
        let mut below = |limit: u64| random.below(limit);
        while started.elapsed() < Duration::from_secs(seconds)
            && clients.iter().all(|it| !it.is_finished())
        {
            let tip = node.tip().number;
            // The chain keeps its length, so that answers keep their size.
            let from = match below(2) {
                0 if tip > FIRST - 20 => {
                    let to = tip - 1 - below(5);
                    node.unwind(to).unwrap();
                    to
                }
                _ if tip > FIRST + 20 => {
                    node.unwind(FIRST).unwrap();
                    FIRST
                }
                _ => {
                    node.append(1 + below(4)).unwrap();
                    tip
                }
            };
            let mut history = history.lock().unwrap();
            history.learn(&source, from);
            states.store(history.tips.len() as u64, Ordering::SeqCst);
            drop(history);
            thread::sleep(Duration::from_millis(below(60)));
        }
        over.store(true, Ordering::SeqCst);
        let all = clients
            .into_iter()
            .flat_map(|thread| thread.join().unwrap());
        all.collect::<Vec<_>>()
    });
    let history = history.into_inner().unwrap();
    let mut beside_changes = 0;
    for Answered {
        what,
        first,
        last,
        block,
        about,
    } in &answers
    {
        let (number, hash) = block.split_once(' ').unwrap();
        let tip = (number.parse().unwrap(), hash.to_owned());
        let last = (*last).min(history.tips.len() - 1);
        // Not stale, and not of the future.
        assert!(
            history.tips[*first..=last].contains(&tip),
            "{what}: {block} of states {first} to {last}"
        );
        beside_changes += u64::from(history.tips[*first..last].len() > 1);
        let branch = history.branch(hash, 0);
        for (number, hash) in about {
            assert_eq!(
                branch.get(number).copied(),
                Some(hash.as_str()),
                "{what} about {block}: block {number}"
            );
        }
    }
    let _ = writeln!(
        io::stderr(),
        "{} answers beside {} changes of the chain in {seconds} s, {beside_changes} of them while it changed; \
         {} were given up",
        answers.len(),
        history.tips.len(),
        unsettled.into_inner(),
    );
    assert!(answers.len() > 10, "{}", answers.len());
    let metrics = served.get("/metrics").body;
    assert!(metrics.contains("\ntxgraph_panics_total 0\n"), "{metrics}");
}

/// Blocks that an index leaves out because they may be replaced.
const BUFFER: u64 = 64;

/// Waits until the index of a server has this block as its newest. An attempt that meets a change of the
/// chain may fail.
fn wait_for_index(served: &Served, block: u64) {
    served.wait_for(&format!("txgraph_index_block {block}"));
}

#[test]
fn the_index_follows_the_chain() {
    if serve_if_asked() {
        return;
    }
    let (folder, index) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let index = index.path().join("index");
    let mut node = start("live::the_index_follows_the_chain", folder.path());
    node.append(150).unwrap();
    let built = open(folder.path(), IndexChoice::At(index.clone()));
    let options = BuildOptions {
        last_block: Some(10),
        unit_blocks: Some(16),
        transactions: true,
        ..BuildOptions::default()
    };
    built.index().unwrap().build(&options, false).unwrap();
    let served = Served::on(
        open(folder.path(), IndexChoice::At(index)),
        Settings {
            extend_index: Some(Duration::from_millis(5)),
            ..settings()
        },
        None,
    );
    let plain = Served::on(open(folder.path(), IndexChoice::Off), settings(), None);
    for (unwind, append) in [(None, 0), (None, 70), (Some(60), 90)] {
        let mut tip = node.tip().number;
        if let Some(blocks) = unwind {
            tip -= blocks;
            node.unwind(tip).unwrap();
        }
        node.append(append).unwrap();
        tip += append;
        wait_for_index(&served, tip - BUFFER);
        let blocks = (tip - 1..=tip).map(|number| {
            let params = json!([format!("{number:#x}"), true]);
            let block = plain.result("eth_getBlockByNumber", params);
            block["transactions"].as_array().unwrap().clone()
        });
        let transactions: Vec<Value> = blocks.flatten().collect();
        let ends = transactions.iter().flat_map(|it| [&it["from"], &it["to"]]);
        let addresses: BTreeSet<&str> = ends.filter_map(Value::as_str).collect();
        assert!(addresses.len() > 2, "{transactions:?}");
        for address in addresses {
            for action in ["txlist", "tokentx"] {
                let query = format!("/api?module=account&action={action}&address={address}");
                let (found, expected) = (served.get(&query), plain.get(&query));
                assert_eq!(found.body, expected.body, "{query}");
                assert_eq!(
                    found.headers.get("x-txgraph-block"),
                    expected.headers.get("x-txgraph-block")
                );
            }
        }
    }
}

/// After a reorganization, what followed the last block that stayed comes again.
#[test]
fn filters_follow_the_chain() {
    if serve_if_asked() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut node = start("live::filters_follow_the_chain", folder.path());
    node.append(20).unwrap();
    let served = Served::on(open(folder.path(), IndexChoice::Off), settings(), None);
    let blocks = json!([served.result("eth_newBlockFilter", json!([]))]);
    let logs = json!([served.result("eth_newFilter", json!([{ "toBlock": "latest" }]))]);
    let before = node.tip().number;
    let mut count = 0;
    for (unwind, append, first) in [(0, 0, 1), (0, 3, 1), (2, 4, 1), (0, 1, 6)] {
        if unwind > 0 {
            node.unwind(node.tip().number - unwind).unwrap();
        }
        node.append(append).unwrap();
        let (first, tip) = (before + first, node.tip().number);
        let of = |number: u64| {
            let params = json!([format!("{number:#x}"), false]);
            served.result("eth_getBlockByNumber", params)["hash"].clone()
        };
        let expected: Value = (first..=tip).map(of).collect();
        served.answers("eth_getFilterChanges", blocks.clone(), expected);
        let expected = match append {
            0 => json!([]),
            _ => {
                let range = json!([{ "fromBlock": format!("{first:#x}"), "toBlock": "latest" }]);
                served.result("eth_getLogs", range)
            }
        };
        count += expected.as_array().unwrap().len();
        served.answers("eth_getFilterChanges", logs.clone(), expected);
    }
    assert!(count > 10, "{count}");
}

#[test]
fn blocks_that_the_node_has_deleted_do_not_stop_the_index() {
    let pruned = or_skip!(fixtures::fixture("pruned/dev-v2-distance"));
    let whole = pruned.full_chain().unwrap();
    let (whole, directory) = (whole.unpack(), pruned.unpack());
    let index = tempfile::tempdir().unwrap();
    let index = IndexChoice::At(index.path().join("index"));
    let open = |folder: &Path| {
        let source = Source::builder(folder).threads(1).index(index.clone());
        source.chain_file(chain_file(&pruned)).open().unwrap()
    };
    let options = BuildOptions {
        last_block: Some(10),
        ..BuildOptions::default()
    };
    let source = open(whole.path());
    source.index().unwrap().build(&options, false).unwrap();
    let source = open(directory.path());
    let tip = source.tip_block().unwrap().0;
    let settings = Settings {
        extend_index: Some(Duration::from_millis(5)),
        ..settings()
    };
    let served = Served::on(source, settings, None);
    wait_for_index(&served, tip - BUFFER);
}

#[test]
fn an_index_that_goes_further_than_the_node_stays() {
    if serve_if_asked() {
        return;
    }
    let name = "live::an_index_that_goes_further_than_the_node_stays";
    let [long, short] = [150, 60].map(|blocks| {
        let folder = tempfile::tempdir().unwrap();
        let mut node = start(name, folder.path());
        node.append(blocks).unwrap();
        (folder, node)
    });
    let index = tempfile::tempdir().unwrap();
    let index = IndexChoice::At(index.path().join("index"));
    let built = open(long.0.path(), index.clone());
    let options = BuildOptions {
        last_block: Some(80),
        unit_blocks: Some(16),
        ..BuildOptions::default()
    };
    built.index().unwrap().build(&options, false).unwrap();
    let settings = Settings {
        extend_index: Some(Duration::from_millis(5)),
        ..settings()
    };
    let served = Served::on(open(short.0.path(), index.clone()), settings, None);
    wait_for_index(&served, 80);
    let status = open(long.0.path(), index).index().unwrap().status();
    assert_eq!(status.unwrap().status.blocks.to_string(), "0:81");
}
