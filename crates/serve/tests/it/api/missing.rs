//! Answers say what a node no longer has.

use super::{BUSY, get, refused, rows};
use crate::harness::Served;
use serde_json::{Value, json};
use txgraph_testkit::fixtures;

/// A contract of the fixture `dev-v2`, which was created early.
const CONTRACT: &str = "0xde1b6df4b28b22e89b3074080a56d2f8038f88f0";

#[test]
fn pruned_state_is_said() {
    let Some(fixture) = fixtures::fixture("pruned/dev-v2-distance") else {
        return;
    };
    let served = Served::new(&fixture);
    let says = |path: &str, words: &str| {
        let answer = get(&served, path);
        let lacks = rows(&answer, "incomplete").iter();
        let mut lacks = lacks.filter_map(Value::as_str);
        assert!(lacks.any(|it| it.contains(words)), "{path}: {answer}");
    };
    says("info", "the node keeps the state of blocks");
    let address = format!("address?address={CONTRACT}&blocks=560:");
    says(
        &address,
        "the creation: not known: it was before the first block",
    );
    let contract = json!([CONTRACT]);
    served.refuses("ots_getContractCreator", contract, 4444);
    let query =
        format!("/api?module=contract&action=getcontractcreation&contractaddresses={CONTRACT}");
    assert_eq!(served.get(&query).headers["x-txgraph-incomplete"], "1");
}

#[test]
fn what_is_missing_is_said() {
    let Some(fixture) = fixtures::fixture("pruned/long-v2-full") else {
        return;
    };
    let served = Served::new(&fixture);
    let info = get(&served, "info");
    assert!(!rows(&info, "incomplete").is_empty(), "{info}");
    let first = info["blocks"][0].as_u64().unwrap();
    assert!(first > 1);
    let (status, code, _) = refused(&served, "transfers?limit=1");
    assert_eq!((status, code.as_str()), (422, "incomplete"));
    let body = served.get("/v1/transfers?limit=1").json();
    let hint = body["error"]["hint"].as_str().unwrap();
    assert!(hint.contains("partial=true"), "{hint}");
    let partial = get(&served, "transfers?limit=1&partial=true");
    assert!(!rows(&partial, "incomplete").is_empty(), "{partial}");
    // A remedy names parameters that the endpoint has.
    let statement = served.get(&format!("/v1/statement?address={BUSY}"));
    assert_eq!(statement.status, 422, "{}", statement.body);
    let hint = statement.json()["error"]["hint"].clone();
    let hint = hint.as_str().unwrap_or_default();
    assert!(!hint.contains("partial"), "{hint}");
}
