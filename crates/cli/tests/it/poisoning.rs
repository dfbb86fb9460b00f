//! Warnings about possible address poisoning.

use crate::harness::Sample;
use std::fs;

#[test]
fn graph_warns_of_the_planted_poisoning() {
    let sample = Sample::small();
    let planted = &sample.fixture.truth["scenarios"]["address-poisoning"];
    let text = |name: &str| planted[name].as_str().unwrap();
    let (victim, token) = (text("victim"), text("token"));
    let run = sample.ok(&format!("graph -r {victim} -t {token} -n 1"));
    let mut notes = run
        .stderr
        .lines()
        .filter(|line| line.contains("possible address poisoning"));
    let [alike, nothing] = [notes.next(), notes.next()].map(|note| note.unwrap().to_lowercase());
    for name in ["partner", "lookalike"] {
        assert!(alike.contains(text(name)), "{alike}");
    }
    assert!(alike.contains("same first and last four digits"), "{alike}");
    // Only of the graph is it known.
    let unpaid = "earlier payment of that token in the graph";
    for part in ["zero-value", victim, text("lookalike"), unpaid] {
        assert!(nothing.contains(part), "{nothing}");
    }
    let quiet = sample.ok(&format!("graph -q -r {victim} -t {token} -n 1"));
    assert!(!quiet.stderr.contains("poisoning"), "{}", quiet.stderr);
    assert_eq!(quiet.stdout, run.stdout);
}

/// Tokens with one symbol differ, and transfers of nothing are counted by themselves.
#[test]
fn trees_show_counterfeits_and_transfers_of_nothing() {
    let sample = Sample::small();
    let planted = &sample.fixture.truth["scenarios"]["address-poisoning"];
    let text = |name: &str| planted[name].as_str().unwrap();
    let (victim, token, fake) = (text("victim"), text("token"), text("spoof_contract"));
    let list = format!("address,symbol,decimals\n{token},USD6,6\n{fake},USD6,6\n");
    fs::write(sample.path("t.csv"), list).unwrap();
    let query = format!("graph -q -r {victim} -n 1 -f tree --token-list t.csv");
    let tree = sample.ok(&query).stdout.to_lowercase();
    for token in [token, fake] {
        assert!(tree.contains(&format!("usd6 ({token})")), "{tree}");
    }
    let named = tree.matches("usd6").count();
    assert_eq!(tree.matches("usd6 (0x").count(), named, "{tree}");
    assert!(tree.contains("of them of nothing"), "{tree}");
}
