//! Transactions are found by hash, in MDBX or in RocksDB.

use crate::json;
use alloy_primitives::B256;
use txgraph_nodedb::{DataDir, NodeDb};
use txgraph_testkit::fixtures::{committed, fixture};

#[test]
fn finds_transactions_by_hash() {
    let large = ["dev-v1", "dev-v2", "crashed/small-v2"];
    for fixture in committed()
        .into_iter()
        .chain(large.into_iter().filter_map(fixture))
    {
        let db = NodeDb::open(&DataDir::new(fixture.path())).unwrap();
        let snapshot = db.snapshot().unwrap();
        let answers = fixture.full_chain();
        let answers = answers.as_ref().unwrap_or(&fixture).lines("receipts");
        let mut found = 0;
        for receipt in answers.flat_map(|line| line["receipts"].as_array().unwrap().clone()) {
            let hash = json::hash(&receipt["transactionHash"]);
            let block = json::number(&receipt["blockNumber"]);
            let place = (block, json::number(&receipt["transactionIndex"]) as u32);
            let answer = snapshot.find_transaction(hash).unwrap();
            let there = (block <= snapshot.tip()).then_some(place);
            assert_eq!(answer, there, "{}: {hash}", fixture.name);
            found += 1;
        }
        assert!(found > 100, "{}", fixture.name);
        let unknown = snapshot.find_transaction(B256::repeat_byte(0xee)).unwrap();
        assert_eq!(unknown, None);
    }
}
