//! `proxy`: methods of JSON-RPC as actions.

use super::{Document, Standing, query::Query};
use crate::{
    ask::Ask,
    fault::{Answer, Fault},
    rpc::{self, Filters, Found},
};
use serde_json::{Value, json};

/// Answers in the frame of JSON-RPC.
pub(super) fn answer(ask: &Ask<'_>, query: &Query) -> Answer<Document> {
    let found = call(query).and_then(|(method, params)| {
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
fn call(query: &Query) -> Answer<(&'static str, Value)> {
    let text = |name: &str| Value::from(query.get(name).unwrap_or_default());
    let tag = || query.tag_of_nodes();
    let call = || {
        let names = ["from", "to", "data", "value", "gas", "gasprice"];
        let given = names
            .iter()
            .filter_map(|name| Some((*name, query.get(name)?)));
        let fields = given.map(|(name, value)| {
            let name = if name == "gasprice" { "gasPrice" } else { name };
            (name.to_owned(), Value::from(value))
        });
        Value::Object(fields.collect())
    };
    Ok(match query.action() {
        "eth_blocknumber" => ("eth_blockNumber", json!([])),
        "eth_getblockbynumber" => {
            let full = query
                .get("boolean")
                .is_some_and(|flag| flag.eq_ignore_ascii_case("true"));
            ("eth_getBlockByNumber", json!([tag(), full]))
        }
        "eth_getunclebyblocknumberandindex" => (
            "eth_getUncleByBlockNumberAndIndex",
            json!([tag(), text("index")]),
        ),
        "eth_getblocktransactioncountbynumber" => {
            ("eth_getBlockTransactionCountByNumber", json!([tag()]))
        }
        "eth_gettransactionbyhash" => ("eth_getTransactionByHash", json!([text("txhash")])),
        "eth_gettransactionbyblocknumberandindex" => (
            "eth_getTransactionByBlockNumberAndIndex",
            json!([tag(), text("index")]),
        ),
        "eth_gettransactioncount" => ("eth_getTransactionCount", json!([text("address"), tag()])),
        "eth_gettransactionreceipt" => ("eth_getTransactionReceipt", json!([text("txhash")])),
        "eth_sendrawtransaction" => ("eth_sendRawTransaction", json!([text("hex")])),
        "eth_call" => ("eth_call", json!([call(), tag()])),
        "eth_estimategas" => ("eth_estimateGas", json!([call()])),
        "eth_getcode" => ("eth_getCode", json!([text("address"), tag()])),
        "eth_getstorageat" => {
            let slot = text("position");
            ("eth_getStorageAt", json!([text("address"), slot, tag()]))
        }
        "eth_gasprice" => ("eth_gasPrice", json!([])),
        _ => {
            return Err(Fault::Params(
                "Error! Missing Or invalid Action name".to_owned(),
            ));
        }
    })
}
