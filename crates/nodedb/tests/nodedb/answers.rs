//! Everything that is read equals the answers of the node, log by log.

use crate::json;
use serde_json::Value;
use std::{ops::ControlFlow, path::Path};
use txgraph_nodedb::{Block, BlockRange, DataDir, NodeDb, Parts, Scratch};
use txgraph_testkit::fixtures::{Fixture, full, partial};

fn open(fixture: &Fixture) -> NodeDb {
    NodeDb::open(&DataDir::new(fixture.path())).unwrap()
}

#[test]
fn blocks_equal_the_answers_of_the_node() {
    for fixture in full().into_iter().filter(|fixture| fixture.has("blocks")) {
        blocks_equal(&fixture, &fixture);
    }
}

#[test]
fn receipts_equal_the_answers_of_the_node() {
    for fixture in full() {
        let checked = receipts_equal(fixture.path(), &fixture);
        assert_eq!(Some(checked), fixture.chain_info["counts"]["logs"].as_u64());
    }
}

#[test]
fn partial_directories_equal_the_answers_of_the_node() {
    for (partial, full) in partial() {
        if full.has("blocks") {
            blocks_equal(&partial, &full);
        }
        receipts_equal(partial.path(), &full);
    }
}

/// Compares headers, transactions, senders and withdrawals of all blocks with
/// `eth_getBlockByNumber`.
fn blocks_equal(fixture: &Fixture, answers: &Fixture) {
    let db = open(fixture);
    let snapshot = db.snapshot().unwrap();
    assert_eq!(Some(snapshot.tip()), fixture.tip());
    let parts = Parts {
        receipts: false,
        ..Parts::ALL
    };
    let wanted = BlockRange::up_to(snapshot.tip());
    assert_eq!(
        snapshot.gaps(wanted, parts).unwrap(),
        [],
        "{}",
        fixture.name
    );
    let mut lines = answers.lines("blocks");
    let mut seen = 0;
    snapshot
        .for_each_block(wanted, parts, &mut Scratch::default(), &mut |block| {
            block_equals(block, &lines.next().unwrap());
            seen += 1;
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
    assert_eq!(seen, snapshot.tip() + 1);
}

fn block_equals(block: &mut Block<'_>, answer: &Value) {
    let header = block.header().unwrap().clone();
    let number = header.number;
    assert_eq!(number, json::number(&answer["number"]));
    assert_eq!(header.hash, json::hash(&answer["hash"]), "block {number}");
    assert_eq!(header.recompute_hash(), header.hash);
    assert_eq!(header.timestamp, json::number(&answer["timestamp"]));
    assert_eq!(header.parent_hash, json::hash(&answer["parentHash"]));
    assert_eq!(header.gas_used, json::number(&answer["gasUsed"]));
    assert_eq!(header.beneficiary, json::address(&answer["miner"]));
    assert_eq!(
        header.base_fee_per_gas,
        json::optional_number(&answer["baseFeePerGas"])
    );
    let transactions = answer["transactions"].as_array().unwrap();
    assert_eq!(
        block.body.tx_count,
        transactions.len() as u64,
        "block {number}"
    );
    for (index, expected) in transactions.iter().enumerate() {
        let index = index as u32;
        let found = block.transaction(index).unwrap();
        let place = format!("block {number}, transaction {index}");
        assert_eq!(found.hash, json::hash(&expected["hash"]), "{place}");
        assert_eq!(
            block.transaction_hashes(&[index]).unwrap()[0],
            found.hash,
            "{place}"
        );
        assert_eq!(
            u64::from(found.tx_type),
            json::number(&expected["type"]),
            "{place}"
        );
        assert_eq!(found.nonce, json::number(&expected["nonce"]), "{place}");
        assert_eq!(found.to, json::optional_address(&expected["to"]), "{place}");
        assert_eq!(found.value, json::u256(&expected["value"]), "{place}");
        assert_eq!(
            found.chain_id,
            json::optional_number(&expected["chainId"]),
            "{place}"
        );
        assert_eq!(
            block.sender(index).unwrap(),
            json::address(&expected["from"]),
            "{place}"
        );
    }
    let withdrawals = answer["withdrawals"]
        .as_array()
        .map_or(&[][..], |list| list);
    assert_eq!(
        block.withdrawals().len(),
        withdrawals.len(),
        "block {number}"
    );
    for (found, expected) in block.withdrawals().iter().zip(withdrawals) {
        assert_eq!(found.index, json::number(&expected["index"]));
        assert_eq!(
            found.validator_index,
            json::number(&expected["validatorIndex"])
        );
        assert_eq!(found.address, json::address(&expected["address"]));
        assert_eq!(found.amount, json::number(&expected["amount"]));
    }
}

/// Compares the receipts of all blocks that have them with `eth_getBlockReceipts`. Returns
/// the number of compared logs.
pub(crate) fn receipts_equal(dir: &Path, answers: &Fixture) -> u64 {
    let db = NodeDb::open(&DataDir::new(dir)).unwrap();
    let snapshot = db.snapshot().unwrap();
    let tip = snapshot.tip();
    let wanted = BlockRange::up_to(tip);
    let gaps = snapshot
        .gaps(
            wanted,
            Parts {
                receipts: true,
                ..Parts::default()
            },
        )
        .unwrap();
    let mut scratch = Scratch::default();
    let (mut logs, mut checked) = (0, 0);
    // `long-v2` has answers for blocks with transactions only.
    for answer in answers.lines("receipts") {
        let number = match &answer["block"] {
            Value::Number(number) => number.as_u64().unwrap(),
            hex => json::number(hex),
        };
        if number > tip {
            break;
        }
        let in_gap = gaps.iter().any(|gap| gap.blocks.contains(number));
        let read = snapshot.for_each_block(
            BlockRange::one(number),
            Parts::ALL,
            &mut scratch,
            &mut |block| {
                let expected = answer["receipts"].as_array().unwrap();
                assert_eq!(block.body.tx_count, expected.len() as u64, "block {number}");
                for expected in expected {
                    let Some(receipt) = block.next_receipt()? else {
                        panic!("block {number} has too few receipts")
                    };
                    logs += receipt_equals(&receipt, expected);
                }
                assert!(
                    block.next_receipt()?.is_none(),
                    "block {number} has too many receipts"
                );
                checked += 1;
                Ok(ControlFlow::Continue(()))
            },
        );
        match read {
            Ok(()) => {
                let empty = answer["receipts"].as_array().unwrap().is_empty();
                assert!(
                    !in_gap || empty,
                    "{}: block {number} is in a gap",
                    dir.display()
                );
            }
            Err(error) => {
                assert!(error.is_missing(), "{}: {error}", dir.display());
                assert!(
                    in_gap,
                    "{}: block {number} is in no gap: {error}",
                    dir.display()
                );
            }
        }
    }
    assert!(checked > 0);
    logs
}

fn receipt_equals(found: &txgraph_nodedb::Receipt<'_>, expected: &Value) -> u64 {
    assert_eq!(
        u64::from(found.index),
        json::number(&expected["transactionIndex"])
    );
    assert_eq!(u64::from(found.tx_type), json::number(&expected["type"]));
    assert_eq!(u64::from(found.success), json::number(&expected["status"]));
    assert_eq!(
        found.cumulative_gas_used,
        json::number(&expected["cumulativeGasUsed"])
    );
    let logs = expected["logs"].as_array().unwrap();
    assert_eq!(found.log_count as usize, logs.len());
    assert_eq!(found.log_count as usize, logs.len());
    found.logs().finish().unwrap();
    for (found, expected) in found.logs().zip(logs) {
        assert_eq!(*found.address, json::address(&expected["address"]));
        let topics: Vec<[u8; 32]> = expected["topics"]
            .as_array()
            .unwrap()
            .iter()
            .map(|topic| json::hash(topic).0)
            .collect();
        assert_eq!(found.topics, topics);
        assert_eq!(found.data, &json::bytes(&expected["data"])[..]);
    }
    logs.len() as u64
}
