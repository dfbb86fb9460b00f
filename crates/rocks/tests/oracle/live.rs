//! A large database beside its writer, which compacts; then the time of lookups.

use super::{compare, open};
use rand::{Rng, SeedableRng, rngs::StdRng};
use rocksdb::{
    BlockBasedOptions, Cache, ColumnFamilyDescriptor, DB, DBCompressionType, Options, WriteBatch,
};
use std::{
    fs,
    path::Path,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

/// As in reth: rows by hash are not compressed, others with LZ4, at the bottom with Zstandard.
const FAMILIES: [&str; 2] = ["hashes", "history"];
/// Rows per batch.
const BATCH: u64 = 1000;
/// Every key is written this often, the last time in a later part of the run.
const VERSIONS: u64 = 2;

fn keys() -> u64 {
    let keys = std::env::var("TXGRAPH_ROCKS_KEYS");
    keys.map_or(400_000, |keys| keys.parse().unwrap())
}

fn writer(directory: &Path) -> DB {
    let mut families = Vec::new();
    for name in FAMILIES {
        let mut table = BlockBasedOptions::default();
        table.set_block_size(16 << 10);
        let mut options = Options::default();
        options.set_block_based_table_factory(&table);
        options.set_level_compaction_dynamic_level_bytes(true);
        // Smaller than reth's, so that there are several levels.
        options.set_write_buffer_size(8 << 20);
        options.set_target_file_size_base(8 << 20);
        options.set_max_bytes_for_level_base(32 << 20);
        options.set_max_bytes_for_level_multiplier(4.0);
        if name == "history" {
            options.set_compression_type(DBCompressionType::Lz4);
            options.set_bottommost_compression_type(DBCompressionType::Zstd);
        } else {
            options.set_compression_type(DBCompressionType::None);
        }
        families.push(ColumnFamilyDescriptor::new(name, options));
    }
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options.set_max_background_jobs(2);
    DB::open_cf_descriptors(&options, directory, families).unwrap()
}

/// Numbers in an order without locality, and back.
fn key(n: u64) -> [u8; 32] {
    let mut key = [0; 32];
    for (at, part) in key.chunks_mut(8).enumerate() {
        let mixed = (n + at as u64 * 0x1_0000_0001).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        part.copy_from_slice(&(mixed ^ mixed >> 29).to_be_bytes());
    }
    key
}

fn history_key(n: u64) -> [u8; 28] {
    let mut full = [0; 28];
    full[..20].copy_from_slice(&key(n / 3)[..20]);
    full[20..].copy_from_slice(&(n % 3).to_be_bytes());
    full
}

fn value(n: u64, version: u64) -> [u8; 24] {
    let mut value = [0; 24];
    value[..8].copy_from_slice(&n.to_be_bytes());
    value[8..16].copy_from_slice(&version.to_be_bytes());
    value
}

/// Keys that are deleted in the second part of the run.
fn is_deleted(n: u64) -> bool {
    n % 11 == 3
}

/// Writes all versions of all keys. Step `s` writes number `s % keys` in version `s / keys`.
fn write(db: &DB, keys: u64, written: &AtomicU64) {
    let [hashes, history] = FAMILIES.map(|name| db.cf_handle(name).unwrap());
    for first in (0..keys * VERSIONS).step_by(BATCH as usize) {
        let mut batch = WriteBatch::default();
        let end = (first + BATCH).min(keys * VERSIONS);
        for step in first..end {
            let (n, version) = (step % keys, step / keys);
            if version > 0 && is_deleted(n) {
                batch.delete_cf(hashes, key(n));
                batch.delete_cf(history, history_key(n));
            } else {
                batch.put_cf(hashes, key(n), value(n, version));
                batch.put_cf(history, history_key(n), value(n, version));
            }
        }
        db.write(batch).unwrap();
        written.store(end, Ordering::Release);
    }
}

#[test]
fn a_large_database_beside_its_writer() {
    let keys = keys();
    let directory = tempfile::tempdir().unwrap();
    let oracle = writer(directory.path());
    let (written, done) = (AtomicU64::new(0), AtomicBool::new(false));
    let db = open(directory.path(), &FAMILIES);
    let (mut lookups, mut stale, mut states, mut slowest) = (0_u64, 0_u64, 0_u64, Duration::ZERO);
    thread::scope(|scope| {
        scope.spawn(|| {
            write(&oracle, keys, &written);
            done.store(true, Ordering::Release);
        });
        let mut random = StdRng::seed_from_u64(5);
        while !done.load(Ordering::Acquire) {
            let before = written.load(Ordering::Acquire);
            if before == 0 {
                continue;
            }
            let begun = Instant::now();
            let state = match db.catch_up() {
                Ok(state) => state,
                Err(error) if error.is_changed() => {
                    stale += 1;
                    continue;
                }
                Err(error) => panic!("{error}"),
            };
            slowest = slowest.max(begun.elapsed());
            let after = written.load(Ordering::Acquire) + BATCH;
            states += 1;
            let mut cursors = FAMILIES.map(|name| state.cursor(name).unwrap());
            'lookups: for _ in 0..300 {
                let step = random.random_range(0..after);
                let n = step % keys;
                let wanted = [&key(n)[..], &history_key(n)[..]];
                let mut answers = [None; 2];
                for (at, cursor) in cursors.iter_mut().enumerate() {
                    match cursor.seek(wanted[at]) {
                        Ok(()) => {}
                        Err(error) if error.is_changed() => {
                            stale += 1;
                            break 'lookups;
                        }
                        Err(error) => panic!("{error}"),
                    }
                    let row = cursor.row().filter(|(key, _)| *key == wanted[at]);
                    answers[at] = row.map(|(_, value)| {
                        assert_eq!(value.len(), 24);
                        assert_eq!(value[..8], n.to_be_bytes());
                        u64::from_be_bytes(value[8..16].try_into().unwrap())
                    });
                }
                // Versions that may be the newest one: written before the state, or while it
                // was read.
                let versions = |steps: u64| (steps > n).then(|| (steps - 1 - n) / keys);
                let shown = |version: Option<u64>| version.filter(|v| *v == 0 || !is_deleted(n));
                let (low, high) = (versions(before), versions(after));
                assert!(
                    answers[0] == shown(low) || answers[0] == shown(high),
                    "{n}: {answers:?}, {low:?} to {high:?}"
                );
                assert_eq!(answers[0], answers[1], "one batch is one state");
                lookups += 1;
            }
        }
    });
    println!(
        "{keys} keys twice: {lookups} lookups in {states} states beside the writer, {stale} stale, \
         slowest catch-up {slowest:?}"
    );
    assert!(lookups > 1000);
    let mut random = StdRng::seed_from_u64(6);
    oracle.cancel_all_background_work(true);
    let state = db.catch_up().unwrap();
    for family in FAMILIES {
        let handle = oracle.cf_handle(family).unwrap();
        let levels: Vec<_> = (0..7)
            .map(|level| {
                let name = format!("rocksdb.num-files-at-level{level}");
                oracle.property_value_cf(handle, &name).unwrap().unwrap()
            })
            .collect();
        let rows = compare(&oracle, &state, family, 10_000, &mut random);
        println!(
            "{family}: {rows} rows equal, tables by level {}",
            levels.join(" ")
        );
    }
    drop(oracle);
    time(directory.path(), keys);
}

/// Resident memory in MiB.
fn memory() -> u64 {
    let status = fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = status.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096 >> 20
}

/// Lookups of ours and of RocksDB's in turns: a new iterator and a seek each.
fn time(directory: &Path, keys: u64) {
    const LOOKUPS: u64 = 20_000;
    let scratch = tempfile::tempdir().unwrap();
    let mut options = Options::default();
    options.set_max_open_files(-1);
    let cache = Cache::new_lru_cache(32 << 20);
    let families = FAMILIES.map(|name| {
        let mut table = BlockBasedOptions::default();
        table.set_block_cache(&cache);
        let mut options = Options::default();
        options.set_block_based_table_factory(&table);
        ColumnFamilyDescriptor::new(name, options)
    });
    let before = memory();
    let begun = Instant::now();
    let theirs =
        DB::open_cf_descriptors_as_secondary(&options, directory, scratch.path(), families)
            .unwrap();
    let their_open = begun.elapsed();
    let between = memory();
    let begun = Instant::now();
    let ours = open(directory, &FAMILIES);
    let our_open = begun.elapsed();
    println!("opening: ours {our_open:?}, RocksDB {their_open:?}");
    for family in FAMILIES {
        let handle = theirs.cf_handle(family).unwrap();
        let mut ratios = Vec::new();
        let (mut ours_total, mut theirs_total) = (Duration::ZERO, Duration::ZERO);
        for turn in 0..10 {
            let wanted = |at: u64| -> Vec<u8> {
                let n = at.wrapping_mul(0x5851_f42d_4c95_7f2d) % keys;
                match family {
                    "hashes" => key(n).to_vec(),
                    _ => history_key(n).to_vec(),
                }
            };
            let numbers = turn * LOOKUPS / 10..(turn + 1) * LOOKUPS / 10;
            let (mut found, mut expected) = (0, 0);
            let mut ours_turn = || {
                let begun = Instant::now();
                let state = ours.catch_up().unwrap();
                for at in numbers.clone() {
                    let mut cursor = state.cursor(family).unwrap();
                    cursor.seek(&wanted(at)).unwrap();
                    found += cursor.row().map_or(0, |row| row.1.len());
                }
                begun.elapsed()
            };
            let mut theirs_turn = || {
                let begun = Instant::now();
                for at in numbers.clone() {
                    let mut rows = theirs.raw_iterator_cf(handle);
                    rows.seek(wanted(at));
                    expected += rows.item().map_or(0, |row| row.1.len());
                }
                begun.elapsed()
            };
            let (a, b) = match turn % 2 {
                0 => {
                    let a = ours_turn();
                    (a, theirs_turn())
                }
                _ => {
                    let b = theirs_turn();
                    (ours_turn(), b)
                }
            };
            assert_eq!(found, expected);
            ours_total += a;
            theirs_total += b;
            ratios.push(a.as_secs_f64() / b.as_secs_f64());
        }
        ratios.sort_by(f64::total_cmp);
        let each = |total: Duration| total.as_secs_f64() * 1e6 / LOOKUPS as f64;
        println!(
            "{family}: ours {:.1} µs, RocksDB {:.1} µs, median ratio {:.2}",
            each(ours_total),
            each(theirs_total),
            ratios[ratios.len() / 2]
        );
    }
    println!(
        "memory: RocksDB opened with {} MiB more, the process has {} MiB",
        between - before,
        memory()
    );
}
