//! Traces, compared with the responses of the node.

use crate::support::{Present, database, genesis, open};
use alloy_primitives::{Address, U256, hex};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use txgraph_block::{
    opcodes,
    trace::{Trace, TraceOptions},
};
use txgraph_replay::{
    BlockReplay, Cause, FrameDetail, Genesis, NativeTransfer, Record, ReferenceTrace,
    ReplayOptions, Replayer, TraceComparer, TraceStep, TransactionLocation, TransactionReplay,
};
use txgraph_state::StateRange;
use txgraph_testkit::fixtures::{self, Fixture};
use txgraph_transfers::Kind;

/// Replays a chain from its genesis and calls `see` for every block.
fn for_each_block(fixture: &Fixture, frames: FrameDetail, see: &mut dyn FnMut(BlockReplay)) {
    let db = database(fixture.path());
    let Genesis { rules, state } = genesis(fixture);
    let options = ReplayOptions::recording(Record {
        frames: Some(frames),
        changes: true,
        ..Record::default()
    });
    let replayer = Replayer::new(rules, &db, Present::new(state), options).unwrap();
    for number in 1..=fixture.tip().unwrap() {
        let replay = replayer.block(number).unwrap();
        assert_eq!(replay.mismatches, [], "{} {number}", fixture.name);
        let history = replayer.history();
        history.advance(number, replay.hash, &replay.changes);
        see(replay);
    }
}

/// The call traces of the node, by block.
fn answers(fixture: &Fixture) -> BTreeMap<u64, Vec<Value>> {
    let lines = fixture.lines("call-traces").map(|line| {
        let results = line["result"].as_array().unwrap();
        let traces = results.iter().map(|one| one["result"].clone());
        (line["block"].as_u64().unwrap(), traces.collect())
    });
    lines.collect()
}

/// Removes reth's distinction between ways to run out of gas, which the protocol does not define.
fn unify_out_of_gas(frame: &mut Value) {
    if let Some(error) = frame.get_mut("error")
        && error.as_str().unwrap().starts_with("out of gas")
    {
        *error = "out of gas".into();
    }
    for call in frame
        .get_mut("calls")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        unify_out_of_gas(call);
    }
}

/// Describes the first difference of two values, if there is one.
fn first_difference(path: &str, expected: &Value, found: &Value) -> Option<String> {
    if expected == found {
        return None;
    }
    let within = match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => {
            // Compare the fields of a frame before its calls.
            let mut keys: Vec<_> = expected.keys().chain(found.keys()).collect();
            keys.sort_by_key(|key| *key == "calls");
            let key = keys
                .into_iter()
                .find(|key| expected.get(*key) != found.get(*key))?;
            let get =
                |map: &serde_json::Map<String, Value>| map.get(key).cloned().unwrap_or_default();
            first_difference(&format!("{path}.{key}"), &get(expected), &get(found))
        }
        (Value::Array(expected), Value::Array(found)) if expected.len() == found.len() => {
            let mut pairs = expected.iter().zip(found).enumerate();
            let (at, (expected, found)) = pairs.find(|(_, (expected, found))| expected != found)?;
            first_difference(&format!("{path}[{at}]"), expected, found)
        }
        _ => None,
    };
    within.or_else(|| Some(format!("{path}: node {expected}, replay {found}")))
}

fn compare_traces(fixture: &Fixture) {
    let answers = answers(fixture);
    let mut frames = 0;
    for_each_block(fixture, FrameDetail::Everything, &mut |replay| {
        let expected = &answers[&replay.number];
        assert_eq!(expected.len(), replay.transactions.len());
        for (tx, expected) in replay.transactions.iter().zip(expected) {
            let mut expected = expected.clone();
            unify_out_of_gas(&mut expected);
            let found = serde_json::to_value(tx.call_trace(true).unwrap()).unwrap();
            let place = format!("{} {}/{}", fixture.name, tx.block, tx.index);
            let difference = first_difference(&place, &expected, &found);
            assert!(difference.is_none(), "{}", difference.unwrap());
            frames += tx.frames.as_ref().unwrap().iter().len();
        }
    });
    assert!(frames > 1000, "{frames}");
}

/// Runs `compare` on a thread with a large stack: traces nest 1,024 deep.
fn with_deep_stack(compare: fn(&Fixture)) {
    let all = move || {
        for name in ["small/v1", "small/v2", "dev-v1", "dev-v2"] {
            if let Some(fixture) = fixtures::fixture(name) {
                compare(&fixture);
            }
        }
    };
    let thread = std::thread::Builder::new().stack_size(256 << 20);
    thread.spawn(all).unwrap().join().unwrap();
}

#[test]
fn call_traces_equal_those_of_the_node() {
    with_deep_stack(compare_traces);
}

type Move = (Address, Address, U256, Vec<u32>, String);

/// The movements in a trace of the node, found by a simple recursion.
fn moves(frame: &Value, path: &[u32], found: &mut Vec<Move>) {
    if frame.get("error").is_some() {
        return;
    }
    let text = |key: &str| frame[key].as_str().unwrap();
    if matches!(text("type"), "CALL" | "CREATE" | "CREATE2" | "SELFDESTRUCT") && !path.is_empty() {
        let value: U256 = text("value").parse().unwrap();
        if !value.is_zero() {
            let ends = (text("from").parse().unwrap(), text("to").parse().unwrap());
            let kind = text("type").to_owned();
            found.push((ends.0, ends.1, value, path.to_vec(), kind));
        }
    }
    let calls = frame
        .get("calls")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    for (at, call) in (0..).zip(calls) {
        moves(call, &[path, &[at]].concat(), found);
    }
}

fn compare_transfers(fixture: &Fixture) {
    let answers = answers(fixture);
    let (mut count, mut burns) = ([0; 4], 0);
    for_each_block(fixture, FrameDetail::Calls, &mut |replay| {
        let expected = &answers[&replay.number];
        for (tx, trace) in replay.transactions.iter().zip(expected) {
            let mut expected = Vec::new();
            moves(trace, &[], &mut expected);
            let transfers = tx.internal_transfers(replay.timestamp);
            for (sub, one) in (1..).zip(&transfers) {
                assert_eq!(one.transfer.sub_index, sub);
                assert_eq!(one.transfer.transaction_hash, Some(tx.hash));
                count[one.cause as usize] += 1;
                burns += u32::from(one.transfer.kind == Kind::Burn);
            }
            // A contract that is not deleted and names itself as beneficiary moves nothing.
            let burnt = |path: &[u32]| transfers.iter().any(|one| one.trace_address == path);
            expected.retain(|(from, to, _, path, kind)| {
                kind != "SELFDESTRUCT" || from != to || burnt(path)
            });
            // In the node's trace, a burn is a transfer from a contract to itself.
            let ends = |transfer: &NativeTransfer| {
                let (from, to) = (transfer.transfer.from_address, transfer.transfer.to_address);
                let burnt = transfer.transfer.kind == Kind::Burn;
                (from, if burnt { from } else { to })
            };
            let found: Vec<Move> = transfers
                .iter()
                .map(|one| {
                    let (from, to) = ends(one);
                    let (path, cause) = (one.trace_address.clone(), one.cause.as_str());
                    (from, to, one.transfer.value, path, cause.to_owned())
                })
                .collect();
            assert_eq!(
                found, expected,
                "{} {}/{}",
                fixture.name, tx.block, tx.index
            );
        }
    });
    let destructions = count[Cause::SelfDestruct as usize];
    assert!(
        count[Cause::Call as usize] > 0 && destructions > burns,
        "{count:?}"
    );
    assert!(burns > 0);
}

#[test]
fn internal_transfers_equal_those_of_the_node() {
    with_deep_stack(compare_transfers);
}

/// The lines of an EIP-3155 trace of one transaction, the summary last.
fn trace_lines(
    replayer: &Replayer<'_, StateRange<'_>>,
    location: TransactionLocation,
) -> (TransactionReplay, Vec<Value>) {
    let mut trace = Trace::new(Vec::new(), TraceOptions::default());
    let (replay, mismatches) = replayer.transaction(location, Some(&mut trace)).unwrap();
    assert_eq!(mismatches, []);
    let text = String::from_utf8(trace.finish(&replay.outcome).unwrap()).unwrap();
    let lines = text.lines();
    let lines = lines.map(|line| serde_json::from_str(line).unwrap());
    (replay, lines.collect())
}

/// A number as struct logs write it, from a hex string of EIP-3155.
fn decimal(hex: &Value) -> Value {
    let digits = hex.as_str().unwrap().strip_prefix("0x").unwrap();
    u64::from_str_radix(digits, 16).unwrap().into()
}

/// The struct log that corresponds to a line of EIP-3155, without the error text.
fn struct_log(line: &Value) -> Value {
    json!({
        "pc": line["pc"],
        "op": line["op"],
        "gas": decimal(&line["gas"]),
        "gasCost": decimal(&line["gasCost"]),
        "depth": line["depth"],
        "stack": line["stack"],
        "refund": line["refund"],
        "error": line.get("error").is_some(),
    })
}

/// A line of EIP-3155 in the form of struct logs.
fn struct_log_text(line: &Value) -> Value {
    let mut log = struct_log(line);
    log["op"] = line["opName"].clone();
    log["error"] = line["error"].clone();
    log
}

/// The fields of a struct log of the node that [`struct_log`] has, with the opcode as a number
/// where it has a name.
fn node_log(log: &Value, op: &Value) -> Value {
    let named = opcodes::by_name(log["op"].as_str().unwrap());
    json!({
        "pc": log["pc"],
        "op": named.map_or_else(|| op.clone(), Value::from),
        "gas": log["gas"],
        "gasCost": log["gasCost"],
        "depth": log["depth"],
        "stack": log["stack"],
        "refund": log["refund"],
        "error": log.get("error").is_some_and(|error| !error.is_null()),
    })
}

/// Makes refunds relative to the start of their frame. revm counts them from zero in each
/// frame; geth and this project count over the whole transaction.
fn refunds_by_frame(logs: &mut [Value]) {
    let mut before: Vec<i64> = Vec::new();
    for log in logs {
        let refund = log["refund"].as_i64().unwrap();
        let depth = usize::try_from(log["depth"].as_u64().unwrap()).unwrap();
        before.resize(depth, refund);
        log["refund"] = (refund - before[depth - 1]).into();
    }
}

/// Position, opcode, gas, cost, depth, stack and refund of every instruction, and the result.
fn compare_steps(fixture: &Fixture) {
    let opened = open(fixture);
    let replayer = opened.replayer(ReplayOptions::default());
    let (mut traces, mut steps) = (0, 0);
    for line in fixture.lines("struct-logs") {
        let location = TransactionLocation::new(
            line["block"].as_u64().unwrap(),
            u32::try_from(line["index"].as_u64().unwrap()).unwrap(),
            Some(line["tx"].as_str().unwrap().parse().unwrap()),
        );
        let (replay, mut lines) = trace_lines(&replayer, location);
        let label = format!("{} {location:?} {}", fixture.name, line["label"]);
        let summary = lines.pop().unwrap();
        let expected = &line["result"];
        assert_eq!(decimal(&summary["gasUsed"]), expected["gas"], "{label}");
        assert_eq!(
            summary.get("error").is_some(),
            expected["failed"].as_bool().unwrap(),
            "{label}"
        );
        let output = expected["returnValue"].as_str().unwrap();
        assert_eq!(
            replay.outcome.output,
            hex::decode(output).unwrap(),
            "{label}"
        );

        let logs = expected["structLogs"].as_array().unwrap();
        let mut found: Vec<_> = lines.iter().map(struct_log).collect();
        refunds_by_frame(&mut found);
        assert_eq!(logs.len(), lines.len(), "{label}");
        for (step, (found, log)) in found.iter().zip(logs).enumerate() {
            let expected = node_log(log, &lines[step]["op"]);
            assert_eq!(*found, expected, "{label}: step {step}");
        }
        steps += logs.len();
        traces += 1;
    }
    assert!(traces > 20 && steps > 5_000, "{traces} {steps}");
}

#[test]
fn struct_logs_equal_those_of_the_node() {
    with_deep_stack(compare_steps);
}

fn compare_diffs(fixture: &Fixture) {
    let opened = open(fixture);
    let options = ReplayOptions::recording(Record {
        transitions: true,
        ..Record::default()
    });
    let replayer = opened.replayer(options);
    let mut accounts = 0;
    for line in fixture.lines("state-diffs") {
        let number = line["block"].as_u64().unwrap();
        let replay = replayer.block(number).unwrap();
        let expected = line["result"].as_array().unwrap();
        assert_eq!(replay.transactions.len(), expected.len());
        for (tx, expected) in replay.transactions.iter().zip(expected) {
            let diff = tx.state_diff();
            accounts += diff.pre.len();
            let found = serde_json::to_value(diff).unwrap();
            let place = format!("{} {number}/{}", fixture.name, tx.index);
            let difference = first_difference(&place, &expected["result"], &found);
            assert!(difference.is_none(), "{}", difference.unwrap());
        }
    }
    assert!(accounts > 100, "{accounts}");
}

#[test]
fn state_diffs_equal_those_of_the_node() {
    with_deep_stack(compare_diffs);
}

/// A trace of the node has no difference, and every change to it is found at its step.
fn compare_against(fixture: &Fixture) {
    let opened = open(fixture);
    let replayer = opened.replayer(ReplayOptions::default());
    let against = |place, trace: &ReferenceTrace| {
        let mut comparer = TraceComparer::new(trace);
        replayer.transaction(place, Some(&mut comparer)).unwrap();
        comparer.finish()
    };
    let mut changed = 0;
    for line in fixture.lines("struct-logs") {
        let place = TransactionLocation::new(
            line["block"].as_u64().unwrap(),
            u32::try_from(line["index"].as_u64().unwrap()).unwrap(),
            None,
        );
        let trace = ReferenceTrace::parse(&line.to_string()).unwrap();
        let steps = against(place, &trace).unwrap_or_else(|e| panic!("{} {e}", line["label"]));
        assert_eq!(steps, trace.steps.len());
        if steps < 2 {
            continue;
        }
        let at = steps / 2;
        for (field, change) in CHANGES {
            let mut other = trace.clone();
            change(&mut other.steps[at]);
            // The cost of an instruction that halted is not compared.
            let is_free = *field == "cost" && trace.steps[at].cost == Some(0);
            if other == trace || is_free {
                continue;
            }
            let difference = against(place, &other).unwrap_err();
            assert_eq!(difference.step, at, "{field}: {difference}");
            assert_eq!(difference.fields(), [*field], "{difference}");
            changed += 1;
        }
        let mut short = trace.clone();
        short.steps.truncate(at);
        let difference = against(place, &short).unwrap_err();
        assert_eq!((difference.step, &difference.theirs), (at, &None));
        let mut long = trace.clone();
        long.steps.extend_from_within(..1);
        let difference = against(place, &long).unwrap_err();
        assert_eq!((difference.step, &difference.ours), (steps, &None));
    }
    assert!(changed > 100, "{changed}");
}

/// A field of a step, and a function that changes it.
type Change = (&'static str, fn(&mut TraceStep));

const CHANGES: &[Change] = &[
    ("pc", |step| step.pc += 1),
    ("op", |step| step.op = Some(0xfd)),
    ("gas", |step| step.gas -= 1),
    ("depth", |step| step.depth += 1),
    ("cost", |step| step.cost = step.cost.map(|cost| cost + 1)),
    ("stack", |step| {
        if let Some(top) = step.stack.as_mut().and_then(|stack| stack.last_mut()) {
            *top = !*top;
        }
    }),
];

#[test]
fn finds_changed_steps_in_reference_traces() {
    with_deep_stack(compare_against);
}

/// A replay agrees with its own trace, which has a line for each instruction and a summary.
#[test]
fn eip3155_lines_match_the_replay() {
    for fixture in fixtures::committed() {
        let opened = open(&fixture);
        let replayer = opened.replayer(ReplayOptions::default());
        for index in 0..20 {
            let location = TransactionLocation::new(4, index, None);
            let (replay, lines) = trace_lines(&replayer, location);
            let text: Vec<_> = lines.iter().map(Value::to_string).collect();
            let reference = ReferenceTrace::parse(&text.join("\n")).unwrap();
            let mut comparer = TraceComparer::new(&reference);
            replayer.transaction(location, Some(&mut comparer)).unwrap();
            assert_eq!(comparer.finish(), Ok(lines.len() - 1));
            let (summary, steps) = lines.split_last().unwrap();
            assert_eq!(decimal(&summary["gasUsed"]), replay.outcome.gas_used);
            // The same steps as struct logs.
            let logs: Vec<_> = steps.iter().map(struct_log_text).collect();
            let logs = json!({ "structLogs": logs }).to_string();
            assert_eq!(ReferenceTrace::parse(&logs), Ok(reference));
        }
    }
}
