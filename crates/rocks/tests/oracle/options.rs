//! Databases in every format that is read, with random changes.

use super::{compare, open};
use proptest::prelude::*;
use rand::{Rng, SeedableRng, rngs::StdRng};
use rocksdb::{
    BlockBasedIndexType, BlockBasedOptions, ChecksumType, ColumnFamilyDescriptor, DB,
    DBCompressionType, DataBlockIndexType, FlushOptions, Options, WriteBatch,
};
use std::{fs::File, path::Path};
use txgraph_rocks::Db;

const FAMILIES: [&str; 2] = ["default", "second"];

/// How tables are written.
#[derive(Clone, Debug)]
struct Style {
    version: i32,
    hashes: bool,
    compression: u8,
    block: usize,
    restarts: i32,
    index_restarts: i32,
    filter: bool,
    universal: bool,
}

fn styles() -> impl Strategy<Value = Style> {
    let table = (6..=7, any::<bool>(), 0..=3_u8);
    let blocks = (64..5000_usize, 1..20, 1..20, any::<bool>(), any::<bool>());
    (table, blocks).prop_map(|(table, blocks)| {
        let (version, hashes, compression) = table;
        let (block, restarts, index_restarts, filter, universal) = blocks;
        Style {
            version,
            hashes,
            compression,
            block,
            restarts,
            index_restarts,
            filter,
            universal,
        }
    })
}

impl Style {
    fn options(&self) -> Options {
        let mut table = BlockBasedOptions::default();
        table.set_format_version(self.version);
        if self.hashes {
            table.set_data_block_index_type(DataBlockIndexType::BinaryAndHash);
        }
        table.set_block_size(self.block);
        table.set_block_restart_interval(self.restarts);
        table.set_index_block_restart_interval(self.index_restarts);
        if self.filter {
            table.set_bloom_filter(10.0, false);
        }
        let mut options = Options::default();
        options.create_if_missing(true);
        options.create_missing_column_families(true);
        options.set_block_based_table_factory(&table);
        options.set_compression_type(match self.compression {
            0 => DBCompressionType::None,
            1 => DBCompressionType::Lz4,
            2 => DBCompressionType::Lz4hc,
            _ => DBCompressionType::Zstd,
        });
        options.set_write_buffer_size(64 << 10);
        options.set_target_file_size_base(16 << 10);
        options.set_max_bytes_for_level_base(64 << 10);
        options.set_level_zero_file_num_compaction_trigger(2);
        if self.universal {
            options.set_compaction_style(rocksdb::DBCompactionStyle::Universal);
        }
        options
    }

    fn open(&self, directory: &Path) -> DB {
        let options = self.options();
        let families = FAMILIES.map(|name| ColumnFamilyDescriptor::new(name, options.clone()));
        DB::open_cf_descriptors(&options, directory, families).unwrap()
    }
}

fn key(random: &mut StdRng) -> Vec<u8> {
    let n: u32 = random.random_range(0..4000);
    let mut key = format!("key{:05}", n / 7 * 7).into_bytes();
    key.extend(std::iter::repeat_n(b'x', n as usize % 7));
    key
}

fn value(random: &mut StdRng) -> Vec<u8> {
    let len = match random.random_range(0..200) {
        0 => 70_000,
        1..9 => 3000,
        _ => random.random_range(0..90),
    };
    let repeated = random.random_range(1..40);
    (0..len).map(|at| (at / repeated) as u8).collect()
}

/// Random changes through the writer.
fn change(db: &DB, random: &mut StdRng) {
    let family = FAMILIES[random.random_range(0..2)];
    let handle = db.cf_handle(family).unwrap();
    match random.random_range(0..20) {
        0 => db.flush_cf(handle).unwrap(),
        1 => db.compact_range_cf(handle, None::<&[u8]>, None::<&[u8]>),
        2 => {
            let (mut begin, mut end) = (key(random), key(random));
            if begin > end {
                std::mem::swap(&mut begin, &mut end);
            }
            db.delete_range_cf(handle, begin, end).unwrap();
        }
        _ => {
            let mut batch = WriteBatch::default();
            for _ in 0..random.random_range(0..300) {
                let handle = db.cf_handle(FAMILIES[random.random_range(0..2)]).unwrap();
                match random.random_range(0..6) {
                    0 => batch.delete_cf(handle, key(random)),
                    _ => batch.put_cf(handle, key(random), value(random)),
                }
            }
            db.write(batch).unwrap();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: std::env::var("TXGRAPH_ROCKS_CASES").map_or(60, |cases| cases.parse().unwrap()),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]
    #[test]
    fn every_format_is_read(style in styles(), seed: u64) {
        let mut random = StdRng::seed_from_u64(seed);
        let directory = tempfile::tempdir().unwrap();
        let mut oracle = style.open(directory.path());
        let db = open(directory.path(), &FAMILIES);
        for _ in 0..40 {
            if random.random_range(0..15) == 0 {
                drop(oracle);
                oracle = style.open(directory.path());
            }
            change(&oracle, &mut random);
            if random.random_range(0..4) == 0 {
                check(&oracle, &db, &mut random);
            }
        }
        let mut flush = FlushOptions::default();
        flush.set_wait(true);
        let handles = FAMILIES.map(|name| oracle.cf_handle(name).unwrap());
        oracle.flush_cfs_opt(&handles, &flush).unwrap();
        check(&oracle, &db, &mut random);
        // What a fresh reader sees.
        check(&oracle, &open(directory.path(), &FAMILIES), &mut random);
    }
}

/// The writer is idle, except for compactions in its background, which can replace tables.
fn check(oracle: &DB, db: &Db, random: &mut StdRng) {
    for _ in 0..50 {
        let state = match db.catch_up() {
            Err(error) if error.is_changed() => continue,
            state => state.unwrap(),
        };
        let compared = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut random = random.clone();
            for family in FAMILIES {
                compare(oracle, &state, family, 60, &mut random);
            }
        }));
        match compared {
            Ok(()) => return,
            Err(_) if db.is_behind() => {}
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
    panic!("a table is replaced in every attempt");
}

/// Unsupported options are refused by name.
#[test]
fn refuses_by_name() {
    let refused = |options: &Options, write: &dyn Fn(&DB)| {
        let directory = tempfile::tempdir().unwrap();
        let mut options = options.clone();
        options.create_if_missing(true);
        let oracle = DB::open(&options, directory.path()).unwrap();
        write(&oracle);
        let read = || -> Result<(), txgraph_rocks::Error> {
            let db = Db::open(directory.path(), &["default"], |path| File::open(path))?;
            db.catch_up()?.cursor("default").unwrap().seek(&[])
        };
        let in_log = read();
        oracle.flush().unwrap();
        let text = read().unwrap_err().to_string();
        println!("{text}; in the log: {in_log:?}");
        text
    };
    let put = |db: &DB| {
        for n in 0..3000_u32 {
            db.put(n.to_be_bytes(), [7; 50]).unwrap();
        }
    };
    let mut options = Options::default();
    options.set_merge_operator_associative("joined", |_, _, _| Some(vec![1]));
    let merge = |db: &DB| db.merge(b"a", b"b").unwrap();
    assert!(refused(&options, &merge).contains("kTypeMerge"));

    let mut options = Options::default();
    options.set_enable_blob_files(true);
    assert!(refused(&options, &put).contains("kBlobFileAddition"));

    let mut options = Options::default();
    options.set_comparator("backwards", Box::new(|a, b| b.cmp(a)));
    assert!(refused(&options, &put).contains("comparator backwards"));

    let mut table = BlockBasedOptions::default();
    table.set_checksum_type(ChecksumType::NoChecksum);
    let mut options = Options::default();
    options.set_block_based_table_factory(&table);
    assert!(refused(&options, &put).contains("kNoChecksum"));

    let mut table = BlockBasedOptions::default();
    table.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
    let mut options = Options::default();
    options.set_block_based_table_factory(&table);
    assert!(refused(&options, &put).contains("an index of type 2"));

    let mut options = Options::default();
    options.set_compression_type(DBCompressionType::Zstd);
    options.set_compression_options(-14, 32767, 0, 4096);
    options.set_zstd_max_train_bytes(100_000);
    options.set_bottommost_compression_type(DBCompressionType::Zstd);
    options.set_bottommost_compression_options(-14, 32767, 0, 4096, true);
    let compacted = |db: &DB| {
        put(db);
        db.flush().unwrap();
        db.compact_range(None::<&[u8]>, None::<&[u8]>);
    };
    assert!(refused(&options, &compacted).contains("compression dictionary"));

    let mut options = Options::default();
    options.set_wal_compression_type(DBCompressionType::Zstd);
    let directory = tempfile::tempdir().unwrap();
    options.create_if_missing(true);
    let oracle = DB::open(&options, directory.path()).unwrap();
    oracle.put(b"a", b"b").unwrap();
    let error = Db::open(directory.path(), &["default"], |path| File::open(path)).unwrap_err();
    assert!(error.to_string().contains("kSetCompressionType"), "{error}");
}
