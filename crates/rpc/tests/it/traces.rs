//! Transfers inside of transactions, from traces of servers.

use crate::support::{one_chunk, only, refused, request, scan, server};
use alloy_primitives::U256;
use serde_json::{Value, json};
use txgraph_testkit::{rpc::RpcServer, says};
use txgraph_transfers::{Kind, ScanRequest, TransferFilter};

/// A filter for the transfers that only traces show.
pub(crate) fn traced() -> TransferFilter {
    TransferFilter {
        internal: true,
        kinds: vec![Kind::Internal, Kind::Burn],
        ..only(&[], true)
    }
}

fn internal() -> ScanRequest {
    request(traced())
}

/// The traces of a block, each with the calls that are made from it.
pub(crate) fn traces(block: &Value, with_hash: bool, calls: impl Fn(&Value) -> Value) -> Value {
    let transactions = block["transactions"].as_array().unwrap().iter();
    let traces = transactions.map(|transaction| {
        let creates = transaction["to"].is_null();
        let to = match creates {
            true => json!("0x00000000000000000000000000000000000000c0"),
            false => transaction["to"].clone(),
        };
        let mut trace = json!({"result": {
            "type": if creates { "CREATE" } else { "CALL" },
            "from": transaction["from"],
            "to": to,
            "value": transaction["value"],
            "calls": calls(&json!({"from": transaction["from"], "to": to, "value": transaction["value"]})),
        }});
        if with_hash {
            trace["txHash"] = transaction["hash"].clone();
        }
        trace
    });
    traces.collect()
}

/// A server whose transactions contain these calls, and how it traces.
fn tracing(calls: fn(&Value) -> Value) -> RpcServer {
    let server = server();
    server.set_traces(|block| traces(block, true, calls));
    server
}

#[test]
fn a_contract_that_names_itself_moves_nothing() {
    // As servers built on revm report it: the last transfer, or nothing.
    let calls: fn(&Value) -> Value = |root| {
        if root["from"] == root["to"] {
            return json!([]);
        }
        json!([
            {"type": "SELFDESTRUCT", "from": root["from"], "to": root["to"], "value": root["value"]},
            {"type": "SELFDESTRUCT", "from": "0x0000000000000000000000000000000000000000"},
            {"type": "CALL", "from": root["to"], "to": root["from"], "value": "0x7"},
        ])
    };
    for without in [vec![], vec!["debug_traceBlockByNumber"]] {
        let server = tracing(calls);
        server.limit(|limits| limits.without = without);
        let (transfers, _) = scan(&one_chunk(&server), &internal()).unwrap();
        assert!(!transfers.is_empty());
        for it in transfers {
            assert!(
                it.value == U256::from(7) && it.kind == Kind::Internal,
                "{it:?}"
            );
        }
    }
}

#[test]
fn a_trace_with_two_meanings_is_refused() {
    let server = tracing(|root| {
        json!([
            {"type": "CALL", "from": root["to"], "to": root["from"], "value": "0x7"},
            {"type": "SELFDESTRUCT", "from": root["to"], "to": root["from"], "value": "0x7"},
        ])
    });
    let text = refused(&one_chunk(&server), &internal());
    says(&text, "does not show whether the destruction");
}

#[test]
fn traces_without_hashes_are_compared_with_transactions() {
    let calls = |_: &Value| json!([]);
    let server = server();
    server.set_traces(|block| traces(block, false, calls));
    assert!(scan(&one_chunk(&server), &internal()).is_ok());
    server.set_traces(|block| {
        let mut traces = traces(block, false, calls);
        traces.as_array_mut().unwrap().reverse();
        traces
    });
    let text = refused(&one_chunk(&server), &internal());
    says(&text, "the traces do not belong to the transactions");
}

#[test]
fn methods_are_probed_with_the_first_block() {
    let server = tracing(|_| json!([]));
    let source = one_chunk(&server);
    scan(&source, &internal()).unwrap();
    let asked = server.take_asked();
    let first = |name: &str| asked.iter().find(|(method, _)| method == name).unwrap();
    for method in ["debug_traceBlockByNumber", "eth_getBlockReceipts"] {
        assert_eq!(first(method).1[0], "0x0");
    }
}
