//! The API of this project: answers compared with a naive decoder, the library and the node, and with
//! their own description.

mod answers;
mod approvals;
mod document;
mod flows;
mod hostile;
mod missing;
mod patterns;
mod statement;
mod written;

use crate::harness::{Response, Served, chain_file, settings, small};
use serde_json::Value;
use txgraph::{IndexChoice, Source};
use txgraph_serve::{Names, Settings};
use txgraph_testkit::fixtures::Fixture;

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
