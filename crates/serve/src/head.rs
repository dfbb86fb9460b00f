//! The JSON-RPC server of the node, for what its data directory does not contain.

use crate::{
    fault::{Answer, Fault},
    metrics::Metrics,
};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json, value::RawValue};
use std::{
    sync::{Arc, atomic::Ordering},
    time::Instant,
};
use txgraph_rpc::{Endpoint, Relay};

/// Calls that the node is asked at a time. Threads only wait for it.
pub(crate) const CALLS: usize = 16;

/// The server of the node.
#[derive(Debug)]
pub(crate) struct Head {
    relay: Relay,
    /// Bytes of an answer.
    most: u64,
    metrics: Arc<Metrics>,
}

/// The response of the node to a call.
pub(crate) struct Passed {
    /// The response, with the id of the call.
    pub(crate) text: String,
    /// Whether it has a result, and not the error of the node.
    pub(crate) is_result: bool,
}

/// An answer, whose parts may be large and nest deep. They are not parsed.
#[derive(Deserialize)]
struct Response<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// Parses an object. A list of its fields would be parsed, too.
fn object<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Option<T> {
    let text = text.trim_ascii_start();
    let parsed = text.starts_with(b"{").then(|| serde_json::from_slice(text));
    parsed?.ok()
}

/// A field that is there, even if it is `null`.
fn present<'de, D: Deserializer<'de>>(value: D) -> Result<Option<&'de RawValue>, D::Error> {
    Deserialize::deserialize(value).map(Some)
}

/// The fields that an error needs to have.
#[derive(Deserialize)]
#[expect(dead_code, reason = "only whether the fields are there")]
struct ErrorObject {
    code: i64,
    message: String,
}

impl Head {
    /// The server at a URL, which is not asked yet.
    pub(crate) fn new(url: &str, most: usize, metrics: Arc<Metrics>) -> Result<Self, String> {
        let endpoint = Endpoint::parse(url).map_err(|error| error.to_string())?;
        Ok(Self {
            relay: Relay::new(endpoint),
            most: most as u64,
            metrics,
        })
    }

    /// Passes a call with this `id`, as JSON, on, until `deadline`.
    pub(crate) fn ask(
        &self,
        id: &str,
        method: &str,
        params: &Value,
        deadline: Instant,
    ) -> Answer<Passed> {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let time = deadline.saturating_duration_since(Instant::now());
        if time.is_zero() {
            return Err(Fault::Late);
        }
        self.metrics.passed.fetch_add(1, Ordering::Relaxed);
        let answer = self
            .relay
            .pass(call.to_string().as_bytes(), time, self.most);
        let bytes = answer.map_err(Fault::Head)?;
        let unreadable = || {
            let server = self.relay.endpoint();
            Fault::Head(format!("{server}: the answer is not a JSON-RPC response"))
        };
        let response: Response<'_> = object(&bytes).ok_or_else(unreadable)?;
        let is_null = |value: &RawValue| value.get() == "null";
        let (name, value) = match (response.result, response.error) {
            (_, Some(error)) if !is_null(error) => {
                // Garbage is not passed on as if it were an error of JSON-RPC.
                object::<ErrorObject>(error.get().as_bytes()).ok_or_else(unreadable)?;
                ("error", error)
            }
            (Some(result), _) => ("result", result),
            (None, _) => return Err(unreadable()),
        };
        let value = value.get();
        Ok(Passed {
            text: format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"{name}\":{value}}}"),
            is_result: name == "result",
        })
    }
}
