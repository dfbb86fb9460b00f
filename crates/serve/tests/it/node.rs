//! `eth_*` equals the answers of the node that wrote the fixtures, value by value.

use crate::harness::{Served, number, small};
use serde_json::{Value, json};
use std::{collections::BTreeSet, time::SystemTime};
use txgraph_testkit::{
    fixtures::{self, Fixture},
    or_skip,
};

/// The chains with the answers of their node.
fn chains() -> Vec<Fixture> {
    let large = ["dev-v1", "dev-v2", "long-v2"].into_iter();
    fixtures::committed()
        .into_iter()
        .chain(large.filter_map(fixtures::fixture))
        .collect()
}

/// The step with which long chains are compared.
fn step(fixture: &Fixture) -> usize {
    usize::try_from(fixture.tip().unwrap() / 200 + 1).unwrap()
}

#[test]
fn blocks_and_transactions_are_those_of_the_node() {
    for fixture in chains().into_iter().filter(|it| it.has("blocks")) {
        let served = Served::new(&fixture);
        let tip = fixture.tip().unwrap();
        assert_eq!(
            number(&served.result("eth_blockNumber", json!([]))),
            u128::from(tip)
        );
        let chain_id = fixture.chain_id().unwrap();
        assert_eq!(
            number(&served.result("eth_chainId", json!([]))),
            u128::from(chain_id)
        );
        served.answers("net_version", json!([]), chain_id.to_string());
        let mut kinds = BTreeSet::new();
        for block in fixture.lines("blocks").step_by(step(&fixture)) {
            let (at, hash) = (&block["number"], &block["hash"]);
            served.answers("eth_getBlockByNumber", json!([at, true]), block.clone());
            served.answers("eth_getBlockByHash", json!([hash, true]), block.clone());
            let transactions = block["transactions"].as_array().unwrap();
            let hashes: Vec<_> = transactions.iter().map(|it| it["hash"].clone()).collect();
            let short = served.result("eth_getBlockByNumber", json!([at, false]));
            assert_eq!(short["transactions"], json!(hashes));
            let count = format!("{:#x}", hashes.len());
            let counted = served.result("eth_getBlockTransactionCountByHash", json!([hash]));
            assert_eq!(counted, count);
            served.answers("eth_getUncleCountByBlockNumber", json!([at]), "0x0");
            for it in transactions {
                // One of each kind, and the first of each block.
                let kind = (it["type"].clone().to_string(), it["to"].is_null());
                if !kinds.insert(kind) && it["transactionIndex"] != "0x0" {
                    continue;
                }
                let (hash, index) = (&it["hash"], &it["transactionIndex"]);
                served.answers("eth_getTransactionByHash", json!([hash]), it.clone());
                let by_place = "eth_getTransactionByBlockNumberAndIndex";
                served.answers(by_place, json!([at, index]), it.clone());
                let by_hash = "eth_getTransactionByBlockHashAndIndex";
                served.answers(by_hash, json!([block["hash"], index]), it.clone());
            }
        }
    }
}

#[test]
fn receipts_are_those_of_the_node() {
    for fixture in chains() {
        let served = Served::new(&fixture);
        let mut kinds = BTreeSet::new();
        for line in fixture.lines("receipts").step_by(step(&fixture)) {
            let block = format!("{:#x}", line["block"].as_u64().unwrap());
            let found = served.result("eth_getBlockReceipts", json!([block]));
            assert_eq!(found, line["receipts"], "{} {block}", fixture.name);
            for it in line["receipts"].as_array().unwrap() {
                let kind = (
                    it["type"].to_string(),
                    it["status"].to_string(),
                    it["to"].is_null(),
                );
                if kinds.insert(kind) {
                    let hash = &it["transactionHash"];
                    served.answers("eth_getTransactionReceipt", json!([hash]), it.clone());
                }
            }
        }
    }
}

#[test]
fn logs_are_those_of_the_node() {
    for fixture in chains() {
        let served = Served::new(&fixture);
        for line in fixture.lines("logs") {
            let found = served.result("eth_getLogs", json!([line["params"]]));
            assert_eq!(found, line["result"], "{} {}", fixture.name, line["params"]);
        }
    }
}

#[test]
fn states_are_those_of_the_node() {
    for fixture in chains() {
        let served = Served::new(&fixture);
        let wrong = fixture.chain_info["node_answers_that_are_wrong"].as_array();
        let wrong = wrong.cloned().unwrap_or_default();
        let mut compared = 0;
        for line in fixture.lines("state").step_by(7) {
            let (method, params) = (line["method"].as_str().unwrap(), &line["params"]);
            let is_wrong = wrong.iter().any(|it| {
                it["address"] == params[0]
                    && it["block"].as_u64().map(|at| format!("{at:#x}").into())
                        == Some(params[params.as_array().unwrap().len() - 1].clone())
            });
            if is_wrong {
                continue;
            }
            let found = served.result(method, params.clone());
            assert_eq!(found, line["result"], "{} {method} {params}", fixture.name);
            compared += 1;
        }
        assert!(compared > 100, "{compared}");
    }
}

/// Calls of tokens, at the tip and in the past, and what reverts.
#[test]
fn calls_run_on_the_state_of_any_block() {
    let fixture = small();
    let served = Served::new(&fixture);
    let token = fixture.truth["tokens"]["usd6"]["address"].as_str().unwrap();
    let decimals = json!({ "to": token, "data": "0x313ce567" });
    let six = format!("0x{:064x}", 6);
    served.answers("eth_call", json!([decimals, "latest"]), six.clone());
    served.answers("eth_call", json!([decimals]), six.clone());
    // Before the contract.
    served.answers("eth_call", json!([decimals, "0x0"]), "0x");
    for (tag, number) in [("safe", "0x26"), ("finalized", "0x24"), ("latest", "0x28")] {
        let block = served.result("eth_getBlockByNumber", json!([tag, false]));
        assert_eq!(block["number"], number, "{tag}");
    }
    let hash = served.result("eth_getBlockByNumber", json!(["latest", false]))["hash"].clone();
    served.answers(
        "eth_call",
        json!([decimals, { "blockHash": hash }]),
        six.clone(),
    );
    served.answers("eth_call", json!([decimals, hash]), six.clone());
    let unknown = format!("0x{}", "12".repeat(32));
    served.refuses("eth_call", json!([decimals, unknown]), -32000);
    // A transfer without a balance.
    let to = "0000000000000000000000000000000000000000000000000000000000000001";
    let transfer = json!({ "to": token, "input": format!("0xa9059cbb{to}{to}") });
    let answer = served.ask("eth_call", &json!([transfer, "latest"]));
    assert_eq!(answer["error"]["code"], 3, "{answer}");
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("execution reverted"), "{message}");
    assert!(answer["error"]["data"].as_str().unwrap().starts_with("0x"));
    // Another code for one call.
    let five = "0x600560005260206000f3";
    let overrides = json!({ token: { "code": five } });
    let found = served.result("eth_call", json!([decimals, "latest", overrides]));
    assert_eq!(found, format!("0x{:064x}", 5));
    let (code, _) = served.error("eth_call", json!([{ "to": "0x12" }, "latest"]));
    assert_eq!(code, -32602);
}

/// The fields of a transaction that a call can have.
#[test]
fn calls_see_what_a_transaction_would() {
    let fixture = small();
    let served = Served::new(&fixture);
    let to = "0x0000000000000000000000000000000000001234";
    let from = "0x0000000000000000000000000000000000005678";
    // Return GASPRICE, and GAS.
    let [price, gas] = ["3a", "5a"].map(|code| {
        json!({
            to: { "code": format!("0x{code}60005260206000f3") },
            from: { "balance": "0xde0b6b3a7640000" },
        })
    });
    let word = |number: u64| format!("0x{number:064x}");
    let call = |fields: Value| {
        let mut call = json!({ "from": from, "to": to });
        let call_fields = call.as_object_mut().unwrap();
        call_fields.append(&mut fields.as_object().unwrap().clone());
        call
    };
    let header = served.result("eth_getBlockByNumber", json!(["latest", false]));
    let base_fee = u64::try_from(number(&header["baseFeePerGas"])).unwrap();
    let billion = 1_000_000_000;
    for (fields, expected) in [
        (json!({}), 0),
        (json!({ "gasPrice": "0x3b9aca00" }), billion),
        (json!({ "maxFeePerGas": "0x3b9aca00" }), base_fee),
        (
            json!({ "maxFeePerGas": "0x3b9aca00", "maxPriorityFeePerGas": "0x1" }),
            base_fee + 1,
        ),
        (json!({ "maxPriorityFeePerGas": "0x2" }), base_fee + 2),
        (
            json!({ "accessList": [], "chainId": "0xb39d7", "blobVersionedHashes": null }),
            0,
        ),
        (
            json!({ "accessList": [{ "address": to, "storageKeys": [] }] }),
            0,
        ),
        (
            json!({ "blobVersionedHashes": [format!("0x01{:062x}", 7)] }),
            0,
        ),
    ] {
        let params = json!([call(fields.clone()), "latest", price]);
        let found = served.result("eth_call", params);
        assert_eq!(found, word(expected), "{fields}");
    }
    // 21,000 are gone before the first instruction, which itself takes 2.
    let params = json!([call(json!({ "gas": "0x7530" })), "latest", gas]);
    served.answers("eth_call", params, word(30_000 - 21_000 - 2));
    let large = format!("0x{}", "00".repeat(49_153));
    let refused = |call: Value, code: i64, words: &str| {
        let (found, message) = served.error("eth_call", json!([call, "latest", price]));
        assert_eq!(found, code, "{call:.200}: {message}");
        assert!(message.contains(words), "{message}");
    };
    for (fields, code, words) in [
        (json!({ "gas": "0x5207" }), -32000, "intrinsic gas too low"),
        (
            json!({ "blobVersionedHashes": [word(7)] }),
            -32000,
            "blob hash of an unknown version",
        ),
        (json!({ "chainId": "0x1" }), -32602, "chainId"),
        (
            json!({ "gasPrice": "0x1" }),
            -32000,
            "less than block base fee",
        ),
        (
            json!({ "gasPrice": "0x3b9aca00", "maxFeePerGas": "0x3b9aca00" }),
            -32602,
            "excludes",
        ),
        (
            json!({ "gasPrice": "0x3b9aca000000", "gas": "0x7530" }),
            -32000,
            "insufficient funds",
        ),
        (
            json!({ "value": "0xde0b6b3a7640001" }),
            -32000,
            "have 1000000000000000000 want",
        ),
    ] {
        refused(call(fields), code, words);
    }
    refused(
        json!({ "data": large }),
        -32000,
        "max initcode size exceeded",
    );
}

/// The answer is `null` for what the chain does not have, and an error for what cannot be known.
#[test]
fn what_is_not_there_is_null_or_an_error() {
    let served = Served::new(&small());
    let none = format!("0x{:064x}", 1);
    for method in [
        "eth_getBlockByHash",
        "eth_getTransactionByHash",
        "eth_getTransactionReceipt",
        "trace_transaction",
    ] {
        let params = match method {
            "eth_getBlockByHash" => json!([none, false]),
            _ => json!([none]),
        };
        assert_eq!(served.result(method, params), Value::Null, "{method}");
    }
    served.answers("eth_getBlockByNumber", json!(["0x29", true]), Value::Null);
    let logs = |from: &str, to: &str| json!([{ "fromBlock": from, "toBlock": to }]);
    let (code, message) = served.error("eth_getLogs", logs("0x0", "0x29"));
    assert_eq!(code, -32000);
    assert!(message.contains("block 41 is above 40"), "{message}");
    served.refuses("eth_getLogs", logs("0x5", "0x4"), -32602);
    let account = "0xcc346449a79058a09ecf17cc9d8f9ec64b3c7529";
    served.refuses("eth_getBalance", json!([account, "0x29"]), -32000);
    served.refuses("eth_getBalance", json!([account, "pending"]), -32000);
    // ethers 5 asks again without an end after `null`.
    served.refuses("eth_getBlockByNumber", json!(["pending", false]), -32000);
    served.refuses("eth_sendRawTransaction", json!(["0x00"]), -32601);
    // ethers asks for logs instead after these words.
    served.refuses("eth_newPendingTransactionFilter", json!([]), -32601);
}

/// How filters follow a chain is in `live`.
#[test]
fn filters_have_all_logs_of_their_range() {
    let served = Served::new(&small());
    let asked = json!([{ "fromBlock": "0x3", "toBlock": "0x9", "address": null, "topics": [] }]);
    let id = json!([served.result("eth_newFilter", asked.clone())]);
    let logs = served.result("eth_getLogs", asked);
    assert!(!logs.as_array().unwrap().is_empty());
    served.answers("eth_getFilterLogs", id.clone(), logs);
    served.answers("eth_getFilterChanges", id.clone(), json!([]));
    served.answers("eth_uninstallFilter", id.clone(), true);
    served.answers("eth_uninstallFilter", id.clone(), false);
    for method in ["eth_getFilterChanges", "eth_getFilterLogs"] {
        let (code, message) = served.error(method, id.clone());
        assert_eq!((code, message.as_str()), (-32000, "filter not found"));
    }
    let blocks = json!([served.result("eth_newBlockFilter", json!([]))]);
    served.answers("eth_getFilterChanges", blocks.clone(), json!([]));
    served.refuses("eth_getFilterLogs", blocks, -32000);
    served.refuses("eth_newFilter", json!([{ "topics": "0x" }]), -32602);
    let long = json!([{ "more": "x".repeat(16 << 10) }]);
    served.refuses("eth_newFilter", long, -32005);
    for _ in 0..1_023 {
        served.result("eth_newBlockFilter", json!([]));
    }
    served.refuses("eth_newFilter", json!([{}]), -32005);
}

#[test]
fn fees_follow_from_the_newest_blocks() {
    let fixture = small();
    let served = Served::new(&fixture);
    let blocks: Vec<Value> = fixture.lines("blocks").collect();
    let mut fees = Vec::new();
    for block in &blocks[blocks.len() - 20..] {
        let all = block["transactions"].as_array().unwrap().iter();
        let all = all.filter(|it| it["from"] != block["miner"]);
        let all = all.map(|it| number(&it["gasPrice"]) - number(&block["baseFeePerGas"]));
        let mut paid: Vec<_> = all.filter(|fee| *fee > 0).collect();
        paid.sort_unstable();
        fees.extend(paid.into_iter().take(3));
    }
    fees.sort_unstable();
    let fee = fees[(fees.len() - 1) * 60 / 100];
    let base_fee = number(&blocks[blocks.len() - 1]["baseFeePerGas"]);
    let expected = format!("{fee:#x}");
    served.answers("eth_maxPriorityFeePerGas", json!([]), expected);
    let expected = format!("{:#x}", base_fee + fee);
    served.answers("eth_gasPrice", json!([]), expected);
    let history = served.result("eth_feeHistory", json!(["0x4", "0x1e", [0, 100]]));
    assert_eq!(history["oldestBlock"], "0x1b");
    let base_fees = blocks[27..=31].iter();
    let base_fees: Value = base_fees.map(|it| it["baseFeePerGas"].clone()).collect();
    assert_eq!(history["baseFeePerGas"], base_fees);
    for (at, block) in blocks[27..=30].iter().enumerate() {
        let [used, limit] = ["gasUsed", "gasLimit"].map(|name| number(&block[name]) as f64);
        let ratio = history["gasUsedRatio"][at].as_f64().unwrap();
        assert!((ratio - used / limit).abs() < 1e-9, "{ratio}");
        let all = block["transactions"].as_array().unwrap().iter();
        let fees = all.map(|it| number(&it["gasPrice"]) - number(&block["baseFeePerGas"]));
        let (least, most) = fees.fold((u128::MAX, 0), |(least, most), fee| {
            (least.min(fee), most.max(fee))
        });
        let expected = [least, most].map(|fee| format!("{fee:#x}"));
        assert_eq!(history["reward"][at], json!(expected), "{at}");
    }
    // The last one is of the block that comes next.
    let history = served.result("eth_feeHistory", json!([100, "latest"]));
    assert_eq!(history["oldestBlock"], "0x0");
    assert_eq!(history["baseFeePerGas"].as_array().unwrap().len(), 42);
    assert_eq!(history.get("reward"), None);
    for wrong in [json!([50, 25]), json!([101]), json!("0x1"), json!(["1"])] {
        served.refuses("eth_feeHistory", json!(["0x1", "latest", wrong]), -32602);
    }
}

/// A range without its receipts is an error, whatever is asked.
#[test]
fn pruned_blocks_are_an_error_and_never_an_empty_list() {
    for name in [
        "pruned/dev-v1-receipts",
        "pruned/dev-v2-distance",
        "pruned/small-v2-logfilter",
    ] {
        let fixture = or_skip!(fixtures::fixture(name));
        let served = Served::new(&fixture);
        let filter = json!([{ "fromBlock": "0x0", "toBlock": "latest" }]);
        let (code, message) = served.error("eth_getLogs", filter);
        assert_eq!(code, 4444, "{name}: {message}");
        assert!(message.contains("receipts"), "{name}: {message}");
        let (code, _) = served.error("eth_getBlockReceipts", json!(["0x14"]));
        assert_eq!(code, 4444, "{name}");
        let account = "0xcc346449a79058a09ecf17cc9d8f9ec64b3c7529";
        // Its transactions are there, but not their receipts.
        let sender = (1..60).find_map(|number| {
            let block = json!([format!("{number:#x}"), true]);
            let block = served.ask("eth_getBlockByNumber", &block);
            let sender = block["result"]["transactions"][0]["from"].as_str();
            sender.map(str::to_owned)
        });
        let sender = sender.unwrap_or_else(|| account.to_owned());
        for query in [
            format!("module=account&action=tokentx&address={account}"),
            format!("module=account&action=txlist&address={sender}"),
            "module=logs&action=getLogs".to_owned(),
        ] {
            let response = served.get(&format!("/api?{query}"));
            let document = response.json();
            assert_eq!(document["status"], "0", "{name} {query}: {document}");
            assert_eq!(document["message"], "NOTOK", "{name} {query}: {document}");
            let why = document["result"].as_str().unwrap();
            let says = ["not available", "are missing"].map(|words| why.contains(words));
            assert!(says.contains(&true), "{name} {query}: {why}");
            assert_eq!(response.headers["x-txgraph-incomplete"], "1");
            assert_eq!(response.headers.get("etag"), None);
        }
    }
    let fixture = or_skip!(fixtures::fixture("pruned/dev-v2-distance"));
    // What is left equals the node's answers.
    let served = Served::new(&fixture);
    let full = fixture.full_chain().unwrap();
    let kept = full.lines("receipts").skip(600).step_by(20);
    for line in kept {
        let block = format!("{:#x}", line["block"].as_u64().unwrap());
        served.answers(
            "eth_getBlockReceipts",
            json!([block]),
            line["receipts"].clone(),
        );
    }
    let account = fixture.truth["accounts"]["deployer"].as_str();
    let account = account.unwrap_or("0x1b22c096214781abb941b35f9bebd1382aa279ba");
    served.refuses("eth_getBalance", json!([account, "0x5"]), 4444);
}

/// A node that stores its state later than its blocks answers at its newest block all the same.
#[test]
fn states_of_blocks_without_a_stored_state_are_executed() {
    let fixture = or_skip!(fixtures::fixture("masked/v2"));
    let served = Served::new(&fixture);
    let account = fixture.lines("state").next();
    let Some(line) = account else { return };
    let balance = served.result("eth_getBalance", json!([line["params"][0], "latest"]));
    assert!(balance.as_str().unwrap().starts_with("0x"));
}

/// Each answer says which block it is about.
#[test]
fn answers_state_their_block() {
    let fixture = small();
    let served = Served::new(&fixture);
    let hash = fixture.chain_info["tip_on_disk"]["hash"].as_str().unwrap();
    let block = format!("40 {hash}");
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}"#;
    assert_eq!(served.post(request).headers["x-txgraph-block"], block);
    let path = "/api?module=proxy&action=eth_blockNumber";
    let first = served.get(path);
    assert_eq!(first.headers["x-txgraph-block"], block);
    assert_eq!(first.json()["result"], "0x28");
    let tag = first.headers["etag"].clone();
    // Another process may answer otherwise.
    assert!(tag.starts_with(&format!("\"{hash}-")), "{tag}");
    let again = served.send("GET", path, &[("if-none-match", &tag)], "");
    assert_eq!((again.status, again.body.as_str()), (304, ""));
    assert_eq!(again.headers["etag"], tag);
    let many = format!("\"0x00\", W/{tag}");
    for held in [many.as_str(), "*"] {
        let again = served.send("GET", path, &[("if-none-match", held)], "");
        assert_eq!((again.status, again.body.as_str()), (304, ""), "{held}");
    }
    let other = served.send("GET", path, &[("if-none-match", "\"0x00\"")], "");
    assert_eq!(other.status, 200);
    assert_eq!(served.send("HEAD", path, &[], "").headers["etag"], tag);
    // Documents at other URLs have other tags, and what is not found has none.
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = now.unwrap().as_secs();
    let elsewhere = format!("/api?module=block&action=getblocknobytime&timestamp={now}");
    let elsewhere = served.send("GET", &elsewhere, &[("if-none-match", &tag)], "");
    assert_eq!(elsewhere.status, 200);
    // The clock can change this answer.
    assert_eq!(elsewhere.headers.get("etag"), None);
    let metrics = served.get("/metrics").body;
    let line = "txgraph_calls_total{name=\"block.getblocknobytime\",answered=\"true\"} 1";
    assert!(metrics.lines().any(|found| found == line), "{metrics}");
    let unknown = format!("/v1/transaction?hash=0x{:064x}", 1);
    for held in [tag.as_str(), "*"] {
        let unknown = served.send("GET", &unknown, &[("if-none-match", held)], "");
        assert_eq!(unknown.status, 404);
    }
    // An error is no document to be kept.
    let wrong = served.get("/api?module=account&action=balance&address=0x12");
    assert_eq!(wrong.headers.get("etag"), None);
    let health = served.get("/health");
    assert_eq!((health.status, &health.json()["block"]), (200, &json!(40)));
    let metrics = served.get("/metrics").body;
    let line = "txgraph_calls_total{name=\"eth_blockNumber\",answered=\"true\"} 1";
    assert!(metrics.lines().any(|found| found == line), "{metrics}");
    assert!(metrics.contains("\ntxgraph_tip_block 40\n"), "{metrics}");
}
