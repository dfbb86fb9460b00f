//! Answers say what a node no longer has, and what a server does not know.

use super::{BUSY, get, refused, rows};
use crate::harness::{Served, settings};
use serde_json::{Value, json};
use txgraph::{IndexChoice, Source};
use txgraph_testkit::{fixtures, or_skip};

/// A contract of the fixture `dev-v2`, which was created early.
const CONTRACT: &str = "0xde1b6df4b28b22e89b3074080a56d2f8038f88f0";

#[test]
fn pruned_state_is_said() {
    let fixture = or_skip!(fixtures::fixture("pruned/dev-v2-distance"));
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
    let fixture = or_skip!(fixtures::fixture("pruned/long-v2-full"));
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

/// Without the rules of the chain, nothing is replayed. All else is answered, and the page asks for no more.
#[test]
fn a_chain_with_unknown_rules_is_not_replayed() {
    let fixture = or_skip!(fixtures::fixture("odd/import-v2"));
    let directory = fixture.unpack();
    let source = Source::builder(directory.path()).index(IndexChoice::Off);
    let served = Served::on(source.open().unwrap(), settings(), Some(directory));
    let info = get(&served, "info");
    assert_eq!(
        (&info["has_state"], &info["has_internal"]),
        (&json!(true), &json!(false))
    );
    let why = info["incomplete"][0].as_str().unwrap();
    assert!(
        why.starts_with("transfers inside of transactions are not known"),
        "{why}"
    );
    let transfers = get(&served, "transfers?limit=1");
    let sender = transfers["transfers"][0]["from"].as_str().unwrap();
    let around = format!("neighbors?address={sender}");
    assert!(!rows(&get(&served, &around), "edges").is_empty());
    let (status, code, message) = refused(&served, &format!("{around}&internal=true"));
    assert_eq!((status, code.as_str()), (501, "unsupported"));
    assert!(message.contains("the rules of the chain"), "{message}");
    served.refuses("trace_block", json!(["0x5"]), -32004);
}
