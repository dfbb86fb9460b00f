//! Changes a data directory that no node and no reader has open.

use alloy_primitives::B256;
use signet_libmdbx::{
    Environment, EnvironmentFlags, Mode, SyncMode, WriteFlags, tx::aliases::RwTxUnsync,
};
use std::{
    fs::{self, File},
    os::unix::fs::FileExt,
    path::Path,
};

/// Makes one commit to the database of data directory `dir`.
pub fn commit(dir: &Path, change: impl FnOnce(&RwTxUnsync)) {
    let mode = Mode::ReadWrite {
        sync_mode: SyncMode::Durable,
    };
    let environment = Environment::builder()
        .set_max_dbs(64)
        .set_flags(EnvironmentFlags {
            mode,
            ..EnvironmentFlags::default()
        })
        .open(&dir.join("db"))
        .unwrap();
    let tx = environment.begin_rw_unsync().unwrap();
    change(&tx);
    tx.commit().unwrap();
}

fn open(path: &Path) -> File {
    let file = File::options().read(true).write(true).open(path);
    file.unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Overwrites a part of a file.
pub fn write_at(path: &Path, at: u64, bytes: &[u8]) {
    open(path).write_all_at(bytes, at).unwrap();
}

/// Inverts bits of a byte of a file.
pub fn flip(path: &Path, at: u64, bits: u8) {
    let mut byte = [0];
    open(path).read_exact_at(&mut byte, at).unwrap();
    write_at(path, at, &[byte[0] ^ bits]);
}

/// Shortens a file, or appends zeros.
pub fn set_len(path: &Path, len: u64) {
    open(path).set_len(len).unwrap();
}

/// Writes a row.
pub fn put(dir: &Path, table: &str, key: &[u8], value: &[u8]) {
    commit(dir, |tx| {
        let table = tx.open_db(Some(table)).unwrap();
        tx.put(table, key, value, WriteFlags::UPSERT).unwrap();
    });
}

/// Deletes all rows of a table.
pub fn clear(dir: &Path, table: &str) {
    commit(dir, |tx| {
        let table = tx.open_db(Some(table)).unwrap();
        tx.clear_db(table).unwrap();
    });
}

/// Deletes a row, or all duplicates of a key.
pub fn delete(dir: &Path, table: &str, key: &[u8]) {
    commit(dir, |tx| {
        let table = tx.open_db(Some(table)).unwrap();
        assert!(tx.del(table, key, None).unwrap(), "there is no such row");
    });
}

/// Replaces the stored hash of the first block, given as number and hash. Its header keeps its
/// content, so the header no longer has this hash.
pub fn rename_block(dir: &Path, (first, hash): (u64, B256), to: B256) {
    put(dir, "HeaderNumbers", to.as_slice(), &first.to_le_bytes());
    for entry in fs::read_dir(dir.join("static_files")).expect("static files") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !name.starts_with("static_file_headers") || name.contains('.') {
            continue;
        }
        let mut bytes = fs::read(&path).expect("a readable file");
        let mut windows = bytes.windows(32);
        let at = windows
            .position(|it| it == hash.as_slice())
            .expect("the hash");
        bytes[at..at + 32].copy_from_slice(to.as_slice());
        fs::write(&path, bytes).expect("a writable file");
    }
}
