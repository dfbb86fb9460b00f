//! `txgraph analyze patterns`: what was planted is found.

use crate::harness::{CHAIN, Sample, bare, run};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use txgraph_chaingen::{Appender, Config, Layout, Profile};
use txgraph_testkit::naive;

fn found(sample: &Sample, options: &str) -> Value {
    let line = format!("analyze patterns -q -f json {options}");
    let json = sample.json(&line);
    json["result"].clone()
}

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

/// Compares times and hashes with the answers of the node.
fn check_transactions(sample: &Sample, found: &Value) {
    let decoded = naive::decode_fixture(&sample.fixture).transfers;
    let known = decoded.iter().map(|it| {
        let time = it.block_timestamp.map(|time| time.seconds());
        (it.transaction(), (it.transaction_hash, time))
    });
    let known: BTreeMap<_, _> = known.collect();
    let findings = found["findings"].as_array().unwrap().iter();
    for it in findings.flat_map(|it| it["evidence"].as_array().unwrap()) {
        let place = [&it["block_number"], &it["transaction_index"]].map(|it| it.as_u64().unwrap());
        let Some((hash, time)) = known.get(&(place[0], u32::try_from(place[1]).unwrap())) else {
            // Coins that only move inside of a transaction.
            assert!(it["transaction_hash"].is_string());
            continue;
        };
        assert_eq!(it["transaction_hash"], serde_json::json!(hash));
        assert_eq!(it["block_timestamp"], serde_json::json!(time));
    }
}

fn check(sample: &Sample) {
    let found = found(sample, &format!("--with-internal {CHAIN}"));
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
    let small = Sample::small();
    check(&small);
    check_transactions(&small, &found(&small, ""));
    for name in ["dev-v1", "dev-v2", "long-v2"] {
        if let Some(sample) = Sample::named(name) {
            check(&sample);
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
        page.contains(&format!("{count} found, {listed} of them listed")),
        "{page}"
    );
}

/// A chain on which exchanges join the planted scenarios: its data directory, and what was planted.
fn joined_chain() -> (tempfile::TempDir, Value) {
    let folder = tempfile::tempdir().unwrap();
    let config = Config {
        profile: Profile::Exchanges,
        ..Config::small(4, Layout::V2)
    };
    let mut chain = Appender::create(folder.path(), config).unwrap();
    chain.append(230).unwrap();
    let truth = serde_json::to_value(chain.truth()).unwrap();
    (folder, truth)
}

/// The answer of `analyze patterns` about the first blocks of a source. A lake has the finalized ones.
fn answer(source: &str) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let mut command = bare(folder.path());
    command.args([
        "analyze", "patterns", "-q", "-b", "0:160", "-f", "json", "--source", source,
    ]);
    serde_json::from_str::<Value>(&run(&mut command).ended(0).stdout).unwrap()["result"].clone()
}

fn rule<'a>(found: &'a Value, pattern: &str) -> &'a Value {
    let mut rules = found["rules"].as_array().unwrap().iter();
    rules.find(|it| it["pattern"] == pattern).unwrap()
}

/// Owners whose tokens a relayer trades for them are no victims.
#[test]
fn drainers_are_found_by_approvals_and_signers() {
    let (chain, truth) = joined_chain();
    let found = answer(chain.path().to_str().unwrap());
    let mut scenarios = truth["scenarios"].as_array().unwrap().iter();
    let planted = scenarios.find(|it| it["scenario"] == "drainer").unwrap();
    let roles = &planted["roles"];
    assert_eq!(rule(&found, "drainer")["found"], 1);
    let drainer = about(&found, "drainer", &roles["spender"][0]);
    assert_eq!(drainer["other_address"], roles["wallets"][0]);
    let victims = addresses(&roles["victims"]);
    assert_eq!(ends(drainer, "pulled", "from_address"), victims);
    let wallets = addresses(&roles["wallets"]);
    assert_eq!(ends(drainer, "pulled", "to_address"), wallets);
    let count = victims.len();
    let [large, small] = [0, 1].map(|at| roles["wallets"][at].as_str().unwrap());
    let note = drainer["note"].as_str().unwrap().to_lowercase();
    assert_eq!(
        note,
        format!(
            "{count} victims, {} transfers; split in {count} of {count} transactions: \
             80 % to {large}, 20 % to {small}",
            2 * count
        )
    );
    let approvals = drainer["approvals"].as_array().unwrap();
    let owners = approvals
        .iter()
        .map(|it| it["from_address"].as_str().unwrap().to_owned());
    assert_eq!(owners.collect::<BTreeSet<_>>(), victims);
}

/// A lake does not say who signed.
#[test]
fn an_answer_says_that_approvals_were_not_asked() {
    let (chain, _) = joined_chain();
    let folder = tempfile::tempdir().unwrap();
    let lake = folder.path().join("lake");
    let mut command = bare(folder.path());
    command.env("TXGRAPH_DATADIR", chain.path());
    run(command.args(["lake", "build", "-q"]).arg(&lake)).ended(0);
    let of_lake = answer(&format!("lake:{}", lake.display()));
    let of_node = answer(chain.path().to_str().unwrap());
    let drainer = rule(&of_lake, "drainer");
    assert_eq!(drainer["found"], Value::Null);
    let why = drainer["not_asked"].as_str().unwrap();
    assert!(why.contains("approvals, and who signed"), "{why}");
    // Everything else is the same.
    let others = |found: &Value| {
        let findings = found["findings"].as_array().unwrap().iter();
        let others = findings.filter(|it| it["pattern"] != "drainer");
        others.cloned().collect::<Vec<Value>>()
    };
    assert!(others(&of_lake) == others(&of_node));
    assert!(!others(&of_lake).is_empty());
}
