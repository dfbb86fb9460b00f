//! `analyze rank`: addresses by their part in the flow around the roots.

use crate::harness::{CHAIN, ROOT, Sample};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/taint.csv");
const ALICE: &str = "0xa000000000000000000000000000000000000000";

/// The example of docs/rank.md.
#[test]
fn ranks_are_those_of_the_documentation() {
    let sample = Sample::small();
    let line = format!(
        "analyze rank --source csv:{EXAMPLE} --chain-id 1337 --covers 1:5 -r {ALICE} --beta 1 -f csv"
    );
    let page = include_str!("../../../../docs/rank.md");
    let found = sample.ok(&line).stdout;
    assert!(page.contains(&found), "{found}");
}

#[test]
fn scores_and_the_rest_are_one() {
    let sample = Sample::small();
    let found = sample.json(&format!(
        "analyze rank -r {ROOT} --epsilon 0.0001 -f json -q"
    ));
    let result = &found["result"];
    let ranks = result["ranks"].as_array().unwrap();
    let score = |rank: &serde_json::Value| rank["score"].as_f64().unwrap();
    let sum: f64 = ranks.iter().map(score).sum();
    let residual = result["residual"].as_f64().unwrap();
    assert!((sum + residual - 1.0).abs() < 1e-9, "{sum} {residual}");
    assert!(ranks.is_sorted_by(|a, b| score(a) >= score(b)));
    assert_eq!(result["total"], ranks.len());
    assert_eq!(ranks[0]["address"], ROOT);
    assert_eq!(found["metadata"]["question"]["direction"], "both");
    let few = sample.rows(&format!("analyze rank -r {ROOT} --limit 3 -f csv -q"));
    assert_eq!(few.len(), 3);
}

/// Mass follows a sale to the account that got the other token, and not what others sent through the pool.
#[test]
fn mass_goes_through_swaps() {
    for (sample, scenario, [source, middle, end]) in Sample::layered() {
        let token = scenario["token"].as_str().unwrap();
        let line =
            format!("analyze rank -r {source} -t {token} --max-degree 30 --beta 1 -f csv -q");
        let scores = |options: &str| {
            let rows = sample.rows(&format!("{line} {options}"));
            let score = |address: &str| {
                let mut rows = rows.iter();
                rows.find(|row| row["address"] == *address)
                    .map(|row| row["score"].parse::<f64>().unwrap())
            };
            [&source, &middle, &end].map(|address| score(address))
        };
        let [_, _, not_found] = scores("");
        assert_eq!(not_found, None);
        let [source, middle, end] =
            scores(&format!("--through-swaps --with-internal {CHAIN}")).map(Option::unwrap);
        assert!(source < end && middle < end, "{source} {middle} {end}");
    }
}

#[test]
fn what_cannot_be_ranked_is_refused() {
    let sample = Sample::small();
    for (line, reason) in [
        (format!("rank -r {ALICE} --alpha 1"), "alpha is at least"),
        (format!("rank -r {ALICE} --beta -1"), "beta is from 0 to 1"),
        (
            format!("rank -r {ALICE} --epsilon 0"),
            "epsilon is at least",
        ),
        (
            format!("rank -r {ALICE} -d out"),
            "needs the direction `both`",
        ),
        (
            format!("rank -r {ALICE} -d in --beta 1"),
            "needs the direction `both`",
        ),
        (
            format!("rank -r {ALICE} -d out --beta 1 --time-respecting"),
            "follows time by itself",
        ),
        (
            format!("rank -r {ALICE} --through-swaps --standard erc20"),
            "all transfers of a transaction",
        ),
        (
            format!("pairs -r {ALICE} --epsilon 0.1"),
            "only `rank` does",
        ),
        ("rank".to_owned(), "root"),
    ] {
        sample.fails(&format!("analyze {line}"), 2, reason);
    }
}

#[test]
fn silent_roots_are_asked_in_both_directions() {
    let root = "0x1111111111111111111111111111111111111111";
    let run = Sample::small().ok(&format!("analyze rank -r {root}"));
    run.says("no matching transfer of root 0x1111");
    let title = "around the roots, which have no transfers to follow: none";
    assert!(run.stdout.contains(title), "{run:?}");
}
