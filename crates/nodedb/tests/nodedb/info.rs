//! `info`, compared with `chain-info.json` of every fixture.

use serde_json::Value;
use std::path::Path;
use txgraph_nodedb::{BlockRange, DataDir, Info, NodeDb};
use txgraph_testkit::{
    edit::{put, set_len},
    fixtures::{committed, fixture},
    or_skip, says,
};

fn info(path: &Path) -> Info {
    NodeDb::open(&DataDir::new(path))
        .unwrap()
        .snapshot()
        .unwrap()
        .info()
        .unwrap()
}

fn ranges(value: &Value) -> Vec<BlockRange> {
    let number = |value: &Value| value.as_u64().unwrap();
    let ranges = value.as_array().unwrap().iter();
    ranges
        .map(|range| BlockRange::from_to(number(&range[0]), number(&range[1])))
        .collect()
}

#[test]
fn info_of_full_directories() {
    let mut all: Vec<_> = committed().into();
    all.extend(
        ["dev-v1", "dev-v2", "long-v2"]
            .into_iter()
            .filter_map(fixture),
    );
    for fixture in all {
        let info = info(fixture.path());
        let expected = &fixture.chain_info;
        assert_eq!(info.chain.chain_id, fixture.chain_id());
        assert_eq!(
            info.chain.genesis_hash.to_string(),
            expected["chain"]["genesis_hash"]
        );
        assert_eq!(Some(info.layout), fixture.layout());
        assert_eq!(info.tip.number, fixture.tip().unwrap());
        assert_eq!(info.tip.hash.to_string(), expected["tip_on_disk"]["hash"]);
        let whole = [BlockRange::up_to(info.tip.number)];
        for found in [
            &info.headers,
            &info.transactions,
            &info.senders,
            &info.receipts,
            &info.account_state,
            &info.storage_state,
        ] {
            assert_eq!(**found, whole, "{}", fixture.name);
        }
        assert_eq!(info.receipts_source, "static files");
        let indices = if info.layout == "v1" {
            "MDBX"
        } else {
            "RocksDB"
        };
        assert_eq!([&info.hash_index, &info.history_index], [indices; 2]);
        assert_eq!(info.prune_checkpoints, []);
        assert_eq!(info.notes, Vec::<String>::new(), "{}", fixture.name);
        let versions: Vec<_> = info.written_by.iter().map(|by| &by.version).collect();
        assert!(versions[0].starts_with("2.5.1"), "{versions:?}");
        assert!(
            info.written_by[0]
                .git_sha
                .starts_with(&expected["reth"]["commit"].as_str().unwrap()[..8])
        );
        rows_equal(&info, expected);
    }
}

/// Compares the number of rows of all static files.
fn rows_equal(info: &Info, expected: &Value) {
    let Some(segments) = expected["rows"]["static_files"].as_object() else {
        return;
    };
    for (segment, expected) in segments {
        let segment = segment.to_lowercase();
        let rows: u64 = info
            .static_files
            .iter()
            .filter(|file| file.segment.replace('-', "") == segment)
            .map(|file| file.rows)
            .sum();
        assert_eq!(Some(rows), expected["rows"].as_u64(), "{segment}");
    }
}

#[test]
fn info_of_pruned_directories() {
    for name in [
        "pruned/dev-v1-receipts",
        "pruned/dev-v2-distance",
        "pruned/long-v2-full",
        "pruned/small-v1-logfilter",
        "pruned/small-v2-logfilter",
        "pruned/small-v2-minimal",
    ] {
        let Some(fixture) = fixture(name) else { return };
        let info = info(fixture.path());
        println!("{name}: {}", serde_json::to_string_pretty(&info).unwrap());
        let expected = &fixture.chain_info["blocks_the_node_answers_for"];
        assert_eq!(info.tip.number, fixture.tip().unwrap());
        assert_eq!(info.headers, ranges(&expected["headers"]), "{name}");
        assert_eq!(info.transactions, ranges(&expected["bodies"]), "{name}");
        assert_eq!(
            info.account_state,
            ranges(&expected["account_state"]),
            "{name}"
        );
        assert_eq!(
            info.storage_state,
            ranges(&expected["storage_state"]),
            "{name}"
        );
        receipts_equal(name, &info, &fixture);
        rows_equal(&info, &fixture.chain_info);
    }
}

/// The fixture counts only blocks with transactions, which are in `receipts` of the full
/// chain.
fn receipts_equal(name: &str, info: &Info, fixture: &txgraph_testkit::fixtures::Fixture) {
    let expected = &fixture.chain_info["blocks_the_node_answers_for"]["receipts"];
    let full = fixture.full_chain().unwrap();
    let with_txs: Vec<u64> = full
        .lines("receipts")
        .filter(|line| !line["receipts"].as_array().unwrap().is_empty())
        .map(|line| match &line["block"] {
            Value::Number(number) => number.as_u64().unwrap(),
            hex => crate::json::number(hex),
        })
        .collect();
    let has = |block: u64| info.receipts.iter().any(|range| range.contains(block));
    let without: Vec<u64> = with_txs
        .iter()
        .copied()
        .filter(|block| !has(*block))
        .collect();
    assert_eq!(
        Some(without.len() as u64),
        expected["blocks_without"].as_u64(),
        "{name}"
    );
    assert_eq!(
        without.last().copied(),
        expected["last_block_without"].as_u64(),
        "{name}"
    );
    let last_without = without.last().copied();
    let complete_from = with_txs
        .iter()
        .copied()
        .find(|block| Some(*block) > last_without);
    assert_eq!(complete_from, expected["complete_from"].as_u64(), "{name}");
    let earlier: Vec<u64> = with_txs
        .into_iter()
        .filter(|block| has(*block) && Some(*block) < last_without)
        .collect();
    let listed: Vec<u64> = expected["earlier_blocks_with"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| block.as_u64().unwrap())
        .collect();
    assert_eq!(earlier, listed, "{name}");
}

#[test]
fn info_of_a_crashed_directory() {
    let fixture = or_skip!(fixture("crashed/small-v2"));
    let info = info(fixture.path());
    assert_eq!(info.tip.number, 28);
    assert_eq!(
        info.tip.hash.to_string(),
        fixture.chain_info["tip_on_disk"]["hash"]
    );
    assert_eq!(info.receipts, [BlockRange::up_to(28)]);
    assert!(
        info.notes.iter().any(|note| note.contains("block 30")),
        "{:?}",
        info.notes
    );
}

#[test]
fn info_of_other_directories() {
    for name in [
        "pruned-v1",
        "pruned-v2",
        "filter-v1",
        "filter-v2",
        "migrated-v2",
        "import-v2",
    ] {
        let Some(fixture) = fixture(&format!("odd/{name}")) else {
            return;
        };
        let info = info(fixture.path());
        println!("{name}: {}", serde_json::to_string_pretty(&info).unwrap());
        assert!(name.ends_with(info.layout), "{name}");
        let whole = [BlockRange::up_to(info.tip.number)];
        assert_eq!(
            info.receipts == whole,
            matches!(name, "migrated-v2" | "import-v2"),
            "{name}"
        );
    }
}

/// During the first sync of a node, stages are ahead of the tip.
#[test]
fn info_during_a_first_sync() {
    let [_, v2] = committed();
    let copy = v2.unpack();
    put(copy.path(), "StageCheckpoints", b"Finish", &[0]);
    put(copy.path(), "StageCheckpoints", b"Execution", &[1, 20]);
    let info = info(copy.path());
    assert_eq!(info.tip.number, 0);
    assert_eq!(info.receipts, [BlockRange::one(0)]);
    assert_eq!(info.account_state, []);
    let notes = info.notes.join("\n");
    for text in [
        "has not finished its first sync",
        "partial sync: Headers at block 40",
        "stage Execution",
    ] {
        says(&notes, text);
    }
}

/// Rows that cannot be read are not reported as present.
#[test]
fn short_static_files_are_not_counted() {
    let [_, v2] = committed();
    let whole = [BlockRange::up_to(40)];
    for segment in [
        "receipts",
        "transaction-senders",
        "account-change-sets",
        "storage-change-sets",
    ] {
        let copy = v2.unpack();
        let name = format!("static_file_{segment}_0_499999");
        let path = copy.path().join("static_files").join(&name);
        set_len(&path, 100);
        let info = info(copy.path());
        let notes = info.notes.join("\n");
        says(&notes, &name);
        says(&notes, "byte 100");
        let tip_only = [BlockRange::one(40)];
        for (of, found) in [
            ("transactions", &info.transactions),
            ("receipts", &info.receipts),
            ("transaction-senders", &info.senders),
            ("account-change-sets", &info.account_state),
            ("storage-change-sets", &info.storage_state),
        ] {
            if of != segment {
                assert_eq!(**found, whole, "{segment}: {of}");
            } else if of.ends_with("change-sets") {
                assert_eq!(**found, tip_only, "{of}");
            } else {
                // Blocks 0 and 40 have no transactions.
                let empty = [0, 40].map(BlockRange::one);
                assert_eq!(**found, empty, "{of}");
            }
        }
    }
}

/// Names and texts of the directory cannot send commands to a terminal.
#[test]
fn texts_of_the_directory_are_escaped() {
    let [_, v2] = committed();
    let copy = v2.unpack();
    let files = copy.path().join("static_files");
    for name in [
        "static_file_\u{1b}[31mred_0_499999",
        "static_file_headers_0_499999_\u{1b}[31mred\nnote  forged",
    ] {
        std::fs::write(files.join(name), "").unwrap();
    }
    let compact = |text: &str| {
        let bytes = text.bytes().flat_map(|byte| [1, byte]);
        let mut row = vec![text.len() as u8];
        row.extend(bytes);
        row
    };
    let version = [
        compact("\u{1b}[2Jversion"),
        compact("sha\u{7}"),
        compact("\u{202e}"),
    ];
    let key = 1_u64.to_be_bytes();
    put(copy.path(), "VersionHistory", &key, &version.concat());
    put(copy.path(), "StageCheckpoints", b"\x1b[31mStage", &[0]);
    let settings = b"{\"storage_v2\":true}\x1b";
    let mut row = vec![(settings.len() as u8) << 2];
    row.extend(settings);
    put(copy.path(), "Metadata", b"storage_settings", &row);
    let info = info(copy.path());
    let texts = format!(
        "{} {:?} {} {}",
        info.notes.join(" "),
        info.storage_settings,
        info.written_by[0].version,
        info.stage_checkpoints[0].stage
    );
    assert_eq!(info.written_by[0].version, "\\u{1b}[2Jversion");
    assert_eq!(info.written_by[0].git_sha, "sha\\u{7}");
    assert_eq!(info.written_by[0].build_time, "\\u{202e}");
    says(&texts, "\\u{1b}[31mred_0_499999");
    says(&texts, "red\\nnote");
    let json = serde_json::to_string(&info).unwrap();
    for raw in ['\u{1b}', '\u{7}', '\n', '\u{202e}'] {
        assert!(!texts.contains(raw) && !json.contains(raw), "{raw:?}");
    }
    assert!(
        !json.contains("\\u001b") && !json.contains("\\u0007"),
        "{json}"
    );
}

/// MDBX falls back to the commit before when its newest meta page is damaged.
#[test]
fn a_damaged_meta_page_is_reported() {
    for fixture in committed() {
        let copy = fixture.unpack();
        // A commit of our own: an older tip, so that a fall back to it is seen.
        put(copy.path(), "StageCheckpoints", b"Finish", &[1, 30]);
        put(copy.path(), "StageCheckpoints", b"Finish", &[1, 40]);
        let before = info(copy.path());
        assert_eq!(before.tip.number, 40);
        let file = std::fs::File::options()
            .read(true)
            .write(true)
            .open(copy.path().join("db/mdbx.dat"))
            .unwrap();
        let txn = |page: u64| {
            let mut bytes = [0; 8];
            std::os::unix::fs::FileExt::read_exact_at(&file, &mut bytes, page * 4096 + 28).unwrap();
            u64::from_le_bytes(bytes)
        };
        let newest = (0..3).max_by_key(|page| txn(*page)).unwrap();
        let wrong = (txn(newest) ^ 1).to_le_bytes();
        std::os::unix::fs::FileExt::write_all_at(&file, &wrong, newest * 4096 + 28).unwrap();
        let info = info(copy.path());
        assert_eq!(info.tip.number, 30, "{}", fixture.name);
        let notes = info.notes.join("\n");
        says(&notes, &format!("meta page {newest} is damaged"));
    }
}
