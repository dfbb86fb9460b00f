//! `txgraph analyze patterns`: what was planted is found.

use crate::harness::Sample;
use serde_json::Value;
use std::collections::BTreeSet;
use txgraph_testkit::fixtures;

fn found(sample: &Sample, options: &str) -> Value {
    let line = format!("analyze patterns -q -f json {options}");
    let json: Value = serde_json::from_str(&sample.ok(&line).stdout).unwrap();
    json["result"].clone()
}

/// The finding of a pattern about an address.
fn about<'a>(found: &'a Value, pattern: &str, address: &Value) -> &'a Value {
    let mut all = found["findings"].as_array().unwrap().iter();
    let is_it = |it: &&Value| it["pattern"] == pattern && it["address"] == *address;
    all.find(is_it)
        .unwrap_or_else(|| panic!("no {pattern} of {address}: {found}"))
}

/// The other ends of the transfers with a role, as `to` or `from`.
fn ends(finding: &Value, role: &str, end: &str) -> BTreeSet<String> {
    let evidence = finding["evidence"].as_array().unwrap().iter();
    let of_role = evidence.filter(|it| it["role"] == role);
    of_role
        .map(|it| it[end].as_str().unwrap().to_owned())
        .collect()
}

fn addresses(list: &Value) -> BTreeSet<String> {
    let list = list.as_array().unwrap().iter();
    list.map(|it| it.as_str().unwrap().to_owned()).collect()
}

fn check(sample: &Sample) {
    sample.write_genesis();
    let found = found(sample, "--with-internal --chain genesis.json");
    let truth = &sample.fixture.truth["scenarios"];

    let planted = &truth["peel-chain-token"];
    let chain = about(&found, "peel-chain", &planted["root"]);
    let last = planted["chain"].as_array().unwrap().last().unwrap();
    assert_eq!(chain["other_address"], *last);
    let payees = addresses(&planted["payees"]);
    assert_eq!(ends(chain, "peeled", "to_address"), payees);

    // Its first address has more coins than it passes on.
    let planted = &truth["peel-chain-ether"];
    let chain = about(&found, "peel-chain", &planted["chain"][1]);
    let payees = addresses(&planted["payees"]);
    assert!(ends(chain, "peeled", "to_address").is_subset(&payees));
    assert_eq!(ends(chain, "peeled", "to_address").len(), payees.len() - 1);

    let planted = &truth["wash-cycle"];
    let cycle = about(&found, "round-trip", &planted["cycle"][0]);
    let edges = planted["edges"].as_array().unwrap();
    assert_eq!(cycle["evidence"].as_array().unwrap().len(), edges.len());
    let rounds = planted["rounds"].as_u64().unwrap();
    assert!(
        cycle["note"]
            .as_str()
            .unwrap()
            .starts_with(&format!("{rounds} rounds of "))
    );

    let planted = &truth["deposit-sweep"];
    let sweep = about(&found, "sweep", &planted["hot_wallet"]);
    let deposits = addresses(&planted["deposit_addresses"]);
    assert_eq!(ends(sweep, "sweep", "from_address"), deposits);
    assert_eq!(ends(sweep, "deposit", "to_address"), deposits);

    let planted = &truth["fan-in-fan-out"];
    let fan_in = about(&found, "fan-in", &planted["hub"]);
    assert_eq!(
        ends(fan_in, "in", "from_address"),
        addresses(&planted["sources"])
    );
    let fan_out = about(&found, "fan-out", &planted["hub"]);
    assert_eq!(
        ends(fan_out, "out", "to_address"),
        addresses(&planted["sinks"])
    );

    let planted = &truth["mixer"];
    let mixer = about(&found, "mixer", &planted["contract"]);
    assert_eq!(
        ends(mixer, "deposit", "from_address"),
        addresses(&planted["depositors"])
    );
    assert_eq!(
        ends(mixer, "payout", "to_address"),
        addresses(&planted["receivers"])
    );
    assert!(mixer["note"].as_str().unwrap().ends_with("a contract pays"));

    let planted = &truth["airdrop"];
    let airdrop = about(&found, "airdrop", &planted["from"]);
    assert_eq!(
        ends(airdrop, "out", "to_address"),
        addresses(&planted["to"])
    );

    let planted = &truth["address-poisoning"];
    let poisoning = about(&found, "poisoning", &planted["victim"]);
    assert_eq!(poisoning["other_address"], planted["lookalike"]);
    assert_eq!(poisoning["amount"], planted["edges"][4]["value"]);
    let count = |role: &str| {
        let evidence = poisoning["evidence"].as_array().unwrap().iter();
        evidence.filter(|it| it["role"] == role).count()
    };
    assert_eq!(count("poison"), planted["poison"].as_array().unwrap().len());
    assert_eq!(count("paid"), 1);
}

#[test]
fn planted_patterns_are_found() {
    check(&Sample::small());
    for name in ["dev-v1", "dev-v2", "long-v2"] {
        if let Some(fixture) = fixtures::fixture(name) {
            check(&Sample::new(fixture));
        }
    }
}

/// A cut list says so, and rules count what is not listed.
#[test]
fn a_limit_is_stated() {
    let sample = Sample::small();
    let all = found(&sample, "");
    let few = found(&sample, "--limit 1");
    assert_eq!(all["rules"], few["rules"]);
    let page = sample.ok("analyze patterns --limit 1").stdout;
    let listed = few["findings"].as_array().unwrap().len();
    let count = all["findings"].as_array().unwrap().len();
    assert!(listed < count);
    assert!(
        page.contains(&format!("{listed} of {count} found")),
        "{page}"
    );
}
