//! The newest blocks: reorganizations, and servers behind one URL that are some blocks apart.

use crate::support::{
    check, expected, fails, null, one_chunk, open, options, refused, request, results, scan,
    server, source, tokens, unopened,
};
use crate::traces::traces;
use txgraph_rpc::RpcOptions;
use txgraph_testkit::{
    rpc::{Fault, RpcServer},
    says,
};
use txgraph_transfers::{FailureKind, SourceError, TransferFilter, TransferSource};

/// A server none of whose blocks is final.
fn changing() -> RpcServer {
    let server = server();
    server.limit(|limits| limits.finalized = None);
    server
}

#[test]
fn a_reorganization_inside_of_a_chunk_is_read_again() {
    for (filter, method) in [
        (tokens(), "eth_getBlockByNumber"),
        (TransferFilter::default(), "eth_getBlockReceipts"),
    ] {
        let server = changing();
        let source = source(&server);
        server.fail(method, 1, Fault::Reorganization(35));
        let report = check(&source, &filter);
        assert_eq!(
            report.last_block_hash.unwrap().to_string(),
            server.block_hash(40)
        );
    }
}

#[test]
fn a_reorganization_between_chunks_is_reported() {
    let server = server();
    let small = RpcOptions {
        chunk_blocks: Some(10),
        ..options()
    };
    let source = open(&server, "connections=1", small);
    let _ = server.take_asked();
    server.fail_after("eth_getBlockReceipts", 4, Fault::Reorganization(5));
    match refused(&source, &request(TransferFilter::default())) {
        SourceError::Reorged { .. } => {}
        SourceError::Failed(failure) if failure.kind == FailureKind::Replaced => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn blocks_with_other_transactions_are_read_again() {
    // As if the block was replaced by one without transactions, between two answers.
    let empty = Fault::Edit(|answer| {
        results(answer).for_each(|it| it.as_array_mut().unwrap().clear());
    });
    let server = changing();
    let source = one_chunk(&server);
    server.fail_after("eth_getBlockReceipts", 1, empty);
    check(&source, &TransferFilter::default());
    assert_eq!(server.faults_left(), 0);
    // Final blocks are not replaced.
    let server = crate::support::server();
    let source = one_chunk(&server);
    server.fail_after("eth_getBlockReceipts", 1, empty);
    let error = refused(&source, &request(TransferFilter::default()));
    says(&error, "0 receipts for ");
}

/// Between any two answers, blocks are replaced by some with fewer transactions.
#[test]
fn answers_of_two_chains_are_never_mixed_or_invalid() {
    let internal = TransferFilter::with_internal(true);
    let mut whole = 0;
    for (filter, without) in [
        (tokens(), None),
        (TransferFilter::default(), None),
        (TransferFilter::default(), Some("eth_getBlockReceipts")),
        (internal, None),
    ] {
        for method in [
            "eth_getLogs",
            "eth_getBlockByNumber",
            "eth_getBlockReceipts",
            "eth_getTransactionReceipt",
            "debug_traceBlockByNumber",
        ] {
            for after in 0..4 {
                let server = changing();
                server.set_traces(|block| traces(block, true, |_| serde_json::json!([])));
                server.limit(|limits| limits.without.extend(without));
                let source = one_chunk(&server);
                let (before, _) = scan(&source, &request(filter.clone())).unwrap();
                server.fail_after(method, after, Fault::Shortening(33));
                let found = scan(&source, &request(filter.clone()));
                if server.faults_left() > 0 {
                    continue;
                }
                match found {
                    Ok((transfers, _)) => {
                        whole += 1;
                        let (after, _) = scan(&source, &request(filter.clone())).unwrap();
                        let is_one = transfers == before || transfers == after;
                        assert!(is_one, "{method}, {filter:?}");
                    }
                    Err(SourceError::Failed(failure)) => {
                        assert_eq!(failure.kind, FailureKind::Replaced, "{method}: {failure}");
                    }
                    Err(other) => panic!("{other:?}"),
                }
            }
        }
    }
    assert!(whole > 20, "{whole}");
}

#[test]
fn a_transaction_that_is_gone_is_a_reorganization() {
    let server = changing();
    let source = source(&server);
    let mut transfers = expected(&tokens());
    transfers
        .iter_mut()
        .for_each(|it| it.transaction_hash = None);
    server.fail(
        "eth_getBlockByNumber",
        1,
        Fault::Edit(|answer| {
            results(answer).for_each(|it| it["transactions"] = serde_json::json!([]));
        }),
    );
    match source.fill_hashes(&mut transfers, &[]) {
        Err(SourceError::Failed(failure)) => assert_eq!(failure.kind, FailureKind::Replaced),
        other => panic!("{other:?}"),
    }
}

#[test]
fn single_receipts_that_are_null_are_asked_for_again() {
    for finalized in [None, Some(40)] {
        let server = server();
        server.limit(|limits| {
            limits.finalized = finalized;
            limits.without.push("eth_getBlockReceipts");
        });
        let source = source(&server);
        server.fail("eth_getTransactionReceipt", 2, Fault::Edit(null));
        check(&source, &TransferFilter::default());
        assert_eq!(server.faults_left(), 0);
    }
}

#[test]
fn logs_of_a_server_that_is_behind_are_asked_for_by_hash() {
    // It answers as if its blocks were all.
    let server = changing();
    let source = one_chunk(&server);
    server.fail("eth_getLogs", 1, Fault::Behind(30));
    check(&source, &tokens());
    let by_hash = server.take_asked().into_iter();
    let by_hash = by_hash.filter(|(_, params)| params[0]["blockHash"].is_string());
    assert!(by_hash.count() > 0);
    // A server that is behind for each call.
    server.fail("eth_getLogs", 100, Fault::Behind(30));
    let error = fails(&source, tokens(), FailureKind::Replaced);
    says(&error, "unknown block");
}

#[test]
fn a_chain_without_finality_is_opened_at_once() {
    let server = changing();
    let source = source(&server);
    assert_eq!(source.node().finalized(), None);
    open(&server, "", options());
    let asked = server.take_asked().into_iter();
    let finalized = asked.filter(|(_, params)| params[0] == "finalized");
    assert_eq!(finalized.count(), 1);
}

#[test]
fn a_server_without_blocks_is_missing_them() {
    let server = server();
    server.limit(|limits| limits.syncing = true);
    let error = unopened(&server, options());
    says(&error, "the server is still synchronizing");
    assert_eq!(error.failure_kind(), FailureKind::Missing);
}
