//! Changes a data directory that no node and no reader has open.

use alloy_primitives::B256;
use signet_libmdbx::{
    Environment, EnvironmentFlags, Mode, SyncMode, WriteFlags, tx::aliases::RwTxUnsync,
};
use std::{fs, path::Path};

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
