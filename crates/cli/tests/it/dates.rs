//! Dates instead of block numbers, and ranges that can be pasted back.

use crate::harness::{CHAIN, ROOT, Sample, USD6};
use std::fs;
use txgraph_testkit::says;

/// The time of a row's block, as people write it.
fn written(sample: &Sample, block: &str) -> String {
    let answer = sample.ok(&format!("transfers -q -b {block}"));
    let seconds: u64 = answer.rows()[0]["block_timestamp"].parse().unwrap();
    txgraph::parse::utc(seconds)[..19].replace(' ', "T")
}

#[test]
fn dates_are_accepted_wherever_blocks_are() {
    let sample = Sample::small();
    let expected = sample.ok("transfers -q -b 10:20").stdout;
    let (first, end) = (written(&sample, "10"), written(&sample, "20"));
    for query in [
        format!("transfers -q -b {first}:{end}"),
        format!("transfers -q -b {first}Z:20"),
        format!("transfers -q -b 10:{end}"),
        format!("transfers -q --since {first} --until {end}"),
        format!("transfers -q --since 10 --until {end}"),
        "transfers -q --since 10 --until 20".to_owned(),
    ] {
        assert_eq!(sample.ok(&query).stdout, expected, "{query}");
    }
    sample.ok("index build -q --index i");
    sample.ok("lake build -q l.lake --reorg-buffer 0");
    for source in ["--index i", "--source lake:l.lake"] {
        let query = format!("transfers -q --since {first} --until {end} {source}");
        assert_eq!(sample.ok(&query).stdout, expected, "{query}");
    }
    let saved = "purpose = 'x'\n[params.from]\ntype = 'text'\ndoc = 'x'\n[params.blocks]\n\
                 type = 'blocks'\ndoc = 'x'\noptional = true\n[ask]\ncommand = 'transfers'\n\
                 since = '${from}'\nuntil = 20\nblocks = '${blocks}'\n";
    fs::write(sample.path("q.toml"), saved).unwrap();
    let asked = sample.ok(&format!("query q.toml -q --set from={first}"));
    assert_eq!(asked.stdout, expected);
    sample.fails(
        &format!("query q.toml --set from=1 --set blocks={first}:{end}"),
        2,
        "blocks are named twice",
    );
}

/// The state at a date is that at the end of the block before it.
#[test]
fn states_are_read_at_dates() {
    let sample = Sample::small();
    let date = written(&sample, "20");
    for query in [
        format!("balance {ROOT} --token eth,{USD6} --json {CHAIN}"),
        format!("nonce {ROOT} --json"),
        format!("storage {USD6} 0 1 --json"),
        format!("code {USD6} --json"),
        format!("call {USD6} balanceOf(address)(uint256) {ROOT} {CHAIN}"),
        format!("token {USD6} --json {CHAIN}"),
        format!("address {ROOT} --json -b 0:30 {CHAIN}"),
    ] {
        let by_number = sample.ok(&format!("{query} -q --block 19")).stdout;
        let by_date = sample.ok(&format!("{query} -q --block {date}")).stdout;
        assert_eq!(by_date, by_number, "{query}");
    }
    // NUMBER, and return it.
    let run = |at: &str| {
        let code = "--code 435f5260205ff3 --json";
        sample.ok(&format!("evm run {code} --block {at} {CHAIN}"))
    };
    let returned = |at: &str| -> serde_json::Value {
        let answer = run(at).json();
        answer["output"].clone()
    };
    assert!(returned("19").is_string());
    assert_eq!(returned(&date), returned("19"));
    for (block, message) in [
        ("1990-01-01", "before the first block"),
        ("2100-01-01", "after the last block"),
        ("2024-13-01", "not a date"),
        ("soon", "it is not a block or a date"),
        ("10:20", "it is not a block or a date"),
    ] {
        let refused = sample.run(&format!("nonce {ROOT} --block {block}"));
        assert!(refused.status != 0, "{refused:?}");
        refused.says(message);
    }
}

#[test]
fn indexes_and_lakes_are_built_between_dates() {
    let sample = Sample::small();
    let (first, end) = (written(&sample, "10"), written(&sample, "20"));
    let blocks = format!("--from-block {first} --to-block {end}");
    sample.ok(&format!("index build -q --index i {blocks}"));
    let status = sample.json("index status --json --index i");
    assert_eq!(
        status["blocks"],
        serde_json::json!([{"first": 10, "last": 19}])
    );
    sample.ok(&format!(
        "lake build -q l.lake --partition-blocks 5 {blocks}"
    ));
    let status = sample.json("lake status l.lake --json");
    assert_eq!(
        status["blocks"],
        serde_json::json!([{"first": 10, "last": 19}])
    );
}

#[test]
fn dates_outside_of_the_chain_are_errors() {
    let sample = Sample::small();
    // Nothing is before the genesis block.
    assert_eq!(
        sample.ok("transfers -q --since 1990-01-01").stdout,
        sample.ok("transfers -q").stdout
    );
    for (range, message) in [
        (
            "-b 1990-01-01",
            "1990-01-02 00:00:00 UTC is before the first block",
        ),
        (
            "--since 2100-01-01",
            "2100-01-01 00:00:00 UTC is after the last block",
        ),
        (
            "-b 2100-01-01",
            "2100-01-01 00:00:00 UTC is after the last block",
        ),
    ] {
        sample
            .run(&format!("transfers {range}"))
            .ended(3)
            .says(message)
            .says("hint: ");
    }
    sample.fails("transfers --since 1:2", 2, "it is not a block or a date");
}

/// A month that is not over is answered up to the last block, which is stated.
#[test]
fn dates_that_end_beyond_the_chain_end_with_it() {
    let sample = Sample::small();
    let first = written(&sample, "10");
    for query in [
        "transfers --format csv -o -".to_owned(),
        format!("graph -r {ROOT} --format csv -o -"),
        "analyze degrees --format csv".to_owned(),
    ] {
        let expected = sample.ok(&format!("{query} -q -b 10:"));
        for range in [
            format!("-b {first}:2100-01-01"),
            format!("--since {first} --until 2100-01-01"),
        ] {
            let found = sample.ok(&format!("{query} {range}"));
            assert_eq!(found.stdout, expected.stdout, "{query} {range}");
            let stated = "the blocks end with block 40 of";
            found.says(stated);
            found.says("not at 2100-01-01");
        }
    }
    sample.ok(&format!("transfers -q -b {first}:2100-01-01 -o x.csv"));
    let metadata = sample.read("x.csv.meta.json");
    says(&metadata, "the blocks end with block 40");
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
        sample.fails(&format!("transfers -b {written}"), 2, tip);
    }
}
