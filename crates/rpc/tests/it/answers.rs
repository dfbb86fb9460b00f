//! Answers equal a naive decoder's, and nothing is requested without need.

use crate::support::{
    check, count, expected, items, only, open, options, refused, request, scan, server, source,
    tokens,
};
use alloy_primitives::Address;
use std::collections::BTreeSet;
use txgraph_rpc::RpcOptions;
use txgraph_testkit::{
    fixtures,
    naive::decode_fixture,
    rpc::{Fault, RpcServer},
    says,
};
use txgraph_transfers::{
    BlockRange, Indexable, Kind, ScanRequest, SourceError, TransferFilter, TransferSource,
};

fn token() -> Address {
    let transfers = expected(&tokens());
    transfers[transfers.len() / 2].token_address.unwrap()
}

fn methods(server: &RpcServer) -> Vec<String> {
    let asked = server.take_asked().into_iter();
    let methods: BTreeSet<_> = asked.map(|(name, _)| name).collect();
    methods.into_iter().collect()
}

#[test]
fn transfers_equal_those_of_the_naive_decoder() {
    for fixture in fixtures::full() {
        if !fixture.has("blocks") {
            continue;
        }
        let server = RpcServer::start(&fixture);
        let source = source(&server);
        let decoded = decode_fixture(&fixture);
        let blocks = BlockRange::up_to(source.node().tip());
        let everything = ScanRequest {
            blocks: blocks.into(),
            ..request(TransferFilter::default())
        };
        let (transfers, report) = scan(&source, &everything).unwrap();
        assert!(transfers == decoded.transfers, "{}", fixture.name);
        assert_eq!(report.counts.malformed, decoded.malformed);
        assert_eq!(report.counts.wraps_deduplicated, decoded.wraps_deduplicated);
        assert_eq!(report.counts.logs, decoded.logs);
        // The same by logs alone.
        let by_logs = ScanRequest {
            filter: tokens(),
            ..everything
        };
        let (transfers, by_logs) = scan(&source, &by_logs).unwrap();
        let mut with_logs = decoded.transfers;
        with_logs.retain(|transfer| tokens().matches(transfer));
        assert!(transfers == with_logs, "{}", fixture.name);
        assert_eq!(by_logs.counts.malformed, decoded.malformed);
        assert_eq!(by_logs.last_block_hash, report.last_block_hash);
    }
}

#[test]
fn tokens_ask_for_logs_and_few_headers() {
    let server = server();
    let source = source(&server);
    check(&source, &tokens());
    let asked = server.take_asked();
    assert_eq!(count(&asked, "eth_getLogs"), 1);
    // The ends of the chunk and of the logs; these have their times.
    assert_eq!(count(&asked, "eth_getBlockByNumber"), 4);
    assert_eq!(asked.len(), 5, "{asked:?}");
    check(&source, &only(&[token()], false));
    let asked = server.take_asked();
    let (_, params) = asked
        .iter()
        .find(|(method, _)| method == "eth_getLogs")
        .unwrap();
    assert_eq!(params[0]["address"], serde_json::json!([token()]));
}

#[test]
fn values_ask_for_blocks_and_receipts() {
    let server = server();
    let source = source(&server);
    check(&source, &only(&[], true));
    assert_eq!(
        methods(&server),
        ["eth_getBlockByNumber", "eth_getBlockReceipts"]
    );
    check(&source, &TransferFilter::default());
    assert_eq!(
        methods(&server),
        ["eth_getBlockByNumber", "eth_getBlockReceipts"]
    );
    let withdrawals = TransferFilter {
        kinds: vec![Kind::Withdrawal],
        ..TransferFilter::default()
    };
    check(&source, &withdrawals);
    assert_eq!(methods(&server), ["eth_getBlockByNumber"]);
}

#[test]
fn receipts_are_asked_one_by_one_if_needed() {
    let server = server();
    server.limit(|limits| limits.without.push("eth_getBlockReceipts"));
    let source = source(&server);
    check(&source, &TransferFilter::default());
    let asked = server.take_asked();
    let tries = count(&asked, "eth_getBlockReceipts");
    assert!(tries <= 2, "{tries}");
    assert!(count(&asked, "eth_getTransactionReceipt") > 0);
}

#[test]
fn receipts_roots_are_verified_on_request() {
    let server = server();
    let verifying = || RpcOptions {
        verify: true,
        chunk_blocks: Some(50),
        ..options()
    };
    check(&open(&server, "", verifying()), &TransferFilter::default());
    check(&open(&server, "", verifying()), &tokens());
    // The first call is only a probe.
    server.fail_after(
        "eth_getBlockReceipts",
        1,
        Fault::Edit(|answer| {
            let receipt = items(answer).find(|it| it["logs"][0].is_object());
            receipt.unwrap()["logs"][0]["data"] = "0x07".into();
        }),
    );
    let source = open(&server, "", verifying());
    let error = refused(&source, &request(tokens()));
    says(&error, "its receipts have the root");
}

#[test]
fn times_are_filled_in_later() {
    let server = server();
    let source = source(&server);
    let without_times = ScanRequest {
        with_times: false,
        ..request(tokens())
    };
    let (mut transfers, report) = scan(&source, &without_times).unwrap();
    for transfer in &mut transfers {
        transfer.block_timestamp = None;
    }
    source.fill_hashes(&mut transfers, &report.anchors).unwrap();
    assert!(transfers == expected(&tokens()));
}

#[test]
fn blocks_above_the_tip_are_missing() {
    let server = server();
    let source = source(&server);
    let beyond = ScanRequest {
        blocks: BlockRange::from_to(30, 50).into(),
        ..request(tokens())
    };
    match refused(&source, &beyond) {
        SourceError::Unavailable { missing, .. } => {
            assert_eq!(missing[0].blocks, BlockRange::from_to(41, 50));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn runs_of_blocks_have_counts_for_each_block() {
    let server = server();
    let source = source(&server);
    let everything = request(TransferFilter::default());
    let mut reader = source.block_reader(&everything, false);
    let run = reader.read(BlockRange::up_to(40)).unwrap();
    assert_eq!(run.blocks, BlockRange::up_to(31));
    assert_eq!(run.summaries.len(), 32);
    let sum: u64 = run.summaries.iter().map(|it| it.counts.transfers).sum();
    assert_eq!(sum, run.transfers.len() as u64);
    let hashes = source.canonical_hashes(&[31, 99, 0]).unwrap();
    assert_eq!(hashes[0], Some(run.last_hash));
    assert_eq!(hashes[1], None);
    assert_eq!(hashes[2], Some(source.chain().genesis_hash));
}
