//! The library finds the same patterns as the answers have.

use super::{get, open, rows};
use crate::harness::{Served, small};
use txgraph::Measure;

#[test]
fn patterns_are_those_of_the_library() {
    let fixture = small();
    let (served, source) = (Served::new(&fixture), open(&fixture));
    let answer = get(&served, "patterns?blocks=5:35&limit=3");
    let analyze = source.analyze(Measure::Patterns).blocks(5..35).limit(3);
    let wanted = serde_json::json!(analyze.run().unwrap().result);
    assert_eq!(answer["result"], wanted);
    let findings = rows(&wanted, "findings");
    assert!(!findings.is_empty());
    for it in findings {
        let token = it["token_address"].as_str().unwrap_or("native");
        assert!(answer["tokens"][token].is_object(), "{it}");
    }
    assert_eq!(
        answer["command"],
        "txgraph analyze patterns --blocks 5:35 --limit 3 -f json"
    );
    let analyze = source.analyze(Measure::Patterns).max_transfers(10).run();
    let error = analyze.unwrap_err();
    assert_eq!(error.kind, txgraph::ErrorKind::TooMany);
    assert!(error.message.contains("more than 10 transfers"), "{error}");
}
