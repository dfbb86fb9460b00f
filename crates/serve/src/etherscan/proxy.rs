//! `proxy`: methods of JSON-RPC as actions.

use super::{Action, Document, Standing, query::Query};
use crate::{
    ask::Ask,
    fault::{Answer, Fault},
    rpc::{self, Filters, Found},
};
use serde_json::{Value, json};

/// Answers in the frame of JSON-RPC.
pub(super) fn answer(ask: &Ask<'_>, query: &Query, action: Option<&Action>) -> Answer<Document> {
    let found = call(query, action).and_then(|(method, params)| {
        // No action is about filters.
        let found = rpc::answer(ask, &Filters::default(), method, &params)?;
        Ok(match found {
            Found::Here(result) => Document::Here {
                body: json!({ "jsonrpc": "2.0", "id": 1, "result": result }),
                is_missing: false,
                standing: Standing::Settled,
            },
            Found::Pass => Document::Pass { method, params },
        })
    });
    match found {
        Err(Fault::Source(error)) if error.kind == txgraph::ErrorKind::Reorged => {
            Err(Fault::Source(error))
        }
        Err(fault) => Ok(Document::Here {
            body: json!({ "jsonrpc": "2.0", "id": 1, "error": fault.error() }),
            is_missing: fault.is_missing(),
            standing: Standing::Refused,
        }),
        found => found,
    }
}

/// The method and the parameters of an action.
fn call(query: &Query, action: Option<&Action>) -> Answer<(&'static str, Value)> {
    let (method, names): (_, &[&str]) = match action {
        Some(Action::Method(method, names)) => (*method, names),
        // Only a node can send it.
        _ if query.action() == "eth_sendrawtransaction" => ("eth_sendRawTransaction", &["hex"]),
        _ => {
            return Err(Fault::Params(
                "Error! Missing Or invalid Action name".to_owned(),
            ));
        }
    };
    let params = names.iter().map(|name| parameter(query, name));
    Ok((method, params.collect()))
}

/// A parameter of a method, by the name that it has in a query. `call` stands for several.
fn parameter(query: &Query, name: &str) -> Value {
    match name {
        "tag" => query.tag_of_nodes(),
        "boolean" => query.text(name).eq_ignore_ascii_case("true").into(),
        "call" => {
            let names = ["from", "to", "data", "value", "gas", "gasPrice"];
            let given = names.iter().filter_map(|name| {
                let value = query.get(&name.to_ascii_lowercase())?;
                Some(((*name).to_owned(), Value::from(value)))
            });
            Value::Object(given.collect())
        }
        name => query.text(name).into(),
    }
}
