//! `txgraph transfers`.

use crate::harness::{HUB, Row, Sample, USD6, json_lines, rows};
use serde_json::Value;
use txgraph::Transfer;
use txgraph_testkit::naive::decode_fixture;

/// A row as in CSV.
fn row(transfer: &Transfer, chain_id: u64) -> Row {
    let optional = |value: Option<String>| value.unwrap_or_default();
    let fields = [
        ("block_number", transfer.block_number.to_string()),
        (
            "block_timestamp",
            optional(transfer.block_timestamp.map(|it| it.seconds().to_string())),
        ),
        ("transaction_index", transfer.transaction_index.to_string()),
        (
            "log_index",
            optional(transfer.log_index.map(|index| index.to_string())),
        ),
        ("sub_index", transfer.sub_index.to_string()),
        (
            "transaction_hash",
            optional(transfer.transaction_hash.map(|hash| format!("{hash:#x}"))),
        ),
        (
            "token_address",
            optional(transfer.token_address.map(|token| format!("{token:#x}"))),
        ),
        ("from_address", format!("{:#x}", transfer.from_address)),
        ("to_address", format!("{:#x}", transfer.to_address)),
        ("value", transfer.value.to_string()),
        (
            "token_id",
            optional(transfer.token_id.map(|id| id.to_string())),
        ),
        ("token_standard", transfer.token_standard.to_string()),
        ("kind", transfer.kind.to_string()),
        ("chain_id", chain_id.to_string()),
    ];
    fields
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

#[test]
fn agree_with_the_node() {
    for sample in Sample::both() {
        let chain_id = sample.fixture.chain_id().unwrap();
        let decoded = decode_fixture(&sample.fixture);
        let expected: Vec<_> = decoded.transfers.iter().map(|t| row(t, chain_id)).collect();
        let run = sample.ok("transfers");
        let found = run.rows();
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found, expected);
        }
        assert_eq!(
            run.stdout.lines().next().unwrap(),
            "block_number,block_timestamp,transaction_index,log_index,sub_index,transaction_hash,\
             token_address,from_address,to_address,value,token_id,token_standard,kind,chain_id"
        );
        run.says("blocks 0:41 (41 in all)");
        let counts = format!(
            "read 41 blocks, 521 transactions, 556 logs: {} matching transfers, {} malformed transfer logs",
            expected.len(),
            decoded.malformed
        );
        run.says(&counts);
    }
}

#[test]
fn filters_select_rows() {
    let sample = Sample::small();
    let all = sample.rows("transfers -q");
    let at = |row: &Row, name: &str| row[name].clone();
    type Wanted<'a> = &'a dyn Fn(&Row) -> bool;
    let cases: &[(String, Wanted<'_>)] = &[
        (format!("-t {USD6}"), &|row| {
            at(row, "token_address") == USD6
        }),
        ("-t eth".into(), &|row| {
            at(row, "token_standard") == "native"
        }),
        (format!("-t native,{USD6}"), &|row| {
            ["", USD6].contains(&at(row, "token_address").as_str())
        }),
        (format!("-a {HUB}"), &|row| {
            at(row, "from_address") == HUB || at(row, "to_address") == HUB
        }),
        (format!("-a {HUB} -d in"), &|row| {
            at(row, "to_address") == HUB
        }),
        (format!("-a {HUB} -d out"), &|row| {
            at(row, "from_address") == HUB
        }),
        ("--kind mint,burn".into(), &|row| {
            ["mint", "burn"].contains(&at(row, "kind").as_str())
        }),
        ("--standard erc721".into(), &|row| {
            at(row, "token_standard") == "erc721"
        }),
        ("--min-value 1e18".into(), &|row| {
            at(row, "value").parse::<f64>().unwrap() >= 1e18
        }),
        ("-b 10:20".into(), &|row| {
            (10..20).contains(&at(row, "block_number").parse().unwrap())
        }),
        ("--from-block 10 --to-block 20".into(), &|row| {
            (10..=20).contains(&at(row, "block_number").parse().unwrap())
        }),
        ("-b -5: 7".into(), &|row| {
            [7, 36, 37, 38, 39, 40].contains(&at(row, "block_number").parse().unwrap())
        }),
    ];
    for (options, wanted) in cases {
        let found = sample.rows(&format!("transfers -q {options}"));
        let expected: Vec<_> = all.iter().filter(|row| wanted(row)).cloned().collect();
        assert!(
            !expected.is_empty() && expected.len() < all.len(),
            "{options}: the test would prove nothing"
        );
        assert_eq!(found, expected, "{options}");
    }
}

#[test]
fn wrapped_coins_are_chosen() {
    let sample = Sample::small();
    let weth = "0xf082dbdbf5e34c5c7083d17ea754b6fa93ee5e01";
    let count = |options: &str| {
        let run = sample.ok(&format!("transfers -q --kind wrap,unwrap {options}"));
        run.rows().len()
    };
    let all = count("");
    assert!(all > 0);
    assert_eq!(count(&format!("--wrapped-native {weth}")), all);
    assert_eq!(count("--wrapped-native any"), all);
    assert_eq!(count("--wrapped-native none"), 0);
    assert_eq!(
        count("--wrapped-native 0x000000000000000000000000000000000000dEaD"),
        0
    );
}

#[test]
fn formats_contain_the_same_rows() {
    let sample = Sample::small();
    let csv = sample.rows("transfers -q");
    let jsonl = sample.ok("transfers -q -f jsonl").stdout;
    let lines = json_lines(&jsonl);
    assert_eq!(lines.len(), csv.len());
    for (line, row) in lines.iter().zip(&csv) {
        for (name, value) in row {
            let text = match &line[name] {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            assert_eq!(&text, value, "{name}");
        }
    }
    // By extension. The tests of the writers check the contents.
    for (name, magic) in [("t.parquet", "PAR1"), ("t.ipc", "ARROW1")] {
        sample.ok(&format!("transfers -o {name}"));
        let bytes = std::fs::read(sample.path(name)).unwrap();
        assert!(bytes.starts_with(magic.as_bytes()), "{name}");
    }
    sample.ok("transfers -o t.csv");
    assert_eq!(rows(&sample.read("t.csv")), csv);
    let about = sample.read_json("t.csv.meta.json");
    assert_eq!(about["chain"]["chain_id"], 735_703);
    assert_eq!(about["command"], "transfers");
}

/// The filters by who signed keep the rows that the column `transaction_from` says.
#[test]
fn transfers_are_chosen_by_who_signed() {
    let sample = Sample::small();
    let columns = "--columns all:hex,transaction_from";
    let ask = |options: &str| sample.rows(&format!("transfers -q {columns} {options}"));
    let all = ask("");
    let signed = |row: &Row| !row["transaction_from"].is_empty();
    let by_others = |row: &Row| signed(row) && row["transaction_from"] != row["from_address"];
    let expected: Vec<_> = all.iter().filter(|row| by_others(row)).cloned().collect();
    assert!(!expected.is_empty() && expected.len() < all.len());
    assert_eq!(ask("--not-by-owner"), expected);
    let signer = &expected[expected.len() / 2]["transaction_from"];
    for (options, expected) in [("", &all), ("--not-by-owner", &expected)] {
        let of_signer = expected.iter();
        let of_signer = of_signer.filter(|row| row["transaction_from"] == *signer);
        assert_eq!(
            ask(&format!("{options} --initiated-by {signer}")),
            of_signer.cloned().collect::<Vec<_>>()
        );
    }
    // Two accounts are either of them.
    let other = &all.iter().find(|row| signed(row)).unwrap()["transaction_from"];
    assert_ne!(signer, other);
    let either = all.iter();
    let either = either.filter(|row| [signer, other].contains(&&row["transaction_from"]));
    assert_eq!(
        ask(&format!("--initiated-by {signer},{other}")),
        either.cloned().collect::<Vec<_>>()
    );
    // People see who it was, and files state the condition.
    sample
        .ok(&format!("transfers --initiated-by {signer} -f table"))
        .prints("initiator");
    sample.ok(&format!(
        "transfers --initiated-by {signer} --not-by-owner -o t.csv"
    ));
    let about = sample.read_json("t.csv.meta.json");
    assert_eq!(about["question"]["not-by-owner"], true);
    assert_eq!(about["question"]["initiated-by"][0], **signer);
}

/// The listed logs are those that a scan counts, and the planted ones are among them.
#[test]
fn malformed_logs_are_listed() {
    let sample = Sample::small();
    sample.ok("transfers -o t.csv");
    let about = sample.read_json("t.csv.meta.json");
    sample.ok("transfers --malformed -o m.json -o m.csv");
    let found = sample.read_json("m.json");
    let logs = found["malformed"].as_array().unwrap();
    assert_eq!(about["scan"]["counts"]["malformed"], logs.len());
    assert_eq!(rows(&sample.read("m.csv")).len(), logs.len());
    let planted = &sample.fixture.truth["scenarios"]["odd-transfer-logs"]["emitter"];
    let of_planted = logs.iter().filter(|log| log["emitter"] == *planted);
    let of_planted = of_planted.count();
    assert!(of_planted >= 5, "{planted}: {found}");
    let emitter = planted.as_str().unwrap();
    sample
        .ok(&format!("transfers --malformed -t {emitter}"))
        .prints("a transfer has three words in all")
        .says(&format!(
            "{of_planted} logs look like transfers and are none"
        ));
    sample.run("transfers --malformed -a 0x1234").ended(2);
}
