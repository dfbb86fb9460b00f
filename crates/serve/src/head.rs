//! The JSON-RPC server of the node, for what its data directory does not contain.

use crate::{
    fault::{Answer, Fault},
    metrics::Metrics,
};
use serde_json::{Value, json};
use std::{
    sync::{Arc, atomic::Ordering},
    time::Instant,
};
use txgraph_rpc::{Endpoint, Relay};

/// The server of the node.
#[derive(Debug)]
pub(crate) struct Head {
    relay: Relay,
    metrics: Arc<Metrics>,
}

impl Head {
    /// The server at a URL, which is not asked yet.
    pub(crate) fn new(url: &str, metrics: Arc<Metrics>) -> Result<Self, String> {
        let endpoint = Endpoint::parse(url).map_err(|error| error.to_string())?;
        Ok(Self {
            relay: Relay::new(endpoint),
            metrics,
        })
    }

    /// Passes a call on, until `deadline`.
    pub(crate) fn ask(&self, method: &str, params: &Value, deadline: Instant) -> Answer<Value> {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        self.metrics.passed.fetch_add(1, Ordering::Relaxed);
        let time = deadline.saturating_duration_since(Instant::now());
        if time.is_zero() {
            return Err(Fault::Late);
        }
        let answer = self.relay.pass(call.to_string().as_bytes(), time);
        let bytes = answer.map_err(Fault::Head)?;
        let unreadable = || {
            let server = self.relay.endpoint();
            Fault::Head(format!("{server}: the answer is not a JSON-RPC response"))
        };
        let mut answer: Value = serde_json::from_slice(&bytes).map_err(|_| unreadable())?;
        match answer.get_mut("error").map(Value::take) {
            Some(error) if !error.is_null() => return Err(Fault::Passed(error)),
            _ => {}
        }
        let result = answer.get_mut("result").map(Value::take);
        result.ok_or_else(unreadable)
    }
}
