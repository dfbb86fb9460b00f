//! Faults of servers: what passes is repeated, and everything else is a precise error.

use crate::support::{
    check, one_chunk, open, options, request, scan, server, source, tokens, try_open,
};
use serde_json::Value;
use std::time::{Duration, Instant};
use txgraph_rpc::{Error, RpcOptions};
use txgraph_testkit::rpc::{Fault, RpcServer};
use txgraph_transfers::{FailureKind, SourceError, TransferFilter};

const PAGE: &str = "<!DOCTYPE html>\n<html><title>Bad   Gateway</title></html>";

/// The message of a scan that fails.
fn failure(server: &RpcServer, filter: TransferFilter) -> String {
    let error = scan(&source(server), &request(filter))
        .map(|_| ())
        .unwrap_err();
    assert!(
        matches!(&error, SourceError::Failed(failure) if failure.kind == FailureKind::Unreadable),
        "{error:?}"
    );
    let text = error.to_string();
    assert!(text.contains(&format!("{}/…", server.url())), "{text}");
    assert!(!text.contains("KEY"), "{text}");
    text
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
    let asked = server.take_asked();
    let logs = asked
        .iter()
        .filter(|(method, _)| method == "eth_getLogs")
        .count();
    assert!(
        (3..=4).contains(&logs),
        "one that is late, and its parts: {logs}"
    );
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
    assert!(text.contains("the answer is not JSON"), "{text}");
    let text = failure(&server_of(Fault::Truncated), tokens());
    assert!(text.contains("the answer ends early"), "{text}");
    // These are not repeated.
    for (fault, expected) in [
        (
            Fault::Status(401, "no key", None),
            "HTTP status 401: no key",
        ),
        (Fault::Status(404, "", None), "HTTP status 404"),
        (Fault::Status(301, "", None), "HTTP status 301"),
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
    std::thread::sleep(Duration::from_millis(50));
    let endpoint = txgraph_rpc::Endpoint::parse(&format!("{url}/KEY")).unwrap();
    let opened = txgraph_rpc::RpcNode::open(endpoint, options(), Default::default());
    let error = opened.map(|_| ()).unwrap_err();
    assert!(matches!(error, Error::Failed { .. }), "{error}");
    assert!(!error.to_string().contains("KEY"), "{error}");
}

#[test]
fn another_chain_is_refused() {
    let server = server();
    let other = RpcOptions {
        chain_id: Some(5),
        ..options()
    };
    let error = try_open(&server, "", other).map(|_| ()).unwrap_err();
    assert!(
        matches!(error, Error::WrongChain { expected: 5, .. }),
        "{error}"
    );
    // The genesis block is not that of mainnet.
    server.set_chain_id(1);
    let error = try_open(&server, "", options()).map(|_| ()).unwrap_err();
    assert!(
        matches!(error, Error::WrongGenesis { chain_id: 1, .. }),
        "{error}"
    );
}

#[test]
fn invalid_logs_are_refused() {
    fn logs(answer: &mut Value) -> &mut Vec<Value> {
        answer["result"].as_array_mut().unwrap()
    }
    type Case = (fn(&mut Value), &'static str);
    let cases: [Case; 10] = [
        (
            |answer| logs(answer)[3]["removed"] = true.into(),
            "was removed",
        ),
        (
            |answer| logs(answer)[3]["blockNumber"] = "0xffff".into(),
            "is of block 65535",
        ),
        (|answer| logs(answer).swap(3, 4), "is not in order"),
        (
            |answer| {
                let twice = logs(answer)[3].clone();
                logs(answer).insert(3, twice);
            },
            "is there twice",
        ),
        (
            |answer| drop(logs(answer)[3].as_object_mut().unwrap().remove("logIndex")),
            "missing field `logIndex`",
        ),
        (
            |answer| logs(answer)[3]["logIndex"] = Value::Null,
            "not valid",
        ),
        (
            |answer| logs(answer)[3]["data"] = "0x123".into(),
            "not valid",
        ),
        (
            |answer| logs(answer)[3]["address"] = "0x12".into(),
            "not valid",
        ),
        (|answer| answer["id"] = 9.into(), "no question has the id"),
        (
            |answer| *answer = serde_json::json!({"id": 0}),
            "neither a result nor an error",
        ),
    ];
    for (edit, expected) in cases {
        let server = server();
        server.fail("eth_getLogs", 1, Fault::Edit(edit));
        let text = failure(&server, tokens());
        assert!(text.contains(expected), "{expected}: {text}");
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
            |answer| {
                drop(
                    answer[2]["result"]
                        .as_object_mut()
                        .unwrap()
                        .remove("timestamp"),
                )
            },
            "missing field `timestamp`",
        ),
        (
            "eth_getBlockByNumber",
            |answer| answer[1]["id"] = 0.into(),
            "two answers have the id",
        ),
        (
            "eth_getBlockByNumber",
            |answer| drop(answer.as_array_mut().unwrap().pop()),
            "it does not answer all 20 questions",
        ),
    ];
    for (method, edit, expected) in cases {
        let server = server();
        let source = one_chunk(&server);
        server.fail(method, 1, Fault::Edit(edit));
        let error = scan(&source, &request(TransferFilter::default()));
        let text = error.map(|_| ()).unwrap_err().to_string();
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let server = server();
    let source = one_chunk(&server);
    // The first question is only a probe.
    server.fail_after(
        "eth_getBlockReceipts",
        1,
        Fault::Edit(|answer| {
            let item = answer.as_array_mut().unwrap().iter_mut();
            let mut item =
                item.filter(|item| item["result"].as_array().is_some_and(|it| !it.is_empty()));
            item.next().unwrap()["result"].as_array_mut().unwrap().pop();
        }),
    );
    let error = scan(&source, &request(TransferFilter::default()));
    let text = error.map(|_| ()).unwrap_err().to_string();
    assert!(text.contains(" receipts for "), "{text}");
}

#[test]
fn blocks_that_stay_null_are_missing() {
    let server = server();
    let source = one_chunk(&server);
    server.fail(
        "eth_getBlockByNumber",
        // Three batches, and one batch of each later attempt.
        6,
        Fault::Edit(|answer| match answer {
            Value::Array(answers) => answers[0]["result"] = Value::Null,
            answer => answer["result"] = Value::Null,
        }),
    );
    match scan(&source, &request(TransferFilter::default())) {
        Err(SourceError::Failed(failure)) => assert_eq!(failure.kind, FailureKind::Missing),
        other => panic!("{:?}", other.map(|_| ())),
    }
    // Once is only a server that is behind.
    server.fail(
        "eth_getBlockByNumber",
        1,
        Fault::Edit(|answer| answer[0]["result"] = Value::Null),
    );
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
    match scan(&source, &request(tokens())) {
        Err(SourceError::Failed(failure)) => assert_eq!(failure.kind, FailureKind::Missing),
        other => panic!("{:?}", other.map(|_| ())),
    }
}

#[test]
fn a_reorganisation_inside_of_a_chunk_is_read_again() {
    for (filter, method) in [
        (tokens(), "eth_getBlockByNumber"),
        (TransferFilter::default(), "eth_getBlockReceipts"),
    ] {
        let server = server();
        server.limit(|limits| limits.finalized = None);
        let source = source(&server);
        server.fail(method, 1, Fault::Reorganisation(35));
        let report = check(&source, &filter);
        assert_eq!(
            report.last_block_hash.unwrap().to_string(),
            server.block_hash(40)
        );
    }
}

#[test]
fn a_reorganisation_between_chunks_is_reported() {
    let server = server();
    let small = RpcOptions {
        chunk_blocks: Some(10),
        ..options()
    };
    let source = open(&server, "connections=1", small);
    let _ = server.take_asked();
    // The last of the requests for headers: the chunk of block 40 alone.
    server.fail_after("eth_getLogs", 4, Fault::Reorganisation(5));
    match scan(&source, &request(tokens())) {
        Err(SourceError::Reorged { .. }) => {}
        other => panic!("{:?}", other.map(|_| ())),
    }
}
