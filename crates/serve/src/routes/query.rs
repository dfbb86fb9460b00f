//! Requests of Etherscan's interface.

use super::{
    app::{
        App, Asked, JSON, anchored, document, flattened, has_content_type, json_document,
        read_body, refuse,
    },
    json_rpc::ask_head,
};
use crate::{
    access::Token,
    ask::Ask,
    calls::refusal,
    etherscan::{self, Document, Query, Standing},
    fault::{Answer, Fault},
    tags::{self, Held, tag},
};
use axum::{
    extract::{Request, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::Value;
use std::{sync::Arc, time::Instant};
use txgraph::Source;

/// Bytes of a form that may have the token, where neither the URL nor the headers do.
const UNKNOWN_FORM: usize = 16 << 10;

/// Answers a query.
pub(super) async fn query(State(app): State<Arc<App>>, request: Request) -> Response {
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
        return documented(Err(Fault::Params(why.to_owned())));
    }
    let query = Query::parse(parts.uri.query().unwrap_or_default(), &body);
    let needs_chain = parts.uri.path().starts_with("/v2/");
    let name = etherscan::known(&query).unwrap_or("other");
    let held = Held::of(&parts.method, &parts.headers);
    let deadline = Instant::now() + app.limits.time;
    let (shared, uri) = (app.clone(), parts.uri.clone());
    let worked = app.workers.run(move |source, _| {
        let head = shared.head.as_deref();
        Ask::consistent(source, head, (&shared.limits, &shared.names), |ask| {
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
            let standing = match &here {
                Ok(Some(Document::Here { standing, .. })) => *standing,
                Ok(_) => Standing::Settled,
                Err(_) => Standing::Refused,
            };
            app.metrics.call(name, standing != Standing::Refused);
            let mut response = documented(here);
            let is_settled = standing == Standing::Settled;
            if let Some(anchor) = anchor.filter(|_| is_settled && is_read) {
                tags::add(&mut response, &tag(&anchor, &parts.uri, JSON));
            }
            anchored(&mut response, &app, anchor, 0);
            response
        }
    };
    response.extensions_mut().insert(Asked(name.to_owned()));
    response
}

/// Answers which chains there are.
pub(super) async fn chain_list(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    let host = host.unwrap_or_default().to_owned();
    let work = move |source: &Source, _: Instant| -> Answer<Value> {
        Ok(etherscan::chain_list(source.chain()?, &host))
    };
    let listed = app.workers.run(work).await.flatten();
    let body = listed.unwrap_or_else(|fault| etherscan::refusal(&fault));
    json_document(StatusCode::OK, &body, false)
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
pub(super) fn documented(answer: Answer<Option<Document>>) -> Response {
    match answer {
        Ok(Some(Document::Here {
            body, is_missing, ..
        })) => json_document(StatusCode::OK, &body, is_missing),
        Ok(_) => StatusCode::NOT_MODIFIED.into_response(),
        Err(fault) => json_document(StatusCode::OK, &etherscan::refusal(&fault), false),
    }
}
