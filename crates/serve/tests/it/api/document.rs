//! The OpenAPI document against the server.

use super::{BUSY, END, OWNER, ROOT, get, refused, with_names};
use crate::harness::small;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use txgraph::{Label, Labels};
use txgraph_serve::Names;

/// A request for each path, with as many fields in its answer as the small chain has.
fn samples() -> Vec<(&'static str, String)> {
    let fixture = small();
    let usd6 = fixture.truth["tokens"]["usd6"]["address"].as_str().unwrap();
    let block = fixture.lines("blocks").nth(20).unwrap();
    let hash = block["transactions"][0]["hash"].as_str().unwrap();
    let [root, token] = [ROOT, usd6];
    vec![
        ("/v1/address", format!("address={root}")),
        ("/v1/address", format!("address={token}")),
        ("/v1/approvals", format!("address={OWNER}")),
        ("/v1/block", "block=20".to_owned()),
        (
            "/v1/common",
            format!("address={root}&address={BUSY}&hops=2"),
        ),
        ("/v1/graph", format!("root={root}&hops=2&direction=both")),
        ("/v1/info", String::new()),
        ("/v1/labels", format!("address={root}&address={token}")),
        ("/v1/neighbors", format!("address={root}")),
        ("/v1/openapi.json", String::new()),
        ("/v1/path", format!("from={root}&to={BUSY}&any_order=true")),
        ("/v1/path", format!("from={root}&to={END}&routes=3")),
        ("/v1/path", format!("from={root}&to={END}&max_flow=true")),
        ("/v1/patterns", "limit=2".to_owned()),
        ("/v1/search", format!("q={token}")),
        ("/v1/statement", format!("address={BUSY}")),
        ("/v1/token", format!("token={token}")),
        ("/v1/trace", format!("root={root}&token={token}")),
        ("/v1/transaction", format!("hash={hash}")),
        ("/v1/transfers", "limit=20".to_owned()),
    ]
}

fn labeled() -> Names {
    let mut labels = Labels::default();
    let label = Label {
        name: "a root".to_owned(),
        category: "user".to_owned(),
        source: "own.csv".to_owned(),
    };
    labels.add(ROOT.parse().unwrap(), label);
    Names {
        labels,
        ..Names::default()
    }
}

/// Checks a value against a schema, without fields that the schema does not have.
fn check(document: &Value, schema: &Value, value: &Value, place: &str) {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.rsplit('/').next().unwrap();
        let schema = &document["components"]["schemas"][name];
        assert!(schema.is_object(), "{place}: no schema {name}");
        return check(document, schema, value, place);
    }
    if let Some(any) = schema["anyOf"].as_array() {
        // The other one is null.
        return match value.is_null() {
            true => assert!(any.contains(&json!({ "type": "null" })), "{place}"),
            false => check(document, &any[0], value, place),
        };
    }
    match schema["type"].as_str() {
        None => {}
        Some("string") => {
            let text = value.as_str();
            let text = text.unwrap_or_else(|| panic!("{place}: no text: {value}"));
            match schema["pattern"].as_str() {
                Some("^[0-9]+$") => {
                    assert!(!text.is_empty() && text.bytes().all(|it| it.is_ascii_digit()));
                }
                Some("^0x[0-9a-f]*$") => {
                    let digits = text.strip_prefix("0x").unwrap();
                    let is_hex = |it: u8| it.is_ascii_digit() || (b'a'..=b'f').contains(&it);
                    assert!(digits.bytes().all(is_hex), "{place}: {text}");
                }
                other => assert_eq!(other, None, "{place}"),
            }
        }
        Some("integer") => assert!(value.is_i64() || value.is_u64(), "{place}: {value}"),
        Some("boolean") => assert!(value.is_boolean(), "{place}: {value}"),
        Some("array") => {
            let all = value.as_array();
            let all = all.unwrap_or_else(|| panic!("{place}: no list: {value}"));
            for it in all {
                check(document, &schema["items"], it, &format!("{place}[]"));
            }
        }
        Some("object") => {
            let fields = value.as_object();
            let fields = fields.unwrap_or_else(|| panic!("{place}: no object: {value}"));
            let additional = &schema["additionalProperties"];
            if additional.is_object() {
                for (name, it) in fields {
                    check(document, additional, it, &format!("{place}.{name}"));
                }
                return;
            }
            let Some(properties) = schema["properties"].as_object() else {
                return;
            };
            let [known, found] = [properties, fields].map(|it| it.keys().collect::<BTreeSet<_>>());
            assert_eq!(found, known, "{place}");
            for (name, it) in fields {
                check(document, &properties[name], it, &format!("{place}.{name}"));
            }
        }
        other => panic!("{place}: {other:?}"),
    }
}

#[test]
fn answers_have_the_documented_fields() {
    let served = with_names(labeled());
    let document = get(&served, "openapi.json");
    assert_eq!(document["openapi"], "3.1.0");
    let paths = document["paths"].as_object().unwrap();
    let asked: BTreeSet<_> = samples().into_iter().map(|(path, _)| path).collect();
    let known: BTreeSet<_> = paths.keys().map(String::as_str).collect();
    assert_eq!(asked, known, "every path has a sample");
    for (path, query) in samples() {
        let answer = get(&served, &format!("{}?{query}", &path[4..]));
        let content = &paths[path]["get"]["responses"]["200"]["content"];
        let schema = &content["application/json"]["schema"];
        check(&document, schema, &answer, path);
    }
    // Failures, too.
    let refused = served.get("/v1/block?block=x").json();
    let schema = json!({ "$ref": "#/components/schemas/Error" });
    check(&document, &schema, &refused, "an error");
}

#[test]
fn documented_parameters_are_accepted_and_others_refused_by_name() {
    let served = with_names(labeled());
    let document = get(&served, "openapi.json");
    for (path, query) in samples() {
        let short = &path[4..];
        let parameters = document["paths"][path]["get"]["parameters"].as_array();
        for it in parameters.unwrap() {
            let (name, schema) = (it["name"].as_str().unwrap(), &it["schema"]);
            if query
                .split('&')
                .any(|pair| pair.starts_with(&format!("{name}=")))
            {
                continue;
            }
            let one = match schema["type"].as_str() {
                Some("array") => &schema["items"],
                _ => schema,
            };
            let value = match (one["type"].as_str(), name) {
                (Some("boolean"), _) => "true".to_owned(),
                (_, "year") => "2024".to_owned(),
                (Some("integer"), _) => one["maximum"].to_string(),
                (_, "blocks") => "1:30".to_owned(),
                (_, "min") => "1".to_owned(),
                (_, "token") => "native".to_owned(),
                (_, "from" | "to" | "address") => ROOT.to_owned(),
                _ => one["enum"][1].as_str().unwrap().to_owned(),
            };
            let more = match (path, name) {
                ("/v1/transfers", "direction") => format!("&address={ROOT}"),
                _ => String::new(),
            };
            // A search in the order of time has one direction.
            let fitting = match name {
                "time_respecting" => query.replace("both", "out"),
                // Amounts have one token.
                "any_token" | "routes" => query.replace("&max_flow=true", ""),
                "max_flow" => query.replace("&routes=3", ""),
                _ => query.clone(),
            };
            let least = one["minimum"].as_u64();
            for value in [Some(value), least.map(|it| it.to_string())]
                .into_iter()
                .flatten()
            {
                let asked = format!("{path}?{fitting}{more}&{name}={value}");
                let response = served.get(&asked);
                assert_eq!(response.status, 200, "{asked}: {}", response.body);
            }
            let below = least.and_then(|it| it.checked_sub(1));
            let above = one["maximum"].as_u64().map(|it| it + 1);
            for wrong in [below, above].into_iter().flatten() {
                let query = format!("{short}?{query}&{name}={wrong}");
                let (status, code, message) = refused(&served, &query);
                assert_eq!((status, code.as_str()), (400, "parameter"), "{query}");
                assert!(message.contains(name), "{message}");
            }
        }
        let (status, code, message) = refused(&served, &format!("{short}?{query}&shade=red"));
        assert_eq!((status, code.as_str()), (400, "parameter"), "{path}");
        assert!(message.contains("no parameter `shade`"), "{message}");
        // One that is required.
        if let Some((name, _)) = query
            .split_once('=')
            .filter(|_| !query.starts_with("limit"))
        {
            let (status, _, message) = refused(&served, short);
            assert_eq!(status, 400, "{path}");
            assert!(message.contains(name), "{message}");
        }
    }
    let (status, code, message) = refused(&served, "nothing");
    assert_eq!((status, code.as_str()), (404, "not_found"));
    assert!(message.contains("/v1/graph"), "{message}");
}
