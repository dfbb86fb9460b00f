//! The crate on directories that reth wrote. `crates/nodedb/tests/nodedb/rocks.rs` compares the
//! rows with the static files of the same directories.

#![allow(clippy::print_stdout, reason = "shown when a test fails")]

mod damage;
mod rows;

use std::{
    fs::File,
    path::{Path, PathBuf},
};
use txgraph_rocks::{Db, Result, State};
use txgraph_testkit::fixtures::{Fixture, committed, fixture};

/// The column families that txgraph reads.
const FAMILIES: [&str; 3] = [
    "TransactionHashNumbers",
    "AccountsHistory",
    "StoragesHistory",
];

type Rows = Vec<(Vec<u8>, Vec<u8>)>;

/// Directories that reth wrote, with all their rows in tables, in logs, or in both.
fn directories() -> Vec<Fixture> {
    let [_, small] = committed();
    let others = [
        "crashed/small-v2",
        "masked/v2",
        "pruned/small-v2-logfilter",
        "pruned/small-v2-minimal",
        "dev-v2",
        "long-v2",
    ];
    let others = others.into_iter().filter_map(fixture);
    [small].into_iter().chain(others).collect()
}

fn rocksdb(fixture: &Fixture) -> PathBuf {
    fixture.path().join("rocksdb")
}

fn open(directory: &Path) -> Result<Db> {
    Db::open(directory, &FAMILIES, |path| File::open(path))
}

fn rows(state: &State, family: &str) -> Result<Rows> {
    let mut rows = Vec::new();
    if let Some(mut cursor) = state.cursor(family) {
        cursor.seek(&[])?;
        while let Some((key, value)) = cursor.row() {
            rows.push((key.to_vec(), value.to_vec()));
            cursor.advance()?;
        }
    }
    Ok(rows)
}

fn all(directory: &Path) -> Result<[Rows; 3]> {
    let db = open(directory)?;
    let state = db.catch_up()?;
    let [a, b, c] = FAMILIES.map(|family| rows(&state, family));
    Ok([a?, b?, c?])
}
