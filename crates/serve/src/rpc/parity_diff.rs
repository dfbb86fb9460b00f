//! Changes of the state in the form of `trace_replayTransaction`: of each field, `"="` if it did not change, or
//! `{"+": new}`, `{"-": old}` or `{"*": {"from": old, "to": new}}`.

use crate::json::{data, quantity};
use alloy_primitives::{B256, U256};
use serde_json::{Map, Value, json};
use txgraph::Transition;

/// The changed accounts by address. All fields are new of a contract that is created, and old ones of an account
/// that is deleted. As in reth, other new accounts were empty before.
pub(super) fn state_diff(transitions: &[Transition]) -> Value {
    let changes = transitions.iter().filter_map(|it| {
        let account = account(it)?;
        Some((format!("{:#x}", it.address), account))
    });
    Value::Object(changes.collect())
}

fn account(it: &Transition) -> Option<Value> {
    if it.before.is_none() && it.after.is_none() {
        return None;
    }
    let (exists, remains) = (it.before.is_some() || !it.created, it.after.is_some());
    let slots = it.slots.iter().filter_map(|slot| {
        let old = exists.then_some(slot.original);
        let new = remains.then_some(slot.present);
        let is_listed = match (old, new) {
            (Some(_), Some(_)) => true,
            (one, other) => one.or(other).is_some_and(|value| !value.is_zero()),
        };
        let word = |value: U256| data(B256::from(value));
        let change = || change(old.map(word), new.map(word));
        is_listed.then(|| (format!("{:#066x}", slot.key), change()))
    });
    let code_before = it.code_before.clone().unwrap_or_default();
    let code_after = it.code_after.as_ref().unwrap_or(&code_before);
    let (before, after) = (it.before.unwrap_or_default(), it.after.unwrap_or_default());
    let field = |old: Value, new: Value| change(exists.then_some(old), remains.then_some(new));
    Some(json!({
        "balance": field(quantity(before.balance), quantity(after.balance)),
        "code": field(data(&code_before), data(code_after)),
        "nonce": field(quantity(before.nonce), quantity(after.nonce)),
        "storage": slots.collect::<Map<_, _>>(),
    }))
}

/// The change of a field, which an account without a value does not have.
fn change(before: Option<Value>, after: Option<Value>) -> Value {
    match (before, after) {
        (Some(before), Some(after)) if before == after => "=".into(),
        (Some(before), Some(after)) => json!({ "*": { "from": before, "to": after } }),
        (Some(before), None) => json!({ "-": before }),
        (None, after) => json!({ "+": after }),
    }
}
