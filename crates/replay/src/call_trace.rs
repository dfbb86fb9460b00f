//! Call traces as `debug_traceTransaction` answers with the tracer `callTracer`.

use crate::{Frame, FrameLog, TransactionReplay, revert_reason::revert_reason};
use alloy_primitives::{Address, B256, Bytes, U64, U256};
use serde::Serialize;
use txgraph_evm::{Fork, FrameKind, Halt, Status, opcode::FACTS};

/// A frame, with the frames it called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallFrame {
    /// Who called; in whose name the code ran, for `DELEGATECALL` and `CALLCODE`.
    pub from: Address,
    /// Gas it might use; that of the outermost frame is the transaction's.
    pub gas: U64,
    /// Gas it used; that of the outermost frame is the transaction's.
    pub gas_used: U64,
    /// Whose code ran; absent for a creation that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Address>,
    /// Calldata or init code.
    pub input: Bytes,
    /// Returned or reverted with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Bytes>,
    /// Why it failed, in reth's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The reason in the output, if it is one that Solidity writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revert_reason: Option<String>,
    /// Frames it called, in order; a `SELFDESTRUCT` last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Self>,
    /// Its own logs, if they were wanted and not undone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub logs: Vec<CallLog>,
    /// Wei; absent for `STATICCALL`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<U256>,
    /// `CALL`, `CREATE2`, `SELFDESTRUCT` …
    #[serde(rename = "type")]
    pub kind: &'static str,
}

/// A log in its frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CallLog {
    /// The contract that wrote it.
    pub address: Address,
    /// At most four.
    pub topics: Vec<B256>,
    /// The data.
    pub data: Bytes,
    /// Calls of the frame before it.
    pub position: U64,
    /// Logs of the transaction before it, also those that were undone.
    pub index: U64,
}

impl TransactionReplay {
    /// The tree of its frames; `None` unless [`Record::frames`](crate::Record) was asked
    /// for, with everything.
    pub fn call_trace(&self, with_logs: bool) -> Option<CallFrame> {
        let frames = self.frames.as_ref()?;
        // Children stand behind their parents: from the last on, each frame is complete
        // when its turn comes.
        let mut done: Vec<Option<CallFrame>> = Vec::new();
        done.resize_with(frames.iter().len(), || None);
        for (number, frame) in frames.iter().enumerate().rev() {
            let children = frame.children.iter();
            let calls = children.filter_map(|child| done.get_mut(*child)?.take());
            let mut told = tell(self.fork, frame, calls.collect());
            if with_logs && !frame.is_undone {
                told.logs = frame.logs.iter().map(tell_log).collect();
            }
            done[number] = Some(told);
        }
        let mut root = done.into_iter().next()??;
        root.gas = U64::from(self.transaction.gas_limit);
        root.gas_used = U64::from(self.outcome.gas_used);
        Some(root)
    }
}

fn tell(fork: Fork, frame: &Frame, mut calls: Vec<CallFrame>) -> CallFrame {
    let runs_foreign_code = matches!(frame.kind, FrameKind::CallCode | FrameKind::DelegateCall);
    let (from, to) = if runs_foreign_code {
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
        kind: match frame.kind {
            FrameKind::Call => "CALL",
            FrameKind::CallCode => "CALLCODE",
            FrameKind::DelegateCall => "DELEGATECALL",
            FrameKind::StaticCall => "STATICCALL",
            FrameKind::Create => "CREATE",
            FrameKind::Create2 => "CREATE2",
        },
    }
}

fn tell_log(log: &FrameLog) -> CallLog {
    CallLog {
        address: log.log.address,
        topics: log.log.topics().to_vec(),
        data: log.log.data.data.clone(),
        position: U64::from(log.position),
        index: U64::from(log.index),
    }
}

/// In reth's words, but that it knows several ways to be out of gas.
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
