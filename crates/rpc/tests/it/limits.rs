//! Limits of servers: ranges and batches adapt.

use crate::support::{check, open, options, refused, request, server, source, tokens};
use txgraph_rpc::RpcOptions;
use txgraph_testkit::{rpc::Fault, says};
use txgraph_transfers::TransferFilter;

#[test]
fn ranges_are_halved_until_the_server_accepts_them() {
    for (range, logs) in [
        (Some(1), None),
        (Some(7), None),
        (None, Some(200)),
        (Some(30), Some(150)),
    ] {
        let server = server();
        server.limit(|limits| (limits.range, limits.logs) = (range, logs));
        check(&source(&server), &tokens());
    }
}

#[test]
fn a_block_with_too_many_logs_is_an_error() {
    let server = server();
    server.limit(|limits| limits.logs = Some(1));
    let error = refused(&source(&server), &request(tokens()));
    says(&error, "eth_getLogs (block ");
    says(&error, "query returned more than 10000 results");
}

#[test]
fn batches_are_halved_until_the_server_accepts_them() {
    for batch in [1, 3] {
        let server = server();
        server.limit(|limits| limits.batch = Some(batch));
        check(&source(&server), &TransferFilter::default());
    }
    let server = server();
    server.limit(|limits| limits.batch = Some(1));
    check(
        &open(&server, "batch=1", options()),
        &TransferFilter::default(),
    );
}

#[test]
fn large_answers_are_divided() {
    let server = server();
    // The transfers of the chain have several hundred kilobytes as logs.
    let source = open(&server, "response-mb=1", options());
    check(&source, &TransferFilter::default());
    // A status that means the same.
    server.fail("eth_getLogs", 2, Fault::Status(413, "too large", None));
    check(&source, &tokens());
    assert_eq!(server.faults_left(), 0);
}

#[test]
fn answers_do_not_depend_on_chunks_and_rates() {
    let server = server();
    for chunk_blocks in [1, 6, 100] {
        let options = RpcOptions {
            chunk_blocks: Some(chunk_blocks),
            ..options()
        };
        let source = open(&server, "rate=100000,connections=1", options);
        check(&source, &TransferFilter::default());
        check(&source, &tokens());
    }
}
