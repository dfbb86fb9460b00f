//! Dates instead of block numbers, and ranges that can be pasted back.

use crate::harness::{Sample, rows};
use std::fs;

/// The time of a row's block, as people write it.
fn written(sample: &Sample, block: &str) -> String {
    let answer = sample.ok(&format!("transfers -q -b {block}"));
    let seconds: u64 = rows(&answer.stdout)[0]["block_timestamp"].parse().unwrap();
    txgraph::text::utc(seconds)[..19].replace(' ', "T")
}

#[test]
fn dates_are_accepted_wherever_blocks_are() {
    let sample = Sample::small();
    let expected = sample.ok("transfers -q -b 10:20").stdout;
    let (first, end) = (written(&sample, "10"), written(&sample, "20"));
    for question in [
        format!("transfers -q -b {first}:{end}"),
        format!("transfers -q -b {first}Z:20"),
        format!("transfers -q -b 10:{end}"),
        format!("transfers -q --since {first} --until {end}"),
        format!("transfers -q --since 10 --until {end}"),
        "transfers -q --since 10 --until 20".to_owned(),
    ] {
        assert_eq!(sample.ok(&question).stdout, expected, "{question}");
    }
    sample.ok("index build -q --index i");
    sample.ok("lake build -q l.lake --reorg-buffer 0");
    for source in ["--index i", "--source lake:l.lake"] {
        let question = format!("transfers -q --since {first} --until {end} {source}");
        assert_eq!(sample.ok(&question).stdout, expected, "{question}");
    }
    let saved = "purpose = 'x'\n[params.from]\ntype = 'text'\ndoc = 'x'\n[params.blocks]\n\
                 type = 'blocks'\ndoc = 'x'\noptional = true\n[ask]\ncommand = 'transfers'\n\
                 since = '${from}'\nuntil = 20\nblocks = '${blocks}'\n";
    fs::write(sample.path("q.toml"), saved).unwrap();
    let asked = sample.ok(&format!("query q.toml -q --set from={first}"));
    assert_eq!(asked.stdout, expected);
    let twice = sample.run(&format!(
        "query q.toml --set from=1 --set blocks={first}:{end}"
    ));
    assert_eq!(twice.status, 2, "{twice:?}");
    assert!(twice.stderr.contains("blocks are named twice"), "{twice:?}");
}

#[test]
fn dates_outside_of_the_chain_are_errors() {
    let sample = Sample::small();
    for (range, message) in [
        (
            "-b 1990-01-01:",
            "1990-01-01 00:00:00 UTC is before the first block",
        ),
        (
            "--until 2100-01-01",
            "2100-01-01 00:00:00 UTC is after the last block",
        ),
    ] {
        let answer = sample.run(&format!("transfers {range}"));
        assert_eq!(answer.status, 3, "{answer:?}");
        assert!(answer.stderr.contains(message), "{answer:?}");
        assert!(answer.stderr.contains("leave the"), "{answer:?}");
    }
    let answer = sample.run("transfers --since 1:2");
    assert_eq!(answer.status, 2, "{answer:?}");
    assert!(
        answer.stderr.contains("it is not a block or a date"),
        "{answer:?}"
    );
}

#[test]
fn printed_ranges_can_be_pasted_back() {
    let sample = Sample::small();
    let answer = sample.ok("transfers -b 3,7:9,-2:");
    let line = answer.stderr.lines().next().unwrap();
    let ranges = line.strip_prefix("blocks ").unwrap();
    let ranges = ranges.split(" (").next().unwrap().replace(", ", ",");
    assert_eq!(ranges, "3:4,7:9,39:41");
    let again = sample.ok(&format!("transfers -b {ranges}"));
    assert_eq!(again.stdout, answer.stdout);
    for (written, tip) in [
        ("0..100", "their end is excluded: 0:100"),
        ("0..=40", "their end is excluded: 0:41"),
        ("10-20", "their end is excluded: 10:21"),
    ] {
        let answer = sample.run(&format!("transfers -b {written}"));
        assert_eq!(answer.status, 2, "{answer:?}");
        assert!(answer.stderr.contains(tip), "{answer:?}");
    }
}
