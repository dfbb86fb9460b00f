//! Who may ask: pages of other sites, and who has the token.

use crate::{
    harness::{Served, read_response, settings, small},
    upstream::{Got, Node},
};
use serde_json::json;
use std::io::Write;
use txgraph_serve::Settings;

#[test]
fn the_token_is_not_passed_on() {
    let node = Node::echo();
    let settings = Settings {
        head: Some(node.url()),
        token: Some("a-long-secret".to_owned()),
        ..settings()
    };
    let served = Served::with(&small(), settings);
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"eth_gasPrice"}"#;
    let headers = [
        ("content-type", "application/json"),
        ("authorization", "Bearer a-long-secret"),
        ("cookie", "c=a-long-secret"),
        ("x-forwarded-for", "10.9.8.7"),
    ];
    assert_eq!(served.send("POST", "/", &headers, request).status, 200);
    let kind = [("content-type", "application/json")];
    assert_eq!(
        served
            .send("POST", "/?apikey=a-long-secret", &kind, request)
            .status,
        200
    );
    let query = "/api?module=proxy&action=eth_gasPrice&apikey=a-long-secret";
    assert_eq!(served.get(query).json()["result"], "eth_gasPrice");
    let got = node.got.lock().unwrap();
    assert_eq!(got.len(), 3);
    for Got { head, body } in &*got {
        let text = format!("{head}{body}");
        for secret in [
            "a-long-secret",
            "authorization",
            "cookie",
            "10.9.8.7",
            "apikey",
        ] {
            assert!(!text.contains(secret), "{text}");
        }
    }
    drop(got);
    // Without the token nothing is passed on.
    assert_eq!(served.send("POST", "/", &kind, request).status, 401);
    assert_eq!(node.calls().len(), 3);
    let mut stream = served.connect();
    stream.write_all(b"POST / HTTP/1.1\r\nhost: evil.example\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
    assert_eq!(read_response(&mut stream).unwrap().status, 403);
    assert_eq!(node.calls().len(), 3);
}

/// Pages of a named site may ask, and read the answers.
#[test]
fn a_site_that_is_allowed_may_ask() {
    let site = "http://explorer.example:5100";
    let settings = Settings {
        origins: vec![format!("{site}/")],
        token: Some("a-long-secret".to_owned()),
        ..settings()
    };
    let served = Served::with(&small(), settings);
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}"#;
    let ask = |method, origin, more: &[(&str, &str)]| {
        let headers = [
            &[("origin", origin), ("content-type", "application/json")],
            more,
        ]
        .concat();
        served.send(method, "/", &headers, request)
    };
    let token = [("authorization", "Bearer a-long-secret")];
    let before = ask(
        "OPTIONS",
        site,
        &[("access-control-request-method", "POST")],
    );
    assert_eq!(before.status, 204);
    let allowed = &before.headers["access-control-allow-headers"];
    assert!(allowed.contains("authorization"), "{allowed}");
    let answer = ask("POST", site, &token);
    assert_eq!(
        (answer.status, &answer.json()["result"]),
        (200, &json!("0xb39d7"))
    );
    assert_eq!(answer.headers["access-control-allow-origin"], site);
    assert_eq!(ask("POST", site, &[]).status, 401);
    let other = ask("POST", "http://evil.example", &token);
    assert_eq!(other.status, 403);
    assert!(!other.headers.contains_key("access-control-allow-origin"));
}
