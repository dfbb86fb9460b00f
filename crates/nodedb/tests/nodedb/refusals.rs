//! Paths and directories that are not supported are refused with a helpful message.

use std::{
    fs::{self, File},
    os::unix::fs::{FileExt, symlink},
    path::Path,
};
use txgraph_nodedb::{BlockRange, ChainFamily, DataDir, Error, NodeDb, Parts, Scratch};
use txgraph_testkit::{
    edit::{put, write_at},
    fixtures::{Unpacked, committed},
};

fn refused(dir: &Path, message: &str) -> Error {
    let error = NodeDb::open(&DataDir::new(dir)).expect_err("must be refused");
    assert!(error.to_string().contains(message), "{error}");
    error
}

fn copy() -> Unpacked {
    let [_, v2] = committed();
    v2.unpack()
}

#[test]
fn refuses_paths_that_are_not_a_data_directory() {
    let dir = tempfile::tempdir().unwrap();
    refused(&dir.path().join("nowhere"), "no such directory");
    refused(dir.path(), "no db/mdbx.dat");
    fs::write(dir.path().join("file"), "").unwrap();
    refused(&dir.path().join("file"), "it is a file");

    let copy = copy();
    refused(&copy.path().join("db"), "use its parent");
    let chain = dir.path().join("mainnet");
    symlink(copy.path(), &chain).unwrap();
    refused(dir.path(), "did you mean /");
    for name in ["a", "b", "c", "d", "e"] {
        let db = dir.path().join(name).join("db");
        fs::create_dir_all(&db).unwrap();
        fs::write(db.join("mdbx.dat"), "").unwrap();
    }
    refused(
        dir.path(),
        "did you mean one of its folders (a, b, c, d, e, …)?",
    );
    fs::rename(
        copy.path().join("static_files"),
        copy.path().join("elsewhere"),
    )
    .unwrap();
    refused(copy.path(), "keeps its static files elsewhere");
    let moved = DataDir {
        static_files: Some(copy.path().join("elsewhere")),
        ..DataDir::new(copy.path())
    };
    assert_eq!(NodeDb::open(&moved).unwrap().snapshot().unwrap().tip(), 40);
}

#[test]
fn checks_the_database_version() {
    let copy = copy();
    let file = copy.path().join("db/database.version");
    fs::write(&file, "3").unwrap();
    assert!(matches!(
        refused(copy.path(), "database version 3"),
        Error::Unsupported { .. }
    ));
    fs::write(&file, "two").unwrap();
    refused(copy.path(), "decimal number");
    // As after `reth db migrate-v2`.
    fs::remove_file(&file).unwrap();
    NodeDb::open(&DataDir::new(copy.path())).unwrap();
}

/// The `Metadata` rows of all versions of reth.
#[test]
fn reads_storage_settings_of_all_versions() {
    const SETTINGS: [&str; 6] = [
        "receipts_in_static_files",
        "transaction_senders_in_static_files",
        "storages_history_in_rocksdb",
        "transaction_hash_numbers_in_rocksdb",
        "account_history_in_rocksdb",
        "account_changesets_in_static_files",
    ];
    let copy = copy();
    let set = |json: &str| {
        let mut value = ((json.len() as u16) << 2 | 1).to_le_bytes().to_vec();
        value.extend(json.bytes());
        put(copy.path(), "Metadata", b"storage_settings", &value);
    };
    let layout = || {
        let db = NodeDb::open(&DataDir::new(copy.path())).unwrap();
        db.snapshot().unwrap().layout().unwrap().name()
    };
    assert_eq!(layout(), "v2");
    set(r#"{"storage_v2":false}"#);
    assert_eq!(layout(), "v1");
    set("not JSON");
    assert_eq!(layout(), "v1");
    let six = |on: Option<usize>| {
        let fields: Vec<String> = SETTINGS
            .iter()
            .enumerate()
            .map(|(index, name)| format!("\"{name}\":{}", on == Some(index)))
            .collect();
        format!("{{{}}}", fields.join(","))
    };
    set(&six(None));
    assert_eq!(layout(), "v1");
    for (index, setting) in SETTINGS.into_iter().enumerate() {
        set(&six(Some(index)));
        refused(copy.path(), setting);
    }
}

/// A jar of an unknown version or another program.
#[test]
fn refuses_unknown_static_files() {
    let change = |offset: u64, byte: u8, words: &str| {
        let copy = copy();
        let conf = copy
            .path()
            .join("static_files/static_file_headers_0_499999.conf");
        write_at(&conf, offset, &[byte]);
        refused(copy.path(), words);
    };
    change(0, 2, "unknown NippyJar version");
    // 8 version, 16 expected, 17 blocks, 1 no transactions, 4 segment: columns.
    change(46, 4, "number of columns");
    change(54, 7, "contradicts its range");
    change(63, 0, "compressed with zstd");
    change(63, 9, "unknown compression");
}

/// Other segments, temporary files and foreign files are ignored.
#[test]
fn ignores_foreign_files() {
    let copy = copy();
    let dir = copy.path().join("static_files");
    // Change sets of another version are never read.
    let conf = dir.join("static_file_account-change-sets_0_499999.conf");
    write_at(&conf, 0, &[9]);
    for name in [
        "static_file_blockmeta_0_499999",
        "static_file_headers_500000_999999",
        "static_file_receipts_0_499999.conf.tmp",
        "static_file_x",
        "notes.txt",
    ] {
        fs::write(dir.join(name), "whatever").unwrap();
    }
    let db = NodeDb::open(&DataDir::new(copy.path())).unwrap();
    let info = db.snapshot().unwrap().info().unwrap();
    assert_eq!(info.headers, [BlockRange::up_to(40)]);
    let notes = info.notes.join("\n");
    assert!(
        notes.contains("blockmeta") && notes.contains("account-change-sets"),
        "{notes}"
    );
    assert_eq!(info.account_state, [BlockRange::one(40)]);
}

/// Changes the first transaction of the tip to an OP-stack deposit. The receipts are then read
/// in the layout of op-reth, which refuses them.
#[test]
fn refuses_ethereum_receipts_on_an_op_stack_chain() {
    let copy = copy();
    let db = NodeDb::open(&DataDir::new(copy.path())).unwrap();
    let snapshot = db.snapshot().unwrap();
    // A block whose first transaction is stored without compression.
    let mut scratch = Scratch::default();
    let mut found = None;
    let whole = BlockRange { first: 1, last: 40 };
    snapshot
        .for_each_block(whole, Parts::default(), &mut scratch, &mut |block| {
            if block.body.tx_count > 0 && block.transaction_bytes(0)?[0] & 8 == 0 {
                found = Some((block.number, block.body.first_tx));
            }
            Ok(std::ops::ControlFlow::Continue(()))
        })
        .unwrap();
    drop(snapshot);
    drop(db);
    let (block, tx) = found.unwrap();
    put(
        copy.path(),
        "StageCheckpoints",
        b"Finish",
        &[1, block as u8],
    );
    let db = NodeDb::open(&DataDir::new(copy.path())).unwrap();
    assert_eq!(db.snapshot().unwrap().tip(), block);
    drop(db);
    let jar = copy
        .path()
        .join("static_files/static_file_transactions_0_499999");
    let mut offset = [0; 8];
    File::open(jar.with_extension("off"))
        .unwrap()
        .read_exact_at(&mut offset, 1 + 8 * tx)
        .unwrap();
    let offset = u64::from_le_bytes(offset);
    write_at(&jar, offset, &[0b0110]);
    write_at(&jar, offset + 65, &[0x7e]);
    let db = NodeDb::open(&DataDir::new(copy.path())).unwrap();
    assert_eq!(db.family(), ChainFamily::OpStack);
    let snapshot = db.snapshot().unwrap();
    let blocks = BlockRange::one(block);
    let visit = &mut |block: &mut txgraph_nodedb::Block<'_>| {
        while block.next_receipt()?.is_some() {}
        Ok(std::ops::ControlFlow::Continue(()))
    };
    let parts = Parts {
        receipts: true,
        ..Parts::default()
    };
    let error = snapshot
        .for_each_block(blocks, parts, &mut Scratch::default(), visit)
        .unwrap_err();
    let expected = "it is a receipt of Ethereum, but this is a chain of the OP stack";
    assert!(error.to_string().contains(expected), "{error}");
}

#[test]
fn refuses_blocks_above_the_tip() {
    let copy = copy();
    let db = NodeDb::open(&DataDir::new(copy.path())).unwrap();
    let snapshot = db.snapshot().unwrap();
    assert!(matches!(
        snapshot.header(41),
        Err(Error::AboveTip { block: 41, tip: 40 })
    ));
    assert!(snapshot.block_hash(u64::MAX).unwrap_err().is_missing());
    assert!(snapshot.body(41).unwrap_err().is_missing());
    let visit = &mut |_: &mut txgraph_nodedb::Block<'_>| panic!("no block must be visited");
    let blocks = BlockRange::from_to(40, 41);
    let error = snapshot
        .for_each_block(blocks, Parts::default(), &mut Scratch::default(), visit)
        .unwrap_err();
    assert!(error.is_missing(), "{error}");
    let first = BlockRange::one(1);
    let visit = &mut |block: &mut txgraph_nodedb::Block<'_>| {
        assert!(block.signed_transaction(9999).is_err());
        Ok(std::ops::ControlFlow::Continue(()))
    };
    snapshot
        .for_each_block(first, Parts::default(), &mut Scratch::default(), visit)
        .unwrap();
    let gaps = snapshot
        .gaps(BlockRange::from_to(39, 50), Parts::default())
        .unwrap();
    assert_eq!(gaps.len(), 1);
    assert_eq!(gaps[0].blocks, BlockRange::from_to(41, 50));
    assert!(gaps[0].reason.contains("above the tip 40"));
}

/// Users of one directory in one process share its environment, also while one of them
/// closes it.
#[test]
fn a_directory_can_be_opened_twice() {
    let copy = copy();
    let dir = DataDir::new(copy.path());
    let first = NodeDb::open(&dir).unwrap();
    let second = NodeDb::open(&dir).unwrap();
    let snapshot = second.snapshot().unwrap();
    drop(first);
    assert_eq!(snapshot.tip(), 40);
    drop(snapshot);
    drop(second);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let db = NodeDb::open(&dir).unwrap();
                    assert_eq!(db.snapshot().unwrap().header(40).unwrap().number, 40);
                }
            });
        }
    });
}
