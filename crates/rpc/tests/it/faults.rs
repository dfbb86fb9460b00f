//! Faults of servers: what passes is repeated, and everything else is a precise error.

use crate::support::{
    check, count, fails, items, null, one_chunk, open, options, refused, request, results, server,
    source, tokens, unopened,
};
use serde_json::Value;
use std::time::{Duration, Instant};
use txgraph_rpc::{Error, RpcOptions};
use txgraph_testkit::{
    rpc::{Fault, RpcServer},
    says,
};
use txgraph_transfers::{FailureKind, TransferFilter};

const PAGE: &str = "<!DOCTYPE html>\n<html><title>Bad   Gateway</title></html>";

/// The message of a scan that fails.
fn failure(server: &RpcServer, filter: TransferFilter) -> String {
    let text = fails(&source(server), filter, FailureKind::Unreadable).to_string();
    says(&text, &format!("{}/…", server.url()));
    assert!(!text.contains("KEY"), "{text}");
    text
}

fn remove(value: &mut Value, field: &str) {
    value.as_object_mut().unwrap().remove(field);
}

#[test]
fn faults_that_pass_do_not_change_the_answer() {
    for method in [
        "eth_getLogs",
        "eth_getBlockByNumber",
        "eth_getBlockReceipts",
    ] {
        for fault in [
            Fault::Status(429, "slow down", None),
            Fault::Status(500, PAGE, None),
            Fault::Status(503, "", None),
            Fault::Status(200, PAGE, None),
            Fault::Reset,
            Fault::Truncated,
            Fault::Reversed,
            Fault::Error(-32603, "internal error"),
            Fault::Error(-32005, "daily request count exceeded, request rate limited"),
            Fault::ItemError(-32000, "header not found"),
        ] {
            let server = server();
            let source = source(&server);
            server.fail(method, 1, Fault::Status(429, "", None));
            server.fail(method, 1, fault);
            check(&source, &tokens());
            check(&source, &TransferFilter::default());
            assert_eq!(server.faults_left(), 0, "{method}: {fault:?}");
        }
    }
}

#[test]
fn the_pause_that_a_server_asks_for_is_made() {
    let server = server();
    let source = source(&server);
    server.fail("eth_getLogs", 1, Fault::Status(429, "", Some(1)));
    let begun = Instant::now();
    check(&source, &tokens());
    assert!(begun.elapsed() >= Duration::from_secs(1));
}

#[test]
fn late_answers_are_asked_for_in_parts() {
    let server = server();
    let source = open(&server, "timeout=1", options());
    server.fail("eth_getLogs", 1, Fault::Late(Duration::from_secs(3)));
    server.fail(
        "eth_getBlockReceipts",
        1,
        Fault::Late(Duration::from_secs(3)),
    );
    server.take_asked();
    check(&source, &tokens());
    let logs = count(&server.take_asked(), "eth_getLogs");
    // More on a machine that is so slow that others are late.
    assert!(logs >= 3, "one that is late, and its parts: {logs}");
    check(&source, &TransferFilter::default());
}

#[test]
fn the_last_failure_is_reported() {
    let server_of = |fault| {
        let server = server();
        server.fail("eth_getLogs", 4, fault);
        server
    };
    let text = failure(&server_of(Fault::Status(502, PAGE, None)), tokens());
    assert!(
        text.ends_with(
            "eth_getLogs (blocks 0 to 40) failed: HTTP status 502: <!DOCTYPE html> \
             <html><title>Bad Gateway</title></html> (4 attempts)"
        ),
        "{text}"
    );
    let text = failure(&server_of(Fault::Status(200, PAGE, None)), tokens());
    says(&text, "the answer is not JSON");
    let text = failure(&server_of(Fault::Truncated), tokens());
    says(&text, "the answer ends early");
    // These are not repeated.
    for (fault, expected) in [
        (
            Fault::Status(401, "who are you?", None),
            "HTTP status 401: who are you?",
        ),
        (Fault::Status(404, "", None), "HTTP status 404"),
        (
            Fault::Status(301, "", None),
            "HTTP status 301: name the URL that this one redirects to",
        ),
        (
            Fault::Error(-32602, "invalid argument 0"),
            "error -32602: invalid argument 0",
        ),
    ] {
        let text = failure(&server_of(fault), tokens());
        assert!(text.ends_with(expected), "{text}");
    }
}

#[test]
fn a_server_that_is_not_there_is_an_error() {
    let server = server();
    let url = server.url();
    drop(server);
    // The port is free after the last connection is refused.
    while std::net::TcpStream::connect(url.trim_start_matches("http://")).is_ok() {}
    let endpoint = txgraph_rpc::Endpoint::parse(&format!("{url}/KEY")).unwrap();
    let opened = txgraph_rpc::RpcNode::open(endpoint, options(), Default::default());
    let error = opened.map(drop).unwrap_err();
    // Not repeated: the URL may be wrong.
    assert!(
        matches!(error, Error::Failed { attempts: 1, .. }),
        "{error}"
    );
    let text = error.to_string();
    says(&text, "no server listens there");
    assert!(!text.contains("KEY"), "{text}");
}

#[test]
fn another_chain_is_refused() {
    let server = server();
    let other = RpcOptions {
        chain_id: Some(5),
        ..options()
    };
    let error = unopened(&server, other);
    assert!(
        matches!(error, Error::WrongChain { expected: 5, .. }),
        "{error}"
    );
    // The genesis block is not mainnet's.
    server.set_chain_id(1);
    let error = unopened(&server, options());
    says(&error, "the chain id is 1, but block 0 has the hash 0x");
}

#[test]
fn invalid_logs_are_refused() {
    fn logs(answer: &mut Value) -> &mut Vec<Value> {
        answer["result"].as_array_mut().unwrap()
    }
    fn log(answer: &mut Value) -> &mut Value {
        &mut logs(answer)[3]
    }
    type Case = (fn(&mut Value), &'static str);
    let cases: [Case; 10] = [
        (|it| log(it)["removed"] = true.into(), "was removed"),
        (
            |it| log(it)["blockNumber"] = "0xffff".into(),
            "is of block 65535",
        ),
        (
            |it| log(it)["topics"][0] = log(it)["blockHash"].clone(),
            "was not asked for",
        ),
        (
            |it| log(it)["blockTimestamp"] = "0x1".into(),
            "has the time 1",
        ),
        (
            |answer| {
                let twice = log(answer).clone();
                logs(answer).insert(3, twice);
            },
            "is there twice",
        ),
        (|it| remove(log(it), "logIndex"), "missing field `logIndex`"),
        (|it| log(it)["logIndex"] = Value::Null, "not valid"),
        (|it| log(it)["data"] = "0x123".into(), "not valid"),
        (|it| log(it)["address"] = "0x12".into(), "not valid"),
        (
            |answer| *answer = serde_json::json!({"id": 0}),
            "neither a result nor an error",
        ),
    ];
    for (edit, expected) in cases {
        let server = server();
        server.fail("eth_getLogs", 1, Fault::Edit(edit));
        says(&failure(&server, tokens()), expected);
    }
}

#[test]
fn invalid_blocks_and_receipts_are_refused() {
    type Case = (&'static str, fn(&mut Value), &'static str);
    let cases: [Case; 4] = [
        (
            "eth_getBlockByNumber",
            |answer| answer[2]["result"]["number"] = "0x9".into(),
            "it is block 9",
        ),
        (
            "eth_getBlockByNumber",
            |answer| remove(&mut answer[2]["result"], "timestamp"),
            "missing field `timestamp`",
        ),
        (
            "eth_getBlockByNumber",
            |answer| {
                let mut lists = results(answer).map(|it| &mut it["transactions"]);
                let list = lists.find(|it| it.as_array().is_some_and(|it| !it.is_empty()));
                *list.unwrap() = serde_json::json!([]);
            },
            "it has no transactions, but its header has gas or receipts",
        ),
        (
            "eth_getBlockByNumber",
            |answer| {
                let mut lists = results(answer).filter_map(|it| it["withdrawals"].as_array_mut());
                drop(lists.find(|it| !it.is_empty()).unwrap().pop());
            },
            "its withdrawals have the root",
        ),
    ];
    for (method, edit, expected) in cases {
        let server = server();
        let source = one_chunk(&server);
        server.fail(method, 1, Fault::Edit(edit));
        let error = refused(&source, &request(TransferFilter::default()));
        says(&error, expected);
    }
    let server = server();
    let source = one_chunk(&server);
    // The first call is only a probe.
    server.fail_after(
        "eth_getBlockReceipts",
        1,
        Fault::Edit(|answer| {
            let mut lists = results(answer).filter_map(|it| it.as_array_mut());
            drop(lists.find(|it| !it.is_empty()).unwrap().pop());
        }),
    );
    let error = refused(&source, &request(TransferFilter::default()));
    says(&error, " receipts for ");
}

#[test]
fn receipts_that_contradict_their_block_are_refused() {
    fn change(answer: &mut Value, has: fn(&Value) -> bool, change: fn(&mut Value)) {
        change(items(answer).find(|receipt| has(receipt)).unwrap());
    }
    fn is_last_with_logs(answer: &mut Value) -> &mut Vec<Value> {
        let receipts = results(answer).filter_map(|it| it.as_array_mut()?.last_mut());
        let mut logs = receipts.filter_map(|receipt| receipt["logs"].as_array_mut());
        logs.find(|logs| logs.len() > 1).unwrap()
    }
    type Case = (fn(&mut Value), &'static str);
    let cases: [Case; 5] = [
        (
            |answer| {
                change(answer, |it| it["to"].is_string(), |it| remove(it, "status"));
            },
            "neither a status nor a state root",
        ),
        (
            |answer| change(answer, |_| true, |it| it["status"] = "0x2".into()),
            "has the status 2",
        ),
        (|answer| is_last_with_logs(answer).clear(), "bloom filter"),
        (
            |answer| {
                change(
                    answer,
                    |it| it["logs"][0].is_object(),
                    |it| {
                        it["logs"][0]["transactionHash"] = it["blockHash"].clone();
                    },
                );
            },
            "is not log",
        ),
        (
            |answer| {
                change(
                    answer,
                    |it| it["contractAddress"].is_string(),
                    |it| it["contractAddress"] = Value::Null,
                );
            },
            "has no recipient and creates no contract",
        ),
    ];
    for (edit, expected) in cases {
        let server = server();
        let source = one_chunk(&server);
        // The first call is only a probe. The first batch has blocks of each kind.
        server.fail_after("eth_getBlockReceipts", 1, Fault::Edit(edit));
        let error = refused(&source, &request(TransferFilter::default()));
        says(&error, expected);
    }
}

#[test]
fn answers_to_other_calls_are_asked_for_again() {
    type Case = (&'static str, fn(&mut Value));
    let cases: [Case; 5] = [
        ("eth_getLogs", |answer| answer["id"] = 9.into()),
        ("eth_getLogs", |answer| {
            answer["result"].as_array_mut().unwrap().reverse();
        }),
        ("eth_getBlockByNumber", |answer| answer[1]["id"] = 0.into()),
        ("eth_getBlockByNumber", |answer| {
            drop(answer.as_array_mut().unwrap().pop());
        }),
        ("eth_getBlockByNumber", |answer| *answer = answer[0].take()),
    ];
    for (method, edit) in cases {
        let server = server();
        let source = one_chunk(&server);
        server.fail(method, 1, Fault::Edit(edit));
        check(&source, &tokens());
        check(&source, &TransferFilter::default());
        assert_eq!(server.faults_left(), 0);
    }
}

#[test]
fn keys_in_texts_of_a_server_are_hidden() {
    let server = server();
    let location = server.url().replace("http://", "http://us%65r:p%40ssword@");
    let location = format!("{location}/v2/SECRETKEY123456?apikey=TOKEN99&x=y");
    let open = || {
        let endpoint = txgraph_rpc::Endpoint::parse(&location).unwrap();
        let opened = txgraph_rpc::RpcNode::open(endpoint, options(), Default::default());
        opened.map(drop).unwrap_err().to_string()
    };
    const PAGE: &str = "Cannot POST /v2/SECRETKEY123456?apikey=TOKEN99&x=y (user: p@ssword, \
                        Basic dXNlcjpwQHNzd29yZA==, p%40ssword)";
    for fault in [
        Fault::Status(404, PAGE, None),
        Fault::Status(500, PAGE, None),
        Fault::Status(200, PAGE, None),
        Fault::Error(-32000, PAGE),
        Fault::Refusal(401, -32000, PAGE),
        Fault::Edit(|answer| {
            answer["result"] = PAGE.into();
        }),
    ] {
        server.fail("eth_chainId", 4, fault);
        let text = open();
        for secret in ["SECRETKEY", "TOKEN99", "p@ss", "p%40ss", "dXNlcjpw", "user"] {
            assert!(!text.contains(secret), "{fault:?}: {text}");
        }
        server.clear_faults();
    }
}

#[test]
fn blocks_that_stay_null_are_missing() {
    let server = server();
    let source = one_chunk(&server);
    // Three batches, and one batch of each later attempt.
    server.fail("eth_getBlockByNumber", 6, Fault::Edit(null));
    fails(&source, TransferFilter::default(), FailureKind::Missing);
    assert_eq!(server.faults_left(), 0);
    // The same as the text of an error, at each of the four attempts.
    let absent = Fault::Refusal(200, -32000, "block not found 11185311");
    server.fail("eth_getBlockByNumber", 4, absent);
    fails(&source, TransferFilter::default(), FailureKind::Missing);
    assert_eq!(server.faults_left(), 0);
    // Once is only a server that is behind.
    server.fail("eth_getBlockByNumber", 1, Fault::Edit(null));
    check(&source, &TransferFilter::default());
}

#[test]
fn pruned_data_is_missing() {
    let server = server();
    let source = source(&server);
    server.fail(
        "eth_getLogs",
        1,
        Fault::Error(4444, "pruned history unavailable"),
    );
    fails(&source, tokens(), FailureKind::Missing);
}
