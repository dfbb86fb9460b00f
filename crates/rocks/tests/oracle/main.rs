//! RocksDB itself as the oracle: it writes databases, and answers the same queries.
//! `scripts/check-rocks.sh` runs these tests.

#![cfg(feature = "oracle")]
#![allow(
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "tests: figures are printed, and numbers are small"
)]

mod fixtures;
mod live;
mod options;

use rand::{Rng, rngs::StdRng};
use rocksdb::DB;
use std::{fs::File, path::Path};
use txgraph_rocks::{Db, State};

fn open(directory: &Path, families: &[&str]) -> Db {
    Db::open(directory, families, |path| File::open(path)).unwrap()
}

/// Compares all rows of a column family, and random seeks. Returns the number of rows.
fn compare(oracle: &DB, state: &State, family: &str, seeks: usize, random: &mut StdRng) -> usize {
    let handle = oracle.cf_handle(family).unwrap();
    let mut theirs = oracle.raw_iterator_cf(handle);
    let mut ours = state.cursor(family).unwrap();
    theirs.seek_to_first();
    ours.seek(&[]).unwrap();
    let mut rows = 0;
    let mut keys = Vec::new();
    loop {
        assert_eq!(ours.row(), theirs.item(), "row {rows} of {family}");
        let Some((key, _)) = ours.row() else {
            break;
        };
        if rows % 97 == 0 || keys.len() < 50 {
            keys.push(key.to_vec());
        }
        rows += 1;
        theirs.next();
        ours.advance().unwrap();
    }
    theirs.status().unwrap();
    for _ in 0..seeks {
        let mut key = match keys.len() {
            0 => vec![random.random(); 3],
            len => keys[random.random_range(0..len)].clone(),
        };
        match random.random_range(0..4) {
            0 => {}
            1 => key.truncate(random.random_range(0..=key.len())),
            2 => key.push(random.random()),
            _ => {
                if let Some(byte) = key.last_mut() {
                    *byte = random.random();
                }
            }
        }
        theirs.seek(&key);
        theirs.status().unwrap();
        ours.seek(&key).unwrap();
        assert_eq!(ours.row(), theirs.item(), "seek {key:?} in {family}");
    }
    rows
}
