//! `txgraph index`, and queries that are answered from an index.

use crate::{
    harness::{CHAIN, ROOT, Sample, entry},
    sources::queries,
};
use serde_json::Value;
use std::fs;

/// All kinds of queries about transfers that only a replay finds.
fn internal_queries() -> [String; 8] {
    // Sends coin to contracts that send it on.
    const PAYER: &str = "0xcc346449a79058a09ecf17cc9d8f9ec64b3c7529";
    [
        format!("graph -q --with-internal --token eth -r {PAYER} -n 2 --format csv -o -"),
        "transfers -q --with-internal --format csv -o -".to_owned(),
        "transfers -q --with-internal --kind internal --format jsonl -o -".to_owned(),
        "transfers -q --with-internal --token eth --from-block 7 --to-block 33 --format csv -o -"
            .to_owned(),
        // No index has fees.
        "transfers -q --with-internal --kind fee --kind internal --format csv -o -".to_owned(),
        format!("graph -q --with-internal --token eth -r {ROOT} -n 3 --format csv -o -"),
        format!("graph -q --with-internal -r {ROOT} -n 2 --max-degree 5 --format dot -o -"),
        format!("analyze summary -q --with-internal -r {ROOT} --format json"),
    ]
}

#[test]
fn an_index_can_contain_internal_transfers() {
    for sample in Sample::both() {
        let asked = |lines: &[String], folder: &str| -> Vec<String> {
            let ask = |line| {
                sample
                    .ok(&format!("{line} --index {folder} {CHAIN}"))
                    .stdout
            };
            lines.iter().map(ask).collect()
        };
        let (plain, internal) = (queries(ROOT), internal_queries());
        let expected = (asked(&plain, "off"), asked(&internal, "off"));
        assert!(expected.1[1].lines().count() > 1, "{}", expected.1[1]);
        for (folder, build) in [
            (
                "whole",
                "--with-internal --reorg-buffer 0 --segment-blocks 8",
            ),
            ("part", "--with-internal --to-block 25 --segment-blocks 16"),
            // Without internal transfers: queries about them are replayed.
            ("without", "--reorg-buffer 0"),
        ] {
            sample.ok(&format!("index build -q --index {folder} {build} {CHAIN}"));
            // Also queries that do not ask for them.
            assert_eq!(asked(&plain, folder), expected.0, "{folder}");
            assert_eq!(asked(&internal, folder), expected.1, "{folder}");
            sample.ok(&format!("index verify -q --index {folder} {CHAIN}"));
            sample.ok(&format!("index update -q --index {folder} {CHAIN}"));
        }
        let status =
            |folder| -> Value { sample.json(&format!("index status --json --index {folder}")) };
        let (whole, without) = (status("whole"), status("without"));
        let answer = |status: &Value| status["transfers"].as_u64().unwrap();
        assert!(answer(&whole) > answer(&without));
        assert_eq!(
            (&whole["internal"], &without["internal"]),
            (&true.into(), &false.into())
        );
        // An index does not change from one kind to the other.
        sample.fails("index build --index whole", 2, "with internal transfers");
    }
}

#[test]
fn an_index_in_the_default_directory_is_used_updated_and_dropped() {
    let sample = Sample::small();
    sample.fails("index status", 1, "index build");

    sample.ok("index build --to-block 20 --segment-blocks 8");
    let status = |sample: &Sample| -> Value { sample.json("index status --json") };
    let part = status(&sample);
    let tip = part["tip"].as_u64().unwrap();
    assert_eq!(part["behind_blocks"], tip - 20, "{part}");
    sample.ok("index update --reorg-buffer 0");
    let whole = status(&sample);
    assert_eq!(whole["behind_blocks"], 0, "{whole}");
    assert_eq!(whole["replaced_blocks"], 0, "{whole}");
    assert!(whole["transfers"].as_u64() > part["transfers"].as_u64());
    let page = sample.ok("index status").stdout;
    assert!(page.contains("segments"), "{page}");

    let answered = sample.ok(&format!("graph -r {ROOT} -n 1 --format csv"));
    answered.says(", from the index");
    assert!(!answered.stderr.contains("blocks/s"), "{answered:?}");
    let explained = sample.ok(&format!("graph -r {ROOT} -n 1 --format csv --explain"));
    assert!(explained.stdout.is_empty(), "{explained:?}");
    explained.says("answered from the index");
    let read = sample.ok(&format!(
        "graph -r {ROOT} -n 1 --format csv --explain --check-roots"
    ));
    assert!(!read.stderr.contains("answered from the index"), "{read:?}");

    sample.ok("index drop");
    sample.run("index status").ended(1);
}

#[test]
fn a_damaged_index_is_not_used() {
    let sample = Sample::small();
    let plain = sample.ok(&queries(ROOT)[0]).stdout;
    sample.ok("index build -q --reorg-buffer 0");
    sample
        .ok("index build --reorg-buffer 0")
        .says("nothing new to store; --reorg-buffer is how many");
    let folder = entry(&sample.path("cache/txgraph/index"), "");
    let segment = entry(&folder, ".segment");
    let mut bytes = fs::read(&segment).unwrap();
    bytes[100] ^= 1;
    fs::write(&segment, bytes).unwrap();

    // In the default directory it is ignored with a warning; a named one is an error.
    let aside = sample.ok(&queries(ROOT)[0].replace(" -q", ""));
    assert_eq!(aside.stdout, plain);
    aside.says("without the index");
    let named = format!("{} --index {}", queries(ROOT)[0], folder.display());
    sample.run(&named).refused(1).says(".segment");
    sample.run("index verify --quick").ended(1);
}

/// Damage that only a query finds. (A single bit used to give a wrong graph with exit 0.)
#[test]
fn damage_inside_of_a_segment_is_an_error_with_a_remedy() {
    let sample = Sample::small();
    sample.ok("index build -q --index idx --reorg-buffer 0");
    let segment = entry(&sample.path("idx"), ".segment");
    let good = fs::read(&segment).unwrap();
    let lines = queries(ROOT).map(|line| (sample.ok(&format!("{line} --index off")).stdout, line));
    let mut refused = 0;
    for at in (1000..good.len()).step_by(good.len() / 24) {
        let mut bad = good.clone();
        bad[at] ^= 8;
        fs::write(&segment, bad).unwrap();
        for (expected, line) in &lines {
            let run = sample.run(&format!("{line} --index idx"));
            if run.status == 0 {
                assert_eq!(run.stdout, *expected, "byte {at}: {line}");
                continue;
            }
            refused += 1;
            assert_eq!(run.status, 1, "{run:?}");
            for part in [
                ".segment is damaged",
                "txgraph index drop",
                "txgraph index build",
            ] {
                run.says(part);
            }
        }
    }
    assert!(refused > 0);
    sample.ok("index drop --index idx").says("deleted");
}

#[test]
fn index_of_another_version_has_to_be_built_again() {
    let sample = Sample::small();
    sample.ok("index build -q --index idx");
    let manifest = sample.path("idx").join("MANIFEST");
    let text = fs::read_to_string(&manifest).unwrap();
    let (line, rest) = text.split_once(' ').unwrap();
    let (_, rest) = rest.split_once(' ').unwrap();
    fs::write(&manifest, format!("{line} 3 {rest}")).unwrap();
    for line in [
        "transfers -q --index idx",
        "index status --index idx",
        "index build --index idx",
    ] {
        let run = sample.run(line).ended(1);
        for part in [
            "idx has version 3",
            "txgraph index drop",
            "txgraph index build",
            "with the same --index",
        ] {
            run.says(part);
        }
    }
}

#[test]
fn drop_keeps_foreign_files_and_names_them() {
    let sample = Sample::small();
    sample.ok("index build -q --index idx");
    for name in ["notes.txt", "b"] {
        fs::write(sample.path("idx").join(name), "mine").unwrap();
    }
    sample
        .ok("index drop --index idx")
        .says("kept other files")
        .says("\"b\", \"notes.txt\"");
    assert_eq!(fs::read_dir(sample.path("idx")).unwrap().count(), 2);
}

#[test]
fn nothing_is_written_into_the_data_directory() {
    let sample = Sample::small();
    let inside = sample.fixture.path().join("index");
    sample
        .run(&format!("index build --index {}", inside.display()))
        .ended(2);
    assert!(!inside.exists());
    sample.run("index build --index off").ended(2);
}
