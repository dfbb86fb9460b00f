//! Calls of a transaction as a flat list, in the form of `trace_transaction`.

use crate::{
    ask::Ask,
    fault::Answer,
    json::{address, data, quantity},
};
use alloy_primitives::{Address, B256, Bytes, U256};
use serde_json::{Value, json};
use txgraph::{Frame, FrameKind, Halt, Status, TransactionReplay, is_precompile};

/// A call, a creation, a self-destruct or a reward.
#[derive(Clone, Debug)]
pub(crate) struct FlatTrace {
    /// Who called, created or was destroyed; `None` for a reward.
    pub(crate) from: Option<Address>,
    /// Who was called, created or paid; `None` for a creation that failed.
    pub(crate) to: Option<Address>,
    body: Value,
    /// Bytes of inputs and outputs.
    pub(crate) bytes: usize,
}

/// The block and the transaction of a trace.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TracePlace {
    pub(crate) block: u64,
    pub(crate) block_hash: B256,
    /// Hash and index; `None` for rewards.
    pub(crate) transaction: Option<(B256, u32)>,
}

impl FlatTrace {
    /// The trace with its place.
    pub(crate) fn placed(self, place: TracePlace) -> Value {
        let mut body = self.body;
        if let Value::Object(map) = &mut body {
            map.insert("blockHash".to_owned(), data(place.block_hash));
            map.insert("blockNumber".to_owned(), place.block.into());
            if let Some((hash, index)) = place.transaction {
                map.insert("transactionHash".to_owned(), data(hash));
                map.insert("transactionPosition".to_owned(), index.into());
            }
        }
        body
    }

    /// The trace without its place.
    pub(crate) fn alone(self) -> Value {
        self.body
    }

    /// The coins that a block creates.
    pub(crate) fn reward(author: Address, kind: &'static str, value: U256) -> Self {
        Self {
            from: None,
            to: Some(author),
            body: json!({
                "type": "reward",
                "action": {
                    "author": address(author),
                    "rewardType": kind,
                    "value": quantity(value),
                },
                "result": null,
                "subtraces": 0,
                "traceAddress": [],
            }),
            bytes: 0,
        }
    }
}

/// A call, or the self-destruct that ended it, in the order in which they happened.
#[derive(Clone, Debug)]
pub(crate) struct Step<'a> {
    pub(crate) frame: &'a Frame,
    /// At each level, the index of the call.
    pub(crate) path: Vec<u32>,
    /// Whether it is the self-destruct.
    pub(crate) is_destruction: bool,
    /// The calls that it made, and its self-destruct.
    subtraces: usize,
}

/// The steps of a transaction. As in nodes, calls of precompiled contracts are left out, unless they
/// move value.
pub(crate) fn steps(replay: &TransactionReplay) -> Vec<Step<'_>> {
    let mut all = Vec::new();
    let Some(frames) = &replay.frames else {
        return all;
    };
    let child = |number: &usize| {
        let frame = frames.get(*number)?;
        let is_silent = frame.value.is_zero() && is_precompile(replay.fork, &frame.code_address);
        (!is_silent).then_some(frame)
    };
    // The next one is last.
    let mut open = Vec::new();
    open.extend(frames.root().map(|root| (root, Vec::new(), false)));
    while let Some((frame, path, is_destruction)) = open.pop() {
        let mut subtraces = 0;
        if !is_destruction {
            let children: Vec<_> = frame.children.iter().filter_map(child).collect();
            let below = children.into_iter().map(|child| (child, false));
            // It is the last thing that a frame does.
            let end = frame.destruction.map(|_| (frame, true));
            let begin = open.len();
            for (at, (below, ends)) in (0..).zip(below.chain(end)) {
                let mut path = path.clone();
                path.push(at);
                open.push((below, path, ends));
                subtraces += 1;
            }
            open[begin..].reverse();
        }
        all.push(Step {
            frame,
            path,
            is_destruction,
            subtraces,
        });
    }
    all
}

/// The calls of a transaction, which was replayed with everything that its calls say. Each is written when it
/// is asked for: all of them can be larger than an answer.
pub(crate) fn flat(replay: &TransactionReplay) -> impl Iterator<Item = FlatTrace> {
    let flat = |step: Step<'_>| match step.is_destruction {
        true => destruction(step.frame, &step.path),
        false => Some(call(step.frame, &step.path, step.subtraces)),
    };
    steps(replay).into_iter().filter_map(flat)
}

/// Counts the calls of a transaction as rows, before all of them are written.
pub(crate) fn count(ask: &Ask<'_>, replay: &TransactionReplay) -> Answer<()> {
    let mut frames = replay.frames.iter().flat_map(|frames| frames.iter());
    frames.try_for_each(|frame| ask.count(500 + 2 * (frame.input.len() + frame.output.len())))
}

/// Counts the changes of the state as rows, before all of them are written.
pub(crate) fn count_changes(ask: &Ask<'_>, replay: &TransactionReplay) -> Answer<()> {
    let mut accounts = replay.transitions.iter();
    accounts.try_for_each(|it| {
        let codes = it.code_before.iter().chain(&it.code_after);
        let codes: usize = codes.map(|code| code.len()).sum();
        ask.count(1000 + 300 * it.slots.len() + 2 * codes)
    })
}

fn call(frame: &Frame, path: &[u32], subtraces: usize) -> FlatTrace {
    let (from, to) = ends(frame);
    let failed = frame.status != Status::Success;
    let has_result = matches!(frame.status, Status::Success | Status::Revert);
    let (traced, action, result) = if frame.is_creation() {
        let action = json!({
            "from": address(from),
            "creationMethod": kind(frame),
            "gas": quantity(frame.gas_limit),
            "init": data(&frame.input),
            "value": quantity(frame.value),
        });
        let result = json!({
            "address": address(to),
            "code": data(&frame.output),
            "gasUsed": quantity(frame.gas_used),
        });
        ("create", action, result)
    } else {
        let action = json!({
            "from": address(from),
            "callType": kind(frame),
            "gas": quantity(frame.gas_limit),
            "input": data(&frame.input),
            "to": address(to),
            "value": quantity(frame.value),
        });
        let result = json!({
            "gasUsed": quantity(frame.gas_used),
            "output": data(&frame.output),
        });
        ("call", action, result)
    };
    let mut body = json!({
        "type": traced,
        "action": action,
        "result": if has_result { result } else { Value::Null },
        "subtraces": subtraces,
        "traceAddress": path,
    });
    if let (Some(error), Value::Object(map)) = (error(frame.status), &mut body) {
        map.insert("error".to_owned(), error.into());
    }
    FlatTrace {
        from: Some(from),
        to: (!(frame.is_creation() && failed)).then_some(to),
        body,
        bytes: 600 + 2 * (frame.input.len() + frame.output.len()),
    }
}

fn destruction(frame: &Frame, path: &[u32]) -> Option<FlatTrace> {
    let destruction = frame.destruction?;
    Some(FlatTrace {
        from: Some(frame.address),
        to: Some(destruction.beneficiary),
        body: json!({
            "type": "suicide",
            "action": {
                "address": address(frame.address),
                "balance": quantity(destruction.amount),
                "refundAddress": address(destruction.beneficiary),
            },
            "result": null,
            "subtraces": 0,
            "traceAddress": path,
        }),
        bytes: 600,
    })
}

/// Who called, and whom. A call that borrows code is from the account in whose name it runs.
pub(crate) fn ends(frame: &Frame) -> (Address, Address) {
    match frame.kind {
        FrameKind::CallCode | FrameKind::DelegateCall => (frame.address, frame.code_address),
        _ => (frame.caller, frame.address),
    }
}

/// The error in the words of Parity.
pub(crate) fn error(status: Status) -> Option<String> {
    let words = match status {
        Status::Success => return None,
        Status::Revert => "Reverted",
        Status::Halt(Halt::OutOfGas | Halt::CodeDepositOutOfGas | Halt::MemoryLimit) => {
            "Out of gas"
        }
        Status::Halt(Halt::InvalidOpcode(_)) => "Bad instruction",
        Status::Halt(Halt::StackOverflow) => "Out of stack",
        Status::Halt(Halt::InvalidJump) => "Bad jump destination",
        Status::Halt(Halt::PrecompileFailed) => "Built-in failed",
        Status::Halt(Halt::StaticViolation) => "StateChangeDuringStaticCall",
        Status::Halt(Halt::ReturnDataOutOfBounds) => "OutOfOffset",
        Status::Halt(Halt::AddressCollision) => "CreateCollision",
        Status::Halt(Halt::CodeTooLarge) => "CreateContractSizeLimit",
        Status::Halt(Halt::InitCodeTooLarge) => "CreateInitCodeSizeLimit",
        Status::Halt(Halt::CodeStartsWithEf) => "CreateContractStartingWithEF",
        Status::Halt(Halt::InsufficientBalance) => "OutOfFunds",
        Status::Halt(Halt::CallDepth) => "CallTooDeep",
        Status::Halt(other) => return Some(format!("{other:?}")),
    };
    Some(words.to_owned())
}

/// The kind of a frame in the words of Parity.
pub(crate) fn kind(frame: &Frame) -> String {
    frame.kind.name().to_ascii_lowercase()
}

/// The init code that made a contract.
pub(crate) fn init_code(replay: &TransactionReplay, contract: Address) -> Option<Bytes> {
    let frames = replay.frames.as_ref()?;
    let mut creations = frames
        .iter()
        .filter(|frame| frame.is_creation() && frame.address == contract && !frame.is_reverted);
    Some(creations.next()?.input.clone())
}
