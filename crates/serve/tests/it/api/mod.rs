//! The API of this project: answers compared with a naive decoder, the library and the node, and with
//! their own description.

mod answers;
mod approvals;
mod document;
mod flows;
mod hostile;
mod missing;
mod pages;
mod patterns;
mod statement;
mod transactions;
mod written;

use crate::harness::{Response, Served, chain_file, settings, small};
use serde_json::Value;
use txgraph::{IndexChoice, Source};
use txgraph_serve::{Names, Settings};
use txgraph_testkit::fixtures::Fixture;

/// Addresses of the small chain: the root of a peel chain and its end.
const ROOT: &str = "0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0";
const END: &str = "0x5149f9591ad4bba78320c6e8f09fca122bd2441e";
/// An account with transfers of several tokens.
const BUSY: &str = "0x502f1f2f4b2abc8d86fc43da973c2c110206e2ba";
/// An account with an open approval, and its spender.
const OWNER: &str = "0xcc346449a79058a09ecf17cc9d8f9ec64b3c7529";
const SPENDER: &str = "0x23b9f8b9c7624bf5bbdc966963cd2888b8a46c5c";

/// The answer of an endpoint.
#[track_caller]
fn get(served: &Served, path: &str) -> Value {
    let response = served.get(&format!("/v1/{path}"));
    assert_eq!(response.status, 200, "{path}: {}", response.body);
    assert_eq!(response.headers["content-type"], "application/json");
    assert!(response.headers.contains_key("x-txgraph-block"), "{path}");
    response.json()
}

/// The status and the word of a refusal, with its message.
#[track_caller]
fn refused(served: &Served, path: &str) -> (u16, String, String) {
    let Response { status, body, .. } = served.get(&format!("/v1/{path}"));
    let error: Value = serde_json::from_str(&body).unwrap();
    let text = |name: &str| error["error"][name].as_str().unwrap().to_owned();
    (status, text("code"), text("message"))
}

fn with_names(names: Names) -> Served {
    Served::with(
        &small(),
        Settings {
            names,
            ..settings()
        },
    )
}

/// The library on the same data directory.
fn open(fixture: &Fixture) -> Source {
    Source::builder(fixture.path())
        .threads(2)
        .index(IndexChoice::Off)
        .chain_file(chain_file(fixture))
        .open()
        .unwrap()
}

/// The address of a token of the small chain.
fn token(fixture: &Fixture, name: &str) -> String {
    let token = &fixture.truth["tokens"][name]["address"];
    token.as_str().unwrap().to_owned()
}

fn rows<'a>(answer: &'a Value, name: &str) -> &'a Vec<Value> {
    let rows = answer[name].as_array();
    rows.unwrap_or_else(|| panic!("no list {name}: {answer}"))
}
