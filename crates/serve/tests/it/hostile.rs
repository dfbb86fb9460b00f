//! Requests that want to do harm, and clients that leave.

use crate::harness::{Served, batch, call, ids, read_response, small};
use serde_json::json;
use std::{
    io::{Read, Write},
    net::Ipv4Addr,
    thread,
    time::{Duration, Instant},
};
use txgraph::Source;
use txgraph_serve::{ACTIONS, METHODS, Server, Settings};
use txgraph_testkit::{fixtures, or_skip};

const REQUEST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}"#;

#[test]
fn other_names_of_the_host_are_refused() {
    let served = Served::new(&small());
    let kind = ("content-type", "application/json");
    let with = |headers: &[(&str, &str)]| {
        let mut all = vec![kind];
        all.extend_from_slice(headers);
        served.send("POST", "/", &all, REQUEST).status
    };
    assert_eq!(with(&[]), 200);
    assert_eq!(with(&[("host", "localhost:8600")]), 200);
    assert_eq!(with(&[("host", "evil.example")]), 403);
    assert_eq!(with(&[("host", "127.0.0.1.evil.example:8600")]), 403);
    assert_eq!(with(&[("origin", "https://evil.example")]), 403);
    assert_eq!(with(&[("sec-fetch-site", "cross-site")]), 403);
    let none = served.raw(b"GET /health HTTP/1.1\r\nconnection: close\r\n\r\n");
    assert_eq!(none.status, 400);
    let two = "GET /health HTTP/1.1\r\nhost: localhost\r\nhost: evil.example\r\nconnection: close\r\n\r\n";
    assert_eq!(served.raw(two.as_bytes()).status, 400);
    let elsewhere =
        "GET http://evil.example/health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    assert_eq!(served.raw(elsewhere.as_bytes()).status, 403);
    // No page of another site gets a permission.
    let asked = served.send("OPTIONS", "/", &[("origin", "http://localhost:1")], "");
    assert!(
        asked
            .headers
            .keys()
            .all(|name| !name.starts_with("access-control"))
    );
    // A form of another site cannot have this type.
    let plain = served.send("POST", "/", &[("content-type", "text/plain")], REQUEST);
    assert_eq!(plain.status, 415);
}

#[test]
fn a_token_is_needed_where_there_is_one() {
    let served = Served::guarded(&small());
    let refused = |path: &str| served.query(path)["result"].clone();
    let action = "module=proxy&action=eth_blockNumber";
    assert_eq!(refused(action), "Missing/Invalid API Key");
    assert_eq!(refused(&format!("{action}&apikey=x")), "Invalid API Key");
    let kind = ("content-type", "application/x-www-form-urlencoded");
    let form = format!("{action}&apikey=a+long+secret");
    let posted = served.send(
        "POST",
        "/v2/api",
        &[kind],
        &format!("{form}&chainid=735703"),
    );
    assert_eq!(posted.json()["result"], "0x28");
    // Without the token, no long form is read.
    let long = format!("{form}&x={}", "x".repeat(16 << 10));
    let posted = served.send("POST", "/api", &[kind], &long);
    assert!([0, 413].contains(&posted.status), "{}", posted.status);
    let bearer = ("authorization", "Bearer a long secret");
    let posted = served.send("POST", "/api", &[kind, bearer], &long);
    assert_eq!(posted.json()["result"], "0x28");
    let metrics = served.get("/metrics");
    assert_eq!(metrics.status, 401);
    assert_eq!(metrics.headers["www-authenticate"], "Bearer");
    assert_eq!(served.get("/health").status, 200);
    let query = "/api?module=proxy&action=eth_blockNumber&ApiKey=a%20long%20secret";
    assert_eq!(served.get(query).status, 200);
    let headers = [
        ("content-type", "application/json"),
        ("authorization", "bearer a long secret"),
    ];
    assert_eq!(served.send("POST", "/", &headers, REQUEST).status, 200);
}

#[test]
fn other_machines_need_a_token() {
    let fixture = small();
    let open = || Source::open(fixture.path()).unwrap();
    let everywhere = || Settings::new((Ipv4Addr::UNSPECIFIED, 0).into());
    let refused = Server::bind(open(), everywhere()).unwrap_err();
    assert!(refused.message.contains("token"), "{refused}");
    let short = Settings {
        token: Some("short".to_owned()),
        ..everywhere()
    };
    assert!(Server::bind(open(), short).is_err());
    let long = Settings {
        token: Some("a long secret".to_owned()),
        ..everywhere()
    };
    assert!(Server::bind(open(), long).is_ok());
}

#[test]
fn bodies_and_heads_are_bounded() {
    let served = Served::new(&small());
    let large = format!("[{}]", "1,".repeat(1 << 20));
    // The answer is lost if the connection is closed while the body is still sent.
    let status = served.post(&large).status;
    assert!([0, 413].contains(&status), "{status}");
    // A length that is not true is not believed.
    let request = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: 99999999999\r\n\r\n";
    assert_eq!(served.raw(request.as_bytes()).status, 413);
    let long = format!("/{}", "x".repeat(100_000));
    let status = served.get(&long).status;
    assert!([0, 414, 431].contains(&status), "{status}");
    let header = "x".repeat(200_000);
    let status = served
        .send("GET", "/health", &[("x-long", &header)], "")
        .status;
    assert!([0, 431].contains(&status), "{status}");
    assert_eq!(served.get("/health").status, 200);
}

#[test]
fn malformed_requests_are_errors_of_json_rpc() {
    let served = Served::new(&small());
    for (code, bodies) in [
        (-32700, &["", "{", "[1,2", "\u{0}"][..]),
        (
            -32600,
            &[
                "[]",
                "1",
                "{}",
                r#"{"jsonrpc":"1.0","id":1,"method":"eth_chainId"}"#,
                r#"{"jsonrpc":"2.0","id":1,"method":7}"#,
                r#"{"jsonrpc":"2.0","id":{},"method":"eth_chainId"}"#,
                r#"{"jsonrpc":"2.0","id":[1],"method":"eth_chainId"}"#,
                r#"{"jsonrpc":"2.0","id":true,"method":"eth_chainId"}"#,
            ],
        ),
        (
            -32601,
            &[r#"{"jsonrpc":"2.0","id":1,"method":"eth_chainIdx"}"#],
        ),
    ] {
        for body in bodies {
            let answer = served.post(body).json();
            assert_eq!(answer["error"]["code"], code, "{body}: {answer}");
        }
    }
    for (method, params) in [
        ("eth_getBalance", json!({ "a": 1 })),
        ("eth_getBalance", json!(["0x1", "latest"])),
        ("eth_getBlockByNumber", json!(["0x", "x"])),
        (
            "eth_getBlockByNumber",
            json!(["0xffffffffffffffffff", true]),
        ),
        ("eth_getLogs", json!([{ "topics": [[[1]]] }])),
        (
            "eth_getLogs",
            json!([{ "topics": [null, null, null, null, null] }]),
        ),
    ] {
        served.refuses(method, params, -32602);
    }
    // Identifiers come back as they were sent.
    for id in [
        "18446744073709551616",
        "-1",
        "1.50",
        "1e400",
        "\"\\u0041\"",
        "null",
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"eth_chainId"}}"#);
        let batch = format!("[7,{body}]");
        let expected = match id {
            // No number of JSON that can be read.
            "1e400" => "null",
            "\"\\u0041\"" => "\"A\"",
            id => id,
        };
        for body in [body, batch] {
            let answer = served.post(&body).body;
            assert!(answer.contains(&format!("\"id\":{expected},")), "{answer}");
        }
    }
    // Nesting that would overflow a stack.
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(served.post(&deep).json()["error"]["code"], -32700);
    let (paths, none) = (["/x", "/api/../etc/passwd", "/%2e%2e/x", "/v2", "//"], 404);
    for path in paths {
        assert_eq!(served.get(path).status, none, "{path}");
    }
    assert_eq!(served.send("DELETE", "/api", &[], "").status, 405);
}

#[test]
fn batches_are_answered_in_order_and_bounded() {
    let served = Served::new(&small());
    let answers = served.post(&batch(500, "eth_chainId", json!([]))).json();
    assert_eq!(ids(&answers), json!((0..500).collect::<Vec<_>>()));
    let many = batch(10_000, "eth_chainId", json!([]));
    let refused = served.post(&many).json();
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    // Each has an answer of its own; notifications have none.
    let one = |id| call(id, "eth_chainId", json!([]));
    let mixed = json!([one(1), 7, { "jsonrpc": "2.0", "method": "eth_chainId" }, one(2)]);
    let answers = served.post(&mixed.to_string()).json();
    let answers = answers.as_array().unwrap();
    assert_eq!(answers.len(), 3);
    assert_eq!(answers[1]["error"]["code"], -32600);
    assert_eq!(answers[2]["result"], "0xb39d7");
    let quiet = r#"{"jsonrpc":"2.0","method":"eth_chainId"}"#;
    assert_eq!(served.post(quiet).body, "");
}

#[test]
fn answers_are_bounded() {
    let served = Served::limited(&small(), |limits| limits.rows = 50);
    let filter = json!([{ "fromBlock": "0x0" }]);
    let (code, message) = served.error("eth_getLogs", filter);
    assert_eq!(code, -32005, "{message}");
    assert!(
        message.starts_with("query returned more than 50 results"),
        "{message}"
    );
    let (code, _) = served.error("trace_filter", json!([{ "fromBlock": "0x0" }]));
    assert_eq!(code, -32005);
    let split = served.query("module=logs&action=getLogs&offset=1000");
    let message = "Query Timeout occured. Please select a smaller result dataset";
    assert_eq!(
        split,
        json!({ "status": "0", "message": message, "result": null })
    );
    let served = Served::limited(&small(), |limits| limits.answer_bytes = 20_000);
    let (code, _) = served.error("eth_getLogs", json!([{ "fromBlock": "0x0" }]));
    assert_eq!(code, -32005);
    let (code, _) = served.error("eth_getBlockByNumber", json!(["0x4", true]));
    assert_eq!(code, -32005);
}

#[test]
fn slow_clients_are_closed() {
    let time = Duration::from_millis(300);
    let served = Served::limited(&small(), |limits| {
        limits.send_time = time;
        limits.rest_time = time;
    });
    let started = Instant::now();
    let mut heads = served.connect();
    heads.write_all(b"GET /health HT").unwrap();
    let mut bodies = served.connect();
    let head = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: 100\r\n\r\n{";
    bodies.write_all(head.as_bytes()).unwrap();
    let status = read_response(&mut bodies).unwrap().status;
    assert_eq!(status, 408);
    let status = read_response(&mut heads).map_or(0, |response| response.status);
    assert!([0, 408].contains(&status), "{status}");
    assert!(started.elapsed() < Duration::from_secs(20));
    assert_eq!(served.get("/health").status, 200);
}

/// A client may work on an answer for longer than it may take to read it.
#[test]
fn connections_rest_between_requests() {
    let time = Duration::from_millis(20);
    let served = Served::limited(&small(), |limits| limits.send_time = time);
    let mut stream = served.connect();
    let head = "GET /health HTTP/1.1\r\nhost: localhost\r\n";
    stream.write_all(format!("{head}\r\n").as_bytes()).unwrap();
    thread::sleep(20 * time);
    let last = format!("{head}connection: close\r\n\r\n");
    stream.write_all(last.as_bytes()).unwrap();
    let both = read_response(&mut stream).unwrap();
    assert_eq!(both.status, 200);
    assert!(both.body.contains("HTTP/1.1 200 OK"), "{both:?}");
}

#[test]
fn clients_that_do_not_read_are_closed() {
    let served = Served::limited(&small(), |limits| {
        limits.send_time = Duration::from_millis(300);
        limits.connections = 1;
    });
    let mut stalled = served.begin(&batch(1000, "eth_getLogs", json!([{ "fromBlock": "0x0" }])));
    // The only connection is free once the first is closed.
    assert_eq!(served.get("/health").status, 200);
    // It was closed before its whole answer was sent.
    let whole = read_response(&mut stalled).is_ok_and(|response| {
        response.headers.get("content-length") == Some(&response.body.len().to_string())
    });
    assert!(!whole);
}

/// A client that reads slowly keeps its answer in memory, so others are refused until it has read all of it.
#[test]
fn answers_that_are_being_sent_are_bounded() {
    let request = batch(1000, "eth_getLogs", json!([{ "fromBlock": "0x0" }]));
    let most = 32 << 20;
    let alone = Served::limited(&small(), |limits| limits.answer_bytes = most);
    let size = alone.post(&request).body.len();
    // More than the buffers of a connection that is not read.
    assert!(size > 24 << 20, "{size}");
    let served = Served::limited(&small(), |limits| {
        limits.answer_bytes = most;
        limits.unsent_bytes = size + size / 2;
        limits.time = Duration::from_secs(300);
        limits.send_time = Duration::from_secs(300);
    });
    let mut slow = served.connect();
    let head =
        "POST / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json";
    let whole = format!(
        "{head}\r\ncontent-length: {}\r\n\r\n{request}",
        request.len()
    );
    slow.write_all(whole.as_bytes()).unwrap();
    slow.set_read_timeout(None).unwrap();
    let mut begin = [0; 4096];
    slow.read_exact(&mut begin).unwrap();
    let refused = served.post(&request);
    assert_eq!(refused.status, 503, "{:.200}", refused.body);
    assert_eq!(refused.json()["error"]["code"], -32005);
    // Short answers, and files of the page, fit.
    assert_eq!(served.post(REQUEST).status, 200);
    assert_eq!(served.get("/page.js").status, 200);
    served.wait_for("txgraph_refused_total 1");
    slow.read_to_end(&mut Vec::new()).unwrap();
    assert_eq!(served.post(&request).status, 200);
}

/// A batch of searches, each of which replays a whole chain: more work than any test waits for.
fn long_work() -> String {
    let params = json!(["0x00000000000000000000000000000000beef0001", 0, 25]);
    batch(1000, "ots_searchTransactionsBefore", params)
}

#[test]
fn long_work_ends_with_its_time() {
    let fixture = or_skip!(fixtures::fixture("dev-v2"));
    let within = |time| {
        Served::limited(&fixture, |limits| {
            limits.time = time;
            limits.workers = 1;
        })
    };
    let answers = within(Duration::from_millis(400)).post(&long_work()).json();
    let last = &answers.as_array().unwrap()[999];
    assert_eq!(last["error"]["code"], -32002, "{last}");
    let split = within(Duration::from_millis(1)).query(
        "module=account&action=txlistinternal&address=0x00000000000000000000000000000000beef0001",
    );
    let message = "Query Timeout occured. Please select a smaller result dataset";
    assert_eq!(split["message"], message, "{split}");
}

#[test]
fn work_ends_with_its_client() {
    let fixture = or_skip!(fixtures::fixture("dev-v2"));
    let served = Served::limited(&fixture, |limits| {
        limits.time = Duration::from_secs(3600);
        limits.workers = 1;
    });
    let leaves = served.begin(&long_work());
    served.wait_for("txgraph_running 1");
    drop(leaves);
    served.wait_for("txgraph_left_total 1");
    // The only worker is free again.
    assert_eq!(served.get("/health").status, 200);
    // It was not by finishing: of 1,000 searches, hardly any has an answer.
    let metrics = served.get("/metrics").body;
    let ended = |answered: bool| -> u32 {
        let name = "txgraph_calls_total{name=\"ots_searchTransactionsBefore\"";
        let begin = format!("{name},answered=\"{answered}\"}} ");
        let mut lines = metrics.lines();
        let count = lines.find_map(|line| line.strip_prefix(begin.as_str()));
        count.map_or(0, |count| count.parse().unwrap())
    };
    assert!(ended(true) < 10, "{metrics}");
    assert_eq!(ended(true) + ended(false), 1000, "{metrics}");
}

#[test]
fn too_many_requests_at_a_time_are_refused() {
    let fixture = or_skip!(fixtures::fixture("dev-v2"));
    let served = Served::limited(&fixture, |limits| {
        limits.time = Duration::from_secs(2);
        limits.workers = 1;
        limits.waiting = 2;
    });
    let request = long_work();
    let statuses: Vec<u16> = thread::scope(|scope| {
        let ask = || served.post(&request).status;
        let threads: Vec<_> = (0..12).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().map(|it| it.join().unwrap()).collect()
    });
    assert!(statuses.contains(&503), "{statuses:?}");
    assert!(statuses.contains(&200), "{statuses:?}");
    assert_eq!(served.get("/health").status, 200);
}

/// Every method and action that is listed has an answer other than "unknown".
#[test]
fn everything_listed_exists() {
    let served = Served::new(&small());
    for method in METHODS {
        let answer = served.ask(method, &json!([]));
        assert_ne!(answer["error"]["code"], -32601, "{method}");
    }
    for action in ACTIONS {
        let (module, action) = action.split_once('.').unwrap();
        let answer = served
            .query(&format!("module={module}&action={action}"))
            .to_string();
        assert!(
            !answer.contains("invalid Action name"),
            "{module} {action}: {answer}"
        );
    }
}
