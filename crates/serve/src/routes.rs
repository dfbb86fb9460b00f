//! Paths, and what is answered there.

use crate::{
    access::{Access, Refused, Token},
    api,
    ask::{Anchor, Ask},
    calls::{self, Call, invalid, joined, refusal, too_large, with_passed},
    etherscan::{self, Document, Query},
    fault::{Answer, Fault},
    head::Head,
    metrics::Metrics,
    page,
    rpc::{self, Found},
    settings::{AccessLog, Limits, Names},
    tags::{self, Held, tag},
    unsent::Unsent,
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
    sync::{Arc, atomic::Ordering},
    time::Instant,
};
use tokio::time::timeout;
use txgraph::CancelFlag;

/// Bytes of a form that may have the token, where neither the URL nor the headers do.
const UNKNOWN_FORM: usize = 16 << 10;

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
    pub(crate) unsent: Unsent,
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
    let pages = pages.fold(Router::new(), |router, path| {
        router.route(path, get(page::respond))
    });
    pages
        .route("/", post(json_rpc).get(page::respond))
        .route("/api", get(query).post(query))
        .route("/api/", get(query).post(query))
        .route("/v2/api", get(query).post(query))
        .route("/v2/api/", get(query).post(query))
        .route("/v1/{*path}", get(own))
        .route("/health", get(health))
        .route("/metrics", get(metrics))
        .fallback(|| async { refuse((StatusCode::NOT_FOUND, "there is nothing under this path")) })
        .layer(from_fn_with_state(app.clone(), around))
        .with_state(app)
}

/// Whether a path is of Etherscan's interface.
fn is_etherscan(path: &str) -> bool {
    matches!(path, "/api" | "/api/" | "/v2/api" | "/v2/api/")
}

/// Checks who asks, and counts and logs the request.
async fn around(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let peer = request.extensions().get::<Peer>().copied();
    let held = Held::of(&method, request.headers());
    let (uri, headers) = (request.uri(), request.headers());
    let shared_with = app.access.shared_with(headers);
    let is_preflight = method == Method::OPTIONS && shared_with.is_some();
    let allowed = app
        .access
        .check_host(uri, headers)
        .and_then(|()| match path.as_str() {
            "/health" => Ok(()),
            // A browser asks without the token whether it may send one.
            _ if is_preflight => Ok(()),
            // Clients of Etherscan also send it in a form, which is read later.
            path if is_etherscan(path) => Ok(()),
            path if page::is_file(&method, path) => Ok(()),
            _ => app.access.check_token(uri, headers),
        });
    let mut response = match allowed {
        Err(refused) => refuse(refused),
        Ok(()) if is_preflight => StatusCode::NO_CONTENT.into_response(),
        // Files are part of the program, and take no memory.
        Ok(()) if page::is_file(&method, &path) => next.run(request).await,
        Ok(()) => {
            let held = app.unsent.hold(next.run(request).await).await;
            held.unwrap_or_else(|| busy(&app, &path))
        }
    };
    if let Some(site) = shared_with {
        share(&mut response, site);
    }
    held.spare(&mut response);
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
        path if is_etherscan(path) => "etherscan",
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

/// Lets pages of a site read a response, and send what clients send.
fn share(response: &mut Response, site: HeaderValue) {
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, site);
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    for (name, value) in [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST"),
        (
            header::ACCESS_CONTROL_ALLOW_HEADERS,
            "authorization, content-type",
        ),
        (header::ACCESS_CONTROL_EXPOSE_HEADERS, "*"),
        (header::ACCESS_CONTROL_MAX_AGE, "600"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

fn refuse((status, why): Refused) -> Response {
    let mut response = (status, [(header::CONTENT_TYPE, TEXT)], format!("{why}\n")).into_response();
    if status == StatusCode::UNAUTHORIZED {
        let scheme = HeaderValue::from_static("Bearer");
        (response.headers_mut()).insert(header::WWW_AUTHENTICATE, scheme);
    }
    response
}

/// Refuses an answer because too many others are being sent.
fn busy(app: &App, path: &str) -> Response {
    app.metrics.refused.fetch_add(1, Ordering::Relaxed);
    let text = match path {
        path if is_etherscan(path) => return documented(Err(Fault::Busy)),
        path if path.starts_with(api::PREFIX) => api::refusal(path, &Fault::Busy).1.to_string(),
        _ => refusal("null", &Fault::Busy),
    };
    document(StatusCode::SERVICE_UNAVAILABLE, text.into_bytes())
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

/// Reads a body of at most as many bytes as `most`, within the limit of time.
async fn read_body(app: &App, body: Body, most: usize) -> Result<Vec<u8>, Refused> {
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
    let body = match read_body(&app, body, app.limits.body_bytes).await {
        Ok(body) => body,
        Err(refused) => return refuse(refused),
    };
    let (calls, is_batch) = match Call::read(&app.limits, &body) {
        Ok(read) => read,
        Err(response) => return document(StatusCode::OK, response.into_bytes()),
    };
    drop(body);
    let asked = match (calls.first(), calls.len()) {
        (Some(one), 1) => rpc::known(one.method()).unwrap_or("other").to_owned(),
        (_, count) => format!("batch({count})"),
    };
    let calls: Arc<[Call]> = calls.into();
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
            let texts = calls.iter().map(|call| refusal(call.id(), &fault));
            (texts.collect(), 0, matches!(fault, Fault::Busy))
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
    calls: &Arc<[Call]>,
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
            _ if stop.is_canceled() => refusal(call.id(), &Fault::Late),
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
fn passed_on(app: &App, call: &Call, deadline: Instant) -> String {
    let answer = ask_head(app, call.id(), call.method(), call.params(), deadline);
    match answer {
        _ if call.is_notification() => String::new(),
        Ok(text) => text,
        Err(fault) => refusal(call.id(), &fault),
    }
}

/// Asks the server of the node, and counts the call.
fn ask_head(
    app: &App,
    id: &str,
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
    calls: &[Call],
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
fn part(app: &App, ask: &Ask<'_>, call: &Call, deadline: Instant) -> Answer<Option<String>> {
    let (id, method) = (call.id(), call.method());
    if !call.is_valid() {
        let response = calls::error(id, &invalid("invalid request"));
        return Ok(Some(response));
    }
    let found = match Instant::now() >= deadline || ask.source.is_interrupted() {
        true => Err(Fault::Late),
        false => rpc::answer(ask, method, call.params()),
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
        _ if call.is_notification() => String::new(),
        Ok(result) => format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}"),
        Err(fault) => refusal(id, &fault),
    }))
}

async fn query(State(app): State<Arc<App>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let is_read = tags::is_read(&parts.method);
    let form = has_content_type(&parts.headers, "application/x-www-form-urlencoded");
    let most = match app.access.token(&parts.uri, &parts.headers, b"") {
        Token::Right => app.limits.body_bytes,
        Token::Wrong | Token::Missing => app.limits.body_bytes.min(UNKNOWN_FORM),
    };
    let body = match form && !is_read {
        true => match read_body(&app, body, most).await {
            Ok(body) => body,
            Err(refused) => return refuse(refused),
        },
        false => Vec::new(),
    };
    let token = app.access.token(&parts.uri, &parts.headers, &body);
    let refused = match token {
        Token::Right => None,
        Token::Wrong => Some("Invalid API Key"),
        Token::Missing => Some("Missing/Invalid API Key"),
    };
    if let Some(why) = refused {
        let body = etherscan::refusal(&Fault::Params(why.to_owned()));
        return document(StatusCode::OK, body.to_string().into_bytes());
    }
    let query = Query::parse(parts.uri.query().unwrap_or_default(), &body);
    let needs_chain = parts.uri.path().starts_with("/v2/");
    let name = etherscan::known(&query);
    let held = Held::of(&parts.method, &parts.headers);
    let deadline = Instant::now() + app.limits.time;
    let (shared, uri) = (app.clone(), parts.uri.clone());
    let worked = app.workers.run(move |source, _| {
        let head = shared.head.as_deref();
        Ask::consistent(source, head, &shared.limits, |ask| {
            // The document of a settled answer, and nothing else, gets a tag.
            if held.has(&tag(&ask.tip, &uri, JSON)) {
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
            let mut response = documented(here);
            if let Some(anchor) = anchor.filter(|_| is_answered && is_read) {
                tags::add(&mut response, &tag(&anchor, &parts.uri, JSON));
            }
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
    let work = move |_| ask_head(&shared, "1", method, &params, deadline);
    let answer = app.passing.run(deadline, work).await;
    answer.unwrap_or_else(|fault| refusal("1", &fault))
}

/// The response with a document from the disk.
fn documented(answer: Answer<Option<Document>>) -> Response {
    match answer {
        Ok(Some(Document::Here {
            body, is_missing, ..
        })) => {
            let mut response = document(StatusCode::OK, body.to_string().into_bytes());
            if is_missing {
                let headers = response.headers_mut();
                headers.insert(INCOMPLETE, HeaderValue::from_static("1"));
            }
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
async fn own(
    State(app): State<Arc<App>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let (path, query) = (uri.path(), uri.query());
    let name = api::known(path);
    let accept = headers.get(header::ACCEPT);
    let accept = accept.and_then(|value| value.to_str().ok());
    let asked = api::read(path, query.unwrap_or_default(), accept.unwrap_or_default());
    let media_type = asked.as_ref().map_or(JSON, api::Request::media_type);
    let held = Held::of(&method, &headers);
    let (shared, asked_uri) = (app.clone(), uri.clone());
    let worked = match asked {
        Ok(asked) => {
            let worked = app.workers.run(move |source, _| {
                Ask::consistent(source, None, &shared.limits, |ask| {
                    match held.has(&tag(&ask.tip, &asked_uri, media_type)) {
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
    if let Some(anchor) = anchor.filter(|_| is_settled) {
        tags::add(&mut response, &tag(&anchor, &uri, media_type));
    }
    let varying = HeaderValue::from_static("accept");
    response.headers_mut().insert(header::VARY, varying);
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
