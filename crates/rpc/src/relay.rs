//! Documents of others, passed on to a server as they are.

use crate::{
    client::{REQUEST, agent, post},
    endpoint::Endpoint,
};
use std::{io::Read, time::Duration};
use txgraph_work::{CancelFlag, RetryStep};
use ureq::Agent;

/// Passes JSON documents on to a server. Shared between threads.
#[derive(Debug)]
pub struct Relay {
    endpoint: Endpoint,
    agent: Agent,
}

impl Relay {
    /// A relay to a server, which is not asked yet.
    pub fn new(endpoint: Endpoint) -> Self {
        // A connection that the server closes at this moment fails, and a request that may have
        // arrived is not sent again: each gets a connection of its own.
        let agent = agent(&endpoint, 0);
        Self { endpoint, agent }
    }

    /// The server, without keys.
    pub const fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Sends a document until the server takes it, which an HTTP status of 2xx says. Gives up after
    /// seven attempts, within 31 s and half as long again. A server may get a document twice: its
    /// response can be lost.
    ///
    /// # Errors
    ///
    /// In words without keys: the last failure.
    pub fn deliver(&self, body: &[u8], cancel: &CancelFlag) -> Result<(), String> {
        let settings = &self.endpoint.settings;
        let mut attempts = REQUEST.start();
        loop {
            let passed = self.pass(body, settings.timeout, settings.response_bytes);
            let Err(what) = passed else { return Ok(()) };
            let made = attempts.number();
            tracing::debug!(attempt = made, what, "not delivered");
            match attempts.next_spread(Duration::ZERO, &|| cancel.is_canceled()) {
                RetryStep::Retry => {}
                RetryStep::Stopped | RetryStep::Exhausted => {
                    return Err(format!("{what} (attempt {made})"));
                }
            }
        }
    }

    /// Sends a document, such as a JSON-RPC request, and returns the body of the answer, which is not looked at.
    ///
    /// # Errors
    ///
    /// In words without keys, if the server does not answer in `time`, or with more than `most` bytes.
    pub fn pass(&self, body: &[u8], time: Duration, most: u64) -> Result<Vec<u8>, String> {
        let settings = &self.endpoint.settings;
        let failed = |what: &dyn std::fmt::Display| {
            let what = self.endpoint.secrets.masked(&what.to_string());
            format!("{}: {what}", self.endpoint)
        };
        let request = post(&self.agent, &self.endpoint)
            .config()
            .timeout_global(Some(time.min(settings.timeout)))
            .build();
        let mut response = request.send(body).map_err(|error| failed(&error))?;
        let mut bytes = Vec::new();
        let reader = response.body_mut().as_reader();
        let limit = settings.response_bytes.min(most);
        let read = reader.take(limit.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|error| failed(&error))?;
        if bytes.len() as u64 > limit {
            return Err(failed(&format_args!(
                "the answer is larger than {limit} bytes"
            )));
        }
        match response.status().as_u16() {
            200..300 => Ok(bytes),
            status => Err(failed(&format_args!(
                "it answered with HTTP status {status}"
            ))),
        }
    }
}
