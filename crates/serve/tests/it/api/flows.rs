//! The maximum flow between two addresses.

use super::{get, open, refused, rows};
use crate::harness::{Served, small};
use serde_json::{Value, json};

/// The root of a peel chain, and its end.
const ROOT: &str = "0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0";
const END: &str = "0x5149f9591ad4bba78320c6e8f09fca122bd2441e";

#[test]
fn the_most_that_can_have_gone_is_that_of_the_library() {
    let fixture = small();
    let (served, source) = (Served::new(&fixture), open(&fixture));
    let path = format!("path?from={ROOT}&to={END}&max_flow=true&hops=12");
    let answer = get(&served, &path);
    let search = source.search(ROOT.parse().unwrap()).hops(12);
    let search = search.time_respecting().prepare().unwrap();
    let wanted = search.flows_to(END.parse().unwrap()).unwrap();
    assert_eq!(answer["flows"], txgraph::flows_as_json(&wanted.flows));
    assert_eq!(answer["found"], true);
    assert!(rows(&answer, "transfers").is_empty());
    let flow = &rows(&answer, "flows")[0];
    let sum = |all: &Vec<Value>, name: &str| -> u128 {
        let amounts = all.iter().map(|it| it[name].as_str().unwrap());
        amounts.map(|amount| amount.parse::<u128>().unwrap()).sum()
    };
    let at_most: u128 = flow["at_most"].as_str().unwrap().parse().unwrap();
    assert!(at_most > 0);
    assert_eq!(sum(rows(flow, "cut"), "value"), at_most);
    assert!(answer["tokens"][flow["token_address"].as_str().unwrap()].is_object());
    assert_eq!(
        answer["command"],
        format!("txgraph path {ROOT} {END} -n 12 --max-flow --json")
    );
    // More can have gone another way.
    let hints = answer["hints"].as_array().unwrap();
    assert_eq!(
        hints[0],
        "routes of more than 12 transfers were not searched"
    );
    assert_eq!(hints[1], "swaps were not followed");
    let none = get(&served, &format!("path?from={END}&to={ROOT}&max_flow=true"));
    assert_eq!(
        (&none["found"], &none["flows"]),
        (&json!(false), &json!([]))
    );
    assert!(none["hints"][1].as_str().unwrap().contains("swaps"));
    let plain = get(&served, &format!("path?from={ROOT}&to={END}"));
    assert_eq!(plain["flows"], Value::Null);
    let both = refused(&served, &format!("{path}&any_token=true"));
    assert_eq!(both.0, 400);
    assert!(both.2.contains("excludes"), "{}", both.2);
}
