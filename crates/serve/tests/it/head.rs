//! Calls that are passed on to the node, and calls that it never gets.

use crate::{
    harness::{Response, Served, batch, ids, settings, small},
    upstream::{Node, Reply, result},
};
use serde_json::{Value, json};
use std::{
    sync::atomic::Ordering,
    thread,
    time::{Duration, Instant},
};
use txgraph::{IndexChoice, Source};
use txgraph_serve::{Limits, METHODS, Settings};
use txgraph_testkit::says;

fn with_limits(url: String, change: impl FnOnce(&mut Limits)) -> Served {
    let mut settings = settings();
    settings.head = Some(url);
    change(&mut settings.limits);
    Served::with(&small(), settings)
}

fn with_head(node: &Node) -> Served {
    with_limits(node.url(), |_| {})
}

/// The error that a client gets from a node.
fn error_of(node: &Node) -> (i64, String) {
    with_head(node).error("eth_gasPrice", json!([]))
}

fn rpc(served: &Served, method: &str, params: &Value) -> Response {
    let request = json!({ "jsonrpc": "2.0", "id": "7", "method": method, "params": params });
    served.post(&request.to_string())
}

/// Whether a response says that this many calls were answered by the node, and which block it is about.
fn is_from(response: &Response, passed: usize, is_from_disk: bool) -> bool {
    let found = response.headers.get("x-txgraph-passed");
    let found = found.map_or(0, |count| count.parse().unwrap());
    found == passed && response.headers.contains_key("x-txgraph-block") == is_from_disk
}

#[test]
fn other_requests_are_passed_on_as_they_are() {
    let node = Node::echo();
    let served = with_head(&node);
    let asked = [
        ("eth_gasPrice", json!([])),
        ("eth_feeHistory", json!(["0x5", "latest", [1.5, null, {}]])),
        ("eth_sendRawTransaction", json!(["0x02"])),
        (
            "debug_traceCall",
            json!([{}, "latest", { "tracer": "4byteTracer" }]),
        ),
        ("eth_estimateGas", json!([{}])),
        ("eth_createAccessList", json!([{}])),
        ("eth_blobBaseFee", json!([])),
        (
            "trace_replayTransaction",
            json!([format!("0x{:064x}", 1), ["vmTrace"]]),
        ),
        ("trace_get", json!(["0x00", ["0x0"]])),
        ("txpool_content", Value::Null),
        ("web3_sha3", json!(["0x\u{1f600}\\\"\u{0}"])),
        // Which is answered here with other parameters.
        (
            "debug_traceTransaction",
            json!([format!("0x{:064x}", 1), {}]),
        ),
        (
            "eth_getBalance",
            json!(["0xcc346449a79058a09ecf17cc9d8f9ec64b3c7529", "pending"]),
        ),
    ];
    for (method, params) in &asked {
        let response = rpc(&served, method, params);
        assert_eq!(
            response.json(),
            json!({ "jsonrpc": "2.0", "id": "7", "result": method })
        );
        assert!(is_from(&response, 1, false), "{method}: {response:?}");
    }
    let passed = asked
        .iter()
        .map(|(method, params)| ((*method).to_owned(), params.clone()));
    assert_eq!(node.calls(), passed.collect::<Vec<_>>());
    let metrics = served.get("/metrics").body;
    says(
        &metrics,
        &format!("\ntxgraph_passed_total {}\n", asked.len()),
    );
}

#[test]
fn what_is_here_is_not_asked_from_the_node() {
    let node = Node::echo();
    let served = with_head(&node);
    for (method, params) in [
        ("eth_blockNumber", json!([])),
        ("eth_chainId", json!([])),
        ("eth_getBlockByNumber", json!(["latest", false])),
        ("eth_getBlockByNumber", json!(["finalized", false])),
        ("eth_getBlockByNumber", json!(["0x5", true])),
        (
            "eth_getLogs",
            json!([{ "fromBlock": "0x0", "toBlock": "0x28" }]),
        ),
        (
            "eth_getBalance",
            json!(["0xcc346449a79058a09ecf17cc9d8f9ec64b3c7529", "0x3"]),
        ),
        ("trace_block", json!(["0x4"])),
    ] {
        let response = rpc(&served, method, &params);
        assert!(response.json().get("result").is_some(), "{method}");
        assert!(is_from(&response, 0, true), "{method}: {response:?}");
    }
    // Errors of the client are not asked elsewhere.
    for method in METHODS {
        let response = rpc(&served, method, &json!([[]]));
        let passed = response.headers.contains_key("x-txgraph-passed");
        assert!(
            !passed || response.json().get("result").is_some(),
            "{method}"
        );
    }
    let before = node.calls().len();
    let response = rpc(&served, "eth_getBalance", &json!(["0x12"]));
    assert_eq!(response.json()["error"]["code"], -32602);
    assert_eq!(
        rpc(&served, "eth_gasPrice", &json!({ "a": 1 })).json()["error"]["code"],
        -32602
    );
    assert_eq!(node.calls().len(), before);
}

#[test]
fn what_changes_the_node_is_never_passed_on() {
    let node = Node::echo();
    let served = with_head(&node);
    let methods = [
        "admin_addPeer",
        "admin_stopHTTP",
        "anvil_setBalance",
        "debug_chaindbCompact",
        "debug_cpuProfile",
        "debug_setGCPercent",
        "debug_setHead",
        "debug_standardTraceBlockToFile",
        "debug_traceBlockFromFile",
        "debug_writeMemProfile",
        "engine_forkchoiceUpdatedV3",
        "engine_newPayloadV4",
        "eth_sendTransaction",
        "eth_sign",
        "eth_signTransaction",
        "eth_signTypedData_v4",
        "eth_submitWork",
        "evm_revert",
        "hardhat_reset",
        "miner_start",
        "personal_unlockAccount",
        "reth_newPayload",
        "testing_buildBlockV1",
        "",
        "admin_eth_gasPrice",
    ];
    // Etherscan's interface has these, with other rules for names.
    for method in [" eth_gasPrice", "Eth_gasPrice", "eth_sendrawtransaction"] {
        let answer = rpc(&served, method, &json!([])).json();
        assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
    }
    for method in methods {
        let answer = rpc(&served, method, &json!([])).json();
        assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
        let action = served.query(&format!("module=proxy&action={method}"));
        assert!(
            action["error"].is_object() || action["status"] == "0",
            "{method}: {action}"
        );
    }
    let one = |method: &&str| json!({ "jsonrpc": "2.0", "id": 1, "method": method });
    let batch: Vec<Value> = methods.iter().map(one).collect();
    let answers = served.post(&json!(batch).to_string());
    assert!(is_from(&answers, 0, true), "{answers:?}");
    for answer in answers.json().as_array().unwrap() {
        assert_eq!(answer["error"]["code"], -32601, "{answer}");
    }
    let quiet: Vec<Value> = methods
        .iter()
        .map(|it| json!({ "jsonrpc": "2.0", "method": it }))
        .collect();
    assert_eq!(served.post(&json!(quiet).to_string()).body, "");
    assert_eq!(node.calls(), []);
}

#[test]
fn blocks_above_the_newest_are_asked_as_a_whole() {
    let node = Node::echo();
    let served = with_head(&node);
    let account = "0xcc346449a79058a09ecf17cc9d8f9ec64b3c7529";
    let unknown = format!("0x{:064x}", 1);
    let asked = [
        ("eth_getBlockByNumber", json!(["0x29", false])),
        ("eth_getBlockByNumber", json!(["pending", false])),
        ("eth_getBlockByHash", json!([unknown, false])),
        ("eth_getBlockReceipts", json!(["0x29"])),
        ("eth_getTransactionByHash", json!([unknown])),
        ("eth_getTransactionReceipt", json!([unknown])),
        // A part of this range is on the disk. It is not joined with the rest.
        (
            "eth_getLogs",
            json!([{ "fromBlock": "0x0", "toBlock": "0x29", "address": account }]),
        ),
        ("eth_getBalance", json!([account, "0x29"])),
        ("eth_getCode", json!([account, { "blockHash": unknown }])),
        ("eth_getStorageAt", json!([account, "0x0", "0xffff"])),
        ("eth_call", json!([{ "to": account }, "0x29"])),
        ("trace_block", json!(["0x29"])),
        (
            "trace_filter",
            json!([{ "fromBlock": "0x1", "toBlock": "0x29" }]),
        ),
        (
            "debug_traceBlockByNumber",
            json!(["0x29", { "tracer": "callTracer" }]),
        ),
        ("ots_getBlockDetails", json!(["0x29"])),
    ];
    for (method, params) in &asked {
        let response = rpc(&served, method, params);
        assert_eq!(response.json()["result"], *method, "{response:?}");
        assert!(is_from(&response, 1, false), "{method}: {response:?}");
    }
    let passed: Vec<_> = asked
        .iter()
        .map(|(method, params)| ((*method).to_owned(), params.clone()))
        .collect();
    assert_eq!(node.calls(), passed);
    // The same methods of Etherscan's interface.
    let path = "/api?module=proxy&action=eth_getBlockByNumber&tag=0x29&boolean=true";
    let response = served.get(path);
    assert_eq!(response.json()["result"], "eth_getBlockByNumber");
    assert!(is_from(&response, 1, false), "{response:?}");
    assert_eq!(response.headers.get("etag"), None);
    let last = ("eth_getBlockByNumber".to_owned(), json!(["0x29", true]));
    assert_eq!(node.calls().last(), Some(&last));
    let here = served.get("/api?module=proxy&action=eth_blockNumber");
    assert!(
        is_from(&here, 0, true) && here.headers.contains_key("etag"),
        "{here:?}"
    );
    // Lists of Etherscan's interface are of the disk only, and say so.
    let count = node.calls().len();
    let list = served.query(&format!(
        "module=account&action=balance&address={account}&tag=0x29"
    ));
    assert_eq!(list["message"], "NOTOK", "{list}");
    let logs = served.query("module=logs&action=getLogs&fromBlock=0&toBlock=41");
    assert_eq!(logs["message"], "NOTOK", "{logs}");
    assert_eq!(node.calls().len(), count, "{logs}");
}

/// The node has the rules of its chain.
#[test]
fn what_needs_unknown_rules_is_passed_on() {
    let (node, directory) = (Node::echo(), small().unpack());
    let source = Source::builder(directory.path()).index(IndexChoice::Off);
    let settings = Settings {
        head: Some(node.url()),
        ..settings()
    };
    let served = Served::on(source.open().unwrap(), settings, Some(directory));
    let response = rpc(&served, "trace_block", &json!(["0x5"]));
    assert_eq!(response.json()["result"], "trace_block");
    assert!(is_from(&response, 1, false), "{response:?}");
    let here = rpc(&served, "eth_getBlockByNumber", &json!(["0x5", false]));
    assert!(is_from(&here, 0, true), "{here:?}");
}

#[test]
fn batches_say_how_much_the_node_answered() {
    let node = Node::echo();
    let served = with_head(&node);
    let batch = json!([
        { "jsonrpc": "2.0", "id": 1, "method": "eth_gasPrice" },
        { "jsonrpc": "2.0", "id": 2, "method": "eth_blockNumber" },
        { "jsonrpc": "2.0", "method": "eth_sendRawTransaction", "params": ["0x01"] },
        { "jsonrpc": "2.0", "id": 4, "method": "admin_addPeer" },
        { "jsonrpc": "2.0", "id": "x", "method": "eth_feeHistory", "params": [1] },
        7,
    ]);
    let response = served.post(&batch.to_string());
    let answers = response.json();
    assert_eq!(ids(&answers), json!([1, 2, 4, "x", null]));
    assert_eq!(answers[0]["result"], "eth_gasPrice");
    assert_eq!(answers[1]["result"], "0x28");
    assert_eq!(answers[2]["error"]["code"], -32601);
    assert_eq!(answers[3]["result"], "eth_feeHistory");
    assert_eq!(answers[4]["error"]["code"], -32600);
    assert!(is_from(&response, 3, true), "{response:?}");
    assert!(response.headers["x-txgraph-block"].starts_with("40 "));
    let methods: Vec<_> = node.calls().into_iter().map(|(method, _)| method).collect();
    assert_eq!(
        methods,
        ["eth_gasPrice", "eth_sendRawTransaction", "eth_feeHistory"]
    );
    let only = json!([{ "jsonrpc": "2.0", "id": 1, "method": "eth_gasPrice" }]);
    assert!(is_from(&served.post(&only.to_string()), 1, false));
}

#[test]
fn a_node_that_is_down_fails_only_what_it_is_asked() {
    let node = Node::echo();
    let port = node.address.port();
    // A key in the URL, and a password, which no client may see.
    let url = format!("http://user:p4ssword@127.0.0.1:{port}/v3/s3cretkey");
    drop(node);
    let served = with_limits(url, |_| {});
    let down = |served: &Served| {
        let answer = served.ask("eth_gasPrice", &json!([]));
        assert_eq!(answer["error"]["code"], -32000, "{answer}");
        let text = answer.to_string();
        says(&text, &format!("127.0.0.1:{port}"));
        assert!(
            !text.contains("p4ssword") && !text.contains("s3cretkey"),
            "{text}"
        );
        served.answers("eth_blockNumber", json!([]), "0x28");
        assert_eq!(served.get("/health").status, 200);
        let action = served.query("module=proxy&action=eth_gasPrice");
        assert_eq!(action["error"]["code"], -32000, "{action}");
    };
    down(&served);
    let node = Node::at(port, |got| {
        Reply::Body(result(got["method"].clone()).into_bytes())
    });
    served.answers("eth_gasPrice", json!([]), "eth_gasPrice");
    let head = node.got.lock().unwrap()[0].head.clone();
    assert!(
        head.starts_with("post /v3/s3cretkey http/1.1\r\n"),
        "{head}"
    );
    says(&head, "authorization: basic ");
    drop(node);
    down(&served);
}

/// A node closes connections that rest, without a word.
#[test]
fn connections_that_the_node_closed_are_opened_again() {
    let node = Node::new(|got| {
        let body = result(got["method"].clone());
        let length = body.len();
        Reply::Raw(
            format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{body}").into_bytes(),
        )
    });
    let served = with_head(&node);
    for _ in 0..50 {
        served.answers("eth_gasPrice", json!([]), "eth_gasPrice");
    }
    assert_eq!(node.calls().len(), 50);
}

#[test]
fn a_node_that_does_not_answer_ends_with_the_time() {
    let node = Node::new(|_| Reply::Hang);
    let time = Duration::from_millis(300);
    let served = with_limits(node.url(), |limits| limits.time = time);
    let (code, message) = served.error("eth_gasPrice", json!([]));
    assert!([-32000, -32002].contains(&code), "{code} {message}");
    served.answers("eth_blockNumber", json!([]), "0x28");
    // The rest of a batch is not asked any more.
    let answers = served.post(&batch(100, "eth_gasPrice", json!([]))).json();
    assert_eq!(answers.as_array().unwrap().len(), 100);
    assert_eq!(answers[99]["error"]["code"], -32002, "{answers}");
    assert!(node.calls().len() < 100);
}

/// However many requests wait for the node, those that ask for what is here do not wait.
#[test]
fn a_node_that_does_not_answer_delays_only_its_calls() {
    let node = Node::new(|_| Reply::Hang);
    let served = with_limits(node.url(), |limits| {
        limits.time = Duration::from_secs(600);
        limits.workers = 1;
    });
    thread::scope(|scope| {
        let ask = || served.result("eth_gasPrice", json!([]));
        let waiting: Vec<_> = (0..40).map(|_| scope.spawn(ask)).collect();
        let started = Instant::now();
        while node.calls().len() < 10 {
            assert!(started.elapsed() < Duration::from_secs(60));
            thread::sleep(Duration::from_millis(5));
        }
        for _ in 0..20 {
            served.answers("eth_blockNumber", json!([]), "0x28");
        }
        assert!(waiting.iter().all(|thread| !thread.is_finished()));
        node.release();
        for thread in waiting {
            assert_eq!(thread.join().unwrap(), "late");
        }
    });
}

/// The calls after the one that the node works on are not sent once the client has left.
#[test]
fn a_client_that_leaves_sends_no_more_calls() {
    let node = Node::new(|_| Reply::Hang);
    let time = Duration::from_secs(600);
    let served = with_limits(node.url(), |limits| limits.time = time);
    let leaves = served.begin(&batch(100, "eth_gasPrice", json!([])));
    served.wait_for("txgraph_passed_total 1");
    drop(leaves);
    served.wait_for("txgraph_left_total 1");
    node.release();
    served.wait_for("txgraph_running 0");
    assert_eq!(node.calls().len(), 1);
}

#[test]
fn results_and_errors_of_the_node_are_passed_on_unchanged() {
    let error = json!({ "code": -38013, "message": "no \u{1f600}", "data": { "a": [1, null] } });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "error": error }).to_string();
    let node = Node::with_body(body);
    let response = rpc(&with_head(&node), "eth_gasPrice", &json!([]));
    assert_eq!(
        response.json(),
        json!({ "jsonrpc": "2.0", "id": "7", "error": error })
    );
    // As old nodes do.
    let node = Node::with_body(r#"{"id":1,"result":"0x1","error":null}"#);
    assert_eq!(with_head(&node).result("eth_gasPrice", json!([])), "0x1");
    let node = Node::with_body(r#"{"jsonrpc":"2.0","id":1,"result":null}"#);
    let answer = with_head(&node).ask(
        "eth_getTransactionByHash",
        &json!([format!("0x{:064x}", 1)]),
    );
    assert_eq!(answer, json!({ "jsonrpc": "2.0", "id": 7, "result": null }));
    // Numbers that JSON libraries round, and text that they would write in another way.
    let exact = r#"{"n":123456789012345678901234567890.10,"e":1E+2,"s":"\u0041\/","n":1}"#;
    let node = Node::with_body(format!(r#"{{"jsonrpc":"2.0","result":{exact},"id":1}}"#));
    let body = rpc(&with_head(&node), "eth_gasPrice", &json!([])).body;
    says(&body, exact);
    // Calls nest 1,024 deep, each in a list and an object.
    let deep = format!("{}{}", "[".repeat(20_000), "]".repeat(20_000));
    let node = Node::with_body(format!(r#"{{"jsonrpc":"2.0","id":1,"result":{deep}}}"#));
    let body = rpc(&with_head(&node), "debug_traceBlockByNumber", &json!([])).body;
    assert!(body.contains(&deep), "{}", body.len());
}

#[test]
fn garbage_of_the_node_is_an_error() {
    for body in [
        "",
        "x",
        "null",
        "[]",
        "{}",
        "\u{0}",
        r#"{"jsonrpc":"2.0","id":1}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":1"#,
        r#"{"jsonrpc":"2.0","id":1,"result":1}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":"no"}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"message":"no"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":"x","message":"no"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":[1,"no"]}"#,
        r#"[{"jsonrpc":"2.0","id":1,"result":1}]"#,
        "[1,null]",
    ] {
        let (code, message) = error_of(&Node::with_body(body));
        assert_eq!(code, -32000, "{body}: {message}");
        assert!(
            message.contains("is not a JSON-RPC response"),
            "{body}: {message}"
        );
    }
    let (code, _) = error_of(&Node::with_body(
        [b"{\"result\":\"".as_slice(), &[0xff, 0xfe], b"\"}"].concat(),
    ));
    assert_eq!(code, -32000);
    for raw in [
        "",
        "garbage\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{",
        "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\n{}",
        "HTTP/1.1 500 Oops\r\ncontent-length: 40\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"0x01\"}",
        "HTTP/1.1 401 Who\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n",
    ] {
        let node = Node::new(move |_| Reply::Raw(raw.into()));
        let (code, message) = error_of(&node);
        assert_eq!(code, -32000, "{raw:?}: {message}");
        assert!(message.contains(&node.url()), "{raw:?}: {message}");
    }
}

#[test]
fn large_answers_of_the_node_are_refused() {
    let limited = |node: &Node| with_limits(node.url(), |limits| limits.answer_bytes = 1 << 20);
    let answer = |bytes: usize| {
        let node = Node::with_body(result(Value::from("x".repeat(bytes))));
        limited(&node).ask("eth_gasPrice", &json!([]))
    };
    assert!(answer(1 << 19)["result"].is_string());
    let refused = answer(1 << 21);
    let message = refused["error"]["message"].as_str().unwrap();
    says(&message, "larger than 1048576 bytes");
    // Without a length that says so, and without an end.
    let node = Node::new(|_| {
        let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x1_0000)).repeat(64);
        Reply::Raw(format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{chunk}").into())
    });
    let (_, message) = limited(&node).error("eth_gasPrice", json!([]));
    says(&message, "larger than 1048576 bytes");
    // Together with others.
    let node = Node::with_body(result(Value::from("x".repeat(1 << 19))));
    let three = batch(3, "eth_gasPrice", json!([]));
    let answers = limited(&node).post(&three).json();
    assert!(answers[0]["result"].is_string());
    assert_eq!(answers[1]["error"]["code"], -32005);
}

/// The answers of another chain would pass for those about this one.
#[test]
fn a_node_of_another_chain_is_refused() {
    let node = Node::echo();
    node.chain.store(5, Ordering::SeqCst);
    let served = with_head(&node);
    for (method, params) in [
        ("eth_gasPrice", json!([])),
        ("eth_getBlockByNumber", json!(["0x29", false])),
        ("eth_sendRawTransaction", json!(["0x00"])),
    ] {
        let (code, message) = served.error(method, params);
        assert_eq!(code, -32000, "{message}");
        says(&message, "belongs to chain 5");
        says(&message, "to chain 735703");
    }
    assert_eq!(node.calls(), []);
    served.answers("eth_blockNumber", json!([]), "0x28");
}
