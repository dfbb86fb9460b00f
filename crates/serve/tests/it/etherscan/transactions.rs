//! Transactions, and their pages.

use super::{Chain, amount, function_name, or_empty, text};
use crate::harness::{Served, chain_file, number, small};
use serde_json::{Value, json};
use std::fs;
use txgraph_testkit::{fixtures, or_skip};

/// The row of a transaction, from the node's answers.
fn transaction_row(block: &Value, it: &Value, receipt: &Value, tip: u128) -> Value {
    let success = receipt["status"] == "0x1";
    let input = it["input"].as_str().unwrap();
    json!({
        "blockNumber": text(&block["number"]),
        "blockHash": block["hash"],
        "timeStamp": text(&block["timestamp"]),
        "hash": it["hash"],
        "nonce": text(&it["nonce"]),
        "transactionIndex": text(&it["transactionIndex"]),
        "from": it["from"],
        "to": or_empty(&it["to"]),
        "value": amount(it["value"].as_str().unwrap()),
        "gas": text(&it["gas"]),
        "gasPrice": text(&it["gasPrice"]),
        "input": input,
        "methodId": if input.len() < 10 { "0x" } else { &input[..10] },
        "functionName": function_name(input),
        "contractAddress": or_empty(&receipt["contractAddress"]),
        "cumulativeGasUsed": text(&receipt["cumulativeGasUsed"]),
        "txreceipt_status": if success { "1" } else { "0" },
        "gasUsed": text(&receipt["gasUsed"]),
        "confirmations": (tip - number(&block["number"])).to_string(),
        "isError": if success { "0" } else { "1" },
    })
}

/// The row of what the genesis allocates to an address, if it does.
fn genesis_row(chain: &Chain, genesis: &Value, address: &str) -> Option<Value> {
    let balance = genesis["alloc"][address]["balance"].as_str()?;
    let (block, _) = &chain.blocks[0];
    Some(json!({
        "blockNumber": "0",
        "blockHash": block["hash"],
        "timeStamp": text(&block["timestamp"]),
        "hash": format!("GENESIS_{}", &address[2..]),
        "nonce": "0",
        "transactionIndex": "0",
        "from": "GENESIS",
        "to": address,
        "value": amount(balance),
        "gas": "0",
        "gasPrice": "0",
        "input": "0x",
        "methodId": "0x",
        "functionName": "",
        "contractAddress": "",
        "cumulativeGasUsed": "0",
        "txreceipt_status": "",
        "gasUsed": "0",
        "confirmations": "40",
        "isError": "0",
    }))
}

#[test]
fn transactions_are_those_of_the_node() {
    let fixture = small();
    let (served, chain) = (Served::new(&fixture), Chain::of(&fixture));
    let genesis = fs::read_to_string(chain_file(&fixture)).unwrap();
    let genesis: Value = serde_json::from_str(&genesis).unwrap();
    let mut allocated = 0;
    for address in chain.busy(12) {
        let touches = |it: &Value, receipt: &Value| {
            [&it["from"], &it["to"], &receipt["contractAddress"]]
                .iter()
                .any(|end| **end == address)
        };
        let all = chain.transactions();
        let all = all.filter(|(_, it, receipt)| touches(it, receipt));
        let rows = all.map(|(block, it, receipt)| transaction_row(block, it, receipt, 40));
        let first = genesis_row(&chain, &genesis, &address);
        allocated += usize::from(first.is_some());
        let expected: Vec<_> = first.into_iter().chain(rows).collect();
        let query = format!("module=account&action=txlist&address={address}");
        assert_eq!(served.rows(&query), expected, "{address}");
        let reversed: Vec<_> = expected.iter().rev().cloned().collect();
        assert_eq!(served.rows(&format!("{query}&sort=desc")), reversed);
        // A part of the blocks, whose names clients write in two ways.
        let part: Vec<_> = (expected.iter())
            .filter(|row| (7..=20).contains(&row["blockNumber"].as_str().unwrap().parse().unwrap()))
            .cloned()
            .collect();
        assert_eq!(
            served.rows(&format!("{query}&startblock=7&endblock=20")),
            part
        );
        assert_eq!(
            served.rows(&format!("{query}&startBlock=7&endBlock=20")),
            part
        );
    }
    assert!(allocated > 0);
}

/// Whether the genesis allocates coins is not known without its state.
#[test]
fn a_list_that_may_lack_the_genesis_says_so() {
    let fixture = or_skip!(fixtures::fixture("pruned/long-v2-full"));
    let served = Served::new(&fixture);
    let query = "module=account&action=txlist&address=0x000000000000000000000000000000000000dead";
    for (start, is_marked) in [
        ("", true),
        ("&startblock=0", true),
        ("&startblock=1", false),
    ] {
        let response = served.get(&format!("/api?{query}{start}"));
        assert_eq!(response.json()["message"], "OK", "{start}");
        let found = response.headers.contains_key("x-txgraph-incomplete");
        assert_eq!(found, is_marked, "{start}");
    }
}

#[test]
fn the_status_of_a_transaction_is_that_of_its_receipt() {
    let fixture = small();
    let (served, chain) = (Served::new(&fixture), Chain::of(&fixture));
    let ask = |action: &str, hash: &str| {
        let query = format!("module=transaction&action={action}&txhash={hash}");
        served.query(&query)["result"].clone()
    };
    let mut failed = 0;
    for (_, it, receipt) in chain.transactions() {
        let (hash, success) = (it["hash"].as_str().unwrap(), receipt["status"] == "0x1");
        failed += u32::from(!success);
        let [status, error] = if success { ["1", "0"] } else { ["0", "1"] };
        assert_eq!(ask("gettxreceiptstatus", hash), json!({ "status": status }));
        let expected = json!({ "isError": error, "errDescription": "" });
        assert_eq!(ask("getstatus", hash), expected);
    }
    assert!(failed > 0);
    let unknown = format!("0x{:064x}", 7);
    assert_eq!(ask("gettxreceiptstatus", &unknown), json!({ "status": "" }));
    assert!(
        ask("getstatus", "0x12")
            .as_str()
            .unwrap()
            .starts_with("Error!")
    );
}

/// Pages of any size give the same rows, and none is shorter than asked while more exist.
#[test]
fn pages_give_all_rows_once_and_in_order() {
    let fixture = small();
    let (served, chain) = (Served::new(&fixture), Chain::of(&fixture));
    let address = &chain.busy(1)[0];
    for (action, order) in [
        ("txlist", "asc"),
        ("txlist", "desc"),
        ("tokentx", "asc"),
        ("tokentx", "desc"),
    ] {
        let query = format!("module=account&action={action}&address={address}&sort={order}");
        let all = served.rows(&query);
        assert!(all.len() > 20, "{action}: {}", all.len());
        // As foundry asks.
        assert_eq!(served.rows(&format!("{query}&page=0&offset=10000")), all);
        for size in [1, 7, 10, all.len(), all.len() + 1] {
            let mut paged = Vec::new();
            for page in 1..1000 {
                let rows = served.rows(&format!("{query}&page={page}&offset={size}"));
                let is_last = rows.len() < size;
                paged.extend(rows);
                if is_last {
                    break;
                }
                assert!(paged.len() <= all.len());
            }
            assert_eq!(paged, all, "{action} {order} {size}");
            if size == 1 {
                // Enough requests of this size.
                assert_eq!(paged.len(), all.len());
            }
        }
    }
    // As rotki asks: again from the last block, if as many rows came as were asked for.
    let query = format!("module=account&action=txlist&address={address}&page=1&offset=25");
    let all = served.rows(&format!("module=account&action=txlist&address={address}"));
    let (mut start, mut found) = ("0".to_owned(), Vec::<Value>::new());
    for _ in 0..100 {
        let rows = served.rows(&format!("{query}&startblock={start}"));
        let is_last = rows.len() < 25;
        for row in rows {
            if !found.contains(&row) {
                found.push(row);
            }
        }
        if is_last {
            break;
        }
        let last = found.last().unwrap()["blockNumber"]
            .as_str()
            .unwrap()
            .to_owned();
        if last == start {
            // A block with more rows than a page: rotki would ask for more.
            break;
        }
        start = last;
    }
    assert_eq!(found[..25], all[..25]);
    let far = served.query(&format!(
        "module=account&action=txlist&address={address}&page=2&offset=10000"
    ));
    assert_eq!(
        far["message"],
        "Result window is too large, PageNo x Offset size must be less than or equal to 10000"
    );
    assert_eq!(
        (&far["status"], &far["result"]),
        (&json!("0"), &Value::Null)
    );
}
