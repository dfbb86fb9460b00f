//! Requests of JSON-RPC.

use super::app::{
    App, Asked, JSON, anchored, document, flattened, has_content_type, read_body, refuse,
};
use crate::{
    ask::Ask,
    calls::{self, Call, invalid, joined, refusal, too_large, with_passed},
    fault::{Answer, Fault},
    rpc::{self, Found},
};
use axum::{
    body::Body,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::Response,
};
use serde_json::Value;
use std::{sync::Arc, time::Instant};
use txgraph::CancelFlag;

/// Answers a request, of one call or several.
pub(super) async fn json_rpc(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    body: Body,
) -> Response {
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
        Ask::consistent(source, head, (&shared.limits, &shared.names), |ask| {
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
pub(super) fn ask_head(
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
        false => rpc::answer(ask, &app.filters, method, call.params()),
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
