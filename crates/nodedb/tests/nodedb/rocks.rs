//! The indices in RocksDB, compared with the static files of the same directory, which do not
//! come from it.

use alloy_primitives::{Address, B256};
use std::{
    collections::BTreeMap, fs, ops::ControlFlow, os::unix::fs::symlink, path::Path,
    process::Command,
};
use txgraph_nodedb::{BlockRange, DataDir, NodeDb, Parts, Result, Scratch, Snapshot};
use txgraph_testkit::fixtures::{paths_in, v2 as directories};

/// Transactions whose stored bytes have a hash under which the index has them, and those that
/// it does not have.
fn look_up_all(snapshot: &Snapshot<'_>) -> Result<(u64, u64)> {
    let parts = Parts {
        headers: false,
        receipts: false,
        transactions: true,
        senders: false,
        withdrawals: false,
    };
    let mut hashes = Vec::new();
    for number in 0..=snapshot.tip() {
        let one = BlockRange::one(number);
        // Blocks whose transactions are pruned give an error.
        let _ = snapshot.for_each_block(one, parts, &mut Scratch::default(), &mut |block| {
            for index in 0..u32::try_from(block.body.tx_count).unwrap() {
                let hash = block.stored_transaction(index)?.hash();
                hashes.push((hash, (number, index)));
            }
            Ok(ControlFlow::Continue(()))
        });
    }
    let (mut found, mut absent) = (0, 0);
    for (hash, expected) in hashes {
        match snapshot.find_transaction(hash)? {
            Some(place) => {
                assert_eq!(place, expected);
                found += 1;
            }
            None => absent += 1,
        }
    }
    Ok((found, absent))
}

#[test]
fn every_transaction_is_found_by_the_hash_of_its_bytes() {
    for fixture in directories() {
        let db = NodeDb::open(&DataDir::new(fixture.path())).unwrap();
        let (found, absent) = look_up_all(&db.snapshot().unwrap()).unwrap();
        println!("{}: {found} found, {absent} not", fixture.name);
        // A node prunes the index of hashes from the first block on.
        assert!(
            fixture.name.contains("pruned") || absent == 0,
            "{}",
            fixture.name
        );
    }
}

/// The blocks that changed something, from the change sets and from the index.
#[test]
fn every_change_is_indexed_and_nothing_else() {
    for fixture in directories() {
        let db = NodeDb::open(&DataDir::new(fixture.path())).unwrap();
        let snapshot = db.snapshot().unwrap();
        let coverage = snapshot.state_coverage().unwrap();
        if coverage.index_obstacle.is_some() && coverage.indexed_from == snapshot.tip() {
            println!("{}: {:?}", fixture.name, coverage.index_obstacle);
            continue;
        }
        let first = coverage.indexed_from + 1;
        let mut accounts: BTreeMap<Address, Vec<u64>> = BTreeMap::new();
        let mut slots: BTreeMap<(Address, B256), Vec<u64>> = BTreeMap::new();
        let mut scratch = Scratch::default();
        let blocks = BlockRange::from_to(first, snapshot.tip());
        snapshot
            .for_each_account_change(blocks, &mut scratch, &mut |block, address, _| {
                accounts.entry(address).or_default().push(block);
                Ok(())
            })
            .unwrap();
        snapshot
            .for_each_storage_change(blocks, &mut scratch, &mut |block, address, slot, _| {
                slots.entry((address, slot)).or_default().push(block);
            })
            .unwrap();
        println!(
            "{}: {} accounts, {} slots from block {first} on",
            fixture.name,
            accounts.len(),
            slots.len()
        );
        for (address, blocks) in &accounts {
            let next = |block| snapshot.next_account_change(*address, block).unwrap();
            assert_eq!(indexed(first, next), *blocks, "{}: {address}", fixture.name);
        }
        for ((address, slot), blocks) in &slots {
            let next = |block| {
                snapshot
                    .next_storage_change(*address, *slot, block)
                    .unwrap()
            };
            assert_eq!(
                indexed(first, next),
                *blocks,
                "{}: {address} {slot}",
                fixture.name
            );
        }
        for n in 0..200 {
            let unknown = Address::left_padding_from(&[0xee, n, 7]);
            if !accounts.contains_key(&unknown) {
                assert_eq!(
                    snapshot.next_account_change(unknown, first - 1).unwrap(),
                    None
                );
            }
        }
    }
}

fn indexed(first: u64, next: impl Fn(u64) -> Option<u64>) -> Vec<u64> {
    let blocks = std::iter::successors(next(first - 1), |block| next(*block));
    blocks.collect()
}

/// Reads one row of each table.
fn read(dir: &Path) -> Result<()> {
    let db = NodeDb::open(&DataDir::new(dir))?;
    let snapshot = db.snapshot()?;
    snapshot.find_transaction(B256::ZERO)?;
    snapshot.next_account_change(Address::ZERO, 1)?;
    snapshot.next_storage_change(Address::ZERO, B256::ZERO, 1)?;
    Ok(())
}

#[test]
fn refuses_files_that_are_not_regular() {
    for fixture in directories()
        .iter()
        .filter(|fixture| !fixture.name.contains("long"))
    {
        let copy = fixture.unpack();
        if read(copy.path()).is_err() {
            continue;
        }
        let mut refused = 0;
        for path in paths_in(&copy.path().join("rocksdb")) {
            let kept = copy.path().join("kept");
            fs::rename(&path, &kept).unwrap();
            let pipe = Command::new("mkfifo").arg(&path).status().unwrap();
            assert!(pipe.success());
            refused += check_refusal(copy.path(), &path, "a named pipe");
            fs::remove_file(&path).unwrap();
            symlink("/dev/zero", &path).unwrap();
            refused += check_refusal(copy.path(), &path, "a device");
            fs::remove_file(&path).unwrap();
            fs::rename(&kept, &path).unwrap();
        }
        // At least CURRENT, the manifest and a log.
        assert!(refused >= 6, "{}: {refused}", fixture.name);
        read(copy.path()).unwrap();
    }
}

fn check_refusal(dir: &Path, path: &Path, kind: &str) -> u32 {
    let name = path.file_name().unwrap().to_str().unwrap();
    let is_read = name == "CURRENT" || name.starts_with("MANIFEST") || name.ends_with(".sst");
    match read(dir) {
        // Other files are not opened, and a log only if it has rows that are not in tables.
        Ok(()) => {
            assert!(!is_read, "{name} is {kind}");
            0
        }
        Err(error) => {
            let text = error.to_string();
            assert!(text.contains(kind) && text.contains(name), "{name}: {text}");
            1
        }
    }
}
