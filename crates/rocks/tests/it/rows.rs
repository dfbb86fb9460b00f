//! Scans and seeks agree.

use super::{FAMILIES, directories, open, rocksdb, rows};
use rand::{Rng, SeedableRng, rngs::StdRng};

#[test]
fn seeks_find_what_a_scan_reads() {
    let mut random = StdRng::seed_from_u64(7);
    for fixture in directories() {
        let db = open(&rocksdb(&fixture)).unwrap();
        let state = db.catch_up().unwrap();
        for family in FAMILIES {
            assert!(state.has(family));
            let rows = rows(&state, family).unwrap();
            println!("{} {family}: {} rows", fixture.name, rows.len());
            if rows.is_empty() {
                // The node prunes the index of hashes.
                assert_eq!(
                    (&fixture.name[..], family),
                    ("pruned/small-v2-minimal", FAMILIES[0])
                );
                continue;
            }
            assert!(rows.is_sorted_by(|a, b| a.0 < b.0));
            let mut cursor = state.cursor(family).unwrap();
            for _ in 0..2000 {
                let mut key = rows[random.random_range(0..rows.len())].0.clone();
                match random.random_range(0..4) {
                    0 => {}
                    1 => key.truncate(random.random_range(0..key.len())),
                    2 => key.push(random.random()),
                    _ => {
                        let at = random.random_range(0..key.len());
                        key[at] = random.random();
                    }
                }
                let at = rows.partition_point(|row| row.0 < key);
                cursor.seek(&key).unwrap();
                let expected = rows.get(at).map(|row| (&row.0[..], &row.1[..]));
                assert_eq!(cursor.row(), expected, "{key:?}");
                cursor.advance().unwrap();
                let expected = rows.get(at + 1).map(|row| (&row.0[..], &row.1[..]));
                assert_eq!(cursor.row(), expected, "after {key:?}");
            }
        }
        assert!(!state.has("default") && state.cursor("BlockAccessLists").is_none());
    }
}

#[test]
fn catching_up_without_changes_gives_the_same_state() {
    let fixture = &directories()[0];
    let db = open(&rocksdb(fixture)).unwrap();
    let state = db.catch_up().unwrap();
    assert!(std::sync::Arc::ptr_eq(&state, &db.catch_up().unwrap()));
    assert!(!db.is_behind());
}
