//! Amounts in units of tokens, ids of tokens, and the largest counterparties.

use crate::harness::{HUB, Row, Sample, USD6};
use std::{collections::BTreeMap, fs};

fn wide(text: &str) -> u128 {
    text.parse().unwrap_or(u128::MAX)
}

/// The small chain, with a list of its token USD6.
pub(crate) fn with_list() -> Sample {
    let sample = Sample::small();
    let list = format!("address,symbol,decimals\n{USD6},USD6,6\n");
    fs::write(sample.path("tokens.csv"), list).unwrap();
    sample
}

#[test]
fn smallest_amounts_are_in_units_of_tokens() {
    let sample = with_list();
    let all = sample.rows("transfers -q");
    let is_usd6 = |row: &Row| row["token_address"] == USD6;
    let is_native = |row: &Row| row["token_standard"] == "native";
    let mut amounts: Vec<u128> = all
        .iter()
        .filter(|row| is_usd6(row))
        .map(|row| wide(&row["value"]))
        .collect();
    amounts.sort_unstable();
    let middle = amounts[amounts.len() / 2];
    assert!(amounts[0] < middle, "the filter leaves something out");
    let units = format!("{}.{:06}", middle / 1_000_000, middle % 1_000_000);
    let list = "--token-list tokens.csv";
    let large = |row: &Row| wide(&row["value"]) >= middle;
    let eth = |row: &Row| wide(&row["value"]) >= 10u128.pow(17);
    type Wanted<'a> = &'a dyn Fn(&Row) -> bool;
    let cases: &[(String, Wanted<'_>)] = &[
        (format!("--min-value {middle}"), &large),
        (format!("-t {USD6} --min-value {units}0"), &|row| {
            is_usd6(row) && large(row)
        }),
        (format!("--min-value usd6={units}"), &|row| {
            !is_usd6(row) || large(row)
        }),
        (format!("--min-value {USD6}={units},eth=0.1"), &|row| {
            (!is_usd6(row) || large(row)) && (!is_native(row) || eth(row))
        }),
        (format!("-t {USD6},eth --min-value 0.1"), &|row| {
            is_usd6(row) && wide(&row["value"]) >= 100_000 || is_native(row) && eth(row)
        }),
    ];
    sample.ok("index build -q --index i");
    sample.ok("lake build -q l.lake --reorg-buffer 0");
    for (options, wanted) in cases {
        let expected: Vec<_> = all.iter().filter(|row| wanted(row)).collect();
        assert!(
            !expected.is_empty() && expected.len() < all.len(),
            "{options}"
        );
        for source in ["", "--index i", "--source lake:l.lake"] {
            let found = sample.rows(&format!("transfers -q {list} {options} {source}"));
            assert!(
                found.iter().eq(expected.iter().copied()),
                "{options} {source}"
            );
        }
    }
}

#[test]
fn amounts_without_known_decimals_are_errors() {
    let sample = with_list();
    for (options, message) in [
        ("--min-value 1.5", "no token is named"),
        (
            &*format!("-t {USD6},{HUB} --token-list tokens.csv --min-value 1.5"),
            "the decimals of 0x502F1f2f4b2AbC8D86fC43Da973C2C110206E2bA are not known",
        ),
        ("--min-value USD6=1", "no token is known by the symbol USD6"),
        (
            "--token-list tokens.csv --min-value DAI=1",
            "no token is known by the symbol DAI",
        ),
        (
            "--token-list tokens.csv --min-value USD6=0.0000001",
            "0.0000001 has 7 decimals, but USD6 has 6",
        ),
        ("--min-value x", "or write it in units of tokens"),
    ] {
        let answer = sample.run(&format!("transfers {options}")).ended(2);
        let stderr = answer.stderr.to_lowercase();
        assert!(
            stderr.contains(&message.to_lowercase()),
            "{options} {answer:?}"
        );
    }
}

#[test]
fn token_ids_are_selected() {
    let sample = Sample::small();
    let all = sample.rows("transfers -q");
    let mut ids: Vec<&str> = all.iter().map(|row| row["token_id"].as_str()).collect();
    ids.retain(|id| !id.is_empty() && id.len() < 18);
    ids.sort_unstable();
    ids.dedup();
    assert!(ids.len() > 2, "{ids:?}");
    let hex = format!("{:#x}", ids[1].parse::<u64>().unwrap());
    for (options, wanted) in [
        (format!("--token-id {}", ids[0]), &ids[..1]),
        (format!("--token-id {},{hex}", ids[0]), &ids[..2]),
        (format!("--token-id {} --token-id {hex}", ids[0]), &ids[..2]),
    ] {
        let found = sample.rows(&format!("transfers -q {options}"));
        let expected = all
            .iter()
            .filter(|row| wanted.contains(&row["token_id"].as_str()));
        assert!(found.iter().eq(expected), "{options}");
    }
    sample.run("transfers --token-id 1.5").ended(2);
}

#[test]
fn the_largest_counterparties_are_followed() {
    let sample = Sample::small();
    let query = format!("graph -r {HUB} -t {USD6}");
    let all = sample.rows(&query);
    let mut sums: BTreeMap<&str, u128> = BTreeMap::new();
    for row in &all {
        *sums.entry(&row["to_address"]).or_default() += wide(&row["value"]);
    }
    let mut ranked: Vec<_> = sums
        .into_iter()
        .map(|(to, sum)| (std::cmp::Reverse(sum), to))
        .collect();
    ranked.sort_unstable();
    assert!(ranked.len() > 2, "{ranked:?}");
    let kept: Vec<_> = ranked[..2].iter().map(|(_, to)| *to).collect();
    let answer = sample.ok(&format!("{query} --follow-top 2"));
    let found = answer.rows();
    let expected = all
        .iter()
        .filter(|row| kept.contains(&row["to_address"].as_str()));
    assert!(found.iter().eq(expected), "{answer:?}");
    let left_out = format!("{} transfers omitted", all.len() - found.len());
    answer.says(&left_out);
    answer.says("the largest 2 of each address");
}

/// A symbol of the token list stands for the address of its token.
#[test]
fn tokens_are_named_by_symbol() {
    let sample = Sample::small();
    let (usd6, oza) = (
        "0xd601451207128971898aab8654521699f35222e2",
        "0xc982f6837de3bef0547ecb84171688b6a2bd4cd2",
    );
    let list = format!("address,symbol,decimals\n{usd6},USD6,6\n{oza},TWO,18\n{usd6},USD6,6\n");
    std::fs::write(sample.path("t.csv"), list).unwrap();
    let by_address = sample.ok(&format!("transfers -t {usd6},eth")).stdout;
    let by_symbol = sample.ok("transfers -t usd6,eth --token-list t.csv").stdout;
    assert_eq!(by_symbol, by_address);
    for line in ["transfers -t USD6", "transfers -t NONE --token-list t.csv"] {
        sample.run(line).refused(2);
    }
}
