//! The JSON-RPC server of the node, for what its data directory does not contain.

use crate::{
    fault::{Answer, Fault},
    metrics::Metrics,
};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json, value::RawValue};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};
use txgraph::{B256, ChainInfo};
use txgraph_rpc::{Endpoint, Relay};

/// Calls that the node is asked at a time. Threads only wait for it.
pub(crate) const CALLS: usize = 16;

/// The server of the node.
#[derive(Debug)]
pub(crate) struct Head {
    relay: Relay,
    /// The chain of the data directory.
    chain: ChainInfo,
    /// Whether the server was seen to have the same chain.
    is_known: AtomicBool,
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
    pub(crate) fn new(
        url: &str,
        chain: &ChainInfo,
        most: usize,
        metrics: Arc<Metrics>,
    ) -> Result<Self, String> {
        let endpoint = Endpoint::parse(url).map_err(|error| error.to_string())?;
        Ok(Self {
            relay: Relay::new(endpoint),
            chain: chain.clone(),
            is_known: AtomicBool::new(false),
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
        if !self.is_known.load(Ordering::Relaxed) {
            self.check_chain(deadline)?;
            self.is_known.store(true, Ordering::Relaxed);
        }
        self.metrics.passed.fetch_add(1, Ordering::Relaxed);
        self.pass(id, method, params, deadline)
    }

    /// Refuses a server of another chain, whose answers would pass for those about this one.
    fn check_chain(&self, deadline: Instant) -> Answer<()> {
        let ask = |method: &str, params: Value| -> Answer<Value> {
            let passed = self.pass("1", method, &params, deadline)?;
            let response: Value = serde_json::from_str(&passed.text).unwrap_or_default();
            Ok(response["result"].clone())
        };
        let wrong = |what: String| {
            let server = self.relay.endpoint();
            Err(Fault::Head(format!("{server}: {what}")))
        };
        let id = ask("eth_chainId", json!([]))?;
        let id = id.as_str().and_then(|text| text.strip_prefix("0x"));
        let Some(chain_id) = id.and_then(|digits| u64::from_str_radix(digits, 16).ok()) else {
            return wrong("the server does not state its chain".to_owned());
        };
        let genesis = ask("eth_getBlockByNumber", json!(["0x0", false]))?;
        let genesis: Option<B256> = genesis["hash"].as_str().and_then(|text| text.parse().ok());
        let other = ChainInfo {
            chain_id,
            // Not all servers have block 0.
            genesis_hash: genesis.unwrap_or_default(),
            name: None,
        };
        match self.chain.contradicts(&other) {
            false => Ok(()),
            true => wrong(format!(
                "the server belongs to chain {chain_id} ({}), but the data directory to chain {} ({})",
                other.genesis_hash, self.chain.chain_id, self.chain.genesis_hash
            )),
        }
    }

    fn pass(&self, id: &str, method: &str, params: &Value, deadline: Instant) -> Answer<Passed> {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let time = deadline.saturating_duration_since(Instant::now());
        if time.is_zero() {
            return Err(Fault::Late);
        }
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
