//! `analyze taint`: where the tokens of planted scenarios are.

use crate::{
    address::allocated,
    harness::{CHAIN, HUB, ROOT, Row, Sample, rows},
};
use std::{collections::BTreeMap, fs};
use txgraph_testkit::or_skip;

/// The ends of taint: address to amount and reason.
fn ends(sample: &Sample, line: &str) -> BTreeMap<String, (u128, String)> {
    let answer = sample.ok(&format!("analyze taint {line} -f csv -q"));
    let mut ends: BTreeMap<String, (u128, String)> = BTreeMap::new();
    for row in answer.rows() {
        let amount: u128 = row["amount"].parse().unwrap();
        let end = ends.entry(row["address"].clone());
        end.or_insert_with(|| (0, row["end"].clone())).0 += amount;
    }
    ends
}

#[test]
fn peeled_amounts_are_where_they_were_peeled_to() {
    for sample in Sample::full() {
        let scenario = sample.fixture.truth["scenarios"]["peel-chain-token"].clone();
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        let (root, token) = (text(&scenario["root"]), text(&scenario["token"]));
        let payees: Vec<_> = scenario["payees"]
            .as_array()
            .unwrap()
            .iter()
            .map(text)
            .collect();
        let last = text(scenario["chain"].as_array().unwrap().last().unwrap());
        let mut expected = BTreeMap::<String, u128>::new();
        for edge in scenario["edges"].as_array().unwrap() {
            let (to, value) = (text(&edge["to"]), text(&edge["value"]));
            if payees.contains(&to) || to == last {
                *expected.entry(to).or_default() += value.parse::<u128>().unwrap();
            }
        }
        // The accounts of the chain have nothing else, so that every rule gives the same.
        for method in ["fifo", "lifo", "haircut"] {
            let found = ends(&sample, &format!("-r {root} -t {token} --method {method}"));
            for (address, amount) in &expected {
                assert_eq!(
                    found.get(address),
                    Some(&(*amount, "held".to_owned())),
                    "{method} {}: {address}",
                    sample.fixture.name
                );
            }
            let found: u128 = found.values().map(|(amount, _)| amount).sum();
            assert_eq!(found, expected.values().sum::<u128>());
        }
    }
}

/// The ledger adds up: what reaches an address from a source leaves it, or is still there.
#[test]
fn ledgers_add_up() {
    for sample in Sample::full() {
        let scenario = &sample.fixture.truth["scenarios"]["hub"];
        let (hub, token) = (
            scenario["hub"].as_str().unwrap(),
            scenario["token"].as_str().unwrap(),
        );
        for method in ["fifo", "lifo", "haircut"] {
            let line = format!("-r {hub} -t {token} -n 4 --method {method}");
            let ledger = sample.ok(&format!("analyze taint {line} --table ledger -f csv -q"));
            let mut left: BTreeMap<String, i128> = BTreeMap::new();
            for row in ledger.rows() {
                let amount: i128 = row["amount"].parse().unwrap();
                if row["from_address"] != hub {
                    *left.entry(row["from_address"].clone()).or_default() -= amount;
                }
                *left.entry(row["to_address"].clone()).or_default() += amount;
            }
            left.retain(|_, amount| *amount != 0);
            let ends = ends(&sample, &line).into_iter();
            let ends: BTreeMap<_, _> = ends
                .map(|(address, (amount, _))| (address, i128::try_from(amount).unwrap()))
                .collect();
            assert!(left.len() > 3, "{left:?}");
            assert_eq!(left, ends, "{method} {}", sample.fixture.name);
        }
    }
}

/// A range that starts later takes the balances before it from the state: the result about the
/// later transfers equals the result for the whole chain.
#[test]
fn balances_before_the_range_come_from_the_state() {
    let sample = Sample::small();
    let scenario = &sample.fixture.truth["scenarios"]["hub"];
    let (hub, token) = (
        scenario["hub"].as_str().unwrap(),
        scenario["token"].as_str().unwrap(),
    );
    let line = format!("analyze taint -r {hub} -t {token} --table ledger -f csv");
    // `balanceOf` does not depend on the rules of the chain.
    let without_rules = sample.ok(&format!("{line} --blocks 20:"));
    let with_rules = sample.ok(&format!("{line} --blocks 20: {CHAIN}"));
    assert_eq!(without_rules.stdout, with_rules.stdout);
    let ledger = |blocks: &str| {
        let answer = sample.ok(&format!("{line} --blocks {blocks} {CHAIN}"));
        assert!(
            !answer.stderr.contains("are not known"),
            "{}",
            answer.stderr
        );
        let rows = answer.rows().into_iter();
        rows.map(|row| {
            (
                row["transaction_hash"].clone(),
                row["to_address"].clone(),
                row["amount"].clone(),
            )
        })
        .collect::<Vec<_>>()
    };
    let whole = ledger("0:");
    let first = scenario["edges"].as_array().unwrap().iter();
    let first = first
        .filter(|edge| edge["from"].as_str() == Some(hub))
        .map(|edge| edge["block"].as_u64().unwrap())
        .min();
    let late = ledger(&format!("{}:", first.unwrap()));
    assert!(!late.is_empty());
    assert_eq!(late, whole);
}

/// The allocation of the genesis is older than everything that arrives, so that it leaves
/// first.
#[test]
fn genesis_allocations_are_known_balances() {
    let mut checked = 0;
    for sample in Sample::full() {
        let all = sample.rows("transfers -q -t eth");
        let value = |row: &Row| row["value"].parse::<u128>().unwrap_or(0);
        let funded = |address: &str| {
            let sent = all.iter().filter(|row| row["from_address"] == address);
            allocated(&sample, address) > sent.map(value).sum::<u128>()
        };
        let Some(row) = all.iter().enumerate().find_map(|(place, row)| {
            let (from, to) = (&row["from_address"], &row["to_address"]);
            let mut later = all[place..].iter();
            (from != to && funded(to) && later.any(|it| it["from_address"] == *to)).then_some(row)
        }) else {
            continue;
        };
        let (root, account) = (&row["from_address"], &row["to_address"]);
        let line = format!("analyze taint -r {root} -t eth -n 2 {CHAIN}");
        let ledger = sample
            .ok(&format!("{line} --table ledger -f csv -q"))
            .stdout;
        let mut tainted = rows(&ledger).into_iter();
        assert!(tainted.all(|row| row["from_address"].to_lowercase() != *account));
        let notes = sample.ok(&line).stderr;
        for unknown in ["are not known", "not compared"] {
            assert!(!notes.contains(unknown), "{notes}");
        }
        let ends = sample.ok(&format!("{line} --table ends -f csv -q")).stdout;
        let held = rows(&ends).into_iter().filter(|row| row["end"] == "held");
        for row in held.take(10) {
            // `0x…  1.25 ETH`
            let balance = sample.ok(&format!("balance {} -q", row["address"])).stdout;
            let balance: f64 = balance
                .split_whitespace()
                .nth(1)
                .unwrap()
                .replace(',', "")
                .parse()
                .unwrap();
            let amount: f64 = row["amount"].parse().unwrap();
            assert!(
                amount <= balance * 1e18 * (1.0 + 1e-12),
                "{row:?} {balance}"
            );
        }
        checked += 1;
    }
    assert!(checked > 0);
}

#[test]
fn what_cannot_be_traced_is_refused() {
    let sample = Sample::small();
    for (line, reason) in [
        (format!("analyze taint -r {ROOT} -d in"), "forward"),
        (
            format!("analyze taint -r {ROOT} --min-value 5"),
            "no smallest amount",
        ),
        (format!("analyze taint -r {ROOT} --kind mint"), "no kinds"),
        ("analyze taint".to_owned(), "needs an address to start from"),
        (
            format!("analyze pairs -r {ROOT} --method lifo"),
            "only `taint` has one",
        ),
    ] {
        sample.fails(&line, 2, reason);
    }
    // It sent tokens only.
    let run = sample.ok(&format!("analyze taint -r {HUB} -t eth {CHAIN}"));
    run.says("the roots sent none of the selected tokens");
}

/// Two swaps that pay other addresses: what was sold for another token, and then for coins, is followed to
/// the end. Without following swaps it ends in the first pool, and the first swap is listed.
#[test]
fn a_sum_is_followed_through_swaps() {
    for (sample, scenario, [source, middle, end]) in Sample::layered() {
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        let line = format!(
            "-r {source} -t {} --max-degree 30",
            text(&scenario["token"])
        );
        let before = ends(&sample, &line);
        assert!(
            before.values().all(|(_, end)| end != "swapped"),
            "{before:?}"
        );
        assert!(!before.contains_key(&end));
        let listed = sample.ok(&format!("analyze taint {line} --table swaps -f csv"));
        listed.says("were given for others in 1 swap");
        // Coins inside transactions are no transfers of a token.
        let whole = format!("analyze taint -r {source} -f csv");
        for (tokens, is_hinted) in [("", true), ("-t eth,", true), ("-t ", false)] {
            let token = match tokens {
                "" => String::new(),
                _ => text(&scenario["token"]),
            };
            let run = sample.ok(&format!("{whole} {tokens}{token}"));
            run.says("contracts without a further matching transfer");
            let hinted = run.stderr.contains("add --with-internal");
            assert_eq!(hinted, is_hinted, "{run:?}");
        }
        let listed = listed.rows();
        let line = format!("{line} --through-swaps --with-internal {CHAIN}");
        let found = ends(&sample, &line);
        let sold = |at: usize| text(&scenario["edges"][at]["value"]).parse().unwrap();
        assert_eq!(found[&source], (sold(0), "swapped".to_owned()));
        assert_eq!(found[&middle], (sold(1), "swapped".to_owned()));
        let (held, how) = &found[&end];
        assert_eq!((found.len(), &**how), (3, "held"));
        // Limits hold where tokens that another address swapped arrive, although the pools are hubs.
        std::fs::write(sample.path("middle.csv"), &middle).unwrap();
        let limits = [
            ("--stop-at middle.csv", "stop_list"),
            ("--max-degree 0", "hub"),
        ];
        for (limit, end) in limits {
            let line = match end {
                "hub" => line.replace("--max-degree 30", limit),
                _ => format!("{line} {limit}"),
            };
            let found = ends(&sample, &line);
            assert_eq!(found[&middle], (sold(1), end.to_owned()), "{line}");
            assert_eq!(found.len(), 2, "{line}: {found:?}");
        }
        let swaps = sample.rows(&format!("analyze taint {line} --table swaps -f csv -q"));
        let sides: Vec<_> = swaps
            .iter()
            .map(|row| (&*row["side"], &*row["address"], &*row["amount"]))
            .collect();
        let amounts = [sold(0), sold(1), sold(1), *held].map(|amount| amount.to_string());
        let all = [
            ("given", &source),
            ("got", &middle),
            ("given", &middle),
            ("got", &end),
        ];
        let all: Vec<_> = all
            .iter()
            .zip(&amounts)
            .map(|((side, address), amount)| (*side, address.as_str(), amount.as_str()))
            .collect();
        assert_eq!(sides, all, "{}", sample.fixture.name);
        assert_eq!(listed, swaps[..2], "{}", sample.fixture.name);
        let page = sample.ok(&format!("analyze taint {line} --table swaps -q"));
        assert!(page.stdout.contains(" ETH") && !page.stdout.contains("units of"));
        let refused = sample.run(&format!("analyze pairs -r {source} --through-swaps"));
        refused.ended(2).says("only `taint` and `rank` do");
        for filter in ["--token-id 1", "--standard erc20"] {
            let refused = sample.run(&format!(
                "analyze taint -r {source} --through-swaps {filter}"
            ));
            refused
                .ended(2)
                .says("needs all transfers of a transaction");
        }
    }
}

/// The wrapped ether of a user, as an account of its own.
fn wrapped(user: &str) -> String {
    format!("wrapped {user}")
}

/// By execution, the ether in WETH belongs to who has the token. The twin follows it with an account of each
/// user in WETH, in floating point, and does not follow what leaves.
#[test]
fn wrapped_ether_is_of_who_has_the_token() {
    let sample = or_skip!(Sample::named("dev-v2"));
    let weth = sample.fixture.truth["contracts"]["weth"]
        .as_str()
        .unwrap()
        .to_owned();
    let chain = format!("{CHAIN} -q");
    let mut deposits = BTreeMap::<String, u32>::new();
    let mut moved = Vec::new();
    for row in sample.rows(&format!("transfers -t {weth} {chain}")) {
        let (from, to) = (&row["from_address"], &row["to_address"]);
        let value: f64 = row["value"].parse().unwrap();
        moved.push(match row["kind"].as_str() {
            "wrap" => {
                *deposits.entry(to.clone()).or_default() += 1;
                (to.clone(), wrapped(to), value)
            }
            "unwrap" => (wrapped(from), from.clone(), value),
            _ => (wrapped(from), wrapped(to), value),
        });
    }
    let mut users: Vec<_> = deposits.into_iter().collect();
    users.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let mut compared = 0;
    for (root, _) in users.iter().skip(2).take(2) {
        let mut has = BTreeMap::<&str, (f64, f64)>::new();
        for (from, to, value) in &moved {
            let payer = has.entry(from).or_default();
            let part = match from == root {
                true => *value,
                false if payer.0 > 0.0 => payer.1 * (value / payer.0).min(1.0),
                false => 0.0,
            };
            *payer = ((payer.0 - value).max(0.0), payer.1 - part);
            if to.starts_with("wrapped ") {
                let payee = has.entry(to).or_default();
                *payee = (payee.0 + value, payee.1 + part);
            }
        }
        // Others whom the root pays are not followed, so that its ether comes to WETH in no other way.
        let sent = sample.rows(&format!(
            "transfers -a {root} -d out -t eth --with-internal {chain}"
        ));
        let others = sent.iter().map(|row| row["to_address"].as_str());
        let others: Vec<_> = others.filter(|to| *to != weth).collect();
        fs::write(sample.path("others.csv"), others.join("\n")).unwrap();
        let slots = sample.rows(&format!(
            "analyze taint -r {root} -t eth -n 2 --with-internal --method execution \
             --stop-at others.csv --table slots -f csv {chain}"
        ));
        let slots = slots.iter().filter(|row| row["contract"] == weth);
        let found: BTreeMap<_, f64> = slots
            .map(|row| (wrapped(&row["key"]), row["tainted"].parse().unwrap()))
            .collect();
        // The key of a small address may be another number.
        let users = has.iter().filter(|(it, _)| it.starts_with("wrapped 0x"));
        for (account, (_, tainted)) in users.filter(|(it, _)| !it.contains(" 0x0000")) {
            if *tainted > 1e6 {
                let found = found.get(*account).copied().unwrap_or_default();
                let error = (found - tainted).abs() / tainted;
                assert!(error < 1e-6, "{root}: {account} has {tainted}, not {found}");
                compared += 1;
            }
        }
    }
    assert!(compared > 100, "{compared}");
}

/// A file has no state on which its transactions could be executed.
#[test]
fn only_a_node_executes() {
    let sample = Sample::small();
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/taint.csv");
    let source = format!("--source csv:{example} --chain-id 1337 --covers 1:5");
    let line = format!(
        "analyze taint {source} -n all --method execution -r 0xa000000000000000000000000000000000000000"
    );
    sample.fails(&line, 2, "this source cannot replay");
    let line = line.replace("--method execution", "--memory 1K");
    sample.fails(&line, 1, "hint: or pass a larger --memory");
}
