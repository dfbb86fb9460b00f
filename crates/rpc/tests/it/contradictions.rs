//! Answers with contradictions: a scan is whole, or fails, and never has less than all.
//!
//! The server is a real one on the loopback interface. Each case lets one or all answers of a
//! method contradict themselves, the query or other answers. `TXGRAPH_RPC_CASES` sets the number
//! of cases.

use crate::support::{TIP, options, request, scan, server, tokens, try_open};
use crate::traces::{traced, traces};
use alloy_primitives::B256;
use serde_json::json;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use txgraph_rpc::{FoundTransaction, RpcOptions};
use txgraph_testkit::{
    fixtures,
    random::Xorshift,
    rpc::{Contradiction, Fault, RpcServer},
};
use txgraph_transfers::{BlockRange, Kind, ScanRequest, Transfer, TransferFilter};
use txgraph_work::Retry;

/// Cases if the variable is not set.
const CASES: usize = 1_000;

/// Threads, each with a server.
const THREADS: usize = 4;

/// A method, the query that uses it, and methods that the server lacks so that it is used.
type Method = (&'static str, Query, &'static [&'static str]);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Query {
    /// Everything that has a log.
    Logs,
    /// Values of transactions, tokens and withdrawals.
    Values,
    Withdrawals,
    Internal,
    /// Transactions by hash.
    Transactions,
}

const METHODS: &[Method] = &[
    ("eth_chainId", Query::Values, &[]),
    ("eth_blockNumber", Query::Values, &[]),
    ("eth_getLogs", Query::Logs, &[]),
    ("eth_getBlockByNumber", Query::Logs, &[]),
    ("eth_getBlockByNumber", Query::Values, &[]),
    ("eth_getBlockByNumber", Query::Withdrawals, &[]),
    ("eth_getBlockByNumber", Query::Internal, &[]),
    ("eth_getBlockReceipts", Query::Values, &[]),
    (
        "eth_getTransactionReceipt",
        Query::Values,
        &["eth_getBlockReceipts"],
    ),
    ("debug_traceBlockByNumber", Query::Internal, &[]),
    (
        "trace_block",
        Query::Internal,
        &["debug_traceBlockByNumber"],
    ),
    ("eth_getTransactionByHash", Query::Transactions, &[]),
    ("eth_getTransactionReceipt", Query::Transactions, &[]),
];

impl Query {
    fn filter(self) -> TransferFilter {
        match self {
            Self::Logs => tokens(),
            Self::Values | Self::Transactions => TransferFilter::default(),
            Self::Withdrawals => TransferFilter {
                kinds: vec![Kind::Withdrawal],
                ..TransferFilter::default()
            },
            Self::Internal => traced(),
        }
    }
}

/// A server with traces, and another chain for contradictions.
fn contradicting() -> RpcServer {
    let server = server();
    let [other, _] = fixtures::committed();
    server.set_foreign(&other);
    server.set_traces(|block| {
        traces(block, true, |root| {
            json!([
                {"type": "CALL", "from": root["to"], "to": root["from"], "value": "0x5", "calls": []},
                {"type": "CALL", "from": root["to"], "to": root["from"], "value": "0x6", "calls": []},
            ])
        })
    });
    server
}

fn of_blocks(query: Query, blocks: BlockRange) -> ScanRequest {
    ScanRequest {
        blocks: blocks.into(),
        ..request(query.filter())
    }
}

/// Asks about a few blocks. The answer as text, or the error.
fn ask(
    server: &RpcServer,
    query: Query,
    blocks: BlockRange,
    verify: bool,
    hashes: &[B256],
) -> Result<Answer, String> {
    let options = RpcOptions {
        chain_id: Some(chain_id()),
        verify,
        retry: Some(Retry {
            attempts: 3,
            backoff: std::time::Duration::from_micros(100),
        }),
        ..options()
    };
    let source = try_open(server, "connections=1", options).map_err(|error| error.to_string())?;
    if query == Query::Transactions {
        let found = source.node().transactions(hashes);
        return found
            .map(Answer::Transactions)
            .map_err(|error| error.to_string());
    }
    let scanned = scan(&source, &of_blocks(query, blocks));
    scanned
        .map(|(mut transfers, _)| {
            // Only receipts show how many transactions a block has, after which its withdrawals
            // are numbered.
            if query == Query::Withdrawals {
                transfers.iter_mut().for_each(|it| it.transaction_index = 0);
            }
            Answer::Transfers(transfers)
        })
        .map_err(|error| error.to_string())
}

#[derive(Debug, PartialEq)]
enum Answer {
    Transfers(Vec<Transfer>),
    Transactions(Vec<Option<FoundTransaction>>),
}

impl Answer {
    /// Whether this is all of the other answer, or says what is missing.
    fn is_honest(&self, whole: &Self) -> bool {
        match (self, whole) {
            (Self::Transactions(found), Self::Transactions(whole)) => {
                let mut pairs = found.iter().zip(whole);
                // A server may not know a transaction or its fee, which the answer shows.
                pairs.all(|(found, whole)| match (found, whole) {
                    (Some(found), Some(whole)) if found.fee.is_none() => {
                        *found
                            == FoundTransaction {
                                fee: None,
                                ..whole.clone()
                            }
                    }
                    (found, whole) => found.is_none() || found == whole,
                })
            }
            _ => self == whole,
        }
    }
}

fn chain_id() -> u64 {
    let [_, v2] = fixtures::committed();
    v2.chain_id().unwrap()
}

/// Hashes of transactions of different blocks.
fn hashes() -> Vec<B256> {
    let [_, v2] = fixtures::committed();
    let of_block = |block: serde_json::Value| {
        let transactions = block["transactions"].as_array().unwrap().iter();
        let hash = |it: &serde_json::Value| serde_json::from_value(it["hash"].clone()).unwrap();
        transactions.map(hash).collect::<Vec<B256>>()
    };
    v2.lines("blocks")
        .flat_map(of_block)
        .step_by(17)
        .take(6)
        .collect()
}

#[test]
fn an_answer_is_whole_or_fails() {
    let cases = std::env::var("TXGRAPH_RPC_CASES");
    let cases: usize = cases.map_or(CASES, |cases| cases.parse().expect("a number of cases"));
    let (whole, failed, met) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let hashes = hashes();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (whole, failed, met, hashes) = (&whole, &failed, &met, &hashes);
            scope.spawn(move || {
                let server = contradicting();
                for case in (thread..cases).step_by(THREADS) {
                    let case = case as u64;
                    let (is_whole, is_met) = run(&server, case, hashes);
                    let outcome = if is_whole { whole } else { failed };
                    outcome.fetch_add(1, Ordering::Relaxed);
                    met.fetch_add(is_met.into(), Ordering::Relaxed);
                }
            });
        }
    });
    let (whole, failed, met) = (whole.into_inner(), failed.into_inner(), met.into_inner());
    let counts = format!("{cases} cases, {met} with a fault: {whole} whole, {failed} failed");
    writeln!(std::io::stderr(), "{counts}, 0 silent").unwrap();
    let cases = cases as u64;
    assert_eq!(whole + failed, cases);
    assert!(met > cases / 2, "{met} faults");
    let few = cases / 20;
    assert!(whole > few && failed > few, "{whole} {failed}");
}

/// Runs a case. Whether the answer was whole, and whether an answer was changed.
fn run(server: &RpcServer, case: u64, hashes: &[B256]) -> (bool, bool) {
    let mut random = Xorshift((case + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut next = |end: usize| {
        let number = random.below(end as u64);
        usize::try_from(number).expect("below a usize")
    };
    let (method, query, without) = METHODS[next(METHODS.len())];
    let contradiction = Contradiction::ALL[next(Contradiction::ALL.len())];
    let first = next(39) as u64;
    let last = (first + 1 + next(5) as u64).min(TIP);
    let blocks = BlockRange { first, last };
    // Logs of final blocks are compared with few headers.
    let finalized = (query != Query::Logs && next(2) == 0).then_some(TIP);
    let verify = next(4) == 0;
    let times: usize = [1, 1, 2, 1000][next(4)];
    let after = [0, 0, 1, 2][next(4)];
    let seed = next(usize::MAX) as u64;
    server.clear_faults();
    server.limit(|limits| {
        limits.without = without.to_vec();
        limits.finalized = finalized;
    });
    let expected = ask(server, query, blocks, false, hashes).expect("a whole answer");
    for time in 0..times {
        let fault = Fault::Contradiction(contradiction, seed.wrapping_add(time as u64));
        server.fail_after(method, after, fault);
    }
    let about = format!(
        "case {case}: {contradiction:?} in {method} for {query:?}, blocks {first} to {last}, \
         after {after}, {times} times, finalized {finalized:?}, verify {verify}"
    );
    let answer = ask(server, query, blocks, verify, hashes);
    let is_met = server.faults_left() < times;
    match answer {
        Ok(answer) => {
            assert!(
                answer.is_honest(&expected),
                "{about}\n{answer:?}\n{expected:?}"
            );
            (true, is_met)
        }
        Err(error) => {
            assert!(!error.is_empty(), "{about}");
            (false, is_met)
        }
    }
}
