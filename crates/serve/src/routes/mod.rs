//! Paths, and what is answered there.

mod app;
mod json_rpc;
mod own;
mod query;

pub(crate) use app::{App, Peer};

use crate::{api, calls::refusal, fault::Fault, page, tags::Held};
use app::{Asked, document, json_document, refuse};
use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderValue, Method, StatusCode, header},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use json_rpc::json_rpc;
use own::own;
use query::{chain_list, documented, query};
use serde_json::json;
use std::{
    sync::{Arc, atomic::Ordering},
    time::Instant,
};

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
        .route("/v2/chainlist", get(chain_list))
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
    json_document(status, &body, false)
}
