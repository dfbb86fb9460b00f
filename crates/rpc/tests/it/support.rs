//! Sources of local servers, and requests.

use serde_json::Value;
use std::time::Duration;
use txgraph_rpc::{Endpoint, Error, RpcNode, RpcOptions, RpcSource};
pub(crate) use txgraph_testkit::queries::ask as scan;
use txgraph_testkit::{
    fixtures,
    queries::{everything, range},
    rpc::RpcServer,
};
use txgraph_transfers::{
    FailureKind, ScanReport, ScanRequest, SourceError, TokenFilter, Transfer, TransferFilter,
    WrappedNative,
};
use txgraph_work::{CancelFlag, Retry, Threads, WorkContext};

/// The last block of the committed chain.
pub(crate) const TIP: u64 = 40;

/// A server of the committed chain.
pub(crate) fn server() -> RpcServer {
    let [_v1, v2] = fixtures::committed();
    RpcServer::start(&v2)
}

pub(crate) fn options() -> RpcOptions {
    RpcOptions {
        retry: Some(Retry {
            attempts: 4,
            backoff: Duration::from_millis(1),
        }),
        ..RpcOptions::default()
    }
}

pub(crate) fn open(server: &RpcServer, location: &str, options: RpcOptions) -> RpcSource {
    try_open(server, location, options).unwrap()
}

pub(crate) fn try_open(
    server: &RpcServer,
    location: &str,
    options: RpcOptions,
) -> txgraph_rpc::Result<RpcSource> {
    let endpoint = Endpoint::parse(&format!("{}/KEY#{location}", server.url()))?;
    let node = RpcNode::open(endpoint, options, CancelFlag::new())?;
    let work = WorkContext {
        threads: Threads::new(2).unwrap(),
        ..WorkContext::default()
    };
    Ok(RpcSource::new(node, work))
}

/// The error of opening the server.
pub(crate) fn unopened(server: &RpcServer, options: RpcOptions) -> Error {
    try_open(server, "", options).map(drop).unwrap_err()
}

/// A source with the usual options, whose opening is not among the calls of the server.
pub(crate) fn source(server: &RpcServer) -> RpcSource {
    let source = open(server, "", options());
    server.take_asked();
    source
}

/// Like [`source`], with all blocks in one chunk, so that requests come in one order.
pub(crate) fn one_chunk(server: &RpcServer) -> RpcSource {
    let options = RpcOptions {
        chunk_blocks: Some(TIP + 1),
        ..options()
    };
    let source = open(server, "", options);
    server.take_asked();
    source
}

pub(crate) fn request(filter: TransferFilter) -> ScanRequest {
    ScanRequest {
        filter,
        wrapped_native: WrappedNative::Any,
        with_hashes: true,
        ..everything(range(0, TIP))
    }
}

/// Everything that has a log.
pub(crate) fn tokens() -> TransferFilter {
    use txgraph_transfers::TokenStandard::{Erc20, Erc721, Erc1155};
    TransferFilter {
        standards: vec![Erc20, Erc721, Erc1155],
        ..TransferFilter::default()
    }
}

pub(crate) fn only(tokens: &[alloy_primitives::Address], native: bool) -> TransferFilter {
    TransferFilter {
        tokens: TokenFilter::Only {
            tokens: tokens.iter().copied().collect(),
            native,
        },
        ..TransferFilter::default()
    }
}

pub(crate) fn refused(source: &RpcSource, request: &ScanRequest) -> SourceError {
    scan(source, request).map(drop).unwrap_err()
}

/// The error of a scan, which is a failure of this kind.
#[track_caller]
pub(crate) fn fails(source: &RpcSource, filter: TransferFilter, kind: FailureKind) -> SourceError {
    let error = refused(source, &request(filter));
    assert!(
        matches!(&error, SourceError::Failed(failure) if failure.kind == kind),
        "{error:?}"
    );
    error
}

/// How often a method was asked.
pub(crate) fn count(asked: &[(String, Value)], method: &str) -> usize {
    asked.iter().filter(|(name, _)| name == method).count()
}

/// The results of an answer to one call or a batch.
pub(crate) fn results(answer: &mut Value) -> impl Iterator<Item = &mut Value> {
    let answers = match answer {
        Value::Array(answers) => answers.as_mut_slice(),
        one => std::slice::from_mut(one),
    };
    answers.iter_mut().map(|it| &mut it["result"])
}

/// The items of results that are lists.
pub(crate) fn items(answer: &mut Value) -> impl Iterator<Item = &mut Value> {
    results(answer).flat_map(|it| it.as_array_mut().unwrap())
}

/// The first result is null.
pub(crate) fn null(answer: &mut Value) {
    *results(answer).next().unwrap() = Value::Null;
}

/// The transfers of the committed chain that match a filter.
pub(crate) fn expected(filter: &TransferFilter) -> Vec<Transfer> {
    let [_v1, v2] = fixtures::committed();
    let all = txgraph_testkit::naive::decode_fixture(&v2).transfers;
    all.into_iter()
        .filter(|transfer| filter.matches(transfer))
        .collect()
}

/// Asserts that the source answers a filter as the naive decoder does.
pub(crate) fn check(source: &RpcSource, filter: &TransferFilter) -> ScanReport {
    let (transfers, report) = scan(source, &request(filter.clone())).unwrap();
    let expected = expected(filter);
    assert!(!expected.is_empty());
    assert!(transfers == expected, "{filter:?}");
    assert_eq!(report.counts.transfers, expected.len() as u64);
    assert_eq!(report.counts.blocks, TIP + 1);
    report
}
