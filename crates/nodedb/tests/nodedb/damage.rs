//! Damaged directories give errors or right answers: no panic, no hang, and no wrong result
//! in anything that has a check. With `check_roots` senders, receipts and transactions have
//! one.

use alloy_primitives::{B256, keccak256};
use std::{
    fs::{self, File},
    ops::ControlFlow,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};
use txgraph_nodedb::{BlockRange, DataDir, NodeDb, Parts, Result, Scratch};
use txgraph_testkit::{
    edit::{set_len, write_at},
    fixtures::{Fixture, committed, paths_in},
    random::Xorshift,
};

/// Digests of everything in a directory, by part.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Everything {
    headers: B256,
    receipt_shapes: B256,
    /// Receipts, logs, transactions and withdrawals.
    contents: B256,
    senders: B256,
    /// Accounts and slots before each block. No header commits to them.
    changes: B256,
    /// Whether [`Block::check_roots`](txgraph_nodedb::Block::check_roots) accepts all blocks.
    verified: bool,
}

fn read_everything(dir: &Path) -> Result<Everything> {
    let db = NodeDb::open(&DataDir::new(dir))?;
    let snapshot = db.snapshot()?;
    let whole = BlockRange::up_to(snapshot.tip());
    snapshot.gaps(whole, Parts::ALL)?;
    let (mut headers, mut receipt_shapes) = (Vec::new(), Vec::new());
    let (mut contents, mut senders, mut verified) = (Vec::new(), Vec::new(), true);
    snapshot.for_each_block(whole, Parts::ALL, &mut Scratch::default(), &mut |block| {
        headers.extend(format!("{:?}", block.check_header()?).bytes());
        receipt_shapes.extend(block.body.tx_count.to_be_bytes());
        while let Some(receipt) = block.next_receipt()? {
            contents.push(receipt.tx_type);
            contents.push(receipt.success.into());
            contents.extend(receipt.cumulative_gas_used.to_be_bytes());
            receipt.logs().finish()?;
            contents.extend(
                receipt
                    .logs()
                    .flat_map(|log| format!("{log:?}").into_bytes()),
            );
        }
        for index in 0..block.body.tx_count as u32 {
            contents.extend(format!("{:?}", block.transaction(index)?).bytes());
            senders.extend(block.sender(index)?);
        }
        contents.extend(format!("{:?}", block.withdrawals()).bytes());
        verified &= block.check_roots().is_ok();
        Ok(ControlFlow::Continue(()))
    })?;
    let mut changes = Vec::new();
    let mut scratch = Scratch::default();
    snapshot.for_each_account_change(whole, &mut scratch, &mut |block, address, before| {
        let before = before.decode()?;
        changes.extend(format!("{block} {address} {before:?}").bytes());
        Ok(())
    })?;
    snapshot.for_each_storage_change(
        whole,
        &mut scratch,
        &mut |block, address, slot, before| {
            changes.extend(format!("{block} {address} {slot} {before}").bytes());
        },
    )?;
    let _ = snapshot.info()?;
    Ok(Everything {
        changes: keccak256(changes),
        headers: keccak256(headers),
        receipt_shapes: keccak256(receipt_shapes),
        contents: keccak256(contents),
        senders: keccak256(senders),
        verified,
    })
}

/// The files that are read, with the length that is used.
fn files(dir: &Path) -> Vec<(PathBuf, u64)> {
    let mut files = vec![
        (dir.join("db/mdbx.dat"), used_len(&dir.join("db/mdbx.dat"))),
        (dir.join("db/database.version"), 1),
    ];
    for path in paths_in(&dir.join("static_files")) {
        let len = fs::metadata(&path).unwrap().len();
        if len > 0 && path.file_name().unwrap() != "lock" {
            files.push((path, len));
        }
    }
    files.sort();
    files
}

/// Most of the 4 GiB of `mdbx.dat` are zero.
fn used_len(path: &Path) -> u64 {
    let file = File::open(path).unwrap();
    let mut page = [0; 4096];
    let pages = (0..4096).rev().find(|page_number| {
        file.read_exact_at(&mut page, page_number * 4096).unwrap();
        page.iter().any(|byte| *byte != 0)
    });
    (pages.unwrap() + 1) * 4096
}

/// Flips bits, overwrites words and truncates files, one at a time, and repairs them.
fn damage(fixture: &Fixture, seed: u64, rounds: u64) {
    let copy = fixture.unpack();
    let right = read_everything(copy.path()).unwrap();
    assert!(right.verified);
    let files = files(copy.path());
    let mut random = Xorshift(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let (mut same, mut errors, mut others) = (0, 0, 0);
    for _ in 0..rounds {
        // Small files are damaged as often as large ones.
        let (path, len) = &files[random.below(files.len() as u64) as usize];
        let what = random.below(10);
        let at = random.below(*len);
        let mut before = vec![0; 8.min((len - at) as usize)];
        let whole = fs::metadata(path).unwrap().len();
        let described;
        if what == 0 && !path.ends_with("mdbx.dat") {
            before = fs::read(path).unwrap().split_off(at as usize);
            set_len(path, at);
            described = format!("{} truncated to {at}", path.display());
        } else {
            File::open(path)
                .unwrap()
                .read_exact_at(&mut before, at)
                .unwrap();
            let mut after = before.clone();
            if what < 8 {
                after[0] ^= 1 << random.below(8);
            } else {
                after
                    .iter_mut()
                    .for_each(|byte| *byte = random.below(256) as u8);
            }
            write_at(path, at, &after);
            described = format!("{} at {at}: {before:02x?} -> {after:02x?}", path.display());
        }
        match read_everything(copy.path()) {
            Ok(found) => {
                assert_eq!(found.headers, right.headers, "{described}");
                assert_eq!(found.receipt_shapes, right.receipt_shapes, "{described}");
                // A scan does not check the payload of receipts and transactions, nor
                // senders; `check_roots` does.
                assert_eq!(
                    found.verified,
                    found.contents == right.contents && found.senders == right.senders,
                    "{described}"
                );
                if found == right {
                    same += 1;
                } else {
                    others += 1;
                }
            }
            Err(error) => {
                assert!(!error.to_string().is_empty());
                errors += 1;
            }
        }
        write_at(path, at, &before);
        assert_eq!(fs::metadata(path).unwrap().len(), whole);
    }
    assert_eq!(read_everything(copy.path()).unwrap(), right);
    println!(
        "{}: {same} same, {errors} errors, {others} unchecked",
        fixture.name
    );
    assert!(errors > rounds / 20 && same > 0);
}

/// `TXGRAPH_DAMAGE_ROUNDS` sets the number of rounds (default 1000).
#[test]
fn damaged_bits_words_and_lengths() {
    let rounds = std::env::var("TXGRAPH_DAMAGE_ROUNDS").map_or(1000, |text| text.parse().unwrap());
    let fixtures = committed();
    // Most of the time is spent in retries: damage looks like a change at first.
    std::thread::scope(|scope| {
        for seed in 1..=8 {
            let fixture = &fixtures[seed as usize % 2];
            scope.spawn(move || damage(fixture, seed, rounds / 8));
        }
    });
}

/// A truncated database, at several kinds of positions.
#[test]
fn rejects_truncated_database() {
    let [_, fixture] = committed();
    let used = used_len(&fixture.path().join("db/mdbx.dat"));
    for len in [
        0,
        1,
        4095,
        4096,
        8192,
        3 * 4096,
        used / 2,
        used - 4096,
        used - 1,
    ] {
        let copy = fixture.unpack();
        let path = copy.path().join("db/mdbx.dat");
        set_len(&path, len);
        let error = read_everything(copy.path()).expect_err("pages are missing");
        println!("{len}: {error}");
    }
}
