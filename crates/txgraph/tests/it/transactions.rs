//! Some transactions of blocks, compared with whole blocks.

use crate::{open, small};
use std::collections::BTreeSet;
use txgraph::{ErrorKind, NodeReceipt, NodeTransaction, ReceiptDetail};
use txgraph_testkit::{fixtures, or_skip};

/// A transaction with its receipt, in words.
fn words(it: &NodeTransaction) -> String {
    format!("{} {} {} {:?}", it.index, it.hash, it.sender, it.receipt)
}

/// A transaction of a whole block, with a part of its receipt.
fn expected(it: &NodeTransaction, detail: ReceiptDetail) -> String {
    let receipt = it.receipt.clone();
    words(&NodeTransaction {
        receipt: match detail {
            ReceiptDetail::None => None,
            ReceiptDetail::WithoutLogs => receipt.map(|receipt| NodeReceipt {
                first_log: 0,
                logs: Vec::new(),
                ..receipt
            }),
            ReceiptDetail::Whole => receipt,
        },
        ..it.clone()
    })
}

#[test]
fn some_transactions_are_those_of_whole_blocks() {
    let large = ["dev-v1", "dev-v2"]
        .into_iter()
        .filter_map(fixtures::fixture);
    for fixture in fixtures::committed().into_iter().chain(large) {
        let source = open(&fixture);
        let tip = source.tip().unwrap();
        let mut logs = 0;
        for number in (0..=tip).step_by(usize::try_from(tip / 40).unwrap()) {
            let block = source.block(number, true).unwrap();
            let count = block.transactions.len();
            assert_eq!(source.transaction_count(number).unwrap(), count as u64);
            assert_eq!(source.ommers(number).unwrap().len(), block.ommers.len());
            let (header, withdrawals) = source.withdrawals(number).unwrap();
            assert_eq!(header.hash, block.header.hash);
            assert_eq!(withdrawals, block.withdrawals.unwrap_or_default());
            // Each step leaves out others.
            for step in 1..5 {
                for first in [0, 1, count / 2] {
                    let wanted = block.transactions.iter().skip(first).step_by(step);
                    let places = wanted.clone().map(|it| (number, it.index)).collect();
                    for detail in [
                        ReceiptDetail::None,
                        ReceiptDetail::WithoutLogs,
                        ReceiptDetail::Whole,
                    ] {
                        let found = source.transactions_at(&places, detail).unwrap();
                        let found = found.values().map(words);
                        let expected = wanted.clone().map(|it| expected(it, detail));
                        assert!(found.eq(expected), "{number} {step} {first} {detail:?}");
                    }
                }
            }
            let receipts = block.transactions.iter();
            let receipts = receipts.filter_map(|it| it.receipt.as_ref());
            logs += receipts.map(|receipt| receipt.logs.len()).sum::<usize>();
        }
        assert!(logs > 100, "{}: {logs}", fixture.name);
    }
}

/// Transactions without receipts are there where receipts are pruned.
#[test]
fn receipts_that_are_not_asked_for_may_be_pruned() {
    let fixture = or_skip!(fixtures::fixture("pruned/dev-v1-receipts"));
    let source = open(&fixture);
    let places = BTreeSet::from([(100, 0)]);
    let at = |detail| source.transactions_at(&places, detail);
    let error = at(ReceiptDetail::Whole).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unavailable, "{error}");
    let found = at(ReceiptDetail::None).unwrap();
    let block = source.block(100, false).unwrap();
    assert_eq!(words(&found[&(100, 0)]), words(&block.transactions[0]));
}

#[test]
fn a_transaction_that_a_block_does_not_have_is_an_error() {
    let fixture = small();
    let source = open(&fixture);
    let count = source.transaction_count(7).unwrap();
    let after_last = (7, u32::try_from(count).unwrap());
    let error = source.transactions_at(&[after_last].into(), ReceiptDetail::None);
    let error = error.unwrap_err();
    assert!(error.message.contains("has no transaction"), "{error}");
    let above = source.tip().unwrap() + 1;
    assert!(source.transaction_count(above).is_err());
    assert!(source.ommers(above).is_err());
}
