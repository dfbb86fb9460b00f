//! Logs by contract and topics.

use super::{Chain, TRANSFER};
use crate::harness::{Served, number, small};
use serde_json::{Map, Value, json};

#[test]
fn logs_are_those_of_the_receipts() {
    let fixture = small();
    let (served, chain) = (Served::new(&fixture), Chain::of(&fixture));
    let row = |log: &Value, it: &Value, receipt: &Value| {
        let mut row = Map::new();
        for name in [
            "address",
            "topics",
            "data",
            "blockNumber",
            "blockHash",
            "logIndex",
            "transactionHash",
            "transactionIndex",
        ] {
            row.insert(name.to_owned(), log[name].clone());
        }
        row.insert("timeStamp".to_owned(), log["blockTimestamp"].clone());
        row.insert("gasPrice".to_owned(), it["gasPrice"].clone());
        row.insert("gasUsed".to_owned(), receipt["gasUsed"].clone());
        Value::Object(row)
    };
    let mut all = Vec::new();
    for (_, it, receipt) in chain.transactions() {
        let logs = receipt["logs"].as_array().unwrap();
        all.extend(logs.iter().map(|log| row(log, it, receipt)));
    }
    let first = |query: &str| served.rows(&format!("module=logs&action=getLogs&{query}"));
    assert_eq!(first("offset=10000"), all);
    assert_eq!(
        first("page=2&offset=30&fromBlock=0&toBlock=latest"),
        all[30..60]
    );
    // Names in lower case, as ethers writes them.
    let lower = served.rows("module=logs&action=getlogs&fromblock=3&toblock=6");
    let part: Vec<_> = (all.iter())
        .filter(|it| (3..=6).contains(&number(&it["blockNumber"])))
        .cloned()
        .collect();
    assert_eq!(lower, part);
    let of_transfer: Vec<_> = all
        .iter()
        .filter(|it| it["topics"][0] == TRANSFER)
        .cloned()
        .collect();
    assert_eq!(
        first(&format!("topic0={TRANSFER}&offset=10000")),
        of_transfer
    );
    let mint = format!("0x{:064x}", 0);
    let expected: Vec<_> = of_transfer
        .iter()
        .filter(|it| it["topics"][1] == mint)
        .cloned()
        .collect();
    let query = format!("topic0={TRANSFER}&topic0_1_opr=and&topic1={mint}&offset=10000");
    assert_eq!(first(&query), expected);
    assert!(!expected.is_empty());
    let either: Vec<_> = (all.iter())
        .filter(|it| it["topics"][0] == TRANSFER || it["topics"][1] == mint)
        .cloned()
        .collect();
    let query = format!("topic0={TRANSFER}&topic0_1_opr=or&topic1={mint}&offset=10000");
    assert_eq!(first(&query), either);
    assert!(either.len() > expected.len());
    let none = served.query(&format!("module=logs&action=getLogs&topic0={mint}"));
    assert_eq!(
        none,
        json!({ "status": "0", "message": "No records found", "result": [] })
    );
}
