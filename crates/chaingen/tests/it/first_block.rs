//! Directories that begin in the middle of a chain.

use crate::raw::{Tables, be};
use alloy_consensus::{EMPTY_OMMER_ROOT_HASH, EMPTY_ROOT_HASH, Header};
use alloy_primitives::{Address, B256};
use std::{fs, path::Path};
use txgraph_chaingen::{BlockWriter, Changed, Error, ExecutedBlock, Layout, Storage};

const FIRST: u64 = 1_000_003;
const FIRST_TX: u64 = 70_000;

/// Blocks without transactions.
fn blocks(count: u64) -> Vec<ExecutedBlock> {
    let mut parent_hash = B256::repeat_byte(7);
    let block = |number| {
        let header = Header {
            number,
            parent_hash,
            ommers_hash: EMPTY_OMMER_ROOT_HASH,
            transactions_root: EMPTY_ROOT_HASH,
            receipts_root: EMPTY_ROOT_HASH,
            timestamp: number * 12,
            ..Header::default()
        };
        parent_hash = header.hash_slow();
        ExecutedBlock {
            header,
            ..ExecutedBlock::default()
        }
    };
    (FIRST..FIRST + count).map(block).collect()
}

fn storage(layout: Layout) -> Storage {
    Storage {
        blocks_per_file: 5,
        ..layout.into()
    }
}

/// The numbers at the begin of a `.conf`: the version, the blocks that the file is reserved for,
/// and its blocks.
fn ranges(folder: &Path, name: &str) -> [u64; 5] {
    let bytes = fs::read(folder.join("static_files").join(format!("{name}.conf"))).unwrap();
    let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    assert_eq!(bytes[24], 1, "the block range of {name} is present");
    [long(0), long(8), long(16), long(25), long(33)]
}

#[test]
fn first_files_are_those_with_the_first_block() {
    for layout in [Layout::V1, Layout::V2] {
        let folder = tempfile::tempdir().unwrap();
        let writer =
            BlockWriter::create_from(folder.path(), storage(layout), FIRST_TX, blocks(4)).unwrap();
        assert_eq!(writer.tip().number, FIRST + 3);
        assert_eq!(writer.tip().transactions, FIRST_TX);
        drop(writer);
        let mut segments = vec!["headers", "transactions", "receipts"];
        if layout == Layout::V2 {
            segments.push("transaction-senders");
        }
        for segment in &segments {
            let [first, second] = ["1000000_1000004", "1000005_1000009"]
                .map(|range| format!("static_file_{segment}_{range}"));
            let read = |name: &str| ranges(folder.path(), name);
            assert_eq!(read(&first), [1, 1_000_000, 1_000_004, FIRST, FIRST + 1]);
            assert_eq!(
                read(&second),
                [1, 1_000_005, 1_000_009, FIRST + 2, FIRST + 3]
            );
        }
        let files = fs::read_dir(folder.path().join("static_files")).unwrap();
        assert_eq!(files.count(), segments.len() * 2 * 3, "{layout:?}");
        assert!(!folder.path().join("genesis.json").exists());

        let tables = Tables::read(folder.path());
        let bodies = tables.rows("BlockBodyIndices");
        assert_eq!(bodies.len(), 4);
        assert_eq!(bodies[0].0, be(FIRST));
        assert_eq!(bodies[0].1, [3, 1, 0x11, 0x70]);
        for (stage, block) in [("Finish", FIRST + 3), ("Execution", 0)] {
            let row = tables.get("StageCheckpoints", stage.as_bytes()).unwrap();
            let number = row[1..].iter().fold(0, |n, &byte| n << 8 | u64::from(byte));
            assert_eq!(number, block, "{stage}");
        }
    }
}

#[test]
fn blocks_can_be_removed_and_appended_above_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let mut all = blocks(4);
    let last = all.split_off(2);
    let storage = storage(Layout::V2);
    let mut writer = BlockWriter::create_from(folder.path(), storage, FIRST_TX, all).unwrap();
    writer.append(last).unwrap();
    let mut gone = writer.unwind(FIRST).unwrap();
    assert_eq!((gone.len(), writer.tip().number), (3, FIRST));
    gone.reverse();
    assert_eq!(writer.append(gone).unwrap().number, FIRST + 3);
    assert!(matches!(
        writer.unwind(FIRST - 1),
        Err(Error::Impossible(_))
    ));
}

#[test]
fn blocks_that_do_not_fit_are_refused() {
    let create = |blocks| {
        let folder = tempfile::tempdir().unwrap();
        BlockWriter::create_from(folder.path(), Layout::V1.into(), 0, blocks).map(|_| ())
    };
    assert!(matches!(create(Vec::new()), Err(Error::Config(_))));
    let mut gap = blocks(3);
    gap.remove(1);
    let error = create(gap).unwrap_err().to_string();
    assert!(error.contains("block 1000005 does not follow"), "{error}");
    let mut state = blocks(1);
    let changed = Changed {
        before: None,
        after: None,
    };
    state[0].accounts.insert(Address::ZERO, changed);
    let error = create(state).unwrap_err().to_string();
    assert!(error.contains("changes state"), "{error}");
}
