//! The frames of JSON-RPC: identifiers, errors, and the response to several calls.

use crate::{
    fault::{Answer, Fault},
    settings::Limits,
};
use serde_json::{Value, json};

/// The responses of all calls. Calls without a part were passed on.
pub(crate) fn with_passed(
    calls: &[Value],
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
        text.unwrap_or_else(|| match call.get("id") {
            None => String::new(),
            Some(_) => refusal(&id_of(call), &fault).to_string(),
        })
    });
    all.collect()
}

/// The body of the response to all calls.
pub(crate) fn joined(
    limits: &Limits,
    calls: &[Value],
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
pub(crate) fn too_large(limits: &Limits, call: &Value) -> String {
    let most = limits.answer_bytes;
    let fault = Fault::TooMuch(format!("the response has more than {most} bytes"));
    refusal(&id_of(call), &fault).to_string()
}

/// The error of a request that is none.
pub(crate) fn invalid(why: &str) -> Value {
    json!({ "code": -32600, "message": why })
}

/// The identifier of a call, for its response.
pub(crate) fn id_of(call: &Value) -> Value {
    match call.get("id") {
        Some(id @ (Value::String(_) | Value::Number(_))) => id.clone(),
        _ => Value::Null,
    }
}

/// The response with an error.
pub(crate) fn error(id: &Value, error: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": error })
}

/// The response to a call without a result.
pub(crate) fn refusal(id: &Value, fault: &Fault) -> Value {
    error(id, &fault.error())
}
