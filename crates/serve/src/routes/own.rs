//! Requests of the API of this project.

use super::app::{App, Asked, JSON, anchored, flattened, json_document};
use crate::{
    api,
    ask::Ask,
    tags::{self, Held, tag},
};
use axum::{
    extract::State,
    http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use std::sync::Arc;

/// Answers a request.
pub(super) async fn own(
    State(app): State<Arc<App>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let (path, query) = (uri.path(), uri.query());
    let name = api::known(path).unwrap_or("other");
    let accept = headers.get(header::ACCEPT);
    let accept = accept.and_then(|value| value.to_str().ok());
    let asked = api::read(path, query.unwrap_or_default(), accept.unwrap_or_default());
    let media_type = asked.as_ref().map_or(JSON, api::Request::media_type);
    let is_settled = asked.as_ref().is_ok_and(api::Request::is_settled);
    let held = Held::of(&method, &headers);
    let (shared, asked_uri) = (app.clone(), uri.clone());
    let worked =
        match asked {
            Ok(asked) => {
                let worked =
                    app.workers.run(move |source, _| {
                        Ask::consistent(source, None, (&shared.limits, &shared.names), |ask| {
                            match held.has(&tag(&ask.tip, &asked_uri, media_type)) {
                                true => Ok(None),
                                false => api::answer(ask, &asked).map(Some),
                            }
                        })
                    });
                worked.await
            }
            Err(fault) => Err(fault),
        };
    let (anchor, answer) = flattened(worked);
    app.metrics.call(name, answer.is_ok());
    let mut response = match answer {
        Ok(None) => StatusCode::NOT_MODIFIED.into_response(),
        Ok(Some(body)) => {
            (StatusCode::OK, [(header::CONTENT_TYPE, media_type)], body).into_response()
        }
        Err(fault) => {
            let (status, body) = api::refusal(path, &fault);
            let status = StatusCode::from_u16(status);
            let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            json_document(status, &body, fault.is_missing())
        }
    };
    let is_found = [StatusCode::OK, StatusCode::NOT_MODIFIED].contains(&response.status());
    if let Some(anchor) = anchor.filter(|_| is_found && is_settled) {
        tags::add(&mut response, &tag(&anchor, &uri, media_type));
    }
    let varying = HeaderValue::from_static("accept");
    response.headers_mut().insert(header::VARY, varying);
    anchored(&mut response, &app, anchor, 0);
    response.extensions_mut().insert(Asked(name.to_owned()));
    response
}
