//! The API of this project: JSON over `GET /v1/…`.
//!
//! `table` has every endpoint with its parameters. Requests are read by it, and the OpenAPI document
//! is made from it.

mod address;
mod approvals;
mod endpoint;
mod given;
mod graph;
mod info;
mod named;
mod objects;
mod openapi;
mod patterns;
mod query;
mod relations;
mod search;
mod statement;
mod table;
mod token;
mod transaction;
mod written;

use crate::{
    ask::Ask,
    fault::{Answer, Fault},
};
use given::Given;
use query::Query;
use serde_json::{Value, json};
use table::ENDPOINTS;
use txgraph::{AnalysisFormat, ErrorKind, Hint, TableFormat};

/// The begin of all paths of this API.
pub(crate) const PREFIX: &str = "/v1/";

/// The paths of answers that have other formats, too.
const APPROVALS: &str = "/v1/approvals";
const GRAPH: &str = "/v1/graph";
/// The path of the answer that says whether there is an index.
const INFO: &str = "/v1/info";
const STATEMENT: &str = "/v1/statement";

/// A request that was read.
#[derive(Debug)]
pub(crate) struct Request {
    path: &'static str,
    given: Given,
    form: Form,
}

/// The form of an answer.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// A document of this API.
    Answer,
    /// A table as Arrow IPC.
    Arrow,
    /// A file, as the command line writes it.
    File(AnalysisFormat),
}

impl Request {
    /// The media type of its document.
    pub(crate) const fn media_type(&self) -> &'static str {
        match self.form {
            Form::Arrow => openapi::ARROW,
            Form::File(AnalysisFormat::Table(_)) => openapi::CSV,
            Form::Answer | Form::File(_) => "application/json",
        }
    }

    /// Whether its answer stays the same as long as the newest block does. An index can appear at any time,
    /// but gives the same answers.
    pub(crate) fn is_settled(&self) -> bool {
        self.path != INFO
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
    let form = match endpoint.path {
        GRAPH if accepts(accept, openapi::ARROW) => Form::Arrow,
        _ if given.knows("format") => match given.word("format") {
            "json" => Form::File(AnalysisFormat::Json),
            "csv" => Form::File(AnalysisFormat::Table(TableFormat::Csv)),
            _ => Form::Answer,
        },
        _ => Form::Answer,
    };
    Ok(Request {
        path: endpoint.path,
        given,
        form,
    })
}

/// Whether a header `Accept` names a media type, and does not refuse it with `q=0`.
fn accepts(header: &str, media_type: &str) -> bool {
    header.split(',').any(|range| {
        let mut parts = range.split(';').map(str::trim);
        let is_named = (parts.next()).is_some_and(|name| name.eq_ignore_ascii_case(media_type));
        is_named
            && parts.all(|part| match part.split_once('=') {
                Some((name, weight)) if name.trim().eq_ignore_ascii_case("q") => weight
                    .trim()
                    .parse::<f32>()
                    .is_ok_and(|weight| weight > 0.0),
                _ => true,
            })
    })
}

/// Answers a request with a document.
pub(crate) fn answer(ask: &Ask<'_>, request: &Request) -> Answer<Vec<u8>> {
    let query = Query {
        ask,
        given: &request.given,
    };
    let file = match (request.path, request.form) {
        (_, Form::Answer) => None,
        (GRAPH, _) => Some(graph::arrow(&query)?),
        (APPROVALS, Form::File(format)) => Some(approvals::file(&query, format)?),
        (STATEMENT, Form::File(format)) => Some(statement::file(&query, format)?),
        _ => None,
    };
    if let Some(file) = file {
        return limited(ask, file);
    }
    let found = match request.path {
        "/v1/address" => address::profile(&query)?,
        APPROVALS => approvals::answer(&query)?,
        "/v1/block" => info::block(&query)?,
        "/v1/common" => relations::common(&query)?,
        GRAPH => graph::graph(&query)?,
        INFO => info::info(&query)?,
        "/v1/labels" => info::of_addresses(&query)?,
        "/v1/neighbors" => address::neighbors(&query)?,
        "/v1/path" => relations::path(&query)?,
        "/v1/patterns" => patterns::answer(&query)?,
        "/v1/search" => search::search(&query)?,
        STATEMENT => statement::answer(&query)?,
        "/v1/token" => token::token(&query)?,
        "/v1/trace" => relations::trace(&query)?,
        "/v1/transaction" => transaction::transaction(&query)?,
        "/v1/transfers" => address::list(&query)?,
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

/// The HTTP status and the document of a request to a path without a result.
pub(crate) fn refusal(path: &str, fault: &Fault) -> (u16, Value) {
    let (status, code) = status(fault);
    let hint = match fault {
        Fault::Source(error) => error.hint.as_ref().map(|it| hint(path, it)),
        _ => None,
    };
    let error = json!({ "code": code, "message": fault.message(), "hint": hint });
    (status, json!({ "error": error }))
}

/// The HTTP status of a fault, and its word.
fn status(fault: &Fault) -> (u16, &'static str) {
    match fault {
        Fault::Params(_) => (400, "parameter"),
        Fault::NotHere(_) | Fault::NodeOnly(_) | Fault::Method(_) => (404, "not_found"),
        Fault::TooMuch(_) | Fault::Window => (413, "too_much"),
        Fault::Late => (504, "timeout"),
        Fault::Busy => (503, "busy"),
        Fault::Source(error) => match error.kind {
            ErrorKind::Usage => (400, "parameter"),
            ErrorKind::Unavailable => (422, "incomplete"),
            ErrorKind::TooMany => (413, "too_much"),
            ErrorKind::Unsupported(_) => (501, "unsupported"),
            ErrorKind::Reorged => (503, "reorganized"),
            _ => (500, "failed"),
        },
        Fault::Reverted { .. } | Fault::Failed(_) | Fault::Head(_) => (500, "failed"),
    }
}

/// A remedy, in the parameters of an endpoint.
fn hint(path: &str, hint: &Hint) -> String {
    let has = |name| {
        let endpoint = ENDPOINTS.iter().find(|it| it.path == path);
        endpoint.is_some_and(|it| it.parameters.iter().any(|it| it.name == name))
    };
    let existing = |newest| format!("ask for blocks that exist: `blocks={newest}`");
    match hint {
        Hint::AllowPartial { newest } if !has("partial") => existing(newest),
        Hint::AskExisting { newest } => existing(newest),
        Hint::AllowPartial { newest } => format!(
            "`partial=true` answers with the blocks that exist; or ask for blocks that exist: \
             `blocks={newest}`"
        ),
        Hint::AddInternal => "`internal=true` includes transfers inside of transactions".to_owned(),
        Hint::ListBlocks => "`/v1/info` states which blocks exist".to_owned(),
        Hint::NameChainFile => "start the server with the genesis file of the chain".to_owned(),
        Hint::ChooseDirection => "`direction=out` or `direction=in`".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_types_are_accepted_by_name_and_weight() {
        let arrow = |header: &str| accepts(header, openapi::ARROW);
        let name = openapi::ARROW;
        assert!(arrow(name) && arrow(&format!("text/html, {name};q=0.1")));
        assert!(!arrow("") && !arrow("*/*") && !arrow(&format!("{name}s")));
        assert!(!arrow(&format!("{name}; q=0")) && !arrow(&format!("{name};q=0.000, */*")));
    }

    #[test]
    fn endpoints_are_ascending() {
        assert!(ENDPOINTS.is_sorted_by_key(|it| it.path));
        assert_eq!(known("/v1/graph"), Some("/v1/graph"));
        assert_eq!(known("/v1/"), None);
    }
}
