//! `txgraph analyze`.

use crate::harness::{HUB, Row, Sample, USD6};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Read,
};
use txgraph::Measure;

const OZA: &str = "0xc982f6837de3bef0547ecb84171688b6a2bd4cd2";
/// The planted wash cycle is among the cycles of its token.
#[test]
fn loops_find_the_wash_cycle() {
    for sample in Sample::both() {
        let cycle = sample.fixture.truth["scenarios"]["wash-cycle"]["cycle"]
            .as_array()
            .unwrap();
        let cycle: BTreeSet<String> = cycle
            .iter()
            .map(|address| address.as_str().unwrap().to_owned())
            .collect();
        let run = sample.ok(&format!("analyze cycles -t {OZA} -f json"));
        let json = run.json();
        assert_eq!(json["measure"], "cycles");
        assert_eq!(json["metadata"]["chain"]["chain_id"], 735_703);
        let text = json["result"].to_string();
        assert!(cycle.iter().all(|address| text.contains(address)), "{text}");

        let run = sample.ok(&format!("analyze cycles -t {OZA}"));
        for address in &cycle {
            let shown =
                txgraph::parse::parse_address(address, txgraph::parse::Checksum::Verify).unwrap();
            run.prints(&shown.to_checksum(None));
        }
    }
}

#[test]
fn tables_are_compressed_by_their_name() {
    let sample = Sample::small();
    let plain = sample.ok("analyze pairs -q -f csv").stdout;
    sample.ok("analyze pairs -q -o pairs.csv.gz -o pairs.jsonl.zst");
    let packed = fs::read(sample.path("pairs.csv.gz")).unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(&*packed)
        .read_to_string(&mut text)
        .unwrap();
    assert_eq!(text, plain);
    assert!(sample.path("pairs.csv.gz.meta.json").exists());
    let packed = fs::read(sample.path("pairs.jsonl.zst")).unwrap();
    let lines = zstd::decode_all(&*packed).unwrap();
    let lines = lines.split(|byte| *byte == b'\n').count();
    assert_eq!(lines, plain.lines().count());
    for name in ["pairs.parquet.gz", "pairs.json.gz", "pairs.table"] {
        sample.run(&format!("analyze pairs -o {name}")).ended(2);
    }
}

#[test]
fn pairs_are_sums_of_transfers() {
    let sample = Sample::small();
    let line = format!("-r {HUB} -d both");
    let transfers = sample.rows(&format!("graph -q {line}"));
    let pairs = sample.rows(&format!("analyze pairs -q {line} -f csv"));
    let count: usize = pairs
        .iter()
        .map(|pair| pair["count"].parse::<usize>().unwrap())
        .sum();
    assert_eq!(count, transfers.len());
    let key = |row: &Row| {
        [
            "from_address",
            "to_address",
            "token_address",
            "token_standard",
        ]
        .map(|name| row[name].clone())
    };
    let distinct: BTreeSet<_> = transfers.iter().map(key).collect();
    assert_eq!(pairs.iter().map(key).collect::<BTreeSet<_>>(), distinct);
    assert_eq!(pairs.len(), distinct.len());

    let top = sample.rows(&format!(
        "analyze pairs -q {line} -f csv --order count --limit 2"
    ));
    assert_eq!(top.len(), 2);
    let most = pairs
        .iter()
        .map(|pair| pair["count"].parse::<u64>().unwrap())
        .max()
        .unwrap();
    assert_eq!(top[0]["count"], most.to_string());
}

#[test]
fn volume_is_the_sum_of_transfers_in_a_period() {
    let sample = Sample::small();
    let all = sample.rows("transfers -q --standard erc20");
    for by in ["hour", "week", "transaction"] {
        let mut expected: BTreeMap<(u64, u64, String), (u128, BTreeSet<&str>)> = BTreeMap::new();
        for row in &all {
            let number = |name: &str| row[name].parse::<u64>().unwrap();
            let time = number("block_timestamp");
            let group = match by {
                "hour" => (time / 3600, 0),
                // The first Monday of 1970 was the fifth day.
                "week" => ((time / 86400 + 3) / 7, 0),
                _ => (number("block_number"), number("transaction_index")),
            };
            let key = (group.0, group.1, row["token_address"].clone());
            let sums = expected.entry(key).or_default();
            sums.0 = sums.0.saturating_add(row["value"].parse().unwrap_or(0));
            sums.1.insert(&row["to_address"]);
        }
        let found = sample.rows(&format!(
            "analyze volume -q --standard erc20 --by {by} -f csv"
        ));
        assert_eq!(found.len(), expected.len(), "{by}");
        for (row, ((.., token), (sum, receivers))) in found.iter().zip(expected) {
            assert_eq!(row["token_address"], token);
            if row["sum"].parse::<u128>().is_ok() {
                assert_eq!(row["sum"], sum.to_string());
            }
            assert_eq!(row["receivers"], receivers.len().to_string());
        }
    }
    let busiest = sample.rows("analyze volume -q --by transaction --order count --limit 1 -f csv");
    let most = sample.rows("analyze volume -q --by transaction -f csv");
    let most = most
        .iter()
        .map(|row| row["transfers"].parse::<u64>().unwrap());
    assert_eq!(busiest[0]["transfers"].parse(), Ok(most.max().unwrap()));
    // The name of a transaction is one that `tx` takes.
    let name = &busiest[0]["transaction"];
    sample.ok(&format!("tx {name} -q"));
    sample.fails("analyze volume --order address", 2, "no such order");
    sample.fails("analyze pairs --by day", 2, "no periods");
}

#[test]
fn data_has_the_labels_of_addresses() {
    let sample = Sample::small();
    fs::write(
        sample.path("l.csv"),
        format!("address,label\n{HUB},the hub\n"),
    )
    .unwrap();
    for (line, address, label) in [
        ("analyze pairs -q -f csv", "from_address", "from_label"),
        ("analyze degrees -q -f csv --table hubs", "address", "label"),
    ] {
        let plain = sample.rows(line);
        assert!(line.contains("degrees") || !plain[0].contains_key(label));
        let rows = sample.rows(&format!("{line} --labels l.csv"));
        let named = rows.iter().filter(|row| row[label] == "the hub");
        assert!(named.clone().count() > 0, "{line}");
        assert!(named.clone().all(|row| row[address] == HUB));
        assert!(
            rows.iter()
                .all(|row| (row[address] == HUB) == (row[label] == "the hub"))
        );
    }
}

#[test]
fn without_roots_all_transfers_are_measured() {
    let sample = Sample::small();
    let all = sample.rows("transfers -q").len();
    let json = sample.json("analyze summary -q -f json");
    assert_eq!(json["result"]["transfers"], all);
    sample.fails("analyze summary --hops 2", 2, "add --root");
}

#[test]
fn every_measure_prints_and_serializes() {
    let sample = Sample::small();
    // Taint needs an amount to start with; its tests are apart.
    let measures = Measure::ALL.iter().filter(|it| **it != Measure::Taint);
    for measure in measures.map(|it| it.as_str()) {
        let page = sample
            .ok(&format!("analyze {measure} -r {HUB} -d both -n 2"))
            .stdout;
        assert!(page.contains('┌') && page.contains('└'), "{page}");
        let json = sample
            .ok(&format!(
                "analyze {measure} -q -r {HUB} -d both -n 2 -f json"
            ))
            .stdout;
        assert!(serde_json::from_str::<Value>(&json).unwrap()["result"].is_object());
        sample.ok(&format!(
            "analyze {measure} -r {HUB} -d both -n 2 -o {measure}.csv"
        ));
        sample.ok(&format!(
            "analyze {measure} -r {HUB} -d both -n 2 -o {measure}.json"
        ));
        csv::Reader::from_reader(sample.read(&format!("{measure}.csv")).as_bytes())
            .records()
            .for_each(|row| drop(row.unwrap()));
    }
}

#[test]
fn tables_are_chosen_by_name() {
    let sample = Sample::small();
    let run = sample.run("analyze summary --table nonsense").ended(2);
    let known = run
        .stderr
        .split("one of ")
        .nth(1)
        .unwrap()
        .lines()
        .next()
        .unwrap()
        .to_owned();
    let mut heads = BTreeSet::new();
    for name in known.split(", ") {
        let csv = sample
            .ok(&format!("analyze summary -q -f csv --table {name}"))
            .stdout;
        assert!(heads.insert((name.to_owned(), csv.lines().next().unwrap().to_owned())));
        sample.ok(&format!("analyze summary -q --table {name}"));
    }
    assert!(heads.len() > 3, "{heads:?}");
}

#[test]
fn amounts_have_the_units_of_the_token_list() {
    let sample = Sample::small();
    std::fs::write(
        sample.path("tokens.csv"),
        format!("address,symbol,decimals,name\n{USD6},LISTED,6,USD Six\n"),
    )
    .unwrap();
    let page = sample
        .ok(&format!("analyze pairs -t {USD6} --token-list tokens.csv"))
        .stdout;
    assert!(page.contains("LISTED") && !page.contains("USD6"), "{page}");
    // Without a list, what the token claims.
    let claimed = sample.ok(&format!("analyze pairs -t {USD6}")).stdout;
    assert!(claimed.contains("USD6"), "{claimed}");
}

/// Words of earlier versions are refused with the new ones.
#[test]
fn words_of_earlier_versions_are_refused() {
    let sample = Sample::small();
    for (line, new) in [
        ("analyze loops", "`loops` is now `cycles`"),
        ("analyze trace", "`trace` is now `taint`"),
        ("query closed-loops --set token=all", "is now `cycles`"),
        ("graph --top 3", "`--top` is now `--limit`"),
    ] {
        sample.fails(line, 2, new);
    }
}
