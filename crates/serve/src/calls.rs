//! The frames of JSON-RPC: calls with their identifiers, errors, and the response to several calls.

use crate::{
    fault::{Answer, Fault},
    settings::Limits,
};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

/// A call of a request.
#[derive(Debug)]
pub(crate) struct Call {
    value: Value,
    /// Its identifier as it was sent; `null` if it has none that can be sent back.
    id: String,
}

impl Call {
    /// The calls of a body, and whether they are a batch.
    ///
    /// # Errors
    ///
    /// The response to a body that has none.
    pub(crate) fn read(limits: &Limits, body: &[u8]) -> Result<(Vec<Self>, bool), String> {
        let invalid = |why: &str| Err(error(NO_ID, &invalid(why)));
        let (all, is_batch) = match serde_json::from_slice(body) {
            Ok(Value::Array(all)) if all.is_empty() => return invalid("empty batch"),
            Ok(Value::Array(all)) if all.len() > limits.batch => {
                let most = limits.batch;
                return invalid(&format!("batch too large: at most {most} requests"));
            }
            Ok(Value::Array(all)) => (all, true),
            Ok(one) => (vec![one], false),
            Err(why) => {
                let why = json!({ "code": -32700, "message": format!("parse error: {why}") });
                return Err(error(NO_ID, &why));
            }
        };
        let mut calls: Vec<_> = all.into_iter().map(Self::new).collect();
        if calls.iter().any(|call| call.value["id"].is_f64()) {
            let raw: Vec<&RawValue> = match is_batch {
                true => serde_json::from_slice(body).unwrap_or_default(),
                false => serde_json::from_slice(body).into_iter().collect(),
            };
            for (call, raw) in calls.iter_mut().zip(raw) {
                call.keep_digits(raw);
            }
        }
        Ok((calls, is_batch))
    }

    fn new(value: Value) -> Self {
        let id = match value.get("id") {
            Some(id @ (Value::String(_) | Value::Number(_))) => id.to_string(),
            _ => NO_ID.to_owned(),
        };
        Self { value, id }
    }

    /// Keeps all digits of a number that is not exact as a value.
    fn keep_digits(&mut self, sent: &RawValue) {
        #[derive(Deserialize)]
        struct Named<'a> {
            #[serde(borrow)]
            id: &'a RawValue,
        }
        if self.value["id"].is_f64()
            && let Ok(named) = serde_json::from_str::<Named<'_>>(sent.get())
        {
            named.id.get().clone_into(&mut self.id);
        }
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Whether it wants no response.
    pub(crate) fn is_notification(&self) -> bool {
        self.value.get("id").is_none()
    }

    /// Whether it is a call of version 2.0.
    pub(crate) fn is_valid(&self) -> bool {
        let id = self.value.get("id");
        let has_id = matches!(
            id,
            None | Some(Value::Null | Value::String(_) | Value::Number(_))
        );
        has_id && self.value["jsonrpc"] == "2.0" && self.value["method"].is_string()
    }

    /// The method, or nothing.
    pub(crate) fn method(&self) -> &str {
        self.value["method"].as_str().unwrap_or_default()
    }

    /// The parameters, or `null`.
    pub(crate) fn params(&self) -> &Value {
        &self.value["params"]
    }
}

/// The identifier of a response to no call.
const NO_ID: &str = "null";

/// The responses of all calls. Calls without a part were passed on.
pub(crate) fn with_passed(
    calls: &[Call],
    parts: Vec<Option<String>>,
    passed: Answer<Vec<String>>,
) -> Vec<String> {
    let (texts, fault) = match passed {
        Ok(texts) => (texts, Fault::Late),
        Err(fault) => (Vec::new(), fault),
    };
    let mut texts = texts.into_iter();
    let all = calls.iter().zip(parts).map(|(call, part)| {
        let text = part.or_else(|| texts.next());
        text.unwrap_or_else(|| match call.is_notification() {
            true => String::new(),
            false => refusal(call.id(), &fault),
        })
    });
    all.collect()
}

/// The body of the response to all calls.
pub(crate) fn joined(
    limits: &Limits,
    calls: &[Call],
    texts: Vec<String>,
    is_batch: bool,
) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (call, mut text) in calls.iter().zip(texts) {
        if text.is_empty() {
            continue;
        }
        if bytes.len() + text.len() > limits.answer_bytes {
            text = too_large(limits, call);
        }
        bytes.push(if bytes.is_empty() { b'[' } else { b',' });
        bytes.extend_from_slice(text.as_bytes());
    }
    match (is_batch, bytes.is_empty()) {
        // Only notifications, which have no answer.
        (_, true) => {}
        (true, false) => bytes.push(b']'),
        (false, false) => drop(bytes.remove(0)),
    }
    bytes
}

/// The response to a call whose own one is too large.
pub(crate) fn too_large(limits: &Limits, call: &Call) -> String {
    let most = limits.answer_bytes;
    let fault = Fault::TooMuch(format!("the response has more than {most} bytes"));
    refusal(call.id(), &fault)
}

/// The error of a request that is none.
pub(crate) fn invalid(why: &str) -> Value {
    json!({ "code": -32600, "message": why })
}

/// The response with an error. `id`: as JSON.
pub(crate) fn error(id: &str, error: &Value) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}")
}

/// The response to a call without a result. `id`: as JSON.
pub(crate) fn refusal(id: &str, fault: &Fault) -> String {
    error(id, &fault.error())
}
