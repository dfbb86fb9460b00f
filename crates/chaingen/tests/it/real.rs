//! Compares the form of the output with directories of a real node.

use crate::{
    chain::{LAYOUTS, small},
    raw::Tables,
};
use std::{collections::BTreeMap, path::Path};
use txgraph_chaingen::{Appender, Layout};
use txgraph_testkit::fixtures;

fn pairs() -> impl Iterator<Item = (fixtures::Fixture, Layout)> {
    fixtures::committed().into_iter().zip(LAYOUTS)
}

#[test]
fn tables_match_a_real_node() {
    for (fixture, layout) in pairs() {
        let real = Tables::read(fixture.path());
        let folder = tempfile::tempdir().unwrap();
        Appender::create(folder.path(), small(layout))
            .unwrap()
            .append(30)
            .unwrap();
        let ours = Tables::read(folder.path());
        let shape = |tables: &Tables| -> BTreeMap<String, bool> {
            tables
                .0
                .iter()
                .map(|(name, (duplicates, _))| (name.clone(), *duplicates))
                .collect()
        };
        assert_eq!(shape(&ours), shape(&real), "{}", fixture.name);
        let keys = |tables: &Tables, table: &str| -> Vec<Vec<u8>> {
            tables.rows(table).iter().map(|row| row.0.clone()).collect()
        };
        for table in ["StageCheckpoints", "Metadata", "ChainState"] {
            assert_eq!(
                keys(&ours, table),
                keys(&real, table),
                "{table} of {}",
                fixture.name
            );
        }
        assert_eq!(ours.rows("Metadata"), real.rows("Metadata"));
        // There are rows where a node has rows, except those that are documented as
        // omitted, and storage, which sample contracts do not have.
        for (table, (_, rows)) in &real.0 {
            let left_out = [
                "AccountsTrie",
                "StoragesTrie",
                "StoragesHistory",
                "HashedStorages",
                "PlainStorageState",
                "StorageChangeSets",
            ];
            let expected = !rows.is_empty() && !left_out.contains(&table.as_str());
            assert_eq!(
                !ours.rows(table).is_empty(),
                expected,
                "{table} of {}",
                fixture.name
            );
        }
    }
}

/// Names of the static files with the length of each `.conf`.
fn files(folder: &Path) -> BTreeMap<String, Option<u64>> {
    std::fs::read_dir(folder.join("static_files"))
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let conf = name
                .ends_with(".conf")
                .then(|| entry.metadata().unwrap().len());
            (name, conf)
        })
        .collect()
}

#[test]
fn static_files_match_a_real_node() {
    for (fixture, layout) in pairs() {
        let folder = tempfile::tempdir().unwrap();
        Appender::create(folder.path(), small(layout))
            .unwrap()
            .append(30)
            .unwrap();
        assert_eq!(
            files(folder.path()),
            files(fixture.path()),
            "{}",
            fixture.name
        );
        assert_eq!(
            std::fs::read(folder.path().join("db/database.version")).unwrap(),
            b"2"
        );
        assert_eq!(
            std::fs::read(fixture.path().join("db/database.version")).unwrap(),
            b"2"
        );
    }
}

/// The raw reader of these tests reads real directories too, so its checks are those that
/// real directories pass.
#[test]
fn a_real_chain_passes_the_same_checks() {
    for (fixture, layout) in pairs() {
        let chain = crate::raw::Chain::read(fixture.path(), layout == Layout::V2);
        assert_eq!(chain.blocks.len(), 41);
        let mut previous = None;
        for block in &chain.blocks {
            assert_eq!(block.header.hash_slow(), block.hash);
            assert!(previous.is_none_or(|hash| hash == block.header.parent_hash));
            previous = Some(block.hash);
            assert_eq!(block.receipts.len(), block.transactions.len());
        }
        for (block, changes) in chain.blocks.iter().zip(&chain.before) {
            assert!(block.transactions.is_empty() || !changes.is_empty());
        }
    }
}
