//! `txgraph holders`: sums of transfers, and what the token states.

use crate::harness::{CHAIN, Row, Sample, USD6};
use std::collections::BTreeMap;
use txgraph_testkit::{or_skip, says};

/// The holders of a token by its transfers, as `holders` lists them.
fn by_transfers(sample: &Sample, options: &str) -> Vec<(String, i128)> {
    let mut held: BTreeMap<String, i128> = BTreeMap::new();
    let columns = "--columns from_address:hex,to_address:hex,value:string";
    for row in sample.rows(&format!("transfers {options} -q -f csv {columns}")) {
        let value: i128 = row["value"].parse().unwrap();
        *held.entry(row["to_address"].clone()).or_default() += value;
        *held.entry(row["from_address"].clone()).or_default() -= value;
    }
    held.remove(&format!("0x{:040x}", 0));
    let mut held: Vec<_> = held.into_iter().filter(|(_, amount)| *amount > 0).collect();
    held.sort_by_key(|(address, amount)| (-amount, address.clone()));
    held
}

fn listed(sample: &Sample, options: &str) -> Vec<(String, i128)> {
    let rows = sample.rows(&format!("holders {options} -q -f csv"));
    let row = |row: &Row| {
        let address = row["address"].to_lowercase();
        (address, row["amount"].parse().unwrap())
    };
    rows.iter().map(row).collect()
}

#[test]
fn holders_are_what_transfers_left() {
    let sample = Sample::small();
    for blocks in ["", "-b :20", "-b 10:30"] {
        let expected = by_transfers(&sample, &format!("-t {USD6} {blocks}"));
        let found = listed(&sample, &format!("{USD6} {blocks} {CHAIN}"));
        assert!(found.len() > 3);
        assert_eq!(found, expected, "{blocks}");
    }
    let all = by_transfers(&sample, &format!("-t {USD6}"));
    let run = sample.ok(&format!("holders {USD6} --limit 3 {CHAIN}"));
    says(&run.stdout, "Holders of 0x");
    run.says(&format!("{} more holders are not listed", all.len() - 3));
    // The token was asked.
    let json = sample.json(&format!("holders {USD6} {CHAIN} -f json -q"));
    assert_eq!(json["asked_after_block"], 40);
    assert_eq!(json["holders"][0]["stated"], true);
    assert_eq!(json["holders"].as_array().unwrap().len(), all.len());
    let shares = json["holders"].as_array().unwrap().iter();
    let shares: f64 = shares.map(|it| it["share"].as_f64().unwrap()).sum();
    assert!((shares - 1.0).abs() < 1e-9, "{shares}");
    // Not from the first block on: the token knows nothing of that.
    let json = sample.json(&format!(
        "holders {USD6} -b 15:30 --limit 1 {CHAIN} -f json -q"
    ));
    assert_eq!(json["asked_after_block"], serde_json::Value::Null);
    assert_eq!(json["holders"][0]["stated"], false);
    let notes = json["notes"].as_array().unwrap();
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert_eq!(
        notes[0],
        "amounts are the sums of the transfers that were read"
    );
    says(&notes[1].to_string(), "less after these blocks than before");
}

/// A token that mints without a log, and one whose balances grow: the token decides.
#[test]
fn the_token_decides_about_its_holders() {
    let sample = or_skip!(Sample::named("dev-v2"));
    let silent = "0xc2a49ea620e6ee6c4b73b5171661c851ca3c19d9";
    let run = sample.ok(&format!("holders {silent} --limit 2 {CHAIN} -f json"));
    run.says("sent more than transfers brought");
    let json = run.json();
    assert_eq!(
        json["holders"][0]["address"],
        "0xbb4181eb5ca61679a62a2328075a77c98e243a69"
    );
    says(&json["notes"].to_string(), "some can have more");
    // It answers nothing: amounts are sums, also those that no token can hold.
    let mute = "0x37f722db563889ba4fee71eea43a6c27785920b9";
    let json = sample.json(&format!("holders {mute} {CHAIN} -f json -q"));
    says(&json["notes"].to_string(), "does not answer balanceOf");
    says(&json["notes"].to_string(), "stated as 2^256 - 1");
    // Each id of a game has holders of its own, who are compared.
    let items = "0x23278f1aa53973f30dde5c7fd9aa27f68003663d";
    let run = sample.ok(&format!("holders {items} {CHAIN} -f csv"));
    run.says("of all ids of the token together");
    let rows = sample.rows(&format!(
        "transfers -t {items} -q -f csv --columns token_id:string"
    ));
    let id = &rows[0]["token_id"];
    let one = format!("holders {items} --token-id {id} {CHAIN} -f json -q");
    assert_eq!(sample.json(&one)["asked_after_block"], 800);
}

#[test]
fn holders_are_of_one_token() {
    let sample = Sample::small();
    sample.fails(
        "holders eth",
        2,
        "the native coin has no list of its holders",
    );
    sample.fails("holders", 2, "TOKEN");
    sample.fails("holders 0x12", 2, "0x12");
    sample.fails(&format!("holders {USD6} -b 90:95"), 3, "90");
}
