//! Warnings about possible address poisoning.

use crate::harness::Sample;

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
    for part in ["zero-value", victim, text("lookalike")] {
        assert!(nothing.contains(part), "{nothing}");
    }
    let quiet = sample.ok(&format!("graph -q -r {victim} -t {token} -n 1"));
    assert!(!quiet.stderr.contains("poisoning"), "{}", quiet.stderr);
    assert_eq!(quiet.stdout, run.stdout);
}
