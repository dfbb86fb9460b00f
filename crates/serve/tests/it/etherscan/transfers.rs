//! Transfers of tokens, and of coins inside of transactions.

use super::{Chain, TRANSFER, amount, function_name, text};
use crate::harness::{Served, number, small};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use txgraph_testkit::{
    fixtures::{self, Fixture},
    or_skip,
};

/// The transfers of ERC-20 tokens, from the logs in the node's receipts.
fn token_rows(fixture: &Fixture, chain: &Chain, address: &str) -> Vec<Value> {
    let tokens: BTreeMap<String, &Map<String, Value>> = (fixture.truth["tokens"].as_object())
        .unwrap()
        .values()
        .map(|it| {
            (
                it["address"].as_str().unwrap().to_owned(),
                it.as_object().unwrap(),
            )
        })
        .collect();
    let mut rows = Vec::new();
    for (block, it, receipt) in chain.transactions() {
        for log in receipt["logs"].as_array().unwrap() {
            let topics = log["topics"].as_array().unwrap();
            let contract = log["address"].as_str().unwrap();
            let Some(token) = tokens.get(contract) else {
                continue;
            };
            let data = log["data"].as_str().unwrap();
            if topics.len() != 3 || topics[0] != TRANSFER || data.len() != 66 {
                continue;
            }
            let end = |topic: &Value| format!("0x{}", &topic.as_str().unwrap()[26..]);
            let (from, to) = (end(&topics[1]), end(&topics[2]));
            if from != address && to != address {
                continue;
            }
            let input = it["input"].as_str().unwrap();
            rows.push(json!({
                "blockNumber": text(&block["number"]),
                "timeStamp": text(&block["timestamp"]),
                "hash": it["hash"],
                "nonce": text(&it["nonce"]),
                "blockHash": block["hash"],
                "from": from,
                "contractAddress": contract,
                "to": to,
                "value": amount(data),
                "tokenName": token["name"],
                "tokenSymbol": token["symbol"],
                "tokenDecimal": token["decimals"].to_string(),
                "transactionIndex": text(&it["transactionIndex"]),
                "gas": text(&it["gas"]),
                "gasPrice": text(&it["gasPrice"]),
                "gasUsed": text(&receipt["gasUsed"]),
                "cumulativeGasUsed": text(&receipt["cumulativeGasUsed"]),
                "input": "deprecated",
                "methodId": if input.len() < 10 { "0x" } else { &input[..10] },
                "functionName": function_name(input),
                "confirmations": (40 - number(&block["number"])).to_string(),
            }));
        }
    }
    rows
}

#[test]
fn token_transfers_are_those_of_the_logs() {
    let fixture = small();
    let (served, chain) = (Served::new(&fixture), Chain::of(&fixture));
    let oza = fixture.truth["tokens"]["oza"]["address"].as_str().unwrap();
    // Tokens that the truth names, except the one whose events have no indexed ends; others of the
    // chain are left out of both sides.
    let known: Vec<_> = (fixture.truth["tokens"].as_object().unwrap().values())
        .filter(|it| it["kind"] != "unindexed")
        .map(|it| it["address"].clone())
        .collect();
    let mut compared = 0;
    for address in chain.busy(12) {
        let query = format!("module=account&action=tokentx&address={address}");
        let rows = served.rows(&query).into_iter();
        let rows: Vec<_> = rows
            .filter(|row| known.contains(&row["contractAddress"]))
            .collect();
        let expected = token_rows(&fixture, &chain, &address);
        assert_eq!(rows, expected, "{address}");
        let of_one = served.rows(&format!("{query}&contractaddress={oza}"));
        let expected: Vec<_> = (expected.into_iter())
            .filter(|row| row["contractAddress"] == oza)
            .collect();
        assert_eq!(of_one, expected);
        compared += rows.len();
    }
    assert!(compared > 50, "{compared}");
    let both = served.query("module=account&action=tokentx");
    assert_eq!(both["message"], "NOTOK", "{both}");
}

#[test]
fn transfers_of_nfts_have_ids() {
    let fixture = small();
    let served = Served::new(&fixture);
    let nft = fixture.truth["tokens"]["nft"]["address"].as_str().unwrap();
    let rows = served.rows(&format!(
        "module=account&action=tokennfttx&contractaddress={nft}"
    ));
    assert!(!rows.is_empty());
    for row in &rows {
        assert_eq!(
            (&row["tokenName"], &row["tokenSymbol"]),
            (&json!("Open Art"), &json!("ART"))
        );
        assert_eq!(row["tokenDecimal"], "0");
        row["tokenID"].as_str().unwrap().parse::<u64>().unwrap();
        assert_eq!(row.get("value"), None);
    }
    // The small chain has no transfers of this standard.
    let fixture = or_skip!(fixtures::fixture("dev-v2"));
    let served = Served::new(&fixture);
    let multi = fixture.truth["tokens"]["multi"]["address"]
        .as_str()
        .unwrap();
    let rows = served.rows(&format!(
        "module=account&action=token1155tx&contractaddress={multi}"
    ));
    assert!(!rows.is_empty());
    for row in &rows {
        row["tokenID"].as_str().unwrap().parse::<u64>().unwrap();
        row["tokenValue"].as_str().unwrap().parse::<u64>().unwrap();
        assert_eq!((row.get("tokenDecimal"), row.get("value")), (None, None));
    }
}

/// Internal transfers by address, by block and by transaction, from the node's call traces.
#[test]
fn internal_transfers_are_those_of_the_call_traces() {
    let fixture = or_skip!(fixtures::fixture("small/v2"));
    let served = Served::new(&fixture);
    let mut expected = Vec::new();
    let (mut failed, mut paged) = (0, 0);
    for line in fixture.lines("call-traces").skip(1) {
        for one in line["result"].as_array().unwrap() {
            let mut rows = Vec::new();
            let root = &one["result"];
            internal(root, root.get("error").is_some(), true, &mut rows);
            failed += rows.iter().filter(|(_, reverted)| *reverted).count();
            let hash = one["txHash"].as_str().unwrap();
            let query = format!("module=account&action=txlistinternal&txhash={hash}");
            let by_hash = served.rows(&query);
            if let [first, second, .., last] = by_hash.as_slice() {
                let page = |page: &str| served.rows(&format!("{query}&offset=1&{page}"));
                let pages = ["page=1", "page=2", "sort=desc"].map(page).concat();
                assert_eq!(pages.iter().collect::<Vec<_>>(), [first, second, last]);
                paged += 1;
            }
            let values: Vec<_> = (by_hash.iter())
                .filter(|row| row["value"] != "0")
                .map(|row| (ends(row), row["isError"] == "1"))
                .collect();
            assert_eq!(values, rows, "{}", one["txHash"]);
            assert!(by_hash.iter().all(|row| row.get("hash").is_none()));
            let done = rows.into_iter().filter(|(_, reverted)| !reverted);
            expected
                .extend(done.map(|(ends, _)| (line["block"].clone(), one["txHash"].clone(), ends)));
        }
    }
    assert!(
        expected.len() > 20 && failed > 0 && paged > 0,
        "{} {failed} {paged}",
        expected.len()
    );
    let key = |row: &Value| {
        let block: u64 = row["blockNumber"].as_str().unwrap().parse().unwrap();
        (json!(block), row["hash"].clone(), ends(row))
    };
    let all = served.rows("module=account&action=txlistinternal&startblock=0&endblock=99999999");
    for (row, expected) in all.iter().map(key).zip(&expected) {
        assert_eq!(row, *expected);
    }
    assert_eq!(all.len(), expected.len());
    for address in expected.iter().step_by(5).map(|(.., ends)| ends[1].clone()) {
        let query = format!(
            "module=account&action=txlistinternal&address={}",
            address.as_str().unwrap()
        );
        let found: Vec<_> = served.rows(&query).iter().map(key).collect();
        let of_address: Vec<_> = (expected.iter())
            .filter(|(.., ends)| ends[0] == address || ends[1] == address)
            .cloned()
            .collect();
        assert_eq!(found, of_address);
        let newest: Vec<_> = served
            .rows(&format!("{query}&sort=desc&page=1&offset=2"))
            .iter()
            .map(key)
            .collect();
        let last: Vec<_> = of_address.iter().rev().take(2).cloned().collect();
        assert_eq!(newest, last);
    }
    for row in &all {
        let path = row["traceId"].as_str().unwrap();
        assert!(
            path.split('_').all(|step| step.parse::<u32>().is_ok()),
            "{path}"
        );
    }
}

/// The chain is longer than the blocks that are read first.
#[test]
fn pages_from_the_newest_transfer_are_those_from_the_oldest() {
    let fixture = or_skip!(fixtures::fixture("dev-v2"));
    let served = Served::new(&fixture);
    let token = fixture.truth["tokens"]["oza"]["address"].as_str().unwrap();
    let receiver = (fixture.lines("blocks"))
        .find_map(|block| Some(block["withdrawals"].get(0)?["address"].as_str()?.to_owned()));
    for query in [
        format!("action=tokentx&contractaddress={token}"),
        "action=txlistinternal&startblock=700&endblock=790".to_owned(),
        format!("action=txsBeaconWithdrawal&address={}", receiver.unwrap()),
    ] {
        let query = format!("module=account&{query}");
        let mut all = served.rows(&format!("{query}&sort=asc"));
        let size = all.len() / 5 + 1;
        let mut newest = Vec::new();
        for page in 1..=6 {
            newest.extend(served.rows(&format!("{query}&sort=desc&page={page}&offset={size}")));
        }
        all.reverse();
        assert_eq!(newest, all, "{query}");
    }
}

/// Sender, receiver or created contract, and value.
fn ends(row: &Value) -> [Value; 3] {
    let to = if row["to"] == "" {
        &row["contractAddress"]
    } else {
        &row["to"]
    };
    [row["from"].clone(), to.clone(), row["value"].clone()]
}

/// The calls below a call that move value, in order, and whether they were reverted.
fn internal(call: &Value, reverted: bool, is_root: bool, rows: &mut Vec<([Value; 3], bool)>) {
    let kind = call["type"].as_str().unwrap();
    let moves = ["CALL", "CREATE", "CREATE2", "SELFDESTRUCT"].contains(&kind);
    let value = call
        .get("value")
        .map(|value| amount(value.as_str().unwrap()));
    let reverted = reverted || call.get("error").is_some();
    if let Some(value) = value.filter(|value| moves && !is_root && *value != "0") {
        // A creation that failed has no address.
        let to = call.get("to").cloned().unwrap_or_else(|| json!(""));
        rows.push(([call["from"].clone(), to, value], reverted));
    }
    for child in call["calls"].as_array().into_iter().flatten() {
        internal(child, reverted, false, rows);
    }
}
