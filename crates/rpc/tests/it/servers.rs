//! The answers of servers in the table of `docs/rpc.md`, as they were recorded.

use crate::support::{check, expected, one_chunk, request, scan, server, tokens};
use txgraph_rpc::RpcSource;
use txgraph_testkit::rpc::{BatchRefusal, Fault};
use txgraph_transfers::{FailureKind, SourceError, TransferFilter};

/// The reaction to an answer, in the words of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    SmallerRange,
    SmallerBatch,
    Again,
    OtherMethod,
    NoData,
}

impl Then {
    const fn text(self) -> &'static str {
        match self {
            Self::SmallerRange => "smaller range",
            Self::SmallerBatch => "smaller batch",
            Self::Again => "again",
            Self::OtherMethod => "other method",
            Self::NoData => "exit status 3",
        }
    }
}

/// Server, HTTP status, code, message.
type Row = (&'static str, u16, i64, &'static str, Then);

/// From the source of the servers, and from answers in public issues. Numbers of blocks vary.
const ROWS: &[Row] = &[
    (
        "Alchemy",
        400,
        -32600,
        "You can make eth_getLogs requests with up to a 500 block range. Based on your parameters, this block range should work: [0x1a30dfd, 0x1a30ff0]",
        Then::SmallerRange,
    ),
    (
        "Alchemy, free",
        400,
        -32600,
        "You can make eth_getLogs requests with up to a 10 block range",
        Then::SmallerRange,
    ),
    (
        "Alchemy",
        200,
        -32602,
        "Log response size exceeded. Please reduce query block range.",
        Then::SmallerRange,
    ),
    (
        "Alchemy",
        429,
        429,
        "Your app has exceeded its compute units per second capacity",
        Then::Again,
    ),
    (
        "Alchemy",
        400,
        -32600,
        "eth_getBlockReceipts is not available on the Free tier",
        Then::OtherMethod,
    ),
    (
        "Alchemy",
        400,
        -32600,
        "Unsupported method: eth_getBlockReceipts",
        Then::OtherMethod,
    ),
    (
        "Alchemy",
        400,
        -32600,
        "Unsupported methods [trace_block] in batch call",
        Then::SmallerBatch,
    ),
    (
        "dRPC",
        400,
        35,
        "ranges over 10000 blocks are not supported on freetier",
        Then::SmallerRange,
    ),
    (
        "dRPC",
        408,
        30,
        "Request timeout on the free tier, please upgrade your tier to the paid one",
        Then::SmallerRange,
    ),
    (
        "dRPC",
        200,
        31,
        "Batch of more than 3 requests are not allowed on free tier, to use this feature register paid account at drpc.org",
        Then::SmallerBatch,
    ),
    (
        "Infura",
        200,
        -32602,
        "range 1000000 exceeds limit of 10000",
        Then::SmallerRange,
    ),
    (
        "Infura",
        200,
        -32005,
        "query returned more than 10000 results",
        Then::SmallerRange,
    ),
    (
        "Infura",
        429,
        -32005,
        "daily request count exceeded, request rate limited",
        Then::Again,
    ),
    (
        "QuickNode",
        413,
        -32614,
        "eth_getLogs is limited to a 10,000 range",
        Then::SmallerRange,
    ),
    (
        "a provider",
        200,
        -32603,
        "Archive, Debug and Trace requests are not available on free tier",
        Then::OtherMethod,
    ),
    (
        "Arbitrum",
        200,
        -32000,
        "logs matched by query exceeds limit of 10000",
        Then::SmallerRange,
    ),
    (
        "BSC",
        200,
        -32000,
        "exceed maximum block range: 5000",
        Then::SmallerRange,
    ),
    (
        "Morph",
        200,
        -32000,
        "block range is larger than max block range, block range = 5120, max block range = 5000",
        Then::SmallerRange,
    ),
    (
        "geth",
        200,
        -32003,
        "response too large",
        Then::SmallerBatch,
    ),
    ("geth", 200, -32000, "block #197 not found", Then::Again),
    ("geth", 200, -32000, "header not found", Then::Again),
    (
        "geth",
        200,
        -32602,
        "invalid block range params",
        Then::Again,
    ),
    (
        "geth",
        200,
        4444,
        "pruned history unavailable",
        Then::NoData,
    ),
    (
        "geth",
        200,
        -32601,
        "the method eth_getBlockReceipts does not exist/is not available",
        Then::OtherMethod,
    ),
    (
        "reth",
        200,
        -32602,
        "query exceeds max block range 100000",
        Then::SmallerRange,
    ),
    (
        "reth",
        200,
        -32602,
        "query exceeds max results 20000, retry with the range 25766988-25775072",
        Then::SmallerRange,
    ),
    (
        "reth",
        200,
        -32602,
        "block range extends beyond current head block: requested 21000100, head 21000000",
        Then::Again,
    ),
    (
        "reth",
        200,
        -32008,
        "Response is too big",
        Then::SmallerBatch,
    ),
    (
        "Erigon",
        200,
        -32000,
        "block not found 11185311",
        Then::Again,
    ),
    (
        "Erigon",
        200,
        -32000,
        "getReceipt error: ReceiptsGen: PrepareEnv: bn=71837901, old data not available due to pruning",
        Then::NoData,
    ),
    (
        "Erigon",
        200,
        -32000,
        "seek with txNum=1962853355 but data before txNum=2662500000 is not available",
        Then::NoData,
    ),
    (
        "Nethermind",
        200,
        -32001,
        "Receipt not available for 'From' block '1273020'.",
        Then::NoData,
    ),
    (
        "Nethermind",
        200,
        -32000,
        "No state available for block 0x1273020",
        Then::NoData,
    ),
    (
        "OpenEthereum",
        200,
        -32000,
        "One of the blocks specified in filter (fromBlock, toBlock or blockHash) cannot be found",
        Then::Again,
    ),
    (
        "Hiero",
        200,
        -32007,
        "Method eth_getBlockReceipts is not permitted as part of batch requests",
        Then::SmallerBatch,
    ),
    (
        "a gateway",
        403,
        0,
        "<html>batches are forbidden</html>",
        Then::SmallerBatch,
    ),
];

/// Asserts that an answer is whole, although the server refused something.
fn whole(source: &RpcSource, filter: &TransferFilter, refused: &str) {
    let (transfers, _) =
        scan(source, &request(filter.clone())).unwrap_or_else(|error| panic!("{refused}: {error}"));
    assert!(transfers == expected(filter), "{refused}");
}

#[test]
fn answers_of_servers_are_understood() {
    let everything = TransferFilter::default();
    for (name, status, code, message, then) in ROWS.iter().copied() {
        let server = server();
        let source = one_chunk(&server);
        let refusal = (status, code, message);
        match then {
            Then::SmallerRange => {
                server.limit(|limits| {
                    (limits.range, limits.refusal) = (Some(10), Some(refusal));
                });
                whole(&source, &tokens(), message);
            }
            Then::SmallerBatch => {
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
            Then::OtherMethod => {
                server.limit(|limits| {
                    limits.without.push("eth_getBlockReceipts");
                    limits.refusal = Some(refusal);
                });
                whole(&source, &everything, message);
            }
            Then::Again => {
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
            Then::NoData => {
                server.fail("eth_getLogs", 1, Fault::Refusal(status, code, message));
                match scan(&source, &request(tokens())) {
                    Err(SourceError::Failed(failure)) => {
                        assert_eq!(failure.kind, FailureKind::Missing, "{message}");
                    }
                    other => panic!("{message}: {:?}", other.map(|_| ())),
                }
            }
        }
    }
}

#[test]
fn the_table_of_servers_has_all_answers() {
    let page = include_str!("../../../../docs/rpc.md");
    let table = page.split("## Servers").nth(1).unwrap();
    let table = table.split("\n## ").next().unwrap();
    let in_page = table.lines().filter(|line| line.starts_with("| "));
    assert_eq!(
        in_page.count(),
        ROWS.len() + 2,
        "with the two lines of the head"
    );
    for (server, status, _, message, then) in ROWS {
        let row = format!("| {server} | {status} | `{message}` | {} |", then.text());
        assert!(table.contains(&row), "docs/rpc.md lacks\n{row}");
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
    assert!(refused < 60, "{refused} questions beyond the limit");
}
