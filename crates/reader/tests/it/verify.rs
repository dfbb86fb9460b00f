//! `verify`: stored senders are proven, in both layouts.

use crate::support::{answer, ask, assert_same, everything, open_with, range};
use alloy_primitives::Address;
use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};
use txgraph_nodedb::DataDir;
use txgraph_reader::ScanOptions;
use txgraph_testkit::{edit, fixtures, says};
use txgraph_transfers::{Kind, Transfer};

fn senders_jar(root: &Path) -> PathBuf {
    root.join("static_files/static_file_transaction-senders_0_499999")
}

/// All transfers, or the error as text.
fn scan(root: &Path, verify: bool) -> Result<Vec<Transfer>, String> {
    let db = txgraph_nodedb::NodeDb::open(&DataDir::new(root)).map_err(|e| e.to_string())?;
    drop(db);
    let options = ScanOptions {
        verify,
        ..ScanOptions::default()
    };
    let source = open_with(root, options);
    ask(&source, &everything(range(0, 40)))
        .map(|(transfers, _)| transfers)
        .map_err(|error| format!("{error}: {error:?}"))
}

/// Numbers of transactions that move coins, so that a scan reads their senders.
fn native_transactions(root: &Path) -> Vec<u64> {
    let source = open_with(root, ScanOptions::default());
    let (transfers, _) = answer(&source, &everything(range(0, 40)));
    let snapshot = source.db().snapshot().unwrap();
    let native = transfers.iter().filter(|row| row.kind == Kind::Value);
    native
        .map(|row| {
            let body = snapshot.body(row.block_number).unwrap();
            body.first_tx + u64::from(row.transaction_index)
        })
        .collect()
}

#[test]
fn verify_rejects_a_changed_sender_in_both_layouts() {
    for (fixture, is_v2) in fixtures::committed().iter().zip([false, true]) {
        let right = scan(fixture.path(), true).unwrap();
        let native = native_transactions(fixture.path());
        for tx in [
            native[0],
            native[native.len() / 2],
            native[native.len() - 1],
        ] {
            let copy = fixture.unpack();
            if is_v2 {
                edit::flip(&senders_jar(copy.path()), tx * 20 + 17, 1);
            } else {
                let wrong = Address::repeat_byte(0xee);
                let key = tx.to_be_bytes();
                edit::put(copy.path(), "TransactionSenders", &key, wrong.as_slice());
            }
            // A plain scan cannot know: the header does not commit to senders.
            let plain = scan(copy.path(), false).unwrap();
            let wrong = plain.iter().zip(&right).filter(|(a, b)| a != b);
            assert_eq!(wrong.count(), 1, "{}", fixture.name);
            let text = scan(copy.path(), true).unwrap_err();
            for part in ["transaction ", " of block ", "the node stores sender"] {
                assert!(text.contains(part), "{}: {text}", fixture.name);
            }
        }
    }
}

#[test]
fn verify_rejects_senders_of_another_chain() {
    let [_, v2] = fixtures::committed();
    let copy = v2.unpack();
    let jar = senders_jar(copy.path());
    let len = fs::metadata(&jar).unwrap().len();
    fs::write(&jar, vec![0x11; usize::try_from(len).unwrap()]).unwrap();
    let text = scan(copy.path(), true).unwrap_err();
    says(&text, "the node stores sender");
}

#[test]
fn every_scan_rejects_a_senders_file_that_is_short_or_a_device() {
    let [_, v2] = fixtures::committed();
    for verify in [false, true] {
        let copy = v2.unpack();
        let jar = senders_jar(copy.path());
        edit::set_len(&jar, 10_419);
        let text = scan(copy.path(), verify).unwrap_err();
        says(&text, "its rows end at byte 10420");
        fs::remove_file(&jar).unwrap();
        symlink("/dev/zero", &jar).unwrap();
        let text = scan(copy.path(), verify).unwrap_err();
        says(&text, "it is a device, not a regular file");
    }
}

#[test]
fn verify_does_not_change_rows() {
    for fixture in fixtures::committed() {
        let plain = scan(fixture.path(), false).unwrap();
        let verified = scan(fixture.path(), true).unwrap();
        assert_same(&verified, &plain, &fixture.name);
    }
}
