//! Call traces in the form of `debug_traceTransaction` with `callTracer`.

use crate::{Frame, FrameLog, TransactionReplay, revert_reason::revert_reason};
use alloy_primitives::{Address, B256, Bytes, U64, U256};
use serde::Serialize;
use txgraph_evm::{Fork, FrameKind, Halt, Status, opcode::FACTS};

/// A call frame with the frames that it called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallFrame {
    /// The caller; for `DELEGATECALL` and `CALLCODE` the account in whose context the code ran.
    pub from: Address,
    /// The gas limit; in the outermost frame, of the transaction.
    pub gas: U64,
    /// The gas used; in the outermost frame, by the transaction.
    pub gas_used: U64,
    /// The address of the code; absent for a failed creation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Address>,
    /// The calldata, or the init code.
    pub input: Bytes,
    /// The data that it returned or reverted with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Bytes>,
    /// The error, in reth's wording.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The revert reason in the output, if it has one of the forms that Solidity writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revert_reason: Option<String>,
    /// The frames that it called, in order; a `SELFDESTRUCT` is last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Self>,
    /// The logs of this frame, if requested and not reverted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub logs: Vec<CallLog>,
    /// The value in wei; absent for `STATICCALL`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<U256>,
    /// The kind: `CALL`, `CREATE2`, `SELFDESTRUCT` …
    #[serde(rename = "type")]
    pub kind: &'static str,
}

/// A log of a frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CallLog {
    /// The contract that emitted it.
    pub address: Address,
    /// The topics, at most four.
    pub topics: Vec<B256>,
    /// The data.
    pub data: Bytes,
    /// The number of calls of the frame before the log.
    pub position: U64,
    /// The number of logs of the transaction before it, reverted ones included.
    pub index: U64,
}

impl TransactionReplay {
    /// The tree of call frames; `None` unless [`Record::frames`](crate::Record) was set to
    /// [`FrameDetail::Everything`](crate::FrameDetail).
    pub fn call_trace(&self, with_logs: bool) -> Option<CallFrame> {
        let frames = self.frames.as_ref()?;
        // Children come after their parents: in reverse order, the children of a frame are
        // complete before the frame.
        let mut done: Vec<Option<CallFrame>> = Vec::new();
        done.resize_with(frames.iter().len(), || None);
        for (number, frame) in frames.iter().enumerate().rev() {
            let children = frame.children.iter();
            let calls = children.filter_map(|child| done.get_mut(*child)?.take());
            let mut converted = convert(self.fork, frame, calls.collect());
            if with_logs && !frame.is_reverted {
                converted.logs = frame.logs.iter().map(convert_log).collect();
            }
            done[number] = Some(converted);
        }
        let mut root = done.into_iter().next()??;
        root.gas = U64::from(self.transaction.gas_limit);
        root.gas_used = U64::from(self.outcome.gas_used);
        Some(root)
    }
}

fn convert(fork: Fork, frame: &Frame, mut calls: Vec<CallFrame>) -> CallFrame {
    let borrows_code = matches!(frame.kind, FrameKind::CallCode | FrameKind::DelegateCall);
    let (from, to) = if borrows_code {
        (frame.address, frame.code_address)
    } else {
        (frame.caller, frame.address)
    };
    if let Some(destruction) = frame.destruction {
        calls.push(CallFrame {
            from: frame.address,
            gas: U64::ZERO,
            gas_used: U64::ZERO,
            to: Some(destruction.beneficiary),
            input: Bytes::new(),
            output: None,
            error: None,
            revert_reason: None,
            calls: Vec::new(),
            logs: Vec::new(),
            value: Some(destruction.amount),
            kind: "SELFDESTRUCT",
        });
    }
    let failed = frame.status != Status::Success;
    CallFrame {
        from,
        gas: U64::from(frame.gas_limit),
        gas_used: U64::from(frame.gas_used),
        to: (!(failed && frame.is_creation())).then_some(to),
        input: frame.input.clone(),
        output: (!frame.output.is_empty()).then(|| frame.output.clone()),
        error: error(fork, frame.status),
        revert_reason: failed.then(|| revert_reason(&frame.output)).flatten(),
        calls,
        logs: Vec::new(),
        value: (frame.kind != FrameKind::StaticCall).then_some(frame.value),
        kind: frame.kind.name(),
    }
}

fn convert_log(log: &FrameLog) -> CallLog {
    CallLog {
        address: log.log.address,
        topics: log.log.topics().to_vec(),
        data: log.log.data.data.clone(),
        position: U64::from(log.position),
        index: U64::from(log.index),
    }
}

/// The error in reth's wording, except that reth distinguishes several ways to run out of gas.
pub(crate) fn error(fork: Fork, status: Status) -> Option<String> {
    let text = match status {
        Status::Success => return None,
        Status::Revert => "execution reverted",
        Status::Halt(halt) => match halt {
            // A replay has no memory limit.
            Halt::OutOfGas | Halt::CodeDepositOutOfGas | Halt::MemoryLimit => "out of gas",
            Halt::InvalidOpcode(0xfe) => "invalid opcode: INVALID",
            Halt::InvalidOpcode(opcode) => {
                let facts = &FACTS[usize::from(opcode)];
                let is_of_later_fork = !facts.name.is_empty() && facts.since > fork;
                if is_of_later_fork {
                    "NotActivated"
                } else {
                    "invalid opcode"
                }
            }
            Halt::StackUnderflow => "StackUnderflow",
            Halt::StackOverflow => "Out of stack",
            Halt::InvalidJump => "invalid jump destination",
            Halt::StaticViolation => "StateChangeDuringStaticCall",
            Halt::ReturnDataOutOfBounds => "OutOfOffset",
            Halt::AddressCollision => "CreateCollision",
            Halt::CodeTooLarge => "CreateContractSizeLimit",
            Halt::InitCodeTooLarge => "CreateInitCodeSizeLimit",
            Halt::CodeStartsWithEf => "CreateContractStartingWithEF",
            Halt::PrecompileFailed => "precompiled failed",
            Halt::InsufficientBalance => "insufficient balance for transfer",
            Halt::NonceOverflow => "NonceOverflow",
            Halt::CallDepth => "CallTooDeep",
        },
    };
    Some(text.to_owned())
}
