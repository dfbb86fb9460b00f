//! A node's files and its server: answers up to the head of the chain.
//!
//! The files end with block 126, and the server has the chain of the same node up to block 160.

use crate::harness::{CHAIN, Run, Sample, ask, rows, run};
use serde_json::Value;
use txgraph_testkit::{
    fixtures::number,
    naive, or_skip,
    rpc::{Fault, RpcServer},
};

/// The newest block in the files, and the head.
const TIP: usize = 126;
const HEAD: usize = 160;

fn samples() -> Vec<Sample> {
    let names = ["masked/v1", "masked/v2"].into_iter();
    names.filter_map(Sample::named).collect()
}

fn server(sample: &Sample) -> (RpcServer, String) {
    let server = RpcServer::start(&sample.fixture);
    // What is only in memory can be replaced.
    server.limit(|limits| limits.finalized = Some(TIP as u64));
    // The rules of the chain are needed for transfers inside of transactions.
    let head = format!("--head {}/KEY {CHAIN}", server.url());
    (server, head)
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// The transfers of a result, as far as a naive decoder knows them.
fn places(csv: &str) -> Vec<[String; 6]> {
    let names = [
        "block_number",
        "transaction_index",
        "log_index",
        "from_address",
        "to_address",
        "value",
    ];
    let rows = rows(csv).into_iter();
    rows.map(|row| names.map(|name| row[name].to_lowercase()))
        .collect()
}

#[test]
fn transfers_are_those_of_a_naive_decoder() {
    for sample in samples() {
        let (_server, head) = server(&sample);
        let all = naive::decode_fixture(&sample.fixture).transfers;
        let expected: Vec<_> = all
            .iter()
            .map(|it| {
                [
                    it.block_number.to_string(),
                    it.transaction_index.to_string(),
                    it.log_index.map_or_else(String::new, |at| at.to_string()),
                    format!("{:#x}", it.from_address),
                    format!("{:#x}", it.to_address),
                    it.value.to_string(),
                ]
            })
            .collect();
        let found = sample.ok(&format!(
            "transfers --wrapped-native any -f csv -o - {head}"
        ));
        assert!(places(&found.stdout) == expected, "{}", sample.fixture.name);
        assert!(expected.iter().any(|row| row[0] == HEAD.to_string()));
        let node = format!(
            "read blocks 0:127 from reth:{}",
            sample.fixture.path().display()
        );
        found.says(&node);
        found.says("read blocks 127:161 from rpc:http://127");
        assert!(!found.stderr.contains("KEY"), "{found:?}");
    }
}

#[test]
fn answers_equal_those_of_the_server_alone() {
    for sample in samples() {
        let (server, head) = server(&sample);
        let all = sample
            .ok(&format!("transfers -q -f csv -o - {head}"))
            .stdout;
        let newest = rows(&all);
        let newest: Vec<_> = newest
            .iter()
            .filter(|row| row["block_number"].parse::<usize>().unwrap() > TIP)
            .collect();
        let root = &newest[newest.len() / 2]["from_address"];
        let end = &newest[newest.len() / 2]["to_address"];
        let token = newest.iter().map(|row| &row["token_address"]);
        let token = token.clone().find(|token| !token.is_empty()).unwrap();
        let whole = format!("--source rpc:{}", server.url());
        for query in [
            "transfers -q -f csv -o -".to_owned(),
            "transfers -q --check-roots -f csv -o -".to_owned(),
            "transfers -q --threads 3 --chunk-blocks 5 -f csv -o -".to_owned(),
            format!("transfers -q -t {token} -b 90: -f csv -o -"),
            "transfers -q -b -20: -f csv -o -".to_owned(),
            "transfers -q -b 0:50,120:130,150:161 -f csv -o -".to_owned(),
            "transfers -q --with-internal -b 127:161 -f csv -o -".to_owned(),
            "transfers -q -b 2024-01-01: -f csv -o -".to_owned(),
            format!("graph -q -r {root} -n 3 -d both -f csv -o -"),
            format!("graph -q -r {root} -n 2 -t {token} -f json -o -"),
            format!("graph -q -r {root} -n 3 --memory 4K -f csv -o -"),
            "analyze pairs -q -f csv -o -".to_owned(),
            format!("path -q {root} {end} --json"),
        ] {
            let joined = sample.run(&format!("{query} {head}"));
            let alone = sample.run(&format!("{query} {whole}"));
            assert_eq!(joined.status, alone.status, "{query}: {joined:?} {alone:?}");
            let same = without_notes(&joined.stdout) == without_notes(&alone.stdout);
            assert!(same, "{query}: {joined:?} {alone:?}");
        }
        // The index answers the blocks that it has.
        sample.ok(&format!("index build -q --index x.index {head}"));
        let query = format!("graph -q -r {root} -n 3 -d both -f csv -o -");
        server.take_asked();
        let indexed = sample.ok(&format!("{query} --index x.index {head}"));
        let asked = server.take_asked().into_iter();
        let receipts = asked.filter(|(method, _)| method == "eth_getBlockReceipts");
        assert!(receipts.count() <= HEAD - TIP, "each block once");
        let plain = sample.ok(&format!("{query} {whole}"));
        assert!(indexed.stdout == plain.stdout, "with an index");
    }
}

/// JSON without the statements of where blocks came from, and without what only a state knows.
fn without_notes(text: &str) -> String {
    match serde_json::from_str::<Value>(text) {
        Ok(mut value) => {
            remove(&mut value);
            value.to_string()
        }
        Err(_) => text.to_owned(),
    }
}

fn remove(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("notes");
            // Their units are of the whole scan.
            fields.remove("counts");
            // Files state which accounts are contracts, and a server does not.
            for name in ["is_contract", "end_reason", "ends", "state"] {
                fields.remove(name);
            }
            fields.values_mut().for_each(remove);
        }
        Value::Array(values) => values.iter_mut().for_each(remove),
        _ => {}
    }
}

#[test]
fn files_state_where_blocks_came_from() {
    for sample in samples() {
        let (_server, head) = server(&sample);
        sample.ok(&format!("transfers -q -o x.csv -o x.parquet {head}"));
        let metadata = json(&sample.read("x.csv.meta.json")).to_string();
        for text in [
            "blocks 0:127 from reth:",
            "blocks 127:161 from rpc:http://127",
        ] {
            assert!(metadata.contains(text), "{metadata}");
            let parquet = std::fs::read(sample.path("x.parquet")).unwrap();
            let parquet = String::from_utf8_lossy(&parquet);
            assert!(parquet.contains(text), "{text}");
        }
        assert!(!metadata.contains("KEY"));
        let info = sample.ok(&format!("info {head}")).stdout;
        assert!(
            info.contains("head") && info.contains("block 160; the 34 blocks"),
            "{info}"
        );
        let info = json(&sample.ok(&format!("info --json {head}")).stdout);
        assert_eq!(
            (&info["head"], &info["tip"]["number"]),
            (&160.into(), &126.into())
        );
    }
}

#[test]
fn transactions_are_found_on_both_sides() {
    for sample in samples() {
        let (server, head) = server(&sample);
        let all = sample.rows(&format!(
            "transfers -q --with-internal -b 127: -f csv -o - {head}"
        ));
        let mut compared = 0;
        for line in sample.fixture.lines("receipts").skip(TIP - 3) {
            for receipt in line["receipts"].as_array().unwrap() {
                let block = number(&receipt["blockNumber"]);
                let index = number(&receipt["transactionIndex"]);
                let hash = receipt["transactionHash"].as_str().unwrap();
                if !index.is_multiple_of(3) {
                    continue;
                }
                let found = json(&sample.ok(&format!("tx -q --json {hash} {head}")).stdout);
                let place = format!("tx -q --json {block}:{index} {head}");
                assert_eq!(json(&sample.ok(&place).stdout), found);
                assert_eq!(found["block_number"], block);
                assert_eq!(found["success"], receipt["status"] == "0x1");
                assert_eq!(found["gas_used"], number(&receipt["gasUsed"]));
                assert_eq!(
                    found["sender"].as_str().unwrap().to_lowercase(),
                    receipt["from"].as_str().unwrap()
                );
                let price = u128::from(number(&receipt["effectiveGasPrice"]));
                if receipt["blobGasUsed"].is_null() {
                    let fee = price * u128::from(number(&receipt["gasUsed"]));
                    assert_eq!(found["fee"], fee.to_string());
                }
                if block <= TIP as u64 {
                    continue;
                }
                compared += 1;
                let of_transaction = all.iter().filter(|row| row["transaction_hash"] == hash);
                let values: Vec<_> = of_transaction.map(|row| row["value"].as_str()).collect();
                let moved = found["transfers"].as_array().unwrap().iter();
                let moved: Vec<_> = moved.map(|row| row["value"].as_str().unwrap()).collect();
                assert_eq!(moved, values, "{block}:{index}");
            }
        }
        assert!(compared > 10, "{compared}");
        server.limit(|limits| {
            limits
                .without
                .extend(["debug_traceBlockByNumber", "trace_block"])
        });
        sample
            .ok(&format!(
                "tx {}:0 {head}",
                newest_with_transactions(&sample)
            ))
            .says("inside of the transaction are not known");
        sample.fails(&format!("tx 161:0 {head}"), 3, "above the head, block 160");
    }
}

/// The newest block whose first transaction succeeded.
fn newest_with_transactions(sample: &Sample) -> u64 {
    let lines = sample.fixture.lines("receipts");
    let good = lines.filter(|line| line["receipts"][0]["status"] == "0x1");
    number(&good.last().unwrap()["receipts"][0]["blockNumber"])
}

#[test]
fn columns_of_transactions_are_read_on_both_sides() {
    for sample in samples() {
        let (_server, head) = server(&sample);
        let line = "transfers -q -b 120:161 -f csv -o - --columns \
                    transaction_hash,transaction_from,transaction_to,status";
        let found = sample.rows(&format!("{line} {head}"));
        let mut compared = 0;
        for line in sample.fixture.lines("receipts") {
            for receipt in line["receipts"].as_array().unwrap() {
                let hash = receipt["transactionHash"].as_str().unwrap();
                for row in found.iter().filter(|row| row["transaction_hash"] == hash) {
                    let text = |name: &str| receipt[name].as_str().unwrap_or_default();
                    assert_eq!(row["transaction_from"].to_lowercase(), text("from"));
                    assert_eq!(row["transaction_to"].to_lowercase(), text("to"));
                    assert_eq!(row["status"] == "1", text("status") == "0x1");
                    compared += 1;
                }
            }
        }
        let transactions = found
            .iter()
            .filter(|row| !row["transaction_hash"].is_empty());
        assert_eq!(compared, transactions.count());
    }
}

#[test]
fn an_address_has_its_transfers_up_to_the_head() {
    for sample in samples() {
        let (server, head) = server(&sample);
        let all = sample
            .ok(&format!("transfers -q -b 150: -f csv -o - {head}"))
            .stdout;
        let row = &rows(&all)[0];
        let line = format!("address -q --json {}", row["to_address"]);
        let joined = json(&sample.ok(&format!("{line} {head}")).stdout);
        let alone = json(
            &sample
                .ok(&format!("{line} --source rpc:{}", server.url()))
                .stdout,
        );
        for part in ["received", "sent"] {
            assert_eq!(joined[part], alone[part], "{part}");
        }
        // Only a source with a state knows what the genesis allocated.
        assert!(alone["balance_before"].is_null(), "{alone}");
        if joined["balance_before"]["value"] == "0" {
            assert_eq!(joined["first_funding"], alone["first_funding"]);
        }
        assert_eq!(
            joined["first_sent"]["transfer"],
            alone["first_sent"]["transfer"]
        );
    }
}

#[test]
fn what_only_files_have_ends_with_them() {
    for sample in samples() {
        let (server, head) = server(&sample);
        let account = "0x0000000000000000000000000000000000000001";
        for line in [
            format!("balance {account} --block 150"),
            format!("call {account} f() --block 150"),
            "replay verify -b 150".to_owned(),
            "replay trace call --tx 150:0".to_owned(),
            "era export -o e -b 150".to_owned(),
        ] {
            let run = sample.run(&format!("{line} {head}")).ended(3);
            for words in [
                "is above the tip 126 on disk",
                "ask for blocks up to 126, or wait",
            ] {
                run.says(words);
            }
        }
        sample
            .run(&format!("era export -q -o e -b 100: {head}"))
            .ended(0);
        // Queries that need no block above the files do not depend on traces.
        server.limit(|limits| {
            limits
                .without
                .extend(["debug_traceBlockByNumber", "trace_block"])
        });
        sample.fails(
            &format!("transfers --with-internal -b 127: {head}"),
            2,
            "offers neither",
        );
        sample.fails(
            &format!("transfers -b 100:170 {head}"),
            3,
            "161:170 (above the newest block",
        );
        sample
            .ok(&format!("transfers -b 100:170 --allow-partial {head}"))
            .says("9 blocks are missing");
    }
}

#[test]
fn servers_of_other_nodes_are_refused() {
    for sample in samples() {
        let other = Sample::small();
        let (_server, head) = server(&other);
        sample.fails(&format!("transfers {head}"), 2, "belongs to chain 735703");
        // A branch that leaves the node's below the end of its files.
        let (server, head) = server(&sample);
        server.fail("eth_chainId", 1, Fault::Reorganization(120));
        sample
            .run(&format!("transfers {head}"))
            .ended(1)
            .says("block 126 is 0x")
            .says("different branches");
        sample.run(&format!("transfers -b 150: {head}")).ended(1);
        // Blocks of the files need no server.
        sample.ok(&format!("transfers -q -b 0:110 {head}"));
        sample.fails(
            "transfers --source era:x --head http://localhost:1",
            2,
            "completes the data directory",
        );
    }
}

/// The blocks that are only in memory are replaced at every moment of a query.
#[test]
fn reorganizations_above_the_files_are_read_again() {
    for sample in samples() {
        for (method, after) in [
            ("eth_getBlockByNumber", 2),
            ("eth_getBlockByNumber", 3),
            ("eth_getBlockByNumber", 4),
            ("eth_getBlockByNumber", 5),
            ("eth_getBlockReceipts", 0),
            ("eth_getBlockReceipts", 1),
            ("eth_getBlockReceipts", 2),
        ] {
            for first in [TIP + 1, 140] {
                let (server, head) = server(&sample);
                let fault = Fault::Reorganization(first as u64);
                server.fail_after(method, after, fault);
                let line = "transfers -q --chunk-blocks 8 -o x.csv --overwrite";
                sample.ok(&format!("{line} {head}"));
                if server.faults_left() > 0 {
                    continue;
                }
                let found = sample.read("x.csv");
                let metadata = json(&sample.read("x.csv.meta.json")).to_string();
                assert!(metadata.contains(&server.block_hash(HEAD)), "{metadata}");
                let whole = format!("transfers -q -f csv -o - --source rpc:{}", server.url());
                assert!(
                    found == sample.ok(&whole).stdout,
                    "{method} {after} {first}"
                );
            }
        }
    }
}

#[test]
fn settings_name_the_head() {
    let sample = or_skip!(samples().pop());
    let (server, _head) = server(&sample);
    let count = |run: Run| run.ended(0).rows().len();
    let line = "transfers -q -b 120: -f csv -o -";
    let stored = count(sample.run(line));
    let mut command = sample.command();
    command.env("TXGRAPH_HEAD", server.url());
    let from_environment = count(run(command.args(line.split_whitespace())));
    assert!(stored < from_environment);
    let datadir = format!("--datadir {}", sample.fixture.path().display());
    let beside_an_option = command.args(datadir.split_whitespace());
    assert_eq!(count(run(beside_an_option)), from_environment);
    let text = format!(
        "[node]\ndatadir = '{}'\nhead = '{}'\n",
        sample.fixture.path().display(),
        server.url()
    );
    std::fs::write(sample.path("c.toml"), text).unwrap();
    let line = format!("{line} --config c.toml");
    let found = ask(sample.folder.path(), &line);
    assert_eq!(count(found), from_environment);
    // It belongs to the source that the file names.
    let line = format!("{line} {datadir}");
    assert_eq!(count(ask(sample.folder.path(), &line)), stored);
}
