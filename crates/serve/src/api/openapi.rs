//! The OpenAPI document, from the table of endpoints.

use super::{
    endpoint::{Endpoint, Fields, object_schema},
    objects::{EVERY, OBJECTS},
    table::ENDPOINTS,
};
use serde_json::{Map, Value, json};

/// The statuses of answers without a result, and what they mean.
const FAILURES: [(&str, &str); 8] = [
    ("400", "a parameter is wrong"),
    ("404", "the chain does not have it"),
    ("413", "the answer is too large"),
    ("422", "blocks that the answer needs are missing or pruned"),
    ("500", "the data directory cannot be read"),
    ("501", "this node cannot answer it"),
    (
        "503",
        "too many requests at a time, or the chain is being reorganized",
    ),
    ("504", "the time limit ended"),
];

/// The statuses of refusals in plain text, before a request is read.
const REFUSALS: [(&str, &str); 2] = [
    ("401", "the token is missing or wrong"),
    (
        "403",
        "the request names another host, or comes from a page of one",
    ),
];

/// The media type of Arrow streams.
pub(super) const ARROW: &str = "application/vnd.apache.arrow.stream";

/// The media type of tables as text.
pub(super) const CSV: &str = "text/csv; charset=utf-8";

/// The document.
pub(super) fn document() -> Value {
    let paths = ENDPOINTS
        .iter()
        .map(|it| (it.path.to_owned(), json!({ "get": operation(it) })));
    let schemas = OBJECTS
        .iter()
        .map(|(name, fields)| ((*name).to_owned(), object_schema(fields).into()));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "txgraph",
            "version": txgraph::version(),
            "description": "Where did these tokens go? Amounts are decimal text in the smallest unit of \
                            their token, times are seconds since 1970. The header X-Txgraph-Block names the \
                            block that an answer is about.",
        },
        "paths": paths.collect::<Map<_, _>>(),
        // The empty one: a server on this machine needs no token.
        "security": [{}, { "bearer": [] }, { "apikey": [] }],
        "components": {
            "schemas": schemas.collect::<Map<_, _>>(),
            "securitySchemes": {
                "bearer": { "type": "http", "scheme": "bearer" },
                "apikey": { "type": "apiKey", "in": "query", "name": "apikey" },
            },
        },
    })
}

fn operation(endpoint: &Endpoint) -> Value {
    let parameters = endpoint.parameters.iter().map(|it| {
        json!({
            "name": it.name,
            "in": "query",
            "required": it.is_required,
            "description": it.about,
            "schema": it.schema(),
        })
    });
    let mut content = Map::new();
    let schema = match endpoint.answer.is_empty() {
        true => json!({ "type": "object" }),
        false => object_schema(&all_fields(endpoint.answer)).into(),
    };
    content.insert("application/json".to_owned(), json!({ "schema": schema }));
    if endpoint.path == "/v1/graph" {
        content.insert(
            ARROW.to_owned(),
            json!({ "schema": { "type": "string", "format": "binary" } }),
        );
    }
    if endpoint.parameters.iter().any(|it| it.name == "format") {
        content.insert(CSV.to_owned(), json!({ "schema": { "type": "string" } }));
    }
    let mut responses = Map::new();
    responses.insert(
        "200".to_owned(),
        json!({ "description": endpoint.summary, "content": content }),
    );
    for (status, meaning) in REFUSALS {
        let content = json!({ "text/plain": { "schema": { "type": "string" } } });
        responses.insert(
            status.to_owned(),
            json!({ "description": meaning, "content": content }),
        );
    }
    for (status, meaning) in FAILURES {
        let schema = json!({ "$ref": "#/components/schemas/Error" });
        let content = json!({ "application/json": { "schema": schema } });
        responses.insert(
            status.to_owned(),
            json!({ "description": meaning, "content": content }),
        );
    }
    json!({
        "operationId": endpoint.path.trim_start_matches("/v1/").trim_end_matches(".json"),
        "summary": endpoint.summary,
        "parameters": parameters.collect::<Vec<_>>(),
        "responses": responses,
    })
}

/// The fields of an endpoint, and the fields that every answer has.
fn all_fields(own: Fields) -> Vec<(&'static str, &'static str)> {
    own.iter().chain(EVERY).copied().collect()
}
