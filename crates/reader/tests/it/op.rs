//! Data directories of the OP stack in both layouts: a chain with known transfers, real blocks
//! of OP Mainnet, and real receipts of Base.

use crate::support::{answer, ask, assert_same, database, everything, open_with, range};
use alloy_primitives::{Address, B256};
use serde_json::Value;
use tempfile::TempDir;
use txgraph_chaingen::{
    BlockSample, BlockWriter, ExecutedBlock, Layout, op_block, op_block_of_receipts, op_receipt,
};
use txgraph_nodedb::{ChainFamily, DataDir, NodeDb, Parts, Scratch};
use txgraph_reader::ScanOptions;
use txgraph_testkit::{
    edit,
    naive::{Decoded, decode_block},
    op, or_skip, says,
};
use txgraph_transfers::{Kind, ScanRequest, SourceError, TokenStandard, Transfer, TransferSource};

const VERIFY: fn() -> ScanOptions = || ScanOptions {
    verify: true,
    ..ScanOptions::default()
};

fn write(blocks: &[ExecutedBlock], layout: Layout) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    BlockWriter::create_from(folder.path(), layout.into(), 0, blocks.to_vec()).unwrap();
    folder
}

fn both(blocks: &[ExecutedBlock]) -> [(TempDir, Layout); 2] {
    [Layout::V1, Layout::V2].map(|layout| (write(blocks, layout), layout))
}

#[test]
fn scan_of_an_op_directory_gives_its_transfers() {
    let sample = BlockSample::op(901, 50, 10);
    let blocks = range(50, 59);
    for (folder, layout) in both(&sample.blocks) {
        for options in [ScanOptions::default(), VERIFY()] {
            let source = open_with(folder.path(), options);
            assert_eq!(source.db().family(), ChainFamily::OpStack);
            assert_eq!(source.chain().chain_id, 901);
            let (found, report) = answer(&source, &everything(blocks));
            assert_same(&found, &sample.transfers, &format!("{layout:?}"));
            assert_eq!(report.counts.transactions, 80);
        }
        // Only the mints: their transactions are read, without transactions of other kinds.
        let source = open_with(folder.path(), ScanOptions::default());
        let mut request = everything(blocks);
        request.filter.kinds = vec![Kind::Mint];
        let (found, _) = answer(&source, &request);
        assert_eq!(found.len(), 30);
        assert!(found.iter().all(|it| it.kind == Kind::Mint));
    }
}

/// The value of the first deposit that creates a contract moves to the address of its nonce in
/// the receipt, and a failed deposit mints.
#[test]
fn deposits_of_an_op_directory_use_their_receipts() {
    let sample = BlockSample::op(901, 50, 1);
    let kinds: Vec<_> = (sample.transfers.iter())
        .map(|it| (it.transaction_index, it.sub_index, it.kind))
        .collect();
    assert_eq!(
        kinds,
        [
            (1, 0, Kind::Mint),
            (1, 1, Kind::Value),
            (2, 0, Kind::Mint),
            (3, 0, Kind::Value),
            (4, 0, Kind::Mint),
            (4, 1, Kind::Value),
            (5, 0, Kind::Transfer),
            (6, 0, Kind::Value),
        ]
    );
    let created = sample.transfers[5].from_address.create(504);
    assert_eq!(sample.transfers[5].to_address, created);
}

/// The transfers of blocks without logs, from the answers of a node. The deposits of the
/// recorded blocks mint nothing.
fn native_transfers(blocks: &[Value]) -> Vec<Transfer> {
    let mut decoded = Decoded::default();
    for block in blocks {
        let transactions = block["transactions"].as_array().unwrap();
        let receipt = serde_json::json!({ "status": "0x1", "logs": [] });
        let receipts = vec![receipt; transactions.len()];
        decode_block(block, &Value::Array(receipts), &mut decoded);
        assert!(
            transactions
                .iter()
                .all(|it| it["mint"].is_null() || it["mint"] == "0x0")
        );
    }
    decoded.transfers
}

/// Six consecutive blocks with real headers and transactions. Their receipts are not known, so
/// the directory has receipts without logs.
#[test]
fn scan_of_op_mainnet_blocks_equals_the_naive_decoder() {
    let answers = or_skip!(op::optimism_blocks());
    let blocks: Vec<_> = answers.iter().map(|it| op_block(it).unwrap()).collect();
    let expected = native_transfers(&answers);
    assert!(expected.len() > 5, "{}", expected.len());
    let whole = range(109_279_675, 109_279_680);
    for (folder, layout) in both(&blocks) {
        let source = open_with(folder.path(), ScanOptions::default());
        assert_eq!(source.chain().chain_id, 10);
        let (found, report) = answer(&source, &everything(whole));
        assert_same(&found, &expected, &format!("{layout:?}"));
        assert_eq!(report.counts.transactions, 64);
        // Hashes, transactions roots and senders equal the real headers and answers.
        let mut known = answers.iter();
        let parts = Parts {
            headers: true,
            transactions: true,
            senders: true,
            ..Parts::default()
        };
        let snapshot = source.db().snapshot().unwrap();
        let mut scratch = Scratch::default();
        let visit = &mut |block: &mut txgraph_nodedb::Block<'_>| {
            let known = known.next().unwrap();
            let hash: B256 = serde_json::from_value(known["hash"].clone()).unwrap();
            assert_eq!(block.check_header()?.hash, hash);
            block.check_transactions()?;
            for (index, known) in (0..).zip(known["transactions"].as_array().unwrap()) {
                let from: Address = serde_json::from_value(known["from"].clone()).unwrap();
                assert_eq!(block.sender(index)?, from);
            }
            Ok(std::ops::ControlFlow::Continue(()))
        };
        snapshot
            .for_each_block(whole, parts, &mut scratch, visit)
            .unwrap();
        assert!(known.next().is_none());
    }
}

/// 202 real receipts, whose root equals the real block's. The transactions are made up.
#[test]
fn receipts_of_a_base_block_have_the_root_of_its_header() {
    let answers = or_skip!(op::base_receipts());
    let root: B256 = op::BASE_RECEIPTS_ROOT.parse().unwrap();
    let receipts: Vec<_> = (answers.iter()).map(|it| op_receipt(it).unwrap()).collect();
    let block = op_block_of_receipts(42_969_982, receipts, root);
    let whole = range(42_969_982, 42_969_982);
    let mut logs = 0;
    let numbered: Vec<Value> = (answers.iter().cloned())
        .map(|mut receipt| {
            for log in receipt["logs"].as_array_mut().unwrap() {
                log["logIndex"] = format!("{logs:#x}").into();
                logs += 1;
            }
            receipt
        })
        .collect();
    let mut expected = Decoded::default();
    let nothing = serde_json::json!({ "value": "0x0", "hash": B256::ZERO });
    let transactions = vec![nothing; answers.len()];
    let answer_of_block = serde_json::json!({
        "number": "0x28fab7e", "timestamp": "0x69a9b3df", "transactions": transactions,
    });
    decode_block(&answer_of_block, &Value::Array(numbered), &mut expected);
    for (folder, layout) in both(std::slice::from_ref(&block)) {
        let source = open_with(folder.path(), VERIFY());
        let mut request = everything(whole);
        request.with_hashes = false;
        let (mut found, report) = answer(&source, &request);
        for transfer in found.iter_mut().chain(&mut expected.transfers) {
            transfer.transaction_hash = None;
        }
        assert!(found.len() > 100, "{}", found.len());
        assert_same(&found, &expected.transfers, &format!("{layout:?}"));
        assert_eq!(report.counts.logs, logs);
    }
    // Another nonce of the deposit gives another root.
    let mut other = block;
    let op_alloy = &mut other.op_transactions[0];
    let mut answer = answers[0].clone();
    answer["depositNonce"] = "0x1".into();
    op_alloy.receipt = op_receipt(&answer).unwrap();
    let folder = write(&[other], Layout::V2);
    let error = ask(&open_with(folder.path(), VERIFY()), &everything(whole)).unwrap_err();
    says(&error, "receipts root");
}

/// A tip without a deposit is not of the OP stack: its receipts are read in the other layout.
#[test]
fn op_receipts_on_an_ethereum_chain_are_refused() {
    let mut sample = BlockSample::op(5_000, 50, 3);
    let tip = sample.blocks.last_mut().unwrap();
    tip.op_transactions.retain(|it| it.tx_type() == 2);
    let explained = "it is a receipt of the OP stack, but this is a chain of Ethereum";
    for (folder, _) in both(&sample.blocks) {
        let source = open_with(folder.path(), ScanOptions::default());
        assert_eq!(source.db().family(), ChainFamily::Ethereum);
        for number in 50..53 {
            let refusal = |request: &ScanRequest| ask(&source, request).unwrap_err().to_string();
            let mut request = everything(range(number, number));
            // Not the withdrawals, whose root is another one on the OP stack.
            request.filter.kinds = vec![Kind::Value];
            let text = refusal(&request);
            says(&text, &format!("block {number}"));
            // Transactions are read before receipts. The tip has no deposit: its first receipt
            // is refused at its logs.
            let expected = match number {
                52 => "is damaged",
                _ => "a transaction of the OP stack on a chain that is not of the OP stack",
            };
            says(&text, expected);
            request.with_hashes = false;
            request.filter.kinds = vec![Kind::Transfer];
            request.filter.standards = vec![TokenStandard::Erc20];
            let text = refusal(&request);
            let expected = if number == 52 {
                "is damaged"
            } else {
                explained
            };
            says(&text, expected);
        }
    }
}

#[test]
fn a_known_op_chain_without_deposits_is_refused() {
    let mut sample = BlockSample::op(8_453, 50, 2);
    let tip = sample.blocks.last_mut().unwrap();
    tip.op_transactions.retain(|it| it.tx_type() == 2);
    let folder = write(&sample.blocks, Layout::V2);
    let error = NodeDb::open(&DataDir::new(folder.path())).unwrap_err();
    says(
        &error,
        "this is Base (chain id 8453), a chain of the OP stack, but block 51 begins with a transaction of type 0x2",
    );
}

#[test]
fn blocks_of_op_mainnet_before_bedrock_are_missing() {
    const FIRST: u64 = 105_235_060;
    let sample = BlockSample::op(10, FIRST, 6);
    for (folder, _) in both(&sample.blocks) {
        let first = (FIRST, sample.blocks[0].header.hash_slow());
        edit::rename_block(folder.path(), first, op::OP_MAINNET_GENESIS);
        let db = database(folder.path());
        assert_eq!(db.chain().unwrap().name, Some("OP Mainnet"));
        let source = open_with(folder.path(), ScanOptions::default());
        let error = ask(&source, &everything(range(FIRST, FIRST + 5))).unwrap_err();
        let SourceError::Unavailable { missing, available } = &error else {
            panic!("{error}");
        };
        assert_eq!(missing[0].blocks, range(FIRST, FIRST + 2));
        assert_eq!(*available, range(FIRST + 3, FIRST + 5).into());
        let text = error.to_string();
        says(
            &text,
            "before Bedrock are not supported: block 105235063 is the first",
        );
        let (found, _) = answer(&source, &everything(range(FIRST + 3, FIRST + 5)));
        let expected: Vec<_> = (sample.transfers.iter())
            .filter(|it| it.block_number >= FIRST + 3)
            .cloned()
            .collect();
        assert_same(&found, &expected, "after Bedrock");
    }
}
