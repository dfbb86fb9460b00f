//! `/v1/transaction`: everything about one transaction.

use super::{
    named::{labels, token_id, tokens, transfers, unless_ended},
    query::{Found, Query, Reply},
};
use crate::{
    ask::Ask,
    fault::{Answer, Fault},
    frames,
    json::{address, data},
    rpc,
};
use alloy_primitives::{B256, hex};
use serde_json::{Value, json};
use txgraph::{
    CallFrame, Dictionary, Netting, NodeTransaction, ReceiptDetail, Trace, TransactionName,
    TransactionReplay, TransactionSummary,
};

/// Answers.
pub(super) fn transaction(query: &Query<'_>) -> Reply {
    let ask = query.ask;
    let hash = query.given.hash("hash").unwrap_or_default();
    let stored = rpc::find(ask, hash, ReceiptDetail::Whole)?;
    let (block, index) = (stored.header.number, stored.index);
    let name = TransactionName::Position { block, index };
    let summary = ask.source.transaction(name)?;
    let mut found = Found::default();
    let functions = &query.ask.names.functions;
    facts(&summary, &stored, functions, &mut found);
    found.put("transfers", transfers(query, &summary.transfers)?);
    if let Some(why) = &summary.without_internal {
        found.lacks(format!(
            "transfers inside of the transaction are not known: {why}"
        ));
    }
    swaps(&summary, &mut found);
    found.put("logs", logs(ask, &stored, functions)?);
    // One replay for both.
    let replay = ask.source.replay().transaction(name).trace(Trace::Call);
    let replay = rpc::replayed(replay.with_changes());
    let what = "what the transaction called and changed";
    let replay = unless_ended(replay, what, &mut found)?;
    let (mut called, mut changed) = (None, None);
    if let Some(replay) = replay {
        called = unless_ended(calls(ask, &replay, functions), "the calls", &mut found)?;
        let changes = changes(ask, &replay);
        changed = unless_ended(changes, "the changes of the state", &mut found)?;
    }
    let is_traced = called.is_some() || changed.is_some();
    found.put("calls", called);
    found.put("state", changed);
    let moved = summary.transfers.iter();
    let ends = moved.flat_map(|it| [it.from_address, it.to_address]);
    let ends = ends.chain([summary.sender]);
    let ends = ends.chain(summary.to).chain(summary.created);
    found.put("labels", labels(query, ends));
    let shown = summary.transfers.iter().map(|it| it.token_address);
    let tokens = tokens(query, shown.chain([None]), &mut found)?;
    found.put("tokens", tokens);
    let mut command = query.command(&format!("tx {hash:#x}"));
    if is_traced {
        command.word("--trace");
    }
    command.word("--json");
    found.command(command);
    Ok(found)
}

fn facts(
    summary: &TransactionSummary,
    stored: &NodeTransaction,
    functions: &Dictionary,
    found: &mut Found,
) {
    found.put("hash", data(summary.hash));
    found.put("block", summary.block);
    found.put("index", summary.index);
    found.put("time", summary.timestamp);
    found.put("from", address(summary.sender));
    found.put("to", summary.to.map(address));
    found.put("nonce", summary.nonce);
    found.put("value", summary.value.to_string());
    found.put("gas_used", summary.gas_used);
    found.put("gas_price", stored.gas_price().to_string());
    found.put("fee", summary.fee.map(|fee| fee.to_string()));
    if summary.fee.is_none() {
        found.lacks("the fee is not known: a part of it is not in the block, or the rules of the chain are not known");
    }
    found.put("status", summary.success);
    let reason = summary.reason.as_deref().map(txgraph::printable);
    found.put("reason", reason.map(String::from));
    found.put("input", data(&summary.input));
    found.put("method", summary.method(functions));
    found.put("created", summary.created.map(address));
}

/// The swaps, and the addresses of which the transfers do not say what they gave for what.
fn swaps(summary: &TransactionSummary, found: &mut Found) {
    let Netting {
        swaps, unresolved, ..
    } = summary.swaps();
    let swaps = swaps.iter().map(|swap| {
        json!({
            "address": address(swap.address),
            "to": address(swap.to),
            "given_token": token_id(swap.given_token),
            "given": swap.given.to_string(),
            "got_token": token_id(swap.got_token),
            "got": swap.got.to_string(),
        })
    });
    found.put("swaps", swaps.collect::<Vec<_>>());
    let unresolved = unresolved.into_iter().map(address);
    found.put("unresolved", unresolved.collect::<Vec<_>>());
}

fn logs(ask: &Ask<'_>, stored: &NodeTransaction, functions: &Dictionary) -> Answer<Value> {
    let Some(receipt) = &stored.receipt else {
        return Ok(json!([]));
    };
    let rows = (receipt.first_log..).zip(&receipt.logs);
    let rows = rows.map(|(index, log)| {
        ask.count(600 + 2 * log.data.data.len())?;
        let event = functions.event(log.topics(), &log.data.data);
        Ok(json!({
            "index": index,
            "address": address(log.address),
            "topics": log.topics().iter().map(data).collect::<Vec<_>>(),
            "data": data(&log.data.data),
            "event": event.map(|event| event.to_string()),
        }))
    });
    rows.collect::<Answer<Vec<_>>>().map(Value::from)
}

/// The tree of calls, as `callTracer` writes it, with the functions that they name.
fn calls(ask: &Ask<'_>, replay: &TransactionReplay, functions: &Dictionary) -> Answer<Value> {
    frames::count(ask, replay)?;
    let root = replay.call_trace(false);
    let tree = serde_json::to_value(&root);
    let mut tree = tree.map_err(|error| Fault::Failed(error.to_string()))?;
    if let Some(root) = &root {
        add_methods(&mut tree, root, functions);
    }
    Ok(tree)
}

/// Adds the function of each call with its arguments, or its selector; `null` for other calls.
fn add_methods(tree: &mut Value, call: &CallFrame, functions: &Dictionary) {
    let calls_code = !call.kind.starts_with("CREATE");
    let selector = call.input.first_chunk::<4>().filter(|_| calls_code);
    let method = selector.map(|selector| match functions.call(&call.input) {
        Some(named) => named.to_string(),
        None => hex::encode_prefixed(selector),
    });
    tree["method"] = method.into();
    let inner = tree.get_mut("calls").and_then(Value::as_array_mut);
    for (tree, call) in inner.into_iter().flatten().zip(&call.calls) {
        add_methods(tree, call, functions);
    }
}

/// The accounts that changed.
fn changes(ask: &Ask<'_>, replay: &TransactionReplay) -> Answer<Value> {
    let rows = replay.transitions.iter().map(|it| {
        let (before, after) = (it.before.unwrap_or_default(), it.after.unwrap_or_default());
        let balance = (before.balance != after.balance)
            .then(|| [before.balance, after.balance].map(|it| it.to_string()));
        let nonce = (before.nonce != after.nonce).then_some([before.nonce, after.nonce]);
        let slots = it.slots.iter().map(|slot| {
            ask.count(250)?;
            Ok(json!({
                "slot": data(B256::from(slot.key)),
                "before": data(B256::from(slot.original)),
                "after": data(B256::from(slot.present)),
            }))
        });
        ask.count(400)?;
        Ok(json!({
            "address": address(it.address),
            "balance": balance,
            "nonce": nonce,
            "created": it.created,
            "destroyed": it.destroyed,
            "slots": slots.collect::<Answer<Vec<_>>>()?,
        }))
    });
    rows.collect::<Answer<Vec<_>>>().map(Value::from)
}
