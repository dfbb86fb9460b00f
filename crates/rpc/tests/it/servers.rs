//! The answers of servers in the table of `docs/rpc.md`, as they were recorded.

use crate::support::{check, expected, one_chunk, request, scan, server, tokens};
use txgraph_rpc::RpcSource;
use txgraph_testkit::rpc::{BatchRefusal, Fault};
use txgraph_transfers::{FailureKind, SourceError, TransferFilter};

/// Server, HTTP status, code, message, and what is done then.
type Row = (&'static str, u16, i64, &'static str, &'static str);

/// From the source of the servers, and from answers in public issues. Numbers of blocks vary. A
/// response without a code, which is not JSON, has 0 here.
fn rows() -> Vec<Row> {
    let page = include_str!("../../../../docs/rpc.md");
    let table = page.split("## Servers").nth(1).unwrap();
    let table = table.split("\n## ").next().unwrap();
    let lines = table.lines().filter(|line| line.starts_with("| "));
    let rows = lines.skip(2).map(|line| {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        let ["", server, status, code, message, then, ""] = cells[..] else {
            panic!("{line}");
        };
        let code = if code.is_empty() { "0" } else { code };
        let message = message.trim_matches('`');
        (
            server,
            status.parse().unwrap(),
            code.parse().unwrap(),
            message,
            then,
        )
    });
    rows.collect()
}

/// Asserts that an answer is whole, although the server refused something.
fn whole(source: &RpcSource, filter: &TransferFilter, refused: &str) {
    let (transfers, _) =
        scan(source, &request(filter.clone())).unwrap_or_else(|error| panic!("{refused}: {error}"));
    assert!(transfers == expected(filter), "{refused}");
}

#[test]
fn answers_of_servers_are_understood() {
    let everything = TransferFilter::default();
    let rows = rows();
    assert!(rows.len() >= 36, "docs/rpc.md lacks rows");
    for (name, status, code, message, then) in rows {
        let server = server();
        let source = one_chunk(&server);
        let refusal = (status, code, message);
        match then {
            "smaller range" => {
                server.limit(|limits| {
                    (limits.range, limits.refusal) = (Some(10), Some(refusal));
                });
                whole(&source, &tokens(), message);
            }
            "smaller batch" => {
                server.limit(|limits| {
                    limits.batch = Some(3);
                    limits.batch_refusal = match (name, code) {
                        (_, 0) => BatchRefusal::Page(status, message),
                        ("geth" | "reth", _) => BatchRefusal::Rest(code, message),
                        _ => BatchRefusal::Errors(status, code, message),
                    };
                });
                whole(&source, &everything, message);
                whole(&source, &tokens(), message);
            }
            "other method" => {
                server.limit(|limits| {
                    limits.without.push("eth_getBlockReceipts");
                    limits.refusal = Some(refusal);
                });
                whole(&source, &everything, message);
            }
            "again" => {
                for method in [
                    "eth_getLogs",
                    "eth_getBlockByNumber",
                    "eth_getBlockReceipts",
                ] {
                    server.fail(method, 2, Fault::Refusal(status, code, message));
                }
                whole(&source, &tokens(), message);
                whole(&source, &everything, message);
                assert_eq!(server.faults_left(), 0);
            }
            "exit status 3" => {
                server.fail("eth_getLogs", 1, Fault::Refusal(status, code, message));
                match scan(&source, &request(tokens())) {
                    Err(SourceError::Failed(failure)) => {
                        assert_eq!(failure.kind, FailureKind::Missing, "{message}");
                    }
                    other => panic!("{message}: {:?}", other.map(|_| ())),
                }
            }
            _ => panic!("{message}: no test of `{then}`"),
        }
    }
}

/// Providers use different ones for the same text.
#[test]
fn the_status_of_a_refusal_does_not_decide() {
    let message = "You can make eth_getLogs requests with up to a 10 block range";
    for status in [200, 400, 403, 413, 422, 429, 500, 503] {
        let server = server();
        server.limit(|limits| {
            (limits.range, limits.refusal) = (Some(10), Some((status, -32600, message)));
        });
        whole(
            &one_chunk(&server),
            &tokens(),
            &format!("{status}: {message}"),
        );
    }
}

#[test]
fn a_limit_that_is_known_is_not_met_again_and_again() {
    let server = server();
    server.limit(|limits| limits.range = Some(3));
    let source = one_chunk(&server);
    for _ in 0..10 {
        check(&source, &tokens());
    }
    let asked = server.take_asked().into_iter();
    let ranges = asked
        .filter(|(method, params)| method == "eth_getLogs" && params[0]["fromBlock"].is_string());
    let number = |value: &serde_json::Value| {
        u64::from_str_radix(value.as_str().unwrap().trim_start_matches("0x"), 16).unwrap()
    };
    let refused = ranges
        .filter(|(_, params)| number(&params[0]["toBlock"]) - number(&params[0]["fromBlock"]) >= 3);
    let refused = refused.count();
    assert!(refused < 60, "{refused} calls beyond the limit");
}
