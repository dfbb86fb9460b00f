//! Answers on the committed chain.

use super::{BUSY, END, ROOT, get, open, refused, rows, token};
use crate::harness::{Served, read_response, small};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    io::{Read, Write},
};
use txgraph::{Address, Direction, Kind, Measure, Transfer};
use txgraph_testkit::{
    fixtures::{self, Fixture},
    naive,
};

fn hex(address: Address) -> String {
    format!("{address:#x}")
}

/// A transfer as the API writes it.
pub(super) fn row(it: &Transfer) -> Value {
    json!({
        "block": it.block_number,
        "time": it.block_timestamp.map(txgraph::BlockTime::seconds),
        "transaction": it.transaction_hash,
        "index": it.transaction_index,
        "log_index": it.log_index,
        "kind": it.kind.as_str(),
        "standard": it.token_standard.as_str(),
        "from": hex(it.from_address),
        "to": hex(it.to_address),
        "token": it.token_address.map_or("native".to_owned(), hex),
        "amount": it.value.to_string(),
        "id": it.token_id.map(|id| id.to_string()),
    })
}

/// All transfers by a decoder of the node's answers, without wraps, which have rules of their own.
fn naive_rows(fixture: &Fixture) -> Vec<Value> {
    let decoded = naive::decode_fixture(fixture).transfers;
    let decoded = decoded
        .iter()
        .filter(|it| ![Kind::Wrap, Kind::Unwrap].contains(&it.kind));
    decoded.map(row).collect()
}

fn is_wrap(row: &Value) -> bool {
    row["kind"] == "wrap" || row["kind"] == "unwrap"
}

#[test]
fn transfers_are_those_of_a_naive_decoder() {
    for fixture in fixtures::committed() {
        let served = Served::new(&fixture);
        let all = naive_rows(&fixture);
        let found = get(&served, "transfers?limit=10000");
        let found: Vec<_> = rows(&found, "transfers").clone();
        let plain: Vec<_> = found.iter().filter(|it| !is_wrap(it)).cloned().collect();
        assert_eq!(plain, all, "{}", fixture.name);
        // Pages, from both ends.
        let mut pages = Vec::new();
        for offset in (0..found.len()).step_by(97) {
            let page = get(&served, &format!("transfers?limit=97&offset={offset}"));
            let more = offset + 97 < found.len();
            assert_eq!(page["more"], more);
            let skip = match offset {
                0 => String::new(),
                offset => format!(" | tail -n +{}", offset + 1),
            };
            let take = if more { " | head -n 97" } else { "" };
            let command = format!("txgraph transfers -f jsonl{skip}{take}");
            assert_eq!(page["command"], command);
            pages.extend(rows(&page, "transfers").clone());
        }
        assert_eq!(pages, found);
        let beyond = get(&served, "transfers?limit=5&offset=10000");
        let why = json!(["there are not more transfers than the `offset` skips"]);
        assert_eq!((&beyond["more"], &beyond["beyond"]), (&json!(false), &why));
        let newest = get(&served, "transfers?order=newest&limit=5&offset=3");
        let mut last: Vec<_> = found[found.len() - 8..found.len() - 3].to_vec();
        last.reverse();
        assert_eq!(rows(&newest, "transfers"), &last);
        let command = "txgraph transfers -f jsonl | tac | tail -n +4 | head -n 5";
        assert_eq!(newest["command"], command);
        // By ends, token, amount and blocks.
        let (from, to) = (&found[40]["from"], &found[40]["to"]);
        let (from, to) = (from.as_str().unwrap(), to.as_str().unwrap());
        let between = get(
            &served,
            &format!("transfers?from={from}&to={to}&limit=10000"),
        );
        let wanted = found.iter();
        let wanted: Vec<_> = wanted
            .filter(|it| it["from"] == from && it["to"] == to)
            .cloned()
            .collect();
        assert_eq!(rows(&between, "transfers"), &wanted);
        // A line for each transfer from the address, of which the second program keeps some.
        let command =
            format!("txgraph transfers -a {from} -d out -f jsonl | grep '\"to_address\":\"{to}\"'");
        assert_eq!(between["command"], command);
        let paid = "0x8de63d32c77ec42df0c62faf7cfbd783f1e94014";
        let query = format!("address={paid}&direction=in&token=native&blocks=5:30&min=1000");
        let filtered = get(&served, &format!("transfers?{query}&limit=10000"));
        let number = |it: &Value| it["amount"].as_str().unwrap().parse::<u128>().unwrap();
        let wanted = found.iter().filter(|it| {
            it["to"] == paid
                && it["token"] == "native"
                && (5..30).contains(&it["block"].as_u64().unwrap())
                && number(it) >= 1000
        });
        let wanted: Vec<_> = wanted.cloned().collect();
        assert!(!wanted.is_empty());
        assert_eq!(rows(&filtered, "transfers"), &wanted);
        // Coins can move inside of transactions, other tokens cannot.
        let lacks = |query: &str| get(&served, &format!("transfers?{query}"))["incomplete"].clone();
        let inside = json!(["coins that move inside of transactions were not read"]);
        let usd6 = token(&fixture, "usd6");
        for (query, expected) in [
            ("limit=10000", &inside),
            ("limit=10000&token=native", &inside),
            ("limit=10000&internal=true", &json!([])),
            (&format!("limit=10000&token={usd6}"), &json!([])),
        ] {
            assert_eq!(&lacks(query), expected, "{query}");
        }
    }
}

#[test]
fn neighbors_are_sums_of_transfers() {
    let fixture = small();
    let served = Served::new(&fixture);
    let all = get(&served, "transfers?limit=10000");
    let all = rows(&all, "transfers");
    for direction in ["out", "in", "both"] {
        let mut sums: BTreeMap<[String; 4], (u64, u128, Value, Value)> = BTreeMap::new();
        for it in all {
            let text = |name: &str| it[name].as_str().unwrap().to_owned();
            let (from, to) = (text("from"), text("to"));
            let is_wanted = match direction {
                "out" => from == BUSY,
                "in" => to == BUSY,
                _ => from == BUSY || to == BUSY,
            };
            if !is_wanted {
                continue;
            }
            let place = json!({
                "block": it["block"], "time": it["time"],
                "transaction": it["transaction"], "index": it["index"],
            });
            let key = [from, to, text("token"), text("standard")];
            let sum = sums
                .entry(key)
                .or_insert((0, 0, place.clone(), place.clone()));
            sum.0 += 1;
            sum.1 += text("amount").parse::<u128>().unwrap();
            sum.3 = place;
        }
        let query = format!("neighbors?address={BUSY}&direction={direction}&limit=10000");
        let answer = get(&served, &query);
        let edges = rows(&answer, "edges");
        assert_eq!(edges.len(), sums.len());
        let mut before = None;
        for edge in edges {
            let text = |name: &str| edge[name].as_str().unwrap().to_owned();
            let key = [text("from"), text("to"), text("token"), text("kind")];
            let (count, sum, first, last) = &sums[&key];
            assert_eq!(edge["count"], *count);
            assert_eq!(text("amount"), sum.to_string());
            assert_eq!((&edge["first"], &edge["last"]), (first, last));
            // In the order of the command.
            let mut ends = key.clone();
            // The native coin is the first.
            ends[2] = ends[2].replace("native", "");
            let place = (std::cmp::Reverse(*count), ends);
            assert!(before < Some(place.clone()), "{before:?} {place:?}");
            before = Some(place);
            assert!(answer["tokens"][text("token")].is_object());
        }
        let few = get(
            &served,
            &format!("neighbors?address={BUSY}&direction={direction}&limit=2"),
        );
        assert_eq!(rows(&few, "edges"), &edges[..2]);
        assert_eq!(few["more"], edges.len() - 2);
        assert_eq!(
            few["command"],
            format!(
                "txgraph analyze pairs -r {BUSY} -d {direction} --order count --limit 2 -f json"
            )
        );
        assert!(!rows(&few, "incomplete").is_empty());
    }
}

#[test]
fn graphs_are_those_of_the_library_with_places() {
    let fixture = small();
    let served = Served::new(&fixture);
    let source = open(&fixture);
    let usd6 = token(&fixture, "usd6");
    for (query, direction, hops) in [
        (format!("root={ROOT}&hops=3"), Direction::Out, 3),
        (
            format!("root={BUSY}&hops=2&direction=both"),
            Direction::Both,
            2,
        ),
        (
            format!("root={ROOT}&root={BUSY}&direction=in"),
            Direction::In,
            1,
        ),
        (
            format!("root={ROOT}&hops=4&token={usd6}"),
            Direction::Out,
            4,
        ),
    ] {
        let answer = get(&served, &format!("graph?{query}"));
        let mut search = source.search(ROOT.parse().unwrap());
        if !query.starts_with(&format!("root={ROOT}")) {
            search = source.search(BUSY.parse().unwrap());
        }
        if query.contains("&root=") {
            search = search.root(BUSY.parse().unwrap());
        }
        if query.contains("token=") {
            search = search.token(usd6.parse().unwrap());
        }
        let graph = search.hops(hops).direction(direction).max_degree(500).run();
        let graph = graph.unwrap();
        let wanted: Vec<_> = graph
            .graph
            .node_weights()
            .map(|vertex| (hex(vertex.address), u64::from(vertex.hop)))
            .collect();
        let vertices = rows(&answer, "vertices");
        let found: Vec<_> = vertices
            .iter()
            .map(|it| {
                (
                    it["address"].as_str().unwrap().to_owned(),
                    it["depth"].as_u64().unwrap(),
                )
            })
            .collect();
        assert_eq!(found, wanted, "{query}");
        let merged = graph.merged_edges().unwrap();
        let edges = rows(&answer, "edges");
        assert_eq!(edges.len(), merged.len());
        for (edge, merged) in edges.iter().zip(&merged) {
            assert_eq!(edge["from"], hex(graph.graph[merged.source].address));
            assert_eq!(edge["count"], merged.count);
            assert_eq!(edge["amount"], merged.sum.to_string());
            assert_eq!(edge["first"]["block"], merged.first.0);
            assert_eq!(edge["last"]["block"], merged.last.0);
            assert!(edge["first"]["transaction"].is_string());
        }
        let place = |it: &Value| (it["column"].as_i64().unwrap(), it["row"].as_u64().unwrap());
        let places: BTreeSet<_> = vertices.iter().map(place).collect();
        assert_eq!(places.len(), vertices.len(), "each has a place of its own");
        for vertex in vertices {
            let is_root = rows(vertex, "marks").contains(&json!("root"));
            assert_eq!(is_root, vertex["column"] == 0, "{vertex}");
        }
    }
    // A limit is part of the answer.
    let cut = get(
        &served,
        &format!("graph?root={BUSY}&hops=3&direction=both&max_edges=10"),
    );
    assert!(
        rows(&cut, "incomplete")
            .iter()
            .any(|it| { it.as_str().unwrap().contains("limit of 10 transfers") })
    );
    let hubs = get(
        &served,
        &format!("graph?root={ROOT}&hops=4&direction=both&max_degree=3"),
    );
    let marked = rows(&hubs, "vertices").iter();
    assert!(
        marked
            .clone()
            .any(|it| rows(it, "marks").contains(&json!("hub")))
    );
}

#[test]
fn graphs_are_also_arrow_streams() {
    let fixture = small();
    let served = Served::new(&fixture);
    let mut stream = served.connect();
    let request = format!(
        "GET /v1/graph?root={ROOT}&hops=2 HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         accept: application/vnd.apache.arrow.stream\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let end = bytes.windows(4).position(|it| it == b"\r\n\r\n").unwrap();
    let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
    assert!(head.contains("content-type: application/vnd.apache.arrow.stream"));
    let body = &bytes[end + 4..];
    assert!(head.contains("vary: accept") && head.contains("etag: "));
    // A stream begins with the marker of a message, and ends with an empty one.
    assert_eq!(body[..4], [0xff; 4]);
    assert_eq!(body[body.len() - 8..], [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
    // Another client still gets JSON.
    let mut plain = served.connect();
    let request = request.replace("application/vnd.apache.arrow.stream", "*/*");
    plain.write_all(request.as_bytes()).unwrap();
    let plain = read_response(&mut plain).unwrap().json();
    assert!(plain["edges"].is_array());
}

#[test]
fn relations_are_those_of_the_library() {
    let fixture = small();
    let served = Served::new(&fixture);
    let source = open(&fixture);
    let (root, end): (Address, Address) = (ROOT.parse().unwrap(), END.parse().unwrap());
    let paths = source.search(root).hops(6).time_respecting().prepare();
    let paths = paths
        .unwrap()
        .paths_to(end, txgraph::Continuation::SameToken, 1)
        .unwrap();
    let answer = get(&served, &format!("path?from={ROOT}&to={END}"));
    let route: Vec<_> = paths.shortest[0].transfers.iter().map(row).collect();
    assert_eq!(answer["found"], true);
    assert_eq!(rows(&answer, "transfers"), &route);
    let none = get(&served, &format!("path?from={END}&to={ROOT}"));
    assert_eq!(
        (&none["found"], &none["transfers"]),
        (&json!(false), &json!([]))
    );
    assert!(!rows(&none, "hints").is_empty());
    assert_eq!(
        refused(&served, &format!("path?from={ROOT}&to={ROOT}")).0,
        400
    );

    let pair = [
        "0x95dc8a905bf6488bc52147ac4ebd77d3aab83dc0",
        "0x10e00a14b5481339d1f70d7b0875ad3acf3c9c12",
    ];
    let [a, b] = pair.map(|it| it.parse::<Address>().unwrap());
    let common = source.search(a).root(b).prepare().unwrap();
    let common = common.common_counterparties().unwrap();
    let wanted: Vec<_> = common
        .counterparties
        .iter()
        .map(|it| hex(it.address))
        .collect();
    let query = format!("common?address={}&address={}", pair[0], pair[1]);
    let answer = get(&served, &query);
    let addresses = |answer: &Value| -> Vec<String> {
        let rows = rows(answer, "addresses").iter();
        rows.map(|it| it["address"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(addresses(&answer), wanted);
    // Further away are at least those.
    let far = addresses(&get(&served, &format!("{query}&hops=2&limit=10000")));
    assert!(wanted.iter().all(|it| far.contains(it)));
    assert_eq!(refused(&served, &format!("common?address={ROOT}")).0, 400);

    let usd6 = token(&fixture, "usd6");
    for method in ["fifo", "haircut"] {
        let taint = source.analyze(Measure::Taint).root(root);
        let taint = taint
            .token(usd6.parse().unwrap())
            .method(method.parse().unwrap());
        let taint = taint.run().unwrap();
        let answer = get(
            &served,
            &format!("trace?root={ROOT}&token={usd6}&method={method}"),
        );
        assert_eq!(answer["result"], json!(taint.result));
    }
    let (status, code, _) = refused(&served, &format!("trace?root={ROOT}&method=guess"));
    assert_eq!((status, code.as_str()), (400, "parameter"));
}

#[test]
fn addresses_and_tokens_are_what_the_chain_says() {
    let fixture = small();
    let served = Served::new(&fixture);
    let all = get(&served, "transfers?limit=10000");
    let all = rows(&all, "transfers");
    let usd6 = token(&fixture, "usd6");
    for of in [BUSY, ROOT, END, usd6.as_str()] {
        let answer = get(&served, &format!("address?address={of}"));
        let own = all.iter().filter(|it| it["from"] == of || it["to"] == of);
        let own: Vec<_> = own.collect();
        assert_eq!(answer["transfers"], own.len());
        for (name, it) in [("first", own.first()), ("last", own.last())] {
            let place = it.map(|it| it["transaction"].clone());
            assert_eq!(answer[name]["transaction"], place.unwrap_or_default());
        }
        let balance = served.result("eth_getBalance", json!([of, "latest"]));
        assert_eq!(
            answer["balance"],
            crate::harness::number(&balance).to_string()
        );
        for it in rows(&answer, "balances") {
            let token = it["token"]["address"].as_str().unwrap();
            let query =
                format!("module=account&action=tokenbalance&address={of}&contractaddress={token}");
            assert_eq!(it["amount"], served.query(&query)["result"]);
        }
    }
    // The state is of the newest block, which the answer names.
    let older = get(&served, &format!("address?address={BUSY}&blocks=:20"));
    assert_eq!(older["block"], 40);
    let deployer = fixture.truth["accounts"]["deployer"].as_str().unwrap();
    let funded = get(&served, &format!("address?address={deployer}"));
    assert_eq!(funded["funder"], Value::Null);
    assert!(rows(&funded, "incomplete").contains(&json!(
        "the genesis funded it, so no transfer was the first funding"
    )));
    let contract = get(&served, &format!("address?address={usd6}"));
    assert_eq!(contract["is_contract"], true);
    let creator = served.result("ots_getContractCreator", json!([usd6]));
    assert_eq!(contract["creator"]["transaction"], creator["hash"]);

    let facts = &contract["contract"];
    assert_eq!(facts["token"]["symbol"], "USD6");
    let call = json!({ "to": usd6, "data": "0x18160ddd" });
    let supply = served.result("eth_call", json!([call, "latest"]));
    let supply = crate::harness::number(&supply).to_string();
    assert_eq!(facts["total_supply"], supply);
    assert!(facts["pool"].as_array().unwrap().is_empty());
    let answer = get(&served, &format!("token?token={usd6}&limit=10000"));
    assert_eq!(answer["token"]["symbol"], "USD6");
    assert_eq!(answer["token"]["name"], "USD Six");
    assert_eq!(answer["token"]["decimals"], 6);
    let command = format!("txgraph holders {usd6} --limit 10000");
    assert_eq!(answer["command"], command);
    let mut held: BTreeMap<String, i128> = BTreeMap::new();
    for it in all.iter().filter(|it| it["token"] == usd6.as_str()) {
        let amount: i128 = it["amount"].as_str().unwrap().parse().unwrap();
        *held
            .entry(it["to"].as_str().unwrap().to_owned())
            .or_default() += amount;
        *held
            .entry(it["from"].as_str().unwrap().to_owned())
            .or_default() -= amount;
    }
    held.retain(|address, amount| *amount > 0 && *address != hex(Address::ZERO));
    let holders = rows(&answer, "holders");
    assert_eq!(holders.len(), held.len());
    let mut before = i128::MAX;
    for holder in holders {
        let amount: i128 = holder["amount"].as_str().unwrap().parse().unwrap();
        assert_eq!(held[holder["address"].as_str().unwrap()], amount);
        assert!(amount <= before);
        before = amount;
    }
    assert_eq!(answer["token"]["is_claim"], true);
    // An account is no token, and nothing that it claims is shown.
    let none = get(&served, &format!("token?token={ROOT}"));
    assert_eq!(none["token"]["is_claim"], false);
    let why = json!(["it has no transfers, and is not known to be a token"]);
    assert_eq!(none["incomplete"], why);
    let few = get(&served, &format!("token?token={usd6}&limit=3"));
    assert_eq!(rows(&few, "holders"), &holders[..3]);
    assert_eq!(few["more"], holders.len() - 3);
}

#[test]
fn searches_find_what_users_type() {
    let fixture = small();
    let served = Served::new(&fixture);
    let usd6 = token(&fixture, "usd6");
    let block = served.result("eth_getBlockByNumber", json!(["0x14", false]));
    let (hash, transaction) = (&block["hash"], &block["transactions"][0]);
    let kinds = |text: &str| -> Vec<(String, String)> {
        let answer = get(&served, &format!("search?q={text}"));
        let results = rows(&answer, "results").iter();
        let text = |it: &Value, name: &str| it[name].as_str().unwrap().to_owned();
        results
            .map(|it| (text(it, "kind"), text(it, "value")))
            .collect()
    };
    let one = |kind: &str, value: &str| vec![(kind.to_owned(), value.to_owned())];
    let (hash, transaction) = (hash.as_str().unwrap(), transaction.as_str().unwrap());
    assert_eq!(kinds(hash), one("block", hash));
    assert_eq!(kinds(transaction), one("transaction", transaction));
    assert_eq!(kinds("20"), one("block", "20"));
    assert_eq!(kinds("0x14"), one("block", "20"));
    assert_eq!(kinds("99999999"), []);
    let above = get(&served, "search?q=41");
    let why = above["incomplete"][0].as_str().unwrap();
    assert!(why.starts_with("block 41 is above 40"), "{why}");
    assert_eq!(kinds(BUSY), one("address", BUSY));
    let both = [one("address", &usd6), one("token", &usd6)].concat();
    assert_eq!(kinds(&usd6), both);
    assert_eq!(kinds("nothing"), []);
    assert_eq!(refused(&served, "search").0, 400);
}
