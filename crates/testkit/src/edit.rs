//! Changes a data directory that no node and no reader has open.

use signet_libmdbx::{
    Environment, EnvironmentFlags, Mode, SyncMode, WriteFlags, tx::aliases::RwTxUnsync,
};
use std::path::Path;

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
