//! Paths, and what is answered there.

use crate::{
    access::{Access, Refused},
    api,
    ask::{Anchor, Ask},
    calls::{self, id_of, invalid, joined, refusal, too_large, with_passed},
    etherscan::{self, Document, Query},
    fault::{Answer, Fault},
    head::Head,
    metrics::Metrics,
    page,
    rpc::{self, Found},
    settings::{AccessLog, Limits, Names},
    workers::{Pool, Workers},
};
use axum::{
    Router,
    body::{Body, HttpBody, to_bytes},
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde_json::{Value, json};
use std::{
    net::SocketAddr,
    sync::{Arc, LazyLock, atomic::Ordering},
    time::{Instant, SystemTime},
};
use tokio::time::timeout;
use txgraph::CancelFlag;

const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";

/// The number and the hash of the block that an answer is about.
const BLOCK: HeaderName = HeaderName::from_static("x-txgraph-block");
/// The number of calls that the server of the node answered. What it answers is not about the block of
/// [`BLOCK`], which is absent if nothing was answered from the disk.
const PASSED: HeaderName = HeaderName::from_static("x-txgraph-passed");
/// Set if an answer is an error because blocks are missing.
const INCOMPLETE: HeaderName = HeaderName::from_static("x-txgraph-incomplete");

/// The parts that all requests share.
pub(crate) struct App {
    pub(crate) workers: Workers,
    /// The threads that wait for the server of the node. Workers have other threads, so that a node that
    /// does not answer delays no request for what is here.
    pub(crate) passing: Pool,
    pub(crate) access: Access,
    pub(crate) head: Option<Arc<Head>>,
    pub(crate) names: Names,
    pub(crate) limits: Limits,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) access_log: Option<AccessLog>,
}

/// The other end of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) SocketAddr);

/// The method or action, for the access log.
#[derive(Clone, Debug)]
struct Asked(String);

/// All paths.
pub(crate) fn router(app: Arc<App>) -> Router {
    let pages = page::PATHS.into_iter().filter(|path| *path != "/");
    let pages = pages.fold(Router::new(), |router, path| router.route(path, get(page)));
    pages
        .route("/", post(json_rpc).get(page))
        .route("/api", get(query).post(query))
        .route("/v2/api", get(query).post(query))
        .route("/v1/{*path}", get(own))
        .route("/health", get(health))
        .route("/metrics", get(metrics))
        .fallback(|| async { refuse((StatusCode::NOT_FOUND, "there is nothing under this path")) })
        .layer(from_fn_with_state(app.clone(), around))
        .with_state(app)
}

/// Checks who asks, and counts and logs the request.
async fn around(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let peer = request.extensions().get::<Peer>().copied();
    let (uri, headers) = (request.uri(), request.headers());
    let allowed = app
        .access
        .check_host(uri, headers)
        .and_then(|()| match path.as_str() {
            "/health" => Ok(()),
            path if page::is_file(&method, path) => Ok(()),
            _ => app.access.check_token(uri, headers),
        });
    let mut response = match allowed {
        Ok(()) => next.run(request).await,
        Err(refused) => refuse(refused),
    };
    let headers = response.headers_mut();
    let mut set = |name, value| {
        // The page has a policy of its own.
        headers
            .entry(name)
            .or_insert(HeaderValue::from_static(value));
    };
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(header::CONTENT_SECURITY_POLICY, "default-src 'none'");
    set(header::REFERRER_POLICY, "no-referrer");
    set(header::CACHE_CONTROL, "no-cache");
    let (status, time) = (response.status().as_u16(), started.elapsed());
    let interface = match path.as_str() {
        path if page::is_file(&method, path) => "page",
        "/" => "rpc",
        "/api" | "/v2/api" => "etherscan",
        path if path.starts_with(api::PREFIX) => "own",
        _ => "other",
    };
    app.metrics.request(interface, status, time);
    if let Some(log) = &app.access_log {
        let asked = response.extensions().get::<Asked>();
        let asked = asked.map_or("-", |asked| asked.0.as_str());
        let peer = peer.map_or_else(|| "-".to_owned(), |peer| peer.0.to_string());
        let milliseconds = time.as_secs_f64() * 1000.0;
        log(&format_args!(
            "{peer} {method} {path:.100} {asked} {status} {milliseconds:.1} ms"
        ));
    }
    response
}

fn refuse((status, why): Refused) -> Response {
    (status, [(header::CONTENT_TYPE, TEXT)], format!("{why}\n")).into_response()
}

fn document(status: StatusCode, body: Vec<u8>) -> Response {
    (status, [(header::CONTENT_TYPE, JSON)], body).into_response()
}

/// States the block that an answer is about, and how much of it the server of the node answered.
fn anchored(response: &mut Response, app: &App, anchor: Option<Anchor>, passed: usize) {
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

async fn page(request: Request) -> Response {
    page::answer(request.uri().path(), request.headers())
}

async fn metrics(State(app): State<Arc<App>>) -> Response {
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], app.metrics.text()).into_response()
}

async fn health(State(app): State<Arc<App>>) -> Response {
    let tip = app.workers.run(|source, _| source.tip_block()).await;
    let (status, body) = match tip.and_then(|tip| Ok(tip?)) {
        Ok((number, hash)) => (
            StatusCode::OK,
            json!({ "status": "ok", "block": number, "hash": hash }),
        ),
        Err(fault) => (
            StatusCode::SERVICE_UNAVAILABLE,
            json!({ "status": "failing", "error": fault.message() }),
        ),
    };
    document(status, body.to_string().into_bytes())
}

/// Reads a body within its limits of bytes and time.
async fn read_body(app: &App, body: Body) -> Result<Vec<u8>, Refused> {
    const TOO_LARGE: Refused = (StatusCode::PAYLOAD_TOO_LARGE, "the body is too large");
    let most = app.limits.body_bytes;
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

fn has_content_type(headers: &HeaderMap, wanted: &str) -> bool {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default();
    kind.trim().eq_ignore_ascii_case(wanted)
}

async fn json_rpc(State(app): State<Arc<App>>, headers: HeaderMap, body: Body) -> Response {
    // A page of another site can send other types without a permission.
    if !has_content_type(&headers, JSON) {
        let why = "JSON-RPC has the content type application/json";
        return refuse((StatusCode::UNSUPPORTED_MEDIA_TYPE, why));
    }
    let body = match read_body(&app, body).await {
        Ok(body) => body,
        Err(refused) => return refuse(refused),
    };
    let parsed: Result<Value, _> = serde_json::from_slice(&body);
    drop(body);
    let (calls, is_batch) = match parsed {
        Ok(Value::Array(all)) if all.is_empty() => (Err(invalid("empty batch")), true),
        Ok(Value::Array(all)) if all.len() > app.limits.batch => {
            let most = app.limits.batch;
            let why = format!("batch too large: at most {most} requests");
            (Err(invalid(&why)), true)
        }
        Ok(Value::Array(all)) => (Ok(all), true),
        Ok(one) => (Ok(vec![one]), false),
        Err(error) => {
            let error = json!({ "code": -32700, "message": format!("parse error: {error}") });
            (Err(error), false)
        }
    };
    let calls = match calls {
        Ok(calls) => calls,
        Err(error) => {
            let body = calls::error(&Value::Null, &error);
            return document(StatusCode::OK, body.to_string().into_bytes());
        }
    };
    let asked = match (calls.first(), calls.len()) {
        (Some(one), 1) => {
            let method = one.get("method").and_then(Value::as_str).unwrap_or("-");
            rpc::known(method).unwrap_or("other").to_owned()
        }
        (_, count) => format!("batch({count})"),
    };
    let calls: Arc<[Value]> = calls.into();
    let deadline = Instant::now() + app.limits.time;
    let (shared, all) = (app.clone(), calls.clone());
    let worked = app.workers.run(move |source, deadline| {
        let head = shared.head.as_deref();
        Ask::consistent(source, head, &shared.limits, |ask| {
            parts(&shared, ask, &all, deadline)
        })
    });
    let (anchor, found) = flattened(worked.await);
    let (texts, passed, is_busy) = match found {
        Ok(parts) => {
            let passed = parts.iter().filter(|part| part.is_none()).count();
            let done = match passed {
                0 => Ok(Vec::new()),
                _ => pass(&app, &calls, &parts, deadline).await,
            };
            let is_busy = passed == calls.len() && matches!(done, Err(Fault::Busy));
            (with_passed(&calls, parts, done), passed, is_busy)
        }
        Err(fault) => {
            let texts = calls.iter().map(|call| refusal(&id_of(call), &fault));
            let texts = texts.map(|text| text.to_string()).collect();
            (texts, 0, matches!(fault, Fault::Busy))
        }
    };
    let status = match is_busy {
        true => StatusCode::SERVICE_UNAVAILABLE,
        false => StatusCode::OK,
    };
    let mut response = document(status, joined(&app.limits, &calls, texts, is_batch));
    let anchor = anchor.filter(|_| passed < calls.len());
    anchored(&mut response, &app, anchor, passed);
    response.extensions_mut().insert(Asked(asked));
    response
}

/// Passes the calls on that have no part here. Returns their responses, in order.
async fn pass(
    app: &Arc<App>,
    calls: &Arc<[Value]>,
    parts: &[Option<String>],
    deadline: Instant,
) -> Answer<Vec<String>> {
    let (shared, calls) = (app.clone(), calls.clone());
    let numbered = parts.iter().enumerate();
    let wanted = numbered.filter_map(|(at, part)| part.is_none().then_some(at));
    let wanted: Vec<usize> = wanted.collect();
    let work = move |stop: CancelFlag| {
        let wanted = wanted.iter().filter_map(|at| calls.get(*at));
        let mut left = shared.limits.answer_bytes;
        // What was answered before the time ended is not lost: it may have been a transaction.
        let texts = wanted.map(|call| match left {
            _ if stop.is_canceled() => refusal(&id_of(call), &Fault::Late).to_string(),
            0 => too_large(&shared.limits, call),
            _ => {
                let text = passed_on(&shared, call, deadline);
                let is_within = text.len() <= left;
                left = left.saturating_sub(text.len());
                match is_within {
                    true => text,
                    false => too_large(&shared.limits, call),
                }
            }
        });
        Ok(texts.collect())
    };
    app.passing.run(deadline, work).await
}

/// The response of the node to a call; empty for a notification.
fn passed_on(app: &App, call: &Value, deadline: Instant) -> String {
    let id = id_of(call);
    let method = call.get("method").and_then(Value::as_str);
    let method = method.unwrap_or_default();
    let params = call.get("params").unwrap_or(&Value::Null);
    let answer = ask_head(app, &id, method, params, deadline);
    match (call.get("id"), answer) {
        (None, _) => String::new(),
        (_, Ok(text)) => text,
        (_, Err(fault)) => refusal(&id, &fault).to_string(),
    }
}

/// Asks the server of the node, and counts the call.
fn ask_head(
    app: &App,
    id: &Value,
    method: &str,
    params: &Value,
    deadline: Instant,
) -> Answer<String> {
    let answer = match &app.head {
        Some(head) => head.ask(id, method, params, deadline),
        None => Err(Fault::Method(method.to_owned())),
    };
    let is_answered = answer.as_ref().is_ok_and(|passed| passed.is_result);
    (app.metrics).call(rpc::known(method).unwrap_or("other"), is_answered);
    answer.map(|passed| passed.text)
}

/// Answers the calls of one request from the disk, in order: a response for each, empty for a
/// notification, or nothing if the server of the node is to be asked. It is asked later, because calls are
/// answered again if the chain was reorganized, and a transaction must not be sent again.
fn parts(
    app: &App,
    ask: &Ask<'_>,
    calls: &[Value],
    deadline: Instant,
) -> Answer<Vec<Option<String>>> {
    let (mut all, mut bytes) = (Vec::with_capacity(calls.len()), 0);
    for call in calls {
        let mut part = part(app, ask, call, deadline)?;
        if let Some(text) = &mut part {
            if bytes + text.len() > app.limits.answer_bytes {
                *text = too_large(&app.limits, call);
            }
            bytes += text.len();
        }
        all.push(part);
    }
    Ok(all)
}

/// Answers one call.
fn part(app: &App, ask: &Ask<'_>, call: &Value, deadline: Instant) -> Answer<Option<String>> {
    let id = id_of(call);
    let is_version_2 = call.get("jsonrpc").and_then(Value::as_str) == Some("2.0");
    let method = call.get("method").and_then(Value::as_str);
    let (true, Some(method)) = (is_version_2, method) else {
        let response = calls::error(&id, &invalid("invalid request"));
        return Ok(Some(response.to_string()));
    };
    let params = call.get("params").unwrap_or(&Value::Null);
    let found = match Instant::now() >= deadline || ask.source.is_interrupted() {
        true => Err(Fault::Late),
        false => rpc::answer(ask, method, params),
    };
    let found = match found {
        Ok(Found::Pass) => return Ok(None),
        Ok(Found::Here(result)) => Ok(result),
        Err(fault) => Err(fault),
    };
    (app.metrics).call(rpc::known(method).unwrap_or("other"), found.is_ok());
    Ok(Some(match found {
        // Everything is asked again.
        Err(Fault::Source(error)) if error.kind == txgraph::ErrorKind::Reorged => {
            return Err(Fault::Source(error));
        }
        _ if call.get("id").is_none() => String::new(),
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string(),
        Err(fault) => refusal(&id, &fault).to_string(),
    }))
}

async fn query(State(app): State<Arc<App>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let is_get = parts.method == Method::GET;
    let form = has_content_type(&parts.headers, "application/x-www-form-urlencoded");
    let body = match form && !is_get {
        true => match read_body(&app, body).await {
            Ok(body) => body,
            Err(refused) => return refuse(refused),
        },
        false => Vec::new(),
    };
    let query = Query::parse(parts.uri.query().unwrap_or_default(), &body);
    let needs_chain = parts.uri.path() == "/v2/api";
    let name = etherscan::known(&query);
    let has_tag = parts.headers.get(header::IF_NONE_MATCH).filter(|_| is_get);
    let has_tag = has_tag.and_then(|tag| tag.to_str().ok()).map(str::to_owned);
    let deadline = Instant::now() + app.limits.time;
    let shared = app.clone();
    let worked = app.workers.run(move |source, _| {
        let head = shared.head.as_deref();
        Ask::consistent(source, head, &shared.limits, |ask| {
            // The document of a settled answer, and nothing else, gets a tag.
            if has_tag.as_deref() == Some(tag(&ask.tip).as_str()) {
                return Ok(None);
            }
            etherscan::answer(ask, &query, needs_chain).map(Some)
        })
    });
    let (anchor, answer) = flattened(worked.await);
    let mut response = match answer {
        Ok(Some(Document::Pass { method, params })) => {
            let text = pass_action(&app, method, params, deadline).await;
            let mut response = document(StatusCode::OK, text.into_bytes());
            anchored(&mut response, &app, None, 1);
            response
        }
        here => {
            let is_answered = match &here {
                Ok(Some(Document::Here { is_settled, .. })) => *is_settled,
                Ok(_) => true,
                Err(_) => false,
            };
            app.metrics.call(name.unwrap_or("other"), is_answered);
            let anchor_tag = anchor.filter(|_| is_answered && is_get);
            let mut response = documented(here, anchor_tag);
            anchored(&mut response, &app, anchor, 0);
            response
        }
    };
    response
        .extensions_mut()
        .insert(Asked(name.unwrap_or("other").to_owned()));
    response
}

/// Passes a method on that is the action of a query.
async fn pass_action(
    app: &Arc<App>,
    method: &'static str,
    params: Value,
    deadline: Instant,
) -> String {
    let shared = app.clone();
    let work = move |_| ask_head(&shared, &1.into(), method, &params, deadline);
    let answer = app.passing.run(deadline, work).await;
    answer.unwrap_or_else(|fault| refusal(&1.into(), &fault).to_string())
}

/// The response with a document from the disk, which gets a tag if it is settled.
fn documented(answer: Answer<Option<Document>>, settled: Option<Anchor>) -> Response {
    match answer {
        Ok(Some(Document::Here {
            body, is_missing, ..
        })) => {
            let mut response = document(StatusCode::OK, body.to_string().into_bytes());
            if is_missing {
                let headers = response.headers_mut();
                headers.insert(INCOMPLETE, HeaderValue::from_static("1"));
            }
            tagged(&mut response, settled);
            response
        }
        Ok(_) => StatusCode::NOT_MODIFIED.into_response(),
        Err(fault) => {
            let body = etherscan::refusal(&fault).to_string();
            document(StatusCode::OK, body.into_bytes())
        }
    }
}

/// Answers the API of this project.
async fn own(State(app): State<Arc<App>>, uri: Uri, headers: HeaderMap) -> Response {
    let (path, query) = (uri.path(), uri.query());
    let name = api::known(path);
    let header = |name| {
        let value = headers.get(name);
        value.and_then(|value: &HeaderValue| value.to_str().ok())
    };
    let accept = header(header::ACCEPT).unwrap_or_default();
    let asked = api::read(path, query.unwrap_or_default(), accept);
    let media_type = asked.as_ref().map_or(JSON, api::Request::media_type);
    // Documents of other types have other tags.
    let has_tag = header(header::IF_NONE_MATCH).filter(|_| media_type == JSON);
    let has_tag = has_tag.map(str::to_owned);
    let shared = app.clone();
    let worked = match asked {
        Ok(asked) => {
            let worked = app.workers.run(move |source, _| {
                Ask::consistent(source, None, &shared.limits, |ask| {
                    match has_tag.as_deref() == Some(tag(&ask.tip).as_str()) {
                        true => Ok(None),
                        false => api::answer(ask, &shared.names, &asked).map(Some),
                    }
                })
            });
            worked.await
        }
        Err(fault) => Err(fault),
    };
    let (anchor, answer) = flattened(worked);
    app.metrics.call(name.unwrap_or("other"), answer.is_ok());
    let mut response = match answer {
        Ok(None) => StatusCode::NOT_MODIFIED.into_response(),
        Ok(Some(body)) => {
            (StatusCode::OK, [(header::CONTENT_TYPE, media_type)], body).into_response()
        }
        Err(fault) => {
            let (status, body) = api::refusal(path, &fault);
            let status = StatusCode::from_u16(status);
            let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            let mut response = document(status, body.to_string().into_bytes());
            if fault.is_missing() {
                let headers = response.headers_mut();
                headers.insert(INCOMPLETE, HeaderValue::from_static("1"));
            }
            response
        }
    };
    // An answer stays the same as long as the newest block does.
    let is_settled = [StatusCode::OK, StatusCode::NOT_MODIFIED].contains(&response.status());
    tagged(
        &mut response,
        anchor.filter(|_| is_settled && media_type == JSON),
    );
    anchored(&mut response, &app, anchor, 0);
    response
        .extensions_mut()
        .insert(Asked(name.unwrap_or("other").to_owned()));
    response
}

/// An answer and its block, or the fault because of which there was no work.
fn flattened<T>(worked: Answer<(Option<Anchor>, Answer<T>)>) -> (Option<Anchor>, Answer<T>) {
    worked.unwrap_or_else(|fault| (None, Err(fault)))
}

/// Adds the tag of a settled answer.
fn tagged(response: &mut Response, settled: Option<Anchor>) {
    if let Some(anchor) = settled
        && let Ok(value) = HeaderValue::from_str(&tag(&anchor))
    {
        response.headers_mut().insert(header::ETAG, value);
    }
}

/// The tag of answers about a block. Another process may have other labels, or another version.
fn tag(anchor: &Anchor) -> String {
    static STARTED: LazyLock<u128> = LazyLock::new(|| {
        let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        time.map_or(0, |time| time.as_nanos())
    });
    format!("\"{}-{:x}\"", anchor.hash, *STARTED)
}
