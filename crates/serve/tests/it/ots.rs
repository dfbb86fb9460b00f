//! `ots_*`: level 8 of Otterscan's interface.

use crate::{
    harness::{Served, number, small},
    traces::is_precompile,
};
use serde_json::{Value, json};
use txgraph_testkit::{fixtures, or_skip};

#[test]
fn blocks_are_shown_with_their_fees() {
    let fixture = small();
    let served = Served::new(&fixture);
    served.answers("ots_getApiLevel", json!([]), 8);
    let receipts: Vec<Value> = fixture.lines("receipts").collect();
    for block in fixture.lines("blocks").step_by(3) {
        let at = &block["number"];
        let details = served.result("ots_getBlockDetails", json!([at]));
        let same = served.result("ots_getBlockDetailsByHash", json!([block["hash"]]));
        assert_eq!(details, same);
        let transactions = block["transactions"].as_array().unwrap();
        let mut expected = block.clone();
        expected.as_object_mut().unwrap().remove("transactions");
        expected["transactionCount"] = json!(transactions.len());
        assert_eq!(details["block"], expected);
        let of_block = &receipts[usize::try_from(number(at)).unwrap()]["receipts"];
        let fees: u128 = (of_block.as_array().unwrap().iter())
            .map(|it| number(&it["gasUsed"]) * number(&it["effectiveGasPrice"]))
            .sum();
        assert_eq!(details["totalFees"], format!("{fees:#x}"));
        assert_eq!(details["issuance"]["blockReward"], "0x0");
        let header = served.result("erigon_getHeaderByNumber", json!([at]));
        for (name, value) in header.as_object().unwrap() {
            assert_eq!(*value, block[name], "{name}");
        }
        // Pages are counted from the end of the block.
        let (mut paged, size) = (Vec::new(), 5);
        for page in 0..transactions.len().div_ceil(size) {
            let found = served.result("ots_getBlockTransactions", json!([at, page, size]));
            assert_eq!(found["fullblock"]["transactionCount"], transactions.len());
            let shown = found["fullblock"]["transactions"]
                .as_array()
                .unwrap()
                .clone();
            let of_page = found["receipts"].as_array().unwrap();
            assert_eq!(of_page.len(), shown.len());
            for (it, receipt) in shown.iter().zip(of_page) {
                assert_eq!(it["hash"], receipt["transactionHash"]);
                assert_eq!(receipt["logs"], json!([]));
                assert!(it["input"].as_str().unwrap().len() <= 10);
                assert!(it["gasPrice"].is_string());
            }
            paged.splice(0..0, shown.into_iter().map(|it| it["hash"].clone()));
        }
        let hashes: Vec<_> = transactions.iter().map(|it| it["hash"].clone()).collect();
        assert_eq!(paged, hashes);
    }
    served.answers("ots_getBlockDetails", json!([41]), Value::Null);
    served.refuses("ots_getBlockTransactions", json!([4, 0, 1001]), -32602);
}

/// The call trees of the node name all who take part in a transaction.
#[test]
fn searches_find_senders_receivers_and_internal_calls() {
    let fixture = or_skip!(fixtures::fixture("small/v2"));
    let served = Served::new(&fixture);
    let mut all: Vec<(u64, Value, Vec<String>)> = Vec::new();
    for line in fixture.lines("call-traces").skip(1) {
        for one in line["result"].as_array().unwrap() {
            let mut names = Vec::new();
            taking_part(&one["result"], &mut names);
            all.push((
                line["block"].as_u64().unwrap(),
                one["txHash"].clone(),
                names,
            ));
        }
    }
    let mut addresses: Vec<&String> = all.iter().flat_map(|(.., names)| names).collect();
    addresses.sort();
    addresses.dedup();
    let sample = addresses.iter().step_by(addresses.len() / 12);
    for address in sample {
        let of_address = all.iter().filter(|(.., names)| names.contains(address));
        let newest: Vec<_> = of_address
            .rev()
            .map(|(block, hash, _)| (*block, hash.clone()))
            .collect();
        for size in [1, 4, 1000] {
            // From the tip to the genesis, page by page.
            let (mut found, mut before) = (Vec::new(), 0);
            for turn in 0.. {
                let page = served.result(
                    "ots_searchTransactionsBefore",
                    json!([address, before, size]),
                );
                let hashes = hashes(&page);
                assert_eq!(page["firstPage"], turn == 0);
                before = last_block(&page).unwrap_or(before);
                found.extend(hashes);
                if page["lastPage"] == true {
                    break;
                }
            }
            let expected: Vec<_> = newest.iter().map(|(_, hash)| hash.clone()).collect();
            assert_eq!(found, expected, "{address} {size}");
            // And back.
            let (mut found, mut after) = (Vec::new(), 0);
            for turn in 0.. {
                let page =
                    served.result("ots_searchTransactionsAfter", json!([address, after, size]));
                assert_eq!(page["lastPage"], turn == 0);
                after = first_block(&page).unwrap_or(after);
                found.splice(0..0, hashes(&page));
                if page["firstPage"] == true {
                    break;
                }
            }
            assert_eq!(found, expected, "{address} {size}");
        }
    }
}

fn hashes(page: &Value) -> Vec<Value> {
    let transactions = page["txs"].as_array().unwrap();
    let receipts = page["receipts"].as_array().unwrap();
    assert_eq!(transactions.len(), receipts.len());
    for (it, receipt) in transactions.iter().zip(receipts) {
        assert_eq!(it["hash"], receipt["transactionHash"]);
        assert_eq!(receipt["timestamp"], it["blockTimestamp"]);
        assert!(receipt["logs"].is_array());
    }
    transactions.iter().map(|it| it["hash"].clone()).collect()
}

fn last_block(page: &Value) -> Option<u64> {
    let last = page["txs"].as_array().unwrap().last()?;
    Some(u64::try_from(number(&last["blockNumber"])).unwrap())
}

fn first_block(page: &Value) -> Option<u64> {
    let first = page["txs"].as_array().unwrap().first()?;
    Some(u64::try_from(number(&first["blockNumber"])).unwrap())
}

fn taking_part(call: &Value, names: &mut Vec<String>) {
    for end in ["from", "to"] {
        if let Some(name) = call.get(end).and_then(Value::as_str) {
            names.push(name.to_owned());
        }
    }
    for child in call["calls"].as_array().into_iter().flatten() {
        taking_part(child, names);
    }
}

#[test]
fn transactions_are_traced() {
    let fixture = or_skip!(fixtures::fixture("small/v2"));
    let served = Served::new(&fixture);
    let (mut calls, mut errors, mut operations) = (0, 0, 0);
    for line in fixture.lines("call-traces").skip(1).step_by(3) {
        let block = line["block"].as_u64().unwrap();
        for one in line["result"].as_array().unwrap() {
            let hash = &one["txHash"];
            let trace = served.result("ots_traceTransaction", json!([hash]));
            let mut expected = Vec::new();
            flatten(&one["result"], (block, 0), &mut expected);
            let found: Vec<_> = (trace.as_array().unwrap().iter())
                .map(|it| json!([it["type"], it["depth"], it["from"], it["input"]]))
                .collect();
            assert_eq!(found, expected, "{hash}");
            calls += found.len();
            let error = served.result("ots_getTransactionError", json!([hash]));
            let root = &one["result"];
            if root["error"] == "execution reverted" {
                errors += 1;
                assert_eq!(error, root.get("output").cloned().unwrap_or(json!("0x")));
            } else {
                assert_eq!(error, "0x");
            }
            let found = served.result("ots_getInternalOperations", json!([hash]));
            operations += found.as_array().unwrap().len();
        }
    }
    assert!(
        calls > 100 && errors > 2 && operations > 5,
        "{calls} {errors} {operations}"
    );
}

fn flatten(call: &Value, (block, depth): (u64, usize), all: &mut Vec<Value>) {
    all.push(json!([call["type"], depth, call["from"], call["input"]]));
    let calls = call["calls"].as_array().into_iter().flatten();
    for child in calls.filter(|it| !is_precompile(it, block)) {
        flatten(child, (block, depth + 1), all);
    }
}

#[test]
fn senders_and_creators_are_found() {
    let fixture = small();
    let served = Served::new(&fixture);
    let by_nonce = "ots_getTransactionBySenderAndNonce";
    let mut checked = 0;
    for block in fixture.lines("blocks").step_by(5) {
        for it in block["transactions"].as_array().unwrap().iter().step_by(4) {
            let nonce = u64::try_from(number(&it["nonce"])).unwrap();
            let params = json!([it["from"], nonce]);
            served.answers(by_nonce, params.clone(), it["hash"].clone());
            // The method of nodes, which foundry asks.
            served.answers("eth_getTransactionBySenderAndNonce", params, it.clone());
            checked += 1;
        }
    }
    assert!(checked > 10);
    let deployer = fixture.truth["accounts"]["deployer"].as_str().unwrap();
    served.answers(by_nonce, json!([deployer, 1_000_000]), Value::Null);
    let token = fixture.truth["tokens"]["usd6"]["address"].as_str().unwrap();
    let creator = served.result("ots_getContractCreator", json!([token]));
    assert_eq!(creator["creator"], deployer);
    let receipt = served.result("eth_getTransactionReceipt", json!([creator["hash"]]));
    assert_eq!(receipt["contractAddress"], token);
    served.answers("ots_getContractCreator", json!([deployer]), Value::Null);
    served.answers("ots_hasCode", json!([token, "latest"]), true);
    served.answers("ots_hasCode", json!([token, 0]), false);
}

#[test]
fn delegated_accounts_have_no_creator() {
    let fixture = or_skip!(fixtures::fixture("dev-v2"));
    let served = Served::new(&fixture);
    let delegated = "0x599a947fbb6ca1945a8cf1dbca79a52c3712e57a";
    assert!(
        (served
            .result("eth_getCode", json!([delegated, "latest"]))
            .as_str())
        .is_some_and(|code| code.starts_with("0xef0100"))
    );
    served.answers("ots_getContractCreator", json!([delegated]), Value::Null);
    let token = "0xde1b6df4b28b22e89b3074080a56d2f8038f88f0";
    let both = format!("{token},{delegated}");
    let rows = served.rows(&format!(
        "module=contract&action=getcontractcreation&contractaddresses={both}"
    ));
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["contractAddress"], token);
}

/// The state of old blocks is pruned, and the nonces of later ones are known all the same.
#[test]
fn nonces_are_found_where_old_states_are_pruned() {
    let fixture = or_skip!(fixtures::fixture("pruned/dev-v2-distance"));
    let served = Served::new(&fixture);
    let by_nonce = "ots_getTransactionBySenderAndNonce";
    let block = served.result("eth_getBlockByNumber", json!(["0x316", true]));
    let transactions = block["transactions"].as_array().unwrap();
    assert!(!transactions.is_empty());
    for it in transactions {
        let params = json!([it["from"], it["nonce"]]);
        served.answers(by_nonce, params, it["hash"].clone());
    }
    // A block whose state is pruned.
    let block = served.result("eth_getBlockByNumber", json!(["0x64", true]));
    let old = &block["transactions"][0];
    served.refuses(by_nonce, json!([old["from"], old["nonce"]]), 4444);
}
