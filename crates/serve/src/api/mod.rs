//! The API of this project: JSON over `GET /v1/…`.
//!
//! `table` has every endpoint with its parameters. Requests are read by it, and the OpenAPI document
//! is made from it.

mod address;
mod endpoint;
mod given;
mod graph;
mod info;
mod named;
mod objects;
mod openapi;
mod question;
mod relations;
mod search;
mod table;
mod token;
mod transaction;

use crate::{
    ask::Ask,
    fault::{Answer, Fault},
    settings::Names,
};
use given::Given;
use question::Question;
use serde_json::{Value, json};
use table::ENDPOINTS;
use txgraph::{ErrorKind, Hint};

/// The begin of all paths of this API.
pub(crate) const PREFIX: &str = "/v1/";

/// The path of graphs, which can also be tables.
const GRAPH: &str = "/v1/graph";

/// A request that was read.
#[derive(Debug)]
pub(crate) struct Request {
    path: &'static str,
    given: Given,
    /// Whether a table is wanted as Arrow IPC.
    is_arrow: bool,
}

impl Request {
    /// The media type of its document.
    pub(crate) const fn media_type(&self) -> &'static str {
        match self.is_arrow {
            true => openapi::ARROW,
            false => "application/json",
        }
    }
}

/// The path of an endpoint, for counts and logs.
pub(crate) fn known(path: &str) -> Option<&'static str> {
    let endpoint = ENDPOINTS.iter().find(|it| it.path == path);
    endpoint.map(|it| it.path)
}

/// Reads a request by its path, its query and the media types that its client accepts.
pub(crate) fn read(path: &str, query: &str, accept: &str) -> Answer<Request> {
    let endpoint = ENDPOINTS.iter().find(|it| it.path == path);
    let endpoint = endpoint.ok_or_else(|| {
        let paths: Vec<_> = ENDPOINTS.iter().map(|it| it.path).collect();
        Fault::NotHere(format!("there is no {path:.80}, but {}", paths.join(", ")))
    })?;
    let given = Given::parse(endpoint, query)?;
    Ok(Request {
        path: endpoint.path,
        given,
        is_arrow: endpoint.path == GRAPH && accept.contains(openapi::ARROW),
    })
}

/// Answers a request with a document.
pub(crate) fn answer(ask: &Ask<'_>, names: &Names, request: &Request) -> Answer<Vec<u8>> {
    let question = Question {
        ask,
        names,
        given: &request.given,
    };
    let found = match request.path {
        "/v1/address" => address::profile(&question)?,
        "/v1/block" => info::block(&question)?,
        "/v1/common" => relations::common(&question)?,
        GRAPH if request.is_arrow => return limited(ask, graph::arrow(&question)?),
        GRAPH => graph::graph(&question)?,
        "/v1/info" => info::info(&question)?,
        "/v1/labels" => info::of_addresses(&question)?,
        "/v1/neighbors" => address::neighbors(&question)?,
        "/v1/path" => relations::path(&question)?,
        "/v1/search" => search::search(&question)?,
        "/v1/token" => token::token(&question)?,
        "/v1/trace" => relations::trace(&question)?,
        "/v1/transaction" => transaction::transaction(&question)?,
        "/v1/transfers" => address::list(&question)?,
        _ => return Ok(openapi::document().to_string().into_bytes()),
    };
    limited(ask, found.into_value().to_string().into_bytes())
}

/// Refuses a document that is too large.
fn limited(ask: &Ask<'_>, bytes: Vec<u8>) -> Answer<Vec<u8>> {
    let most = ask.limits.answer_bytes;
    match bytes.len() > most {
        true => Err(Fault::TooMuch(format!(
            "the answer has more than {most} bytes; ask for less"
        ))),
        false => Ok(bytes),
    }
}

/// The HTTP status and the document of a request without a result.
pub(crate) fn refusal(fault: &Fault) -> (u16, Value) {
    let (status, code) = status(fault);
    let hint = match fault {
        Fault::Source(error) => error.hint.as_ref().map(hint),
        _ => None,
    };
    let error = json!({ "code": code, "message": fault.message(), "hint": hint });
    (status, json!({ "error": error }))
}

/// The HTTP status of a fault, and its word.
fn status(fault: &Fault) -> (u16, &'static str) {
    match fault {
        Fault::Params(_) => (400, "parameter"),
        Fault::NotHere(_) | Fault::Method(_) => (404, "not_found"),
        Fault::TooMuch(_) | Fault::Window => (413, "too_much"),
        Fault::Late => (504, "timeout"),
        Fault::Busy => (503, "busy"),
        Fault::Source(error) => match error.kind {
            ErrorKind::Usage => (400, "parameter"),
            ErrorKind::Unavailable => (422, "incomplete"),
            ErrorKind::Unsupported(_) => (501, "unsupported"),
            ErrorKind::Reorged => (503, "reorganized"),
            _ => (500, "failed"),
        },
        Fault::Reverted { .. } | Fault::Failed(_) | Fault::Head(_) => (500, "failed"),
    }
}

/// A remedy, in the parameters of this API.
fn hint(hint: &Hint) -> String {
    match hint {
        Hint::AllowPartial { newest } => format!(
            "`partial=true` answers with the blocks that exist; or ask for blocks that exist: \
             `blocks={newest}`"
        ),
        Hint::AddInternal => "`internal=true` includes transfers inside of transactions".to_owned(),
        Hint::ChooseDirection => "`direction=out` or `direction=in`".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_ascending() {
        assert!(ENDPOINTS.is_sorted_by_key(|it| it.path));
        assert_eq!(known("/v1/graph"), Some("/v1/graph"));
        assert_eq!(known("/v1/"), None);
    }
}
