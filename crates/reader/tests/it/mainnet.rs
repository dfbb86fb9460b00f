//! A data directory of 20 consecutive blocks of mainnet in both layouts, compared with the naive
//! decoder and with an independent product (`fixtures/mainnet/README.md`). Tests of `cli` ask for
//! blocks that it lacks.

use crate::support::{answer, ask, assert_same, everything, open_with, range};
use std::{
    fs,
    path::{Path, PathBuf},
};
use tempfile::TempDir;
use txgraph_chaingen::{BlockWriter, ExecutedBlock, Layout, Storage};
use txgraph_nodedb::{BlockRange, Error as NodeDbError, Parts};
use txgraph_reader::ScanOptions;
use txgraph_testkit::{
    edit::flip,
    mainnet::{self, FIRST_BLOCK, LAST_BLOCK, RecordedBlock},
    naive::quantity,
    or_skip, says,
};
use txgraph_transfers::{SourceError, Transfer, TransferSource};

/// The number of the first transaction, as if earlier ones were pruned. Mainnet had about this
/// many at block 15,000,001.
const FIRST_TX: u64 = 1_600_000_000;

const BLOCKS: BlockRange = BlockRange::from_to(FIRST_BLOCK, LAST_BLOCK);

fn executed(blocks: &[RecordedBlock]) -> Vec<ExecutedBlock> {
    let decode = |block: &RecordedBlock| {
        ExecutedBlock::decode(&block.header, &block.transactions, &block.receipts).unwrap()
    };
    blocks.iter().map(decode).collect()
}

/// Writes a data directory of the blocks.
fn write(blocks: &[RecordedBlock], storage: Storage) -> (TempDir, BlockWriter) {
    let folder = tempfile::tempdir().unwrap();
    let writer = BlockWriter::create_from(folder.path(), storage, FIRST_TX, executed(blocks));
    (folder, writer.unwrap())
}

/// Writes directories of the blocks in both layouts.
fn both(blocks: &[RecordedBlock]) -> [(TempDir, Layout); 2] {
    [Layout::V1, Layout::V2].map(|layout| (write(blocks, layout.into()).0, layout))
}

fn scan(path: &Path, blocks: BlockRange, verify: bool) -> Result<Vec<Transfer>, SourceError> {
    let options = ScanOptions {
        verify,
        ..ScanOptions::default()
    };
    ask(&open_with(path, options), &everything(blocks)).map(|(transfers, _)| transfers)
}

#[test]
fn scan_of_a_mainnet_directory_equals_the_naive_decoder() {
    let blocks = or_skip!(mainnet::blocks());
    let expected = mainnet::transfers(&blocks);
    let native = |it: &&Transfer| it.token_address.is_none();
    assert!(expected.transfers.iter().filter(native).count() > 1_000);
    for (folder, layout) in both(&blocks) {
        let options = ScanOptions::default();
        let source = open_with(folder.path(), options);
        assert_eq!(source.chain().chain_id, 1, "{layout:?}");
        let (found, report) = answer(&source, &everything(BLOCKS));
        assert_same(&found, &expected.transfers, &format!("{layout:?}"));
        assert_eq!(report.counts.transactions, expected.receipts);
        assert_eq!(report.counts.logs, expected.logs);
        let usdt = mainnet::usdt_rows(&found);
        assert_eq!(usdt.len(), 99);
        assert_eq!(usdt, mainnet::usdt_reference().unwrap());
        // A scan by token uses the bloom filters of the headers.
        let mut only_usdt = everything(BLOCKS);
        only_usdt.filter.tokens = txgraph_transfers::TokenFilter::only([mainnet::USDT]);
        let (found, _) = answer(&source, &only_usdt);
        assert_eq!(mainnet::usdt_rows(&found), usdt);

        let verified = scan(folder.path(), BLOCKS, true).unwrap();
        assert_same(&verified, &expected.transfers, "verified");
    }
}

/// The writer recovers senders from signatures, the fixture has those that its origin found.
#[test]
fn senders_headers_and_bodies_of_a_mainnet_directory_are_those_of_the_blocks() {
    let blocks = or_skip!(mainnet::blocks());
    for (folder, layout) in both(&blocks) {
        let source = open_with(folder.path(), ScanOptions::default());
        let snapshot = source.db().snapshot().unwrap();
        assert_eq!(snapshot.tip(), LAST_BLOCK);
        let mut expected = blocks.iter();
        let mut first_tx = FIRST_TX;
        let parts = Parts {
            headers: true,
            receipts: true,
            transactions: true,
            senders: true,
            ..Parts::default()
        };
        assert_eq!(snapshot.gaps(BLOCKS, parts).unwrap(), []);
        let mut scratch = txgraph_nodedb::Scratch::default();
        snapshot
            .for_each_block(BLOCKS, parts, &mut scratch, &mut |block| {
                let known = expected.next().unwrap();
                let header = block.check_header()?;
                assert_eq!((header.number, header.hash), (known.number(), known.hash));
                assert_eq!(block.body.first_tx, first_tx);
                first_tx += block.body.tx_count;
                for (index, sender) in (0..).zip(&known.senders) {
                    assert_eq!(block.sender(index)?, *sender, "{layout:?}");
                }
                block.check_roots()?;
                Ok(std::ops::ControlFlow::Continue(()))
            })
            .unwrap();
        assert!(expected.next().is_none());
    }
}

/// The first receipts jar and, in it, the range of the row of a transaction.
fn receipt_row(folder: &Path, tx: u64) -> (PathBuf, std::ops::Range<u64>) {
    let jar = folder.join("static_files/static_file_receipts_15000000_15499999");
    let offsets = fs::read(jar.with_extension("off")).unwrap();
    let offset = |at: u64| {
        let at = 1 + 8 * usize::try_from(at).unwrap();
        u64::from_le_bytes(offsets[at..at + 8].try_into().unwrap())
    };
    let row = tx - FIRST_TX;
    (jar, offset(row)..offset(row + 1))
}

/// A failed transaction that is stored as successful decodes without an error, and would move
/// its value. Only the receipts root shows it.
#[test]
fn verify_rejects_a_mainnet_receipt_with_another_status() {
    let blocks = or_skip!(mainnet::blocks());
    // A failed transaction with a value.
    let (place, failed) = blocks
        .iter()
        .enumerate()
        .find_map(|(place, block)| {
            let (answer, receipts) = block.answers();
            let receipts = receipts.as_array().unwrap();
            let failed = receipts
                .iter()
                .zip(answer["transactions"].as_array().unwrap());
            let failed = failed.map(|(receipt, transaction)| {
                receipt["status"] == "0x0" && !quantity(&transaction["value"]).is_zero()
            });
            Some((place, failed.collect::<Vec<_>>().iter().position(|it| *it)?))
        })
        .unwrap();
    let before: usize = blocks[..place].iter().map(|it| it.transactions.len()).sum();
    let tx = FIRST_TX + (before + failed) as u64;
    let number = blocks[place].number();
    for (folder, layout) in both(&blocks) {
        let right = scan(folder.path(), BLOCKS, true).unwrap();
        let (jar, row) = receipt_row(folder.path(), tx);
        // Bit 2 of a receipt is its success.
        flip(&jar, row.start, 4);
        let plain = scan(folder.path(), BLOCKS, false).unwrap();
        assert_eq!(plain.len(), right.len() + 1, "{layout:?}");
        let text = scan(folder.path(), BLOCKS, true).unwrap_err().to_string();
        let expected = format!("block {number} is inconsistent");
        assert!(
            text.contains(&expected) && text.contains("receipts root"),
            "{layout:?}: {text}"
        );
    }
}

/// Every byte of a compressed receipt with a log is changed. A scan reports damage, or returns
/// other rows; with `verify` it never returns other rows.
#[test]
fn verify_rejects_a_mainnet_receipt_with_any_changed_byte() {
    let blocks = or_skip!(mainnet::blocks());
    let first = range(FIRST_BLOCK, FIRST_BLOCK);
    let (folder, _) = write(&blocks, Layout::V2.into());
    let right = scan(folder.path(), first, false).unwrap();
    let with_log = right.iter().find(|it| it.log_index.is_some()).unwrap();
    let tx = FIRST_TX + u64::from(with_log.transaction_index);
    let (jar, row) = receipt_row(folder.path(), tx);
    let mut unnoticed = 0;
    for at in row {
        flip(&jar, at, 1);
        let plain = scan(folder.path(), first, false);
        match scan(folder.path(), first, true) {
            Ok(rows) => assert_same(&rows, &right, &format!("byte {at}")),
            Err(error) => {
                let text = error.to_string();
                let precise = text.contains("block 15000001");
                assert!(precise, "byte {at}: {text}");
                if plain.is_ok_and(|plain| plain != right) {
                    assert!(
                        text.contains("receipts root") || text.contains("logs bloom"),
                        "byte {at}: {text}"
                    );
                    unnoticed += 1;
                }
            }
        }
        flip(&jar, at, 1);
    }
    assert!(unnoticed > 0, "no byte changed a row without an error");
}

/// Static files of five blocks each. The pruner deletes the oldest transactions, receipts and
/// senders, and keeps headers and tables, as in a pruned node.
#[test]
fn pruned_mainnet_directory_has_the_newest_blocks() {
    let blocks = or_skip!(mainnet::blocks());
    let storage = Storage {
        blocks_per_file: 5,
        ..Layout::V2.into()
    };
    let (folder, mut writer) = write(&blocks, storage);
    assert_eq!(writer.prune_bodies(15_000_012).unwrap(), Some(15_000_009));
    drop(writer);
    let source = open_with(folder.path(), ScanOptions::default());
    assert_eq!(source.chain().chain_id, 1);
    let error = ask(&source, &everything(BLOCKS)).unwrap_err().to_string();
    says(
        &error,
        "15000001:15000010 (receipts pruned up to block 15000009",
    );
    says(&error, "available: 15000010:15000021");
    let kept = range(15_000_010, LAST_BLOCK);
    let mut expected = mainnet::transfers(&blocks).transfers;
    expected.retain(|transfer| transfer.block_number >= kept.first);
    for verify in [false, true] {
        let found = scan(folder.path(), kept, verify).unwrap();
        assert_same(&found, &expected, "kept blocks");
    }
}

/// Rows of accounts and slots would read as zero, so state must not count as available.
#[test]
fn mainnet_directory_without_state_has_no_state() {
    let blocks = or_skip!(mainnet::blocks());
    for (folder, layout) in both(&blocks) {
        let source = open_with(folder.path(), ScanOptions::default());
        let snapshot = source.db().snapshot().unwrap();
        let state = snapshot.state_coverage().unwrap();
        assert_eq!((state.accounts, state.storage), (None, None), "{layout:?}");
        let obstacle = state.obstacle.unwrap();
        says(&obstacle, "stage Execution is at block 0");
        let info = snapshot.info().unwrap();
        let all = vec![BLOCKS];
        assert_eq!(info.headers, all);
        assert_eq!(info.transactions, all);
        assert_eq!(info.senders, all);
        assert_eq!(info.receipts, all);
        assert!(matches!(
            snapshot.header(FIRST_BLOCK - 1),
            Err(NodeDbError::Missing { .. })
        ));
    }
}
