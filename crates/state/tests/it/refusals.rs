//! Unavailable state is refused with the reason and a way out. Damage is an error that names
//! the place.

use crate::support::{check, open, queries, walking};
use alloy_primitives::{Address, U256};
use std::{
    fs::{self, File},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};
use txgraph_nodedb::{BlockRange, DataDir};
use txgraph_state::{Available, Error, Spill, StateDb, StateOptions};
use txgraph_testkit::{
    edit::{delete, put},
    fixtures::{Fixture, Unpacked, committed, fixture, paths_in},
    or_skip,
    random::Xorshift,
    says,
};

fn copies() -> [Unpacked; 2] {
    committed().map(|fixture| fixture.unpack())
}

fn available(dir: &Path) -> Available {
    open(dir, StateOptions::default()).available().unwrap()
}

/// Checks that the state after a block is refused with this message, alone and in a range.
fn refused(dir: &Path, block: u64, words: &str) {
    let db = open(dir, StateOptions::default());
    let single = BlockRange::one(block);
    for error in [db.at(block).unwrap_err(), db.range(single).unwrap_err()] {
        assert!(error.is_missing() && !error.is_stale(), "{error}");
        says(&error, words);
    }
}

#[test]
fn refuses_blocks_above_the_tip() {
    for copy in copies() {
        let words = "block 41 is above the tip 40 on disk (a running node keeps its newest blocks \
                     in memory)";
        refused(copy.path(), 41, words);
        let db = open(copy.path(), StateOptions::default());
        db.at(40).unwrap();
        let error = db.changes(41).unwrap_err();
        assert!(error.is_missing(), "{error}");
    }
}

/// Some stages must be at the tip. Otherwise no state is available.
#[test]
fn refuses_state_during_a_sync() {
    for (copy, stages) in copies().iter().zip([
        &["Execution"][..],
        &["Execution", "AccountHashing", "StorageHashing"],
    ]) {
        for stage in stages {
            put(copy.path(), "StageCheckpoints", stage.as_bytes(), &[1, 20]);
            let words = format!("stage {stage} is at block 20, the tip is 40");
            refused(copy.path(), 10, &words);
            refused(copy.path(), 40, &words);
            assert_eq!(available(copy.path()).blocks, None);
            put(copy.path(), "StageCheckpoints", stage.as_bytes(), &[1, 40]);
        }
        assert!(available(copy.path()).blocks.is_some());
    }
}

/// The state ends with the block that stage `Finish` names. Stage data of another kind is refused.
#[test]
fn state_ends_with_the_stored_one() {
    let [_, v2] = copies();
    // One byte for the variant, one of flags, and the block of the state with its length.
    let finish = [0x11, 40, 4, 7, 1, 1, 30];
    put(v2.path(), "StageCheckpoints", b"Finish", &finish);
    let found = available(v2.path());
    assert_eq!(found.state_block, 30);
    let blocks = found.blocks.unwrap();
    assert_eq!((blocks.first, blocks.last), (0, 30));
    let db = open(v2.path(), StateOptions::default());
    let error = db.range(BlockRange::from_to(30, 31)).unwrap_err();
    assert!(error.is_missing(), "{error}");
    drop(db);
    for (row, words) in [
        (&[0x11, 40, 4, 7, 1, 1, 41][..], "at the later block 41"),
        (&[0x11, 40, 2, 7, 2], "data of a later version"),
        (&[0x11, 40, 2, 8, 0], "data of an unknown kind (0800)"),
    ] {
        put(v2.path(), "StageCheckpoints", b"Finish", row);
        refused(v2.path(), 40, words);
    }
}

/// Without an index, single blocks are refused and ranges are answered.
#[test]
fn ranges_work_without_a_complete_index() {
    let [fixture, _] = committed();
    let copy = fixture.unpack();
    for stage in ["IndexAccountHistory", "IndexStorageHistory"] {
        put(copy.path(), "StageCheckpoints", stage.as_bytes(), &[1, 20]);
        let db = open(copy.path(), StateOptions::default());
        let error = db.at(10).unwrap_err();
        assert!(matches!(error, Error::NoIndex { block: 10, .. }), "{error}");
        let words = format!("stage {stage} is at block 20, the tip is 40");
        let text = error.to_string();
        says(&text, &words);
        says(&text, "prepare a range");
        db.at(40).unwrap();
        let blocks = db.available().unwrap().blocks.unwrap();
        let range = db.range(blocks).unwrap();
        assert!(range.is_walked());
        for (block, queries) in queries(&fixture) {
            let state = range.at(block).unwrap();
            for query in queries {
                check(&query, &state, "incomplete index");
            }
        }
        drop(range);
        drop(db);
        put(copy.path(), "StageCheckpoints", stage.as_bytes(), &[1, 40]);
    }
    assert_eq!(available(copy.path()).index_obstacle, None);
}

#[test]
fn refuses_a_missing_rocksdb() {
    let [_, v2] = copies();
    fs::rename(v2.path().join("rocksdb"), v2.path().join("elsewhere")).unwrap();
    let db = open(v2.path(), StateOptions::default());
    let text = db.at(10).unwrap_err().to_string();
    says(&text, "name that directory");
    assert!(db.range(BlockRange::one(10)).unwrap().is_walked());
    let dir = DataDir {
        rocksdb: Some(v2.path().join("elsewhere")),
        ..DataDir::new(v2.path())
    };
    let db = StateDb::open(&dir, StateOptions::default()).unwrap();
    db.at(10).unwrap();
    assert_eq!(db.available().unwrap().index_obstacle, None);
}

/// The node was stopped after its pruner committed RocksDB and before it committed MDBX.
#[test]
fn detects_an_index_pruned_further_than_its_checkpoint() {
    let fixture = or_skip!(fixture("pruned/long-v2-full"));
    let db = open(fixture.path(), StateOptions::default());
    assert_eq!(db.available().unwrap().indexed_from, 2936);
    for block in 2930..2936 {
        let text = db.at(block).unwrap_err().to_string();
        let words = "the index in RocksDB begins with block 2937";
        says(&text, words);
        says(&text, "prepare a range");
    }
    db.at(2936).unwrap();
    let range = |first| db.range(BlockRange { first, last: 2950 }).unwrap();
    assert!(range(2935).is_walked());
    assert!(!range(2936).is_walked());
}

#[test]
fn refuses_pruned_history() {
    for (name, first, words) in [
        (
            "pruned/dev-v2-distance",
            449,
            "account changes are pruned up to block 449",
        ),
        (
            "pruned/long-v2-full",
            2930,
            "storage changes are pruned up to block 2930",
        ),
        (
            "odd/pruned-v1",
            3356,
            "account changes are pruned up to block 3356",
        ),
        (
            "odd/pruned-v2",
            3355,
            "account changes are pruned up to block 3355",
        ),
    ] {
        let Some(fixture) = fixture(name) else { return };
        for block in [0, first - 1] {
            refused(fixture.path(), block, words);
        }
        let last = fixture.tip().unwrap_or(first);
        let db = open(fixture.path(), StateOptions::default());
        db.range(BlockRange { first, last }).unwrap();
        let error = db.changes(first).unwrap_err();
        assert!(error.is_missing(), "{error}");
        db.changes(first + 1).unwrap();
    }
}

/// Change sets without a prune checkpoint, as after the download of a snapshot.
#[test]
fn refuses_missing_change_sets() {
    let [v1, v2] = copies();
    for block in 0..5_u64 {
        delete(v1.path(), "AccountChangeSets", &block.to_be_bytes());
    }
    let words = "account changes of block 4 and earlier blocks are missing";
    refused(v1.path(), 3, words);
    assert_eq!(
        available(v1.path()).blocks,
        Some(BlockRange { first: 4, last: 40 })
    );

    for segment in ["account", "storage"] {
        let name = format!("static_file_{segment}-change-sets_0_499999");
        let away = v2.path().join("away");
        fs::rename(v2.path().join("static_files").join(&name), &away).unwrap();
        let words = format!("{segment} changes of block 40 and earlier blocks");
        refused(v2.path(), 39, &words);
        open(v2.path(), walking()).at(40).unwrap();
        fs::rename(away, v2.path().join("static_files").join(name)).unwrap();
    }
}

/// A file in the middle is missing.
#[test]
fn refuses_blocks_below_a_gap_in_change_sets() {
    let fixture = or_skip!(fixture("pruned/dev-v2-distance"));
    let copy = fixture.unpack();
    for (segment, first) in [("storage", 599), ("account", 699)] {
        let files = copy.path().join("static_files");
        let name = format!("static_file_{segment}-change-sets_{}_{first}", first - 99);
        fs::remove_file(files.join(name)).unwrap();
        let words = format!("{segment} changes of block {first} and earlier blocks");
        refused(copy.path(), first - 1, &words);
        let blocks = BlockRange { first, last: 800 };
        assert_eq!(available(copy.path()).blocks, Some(blocks));
        open(copy.path(), walking()).range(blocks).unwrap();
    }
}

#[test]
fn refuses_blocks_outside_of_the_range() {
    for copy in copies() {
        let db = open(copy.path(), StateOptions::default());
        let range = db.range(BlockRange { first: 5, last: 9 }).unwrap();
        range.at(5).unwrap();
        range.at(9).unwrap();
        for block in [4, 10, 99] {
            let error = range.at(block).unwrap_err();
            let text = error.to_string();
            says(&text, "outside of the prepared range 5:10");
        }
    }
}

#[test]
fn respects_the_limits_of_memory_and_files() {
    let [_, v2] = copies();
    let whole = BlockRange::up_to(40);
    let fails = |options: StateOptions| {
        let db = open(v2.path(), options);
        db.range(whole).unwrap_err()
    };
    let small = StateOptions {
        overlay_bytes_max: 10_000,
        spill: None,
        ..walking()
    };
    let text = fails(small.clone()).to_string();
    says(&text, "in memory");
    says(&text, "1:41");

    let spill = |directory: PathBuf, bytes_max| StateOptions {
        spill: Some(Spill {
            directory,
            bytes_max,
        }),
        ..small.clone()
    };
    let text = fails(spill(std::env::temp_dir(), 20_000)).to_string();
    says(&text, "in temporary files");
    let text = fails(spill(v2.path().join("nowhere"), 1 << 30)).to_string();
    says(&text, "cannot create a temporary file in");
    let db = open(v2.path(), spill(std::env::temp_dir(), 1 << 30));
    db.range(whole).unwrap();
}

/// Returns an account with code, as of the tip.
fn a_contract(fixture: &Fixture, db: &StateDb) -> (Address, alloy_primitives::B256) {
    let state = db.at(40).unwrap();
    let contracts = fixture.truth["contracts"]
        .as_object()
        .map(|all| all.values());
    let mut addresses = contracts
        .into_iter()
        .flatten()
        .filter_map(|contract| contract["address"].as_str().or(contract.as_str()))
        .filter_map(|address| address.parse::<Address>().ok());
    addresses
        .find_map(|address| {
            let account = state.account(address).unwrap()?;
            (account.code_hash != alloy_primitives::KECCAK256_EMPTY)
                .then_some((address, account.code_hash))
        })
        .expect("the chain has contracts")
}

#[test]
fn rejects_damaged_code() {
    let [fixture, _] = committed();
    let copy = fixture.unpack();
    let (_, hash) = a_contract(&fixture, &open(copy.path(), StateOptions::default()));
    let code = || {
        let db = open(copy.path(), StateOptions::default());
        db.at(40).unwrap().code(hash)
    };
    code().unwrap();
    put(
        copy.path(),
        "Bytecodes",
        hash.as_slice(),
        &[0, 0, 0, 1, 0x5b, 0],
    );
    let text = code().unwrap_err().to_string();
    says(&text, "does not have the hash of its key");
    delete(copy.path(), "Bytecodes", hash.as_slice());
    let error = code().unwrap_err();
    assert!(matches!(error, Error::MissingCode { .. }), "{error}");
}

/// The index lists a block whose change set does not have the account.
#[test]
fn rejects_an_index_that_contradicts_change_sets() {
    let [v1, _] = copies();
    let db = open(v1.path(), StateOptions::default());
    let changes = db.changes(20).unwrap();
    let address = changes.accounts[0].address;
    drop(db);
    delete(v1.path(), "AccountChangeSets", &20_u64.to_be_bytes());
    let db = open(v1.path(), StateOptions::default());
    let error = db.at(19).unwrap().account(address).unwrap_err();
    assert!(
        matches!(error, Error::MissingChange { block: 20, .. }),
        "{error}"
    );
    says(&error, &address.to_string());
}

/// Flipped bits and short files give errors or answers, never a panic.
#[test]
fn damaged_files_never_panic() {
    let [_, v2] = committed();
    let copy = v2.unpack();
    let files: Vec<PathBuf> = ["account", "storage"]
        .into_iter()
        .flat_map(|segment| {
            ["", ".off", ".csoff", ".conf"].map(|satellite| {
                let name = format!("static_file_{segment}-change-sets_0_499999{satellite}");
                copy.path().join("static_files").join(name)
            })
        })
        .collect();
    let read = || read_everything(copy.path());
    assert!(errors_of_damage(&files, (300, 5), 0x5eed, read) > 60);
}

/// Damages one file at a time: cuts every `cut`th, and flips a bit of the others. Returns how many
/// of the rounds gave an error.
fn errors_of_damage<T>(
    files: &[PathBuf],
    (rounds, cut): (usize, usize),
    seed: u64,
    read: impl Fn() -> Result<T, Error>,
) -> usize {
    let (mut random, mut errors) = (Xorshift(seed), 0);
    for round in 0..rounds {
        let path = &files[round % files.len()];
        let whole = fs::read(path).unwrap();
        let mut damaged = whole.clone();
        let at = random.below(whole.len() as u64) as usize;
        if round % cut == cut - 1 {
            damaged.truncate(at);
        } else {
            damaged[at] ^= 1 << random.below(8);
        }
        fs::write(path, &damaged).unwrap();
        if let Err(error) = read() {
            assert!(!error.to_string().is_empty());
            errors += 1;
        }
        fs::write(path, whole).unwrap();
    }
    println!("{errors} of {rounds} damaged directories gave an error");
    read().unwrap();
    errors
}

/// The same for the pages of `mdbx.dat`, which has all state of a v1 node.
#[test]
fn a_damaged_database_never_panics() {
    let [v1, _] = committed();
    let copy = v1.unpack();
    let path = copy.path().join("db/mdbx.dat");
    let file = File::options().read(true).write(true).open(&path).unwrap();
    let mut page = vec![0; 4096];
    let used: Vec<u64> = (0..2048)
        .map(|number| number * 4096)
        .filter(|at| {
            file.read_exact_at(&mut page, *at).unwrap();
            page.iter().any(|byte| *byte != 0)
        })
        .collect();
    let (mut random, mut errors) = (Xorshift(0xdada), 0);
    for _ in 0..300 {
        let at = used[random.below(used.len() as u64) as usize] + random.below(4096);
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        let damaged = byte[0] ^ 1 << random.below(8);
        file.write_all_at(&[damaged], at).unwrap();
        if let Err(error) = read_by_index(copy.path()) {
            assert!(!error.to_string().is_empty());
            errors += 1;
        }
        file.write_all_at(&byte, at).unwrap();
    }
    println!("{errors} of 300 damaged databases gave an error");
    assert!(errors > 10);
    read_by_index(copy.path()).unwrap();
}

/// The end of RocksDB's log is lost, with the newest blocks of the index.
#[test]
fn detects_a_truncated_rocksdb_log() {
    let [_, v2] = committed();
    let copy = v2.unpack();
    for path in paths_in(&copy.path().join("rocksdb")) {
        if path.extension().is_some_and(|extension| extension == "log") {
            fs::write(path, []).unwrap();
        }
    }
    let db = open(copy.path(), StateOptions::default());
    let available = db.available().unwrap();
    println!("{available:?}");
    if available.index_obstacle.is_some() {
        assert_eq!(available.indexed_from, 40);
        let blocks = BlockRange::up_to(39);
        assert!(db.range(blocks).unwrap().is_walked());
    }
    let blocks = available.blocks.unwrap();
    let range = db.range(blocks).unwrap();
    for (block, queries) in queries(&v2) {
        let state = range.at(block).unwrap();
        for query in queries {
            check(&query, &state, "truncated log");
        }
    }
}

/// The same for the files of RocksDB.
#[test]
fn a_damaged_rocksdb_never_panics() {
    let [_, v2] = committed();
    let copy = v2.unpack();
    let mut files = paths_in(&copy.path().join("rocksdb"));
    files.retain(|path| {
        let has_bytes = fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() > 0);
        has_bytes && !path.ends_with("LOG") && !path.ends_with("LOCK")
    });
    assert!(files.len() > 3, "{files:?}");
    errors_of_damage(&files, (120, 3), 0xd0c5, || read_by_index(copy.path()));
}

fn read_by_index(dir: &Path) -> Result<(), Error> {
    let db = StateDb::open(&DataDir::new(dir), StateOptions::default())?;
    let Some(blocks) = db.available()?.blocks else {
        return Ok(());
    };
    let tip = db.at(blocks.last)?;
    for block in (blocks.first + 1)..=blocks.last {
        let changes = db.changes(block)?;
        let state = db.range(blocks)?.at(block - 1)?;
        for change in &changes.accounts {
            state.account(change.address)?;
            if let Some(account) = tip.account(change.address)? {
                tip.code(account.code_hash)?;
            }
        }
        for change in &changes.storage {
            state.storage(change.address, change.slot.into())?;
        }
    }
    Ok(())
}

fn read_everything(dir: &Path) -> Result<U256, Error> {
    let db = StateDb::open(&DataDir::new(dir), walking())?;
    let Some(blocks) = db.available()?.blocks else {
        return Ok(U256::ZERO);
    };
    let range = db.range(blocks)?;
    let mut sum = U256::ZERO;
    for block in (blocks.first + 1)..=blocks.last {
        let changes = db.changes(block)?;
        let state = range.at(block - 1)?;
        for change in &changes.accounts {
            let account = state.account(change.address)?;
            // Also with the index.
            state.snapshot().account_before(block, change.address)?;
            sum ^= account.unwrap_or_default().balance;
        }
        for change in &changes.storage {
            let slot = change.slot.into();
            state
                .snapshot()
                .storage_before(block, change.address, slot)?;
            sum ^= state.storage(change.address, slot)?;
        }
    }
    Ok(sum)
}
