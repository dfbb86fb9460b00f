//! Several routes between two addresses, and the maximum flow.

use super::{END, OWNER, ROOT, get, open, refused, rows};
use crate::harness::{Served, small};
use serde_json::{Value, json};

const PAID: &str = "0x8de63d32c77ec42df0c62faf7cfbd783f1e94014";

#[test]
fn several_routes_are_those_of_the_library() {
    let fixture = small();
    let (served, source) = (Served::new(&fixture), open(&fixture));
    let search = source.search(OWNER.parse().unwrap()).hops(6);
    let search = search.time_respecting().prepare().unwrap();
    let same = txgraph::Continuation::SameToken;
    let wanted = search.paths_to(PAID.parse().unwrap(), same, 3).unwrap();
    let path = format!("path?from={OWNER}&to={PAID}");
    let several = get(&served, &format!("{path}&routes=3"));
    for (name, wanted) in [
        ("shortest_routes", &wanted.shortest),
        ("earliest_routes", &wanted.earliest),
    ] {
        let listed = rows(&several, name).iter();
        let listed = listed.map(|it| rows(it, "transfers").iter().map(|it| &it["transaction"]));
        let wanted = wanted.iter().map(|route| route.transfers.iter());
        let wanted = wanted.map(|all| all.map(|it| json!(it.transaction_hash)));
        let listed: Vec<Vec<&Value>> = listed.map(Iterator::collect).collect();
        let wanted: Vec<Vec<Value>> = wanted.map(Iterator::collect).collect();
        assert_eq!(listed.len(), 3);
        assert_eq!(json!(listed), json!(wanted));
    }
    assert_eq!(several["beyond"], json!(["there are more than 3 routes"]));
    assert_eq!(
        several["transfers"],
        several["shortest_routes"][0]["transfers"]
    );
    let one = get(&served, &path);
    assert_eq!(one["transfers"], several["transfers"]);
    assert_eq!(rows(&one, "earliest_routes").len(), 1);
    assert_eq!(
        several["command"],
        format!("txgraph path {OWNER} {PAID} -n 6 --routes 3 --json")
    );
    for routes in [0, 101] {
        assert_eq!(refused(&served, &format!("{path}&routes={routes}")).0, 400);
    }
}

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
    let both = served.get(&format!(
        "/v1/path?from={END}&to={ROOT}&max_flow=true&routes=3"
    ));
    assert_eq!(both.status, 400, "{}", both.body);
    let plain = get(&served, &format!("path?from={ROOT}&to={END}"));
    assert_eq!(plain["flows"], Value::Null);
    let both = refused(&served, &format!("{path}&any_token=true"));
    assert_eq!(both.0, 400);
    assert!(both.2.contains("excludes"), "{}", both.2);
}
