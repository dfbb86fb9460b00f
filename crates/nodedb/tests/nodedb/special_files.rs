//! Named pipes, devices, directories and unreadable files where a node keeps regular files.

use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
use std::{
    fs::{self, File, Permissions},
    io::ErrorKind,
    ops::ControlFlow,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Command,
    sync::mpsc::channel,
    thread,
    time::Duration,
};
use txgraph_nodedb::{BlockRange, DataDir, NodeDb, Parts, Result, Scratch};
use txgraph_testkit::{
    edit::{put, set_len},
    fixtures::{committed, paths_in},
};

/// No read may take longer. Opening a named pipe without care never ends.
const TIME_MAX: Duration = Duration::from_secs(120);

/// Reads every part of every block, change sets included.
fn read_all(dir: &Path) -> Result<u64> {
    let db = NodeDb::open(&DataDir::new(dir))?;
    let snapshot = db.snapshot()?;
    let parts = Parts::ALL;
    let whole = BlockRange::up_to(snapshot.tip());
    let mut read = 0;
    snapshot.for_each_block(whole, parts, &mut Scratch::default(), &mut |block| {
        block.check_header()?;
        while block.next_receipt()?.is_some() {}
        for index in 0..block.body.tx_count as u32 {
            block.transaction(index)?;
            block.sender(index)?;
        }
        read += 1;
        Ok(ControlFlow::Continue(()))
    })?;
    let mut scratch = Scratch::default();
    snapshot.for_each_account_change(whole, &mut scratch, &mut |_, _, _| Ok(()))?;
    snapshot.for_each_storage_change(whole, &mut scratch, &mut |_, _, _, _| {})?;
    Ok(read)
}

/// [`read_all`] on a thread, so that a read that blocks is a failed test.
fn read_in_time(dir: &Path, what: &str) -> Result<u64> {
    let (sender, receiver) = channel();
    let dir = dir.to_path_buf();
    thread::spawn(move || sender.send(read_all(&dir)));
    receiver
        .recv_timeout(TIME_MAX)
        .unwrap_or_else(|_| panic!("{what}: the reader is blocked"))
}

/// All files of a directory that txgraph opens in its default build.
fn opened_files(dir: &Path) -> Vec<PathBuf> {
    let mut files = paths_in(&dir.join("static_files"));
    files.retain(|path| path.file_name().unwrap() != "lock");
    for name in ["mdbx.dat", "mdbx.lck", "database.version"] {
        files.push(dir.join("db").join(name));
    }
    files.sort();
    files
}

fn is_change_set(path: &Path) -> bool {
    path.to_str().unwrap().contains("change-sets")
}

#[test]
fn refuses_files_that_are_not_regular() {
    for (fixture, is_v2) in committed().iter().zip([false, true]) {
        let copy = fixture.unpack();
        let files = opened_files(copy.path());
        // Layout v2 has six jars, v1 three.
        assert!(files.len() >= 12);
        for path in files {
            let kept = path.with_extension("kept");
            fs::rename(&path, &kept).unwrap();
            for kind in ["a named pipe", "a device", "a directory"] {
                let what = format!("{}: {} is {kind}", fixture.name, path.display());
                match kind {
                    "a named pipe" => {
                        let status = Command::new("mkfifo").arg(&path).status().unwrap();
                        assert!(status.success());
                    }
                    "a device" => symlink("/dev/zero", &path).unwrap(),
                    _ => fs::create_dir(&path).unwrap(),
                }
                match read_in_time(copy.path(), &what) {
                    // Layout v1 keeps change sets in the database.
                    Ok(_) if is_change_set(&path) && !is_v2 => {}
                    Ok(_) => panic!("{what}: accepted"),
                    Err(error) => {
                        let text = error.to_string();
                        let name = path.file_name().unwrap().to_str().unwrap();
                        assert!(text.contains(kind) && text.contains(name), "{what}: {text}");
                    }
                }
                if kind == "a directory" {
                    fs::remove_dir(&path).unwrap();
                } else {
                    fs::remove_file(&path).unwrap();
                }
            }
            fs::rename(&kept, &path).unwrap();
        }
        assert_eq!(read_all(copy.path()).unwrap(), 41);
    }
}

#[test]
fn follows_symbolic_links_to_regular_files() {
    let [_, v2] = committed();
    let copy = v2.unpack();
    let elsewhere = tempfile::tempdir().unwrap();
    for path in opened_files(copy.path()) {
        if path.starts_with(copy.path().join("static_files")) {
            let target = elsewhere.path().join(path.file_name().unwrap());
            fs::rename(&path, &target).unwrap();
            symlink(&target, &path).unwrap();
        }
    }
    assert_eq!(read_all(copy.path()).unwrap(), 41);
}

/// The data of a jar is shorter than its rows, or belongs to another jar.
#[test]
fn rejects_jars_shorter_than_their_rows() {
    for segment in [
        "headers",
        "transactions",
        "receipts",
        "transaction-senders",
        "account-change-sets",
        "storage-change-sets",
    ] {
        let [_, v2] = committed();
        let copy = v2.unpack();
        let name = format!("static_file_{segment}_0_499999");
        let path = copy.path().join("static_files").join(&name);
        let len = fs::metadata(&path).unwrap().len();
        set_len(&path, len - 1);
        let text = read_all(copy.path()).unwrap_err().to_string();
        let expected = format!("its rows end at byte {len}, the file at byte {}", len - 1);
        assert!(text.contains(&name) && text.contains(&expected), "{text}");
        // A tail that is not committed yet.
        set_len(&path, len + 100);
        if segment != "headers" {
            let error = read_all(copy.path());
            // The last byte is now zero, which only some segments notice.
            assert!(!format!("{error:?}").contains("rows end"), "{error:?}");
        }
    }
}

/// A node that was killed while it removed blocks 31 to 40: `.off` and data are truncated,
/// `.conf` still promises all rows.
#[test]
fn reads_what_is_committed_after_a_crash_during_a_reorganization() {
    let [_, v2] = committed();
    let copy = v2.unpack();
    let db = NodeDb::open(&DataDir::new(copy.path())).unwrap();
    let body = db.snapshot().unwrap().body(30).unwrap();
    drop(db);
    let txs = body.first_tx + body.tx_count;
    put(copy.path(), "StageCheckpoints", b"Finish", &[1, 30]);
    for (segment, cells) in [
        ("headers", 3 * 31),
        ("transactions", txs),
        ("receipts", txs),
        ("transaction-senders", txs),
    ] {
        let name = format!("static_files/static_file_{segment}_0_499999");
        let path = copy.path().join(name);
        let offsets_path = path.with_extension("off");
        let mut offsets = fs::read(&offsets_path).unwrap();
        offsets.truncate(1 + 8 * (cells as usize + 1));
        let end = u64::from_le_bytes(*offsets.last_chunk().unwrap());
        fs::write(&offsets_path, offsets).unwrap();
        set_len(&path, end);
    }
    assert_eq!(read_all(copy.path()).unwrap(), 31);
}

/// Takes the right of root to open any file from the calling thread.
///
/// The other threads keep it, and so do the user and the owner of new files.
fn drop_root_access() {
    let override_access = CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
    let mut sets = capabilities(None).unwrap();
    sets.effective.remove(override_access);
    set_capabilities(None, sets).unwrap();
    let probe = tempfile::NamedTempFile::new().unwrap();
    fs::set_permissions(probe.path(), Permissions::from_mode(0o000)).unwrap();
    let error = File::open(probe.path()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
}

#[test]
fn names_the_unreadable_file() {
    let [_, v2] = committed();
    let copy = v2.unpack();
    drop_root_access();
    let readable = |path: &Path, is_readable| {
        let mode = if is_readable { 0o644 } else { 0 };
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    };
    let data_file = copy.path().join("db/mdbx.dat");
    readable(&data_file, false);
    let text = read_all(copy.path()).unwrap_err().to_string();
    assert!(
        text.contains("db/mdbx.dat: Permission denied") && !text.contains("lck"),
        "{text}"
    );
    readable(&data_file, true);
    let lock_file = copy.path().join("db/mdbx.lck");
    fs::set_permissions(&lock_file, Permissions::from_mode(0o444)).unwrap();
    let text = read_all(copy.path()).unwrap_err().to_string();
    assert!(text.contains("db/mdbx.lck"), "{text}");
    readable(&lock_file, true);
    assert_eq!(read_all(copy.path()).unwrap(), 41);

    let receipts = copy
        .path()
        .join("static_files/static_file_receipts_0_499999");
    readable(&receipts, false);
    let db = NodeDb::open(&DataDir::new(copy.path())).unwrap();
    let info = db.snapshot().unwrap().info().unwrap();
    // Blocks 0 and 40 have no transactions.
    let empty = [0, 40].map(BlockRange::one);
    assert_eq!(info.receipts, empty);
    assert_eq!(info.transactions, [BlockRange::up_to(40)]);
    let notes = info.notes.join("\n");
    assert!(
        notes.contains("static_file_receipts_0_499999: Permission denied"),
        "{notes}"
    );
}
