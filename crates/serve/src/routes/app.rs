//! The parts that all requests share, and the parts of responses.

use crate::{
    access::{Access, Refused},
    ask::Anchor,
    fault::Answer,
    head::Head,
    metrics::Metrics,
    rpc::Filters,
    settings::{AccessLog, Limits, Names},
    unsent::Unsent,
    workers::{Pool, Workers},
};
use axum::{
    body::{Body, HttpBody, to_bytes},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::Value;
use std::{
    net::SocketAddr,
    sync::{Arc, atomic::Ordering},
};
use tokio::time::timeout;

pub(super) const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";

/// The number and the hash of the block that an answer is about.
const BLOCK: HeaderName = HeaderName::from_static("x-txgraph-block");
/// The number of calls that the server of the node answered. What it answers is not about the block of
/// [`BLOCK`], which is absent if nothing was answered from the disk.
const PASSED: HeaderName = HeaderName::from_static("x-txgraph-passed");
/// Set if an answer is an error because blocks are missing, or may lack a row for that reason.
const INCOMPLETE: HeaderName = HeaderName::from_static("x-txgraph-incomplete");

/// The parts that all requests share.
pub(crate) struct App {
    pub(crate) workers: Workers,
    /// The threads that wait for the server of the node. Workers have other threads, so that a node that
    /// does not answer delays no request for what is here.
    pub(crate) passing: Pool,
    pub(crate) access: Access,
    pub(crate) unsent: Unsent,
    pub(crate) head: Option<Arc<Head>>,
    pub(crate) names: Names,
    pub(crate) filters: Filters,
    pub(crate) limits: Limits,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) access_log: Option<AccessLog>,
}

/// The other end of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) SocketAddr);

/// The method or action, for the access log.
#[derive(Clone, Debug)]
pub(super) struct Asked(pub(super) String);

pub(super) fn refuse((status, why): Refused) -> Response {
    let mut response = (status, [(header::CONTENT_TYPE, TEXT)], format!("{why}\n")).into_response();
    if status == StatusCode::UNAUTHORIZED {
        let scheme = HeaderValue::from_static("Bearer");
        (response.headers_mut()).insert(header::WWW_AUTHENTICATE, scheme);
    }
    response
}

pub(super) fn document(status: StatusCode, body: Vec<u8>) -> Response {
    (status, [(header::CONTENT_TYPE, JSON)], body).into_response()
}

/// A document, and whether it is an error because blocks are missing, or may lack a row for that reason.
pub(super) fn json_document(status: StatusCode, body: &Value, is_missing: bool) -> Response {
    let mut response = document(status, body.to_string().into_bytes());
    if is_missing {
        let headers = response.headers_mut();
        headers.insert(INCOMPLETE, HeaderValue::from_static("1"));
    }
    response
}

/// States the block that an answer is about, and how much of it the server of the node answered.
pub(super) fn anchored(response: &mut Response, app: &App, anchor: Option<Anchor>, passed: usize) {
    if passed > 0 {
        response.headers_mut().insert(PASSED, passed.into());
    }
    if let Some(Anchor { number, hash }) = anchor {
        app.metrics.tip.store(number, Ordering::Relaxed);
        if let Ok(value) = HeaderValue::from_str(&format!("{number} {hash}")) {
            response.headers_mut().insert(BLOCK, value);
        }
    }
}

/// Reads a body of at most as many bytes as `most`, within the limit of time.
pub(super) async fn read_body(app: &App, body: Body, most: usize) -> Result<Vec<u8>, Refused> {
    const TOO_LARGE: Refused = (StatusCode::PAYLOAD_TOO_LARGE, "the body is too large");
    if body.size_hint().lower() > most as u64 {
        return Err(TOO_LARGE);
    }
    let read = to_bytes(body, most);
    match timeout(app.limits.send_time, read).await {
        Ok(Ok(bytes)) => Ok(bytes.into()),
        Ok(Err(_)) => Err(TOO_LARGE),
        Err(_) => Err((StatusCode::REQUEST_TIMEOUT, "the body took too long")),
    }
}

pub(super) fn has_content_type(headers: &HeaderMap, wanted: &str) -> bool {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default();
    kind.trim().eq_ignore_ascii_case(wanted)
}

/// An answer and its block, or the fault because of which there was no work.
pub(super) fn flattened<T>(
    worked: Answer<(Option<Anchor>, Answer<T>)>,
) -> (Option<Anchor>, Answer<T>) {
    worked.unwrap_or_else(|fault| (None, Err(fault)))
}
