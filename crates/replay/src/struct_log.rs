//! Opcode traces as `debug_traceTransaction` answers without a tracer: one object for
//! each instruction. They are kept in memory; [`txgraph_block::trace`] writes lines
//! (EIP-3155) while it runs, for transactions of any length.

use crate::TransactionReplay;
use alloy_primitives::{Address, B256, Bytes, U256, map::AddressHashMap};
use serde::Serialize;
use std::collections::BTreeMap;
use txgraph_block::opcodes;
use txgraph_evm::{FrameEnd, FrameStart, Inspector, Status, Step};

const PREVRANDAO: u8 = 0x44;
const SLOAD: u8 = 0x54;
const SSTORE: u8 = 0x55;

/// What of an instruction is kept, beside what always is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StructLogOptions {
    /// The frame's memory, which makes traces long.
    pub memory: bool,
    /// What the last call returned.
    pub return_data: bool,
}

/// A transaction, instruction by instruction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StructTrace {
    /// Whether the outermost frame failed.
    pub failed: bool,
    /// Of the transaction.
    pub gas: u64,
    /// Of the outermost frame.
    pub return_value: Bytes,
    /// In order of execution.
    pub struct_logs: Vec<StructLog>,
}

/// An instruction, before it was executed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StructLog {
    /// Its position in the code.
    pub pc: usize,
    /// Its mnemonic.
    pub op: &'static str,
    /// Gas left before it.
    pub gas: u64,
    /// Charged for it, with what a call gives its frame; 0 if it halted.
    pub gas_cost: u64,
    /// 1: the outermost frame.
    pub depth: usize,
    /// Why the frame halted here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The top is last.
    pub stack: Vec<U256>,
    /// What the last call returned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub return_data: Option<Bytes>,
    /// The frame's memory in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Vec<B256>>,
    /// Of `SLOAD` and `SSTORE`: all slots of the account that the transaction used so
    /// far, with this one as it is afterwards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage: Option<BTreeMap<B256, B256>>,
    /// The counter of refunds.
    pub refund: i64,
}

/// Records instructions.
#[derive(Debug, Default)]
pub struct StructLogger {
    options: StructLogOptions,
    logs: Vec<StructLog>,
    /// Of each frame, the instruction that runs.
    open: Vec<Option<Open>>,
    storage: AddressHashMap<BTreeMap<B256, B256>>,
}

/// An instruction that runs, or a load whose value is on the stack of the next one.
#[derive(Clone, Copy, Debug)]
struct Open {
    log: usize,
    access: Option<Access>,
    is_charged: bool,
}

/// Use of a slot.
#[derive(Clone, Copy, Debug)]
struct Access {
    address: Address,
    key: B256,
    /// What is written; `None`: it is read.
    value: Option<B256>,
}

impl StructLogger {
    /// Nothing recorded yet.
    pub fn new(options: StructLogOptions) -> Self {
        Self {
            options,
            ..Self::default()
        }
    }

    /// What was recorded of a transaction.
    pub fn finish(self, replay: &TransactionReplay) -> StructTrace {
        StructTrace {
            failed: !replay.outcome.is_success(),
            gas: replay.outcome.gas_used,
            return_value: replay.outcome.output.clone(),
            struct_logs: self.logs,
        }
    }

    fn current(&mut self) -> Option<&mut Open> {
        self.open.last_mut()?.as_mut()
    }

    /// The slot has this value now.
    fn used(&mut self, log: usize, access: Access, value: B256) {
        let slots = self.storage.entry(access.address).or_default();
        slots.insert(access.key, value);
        if let Some(log) = self.logs.get_mut(log) {
            log.storage = Some(slots.clone());
        }
    }
}

fn word(limbs: Option<&[u64; 4]>) -> B256 {
    limbs.map_or(B256::ZERO, |limbs| U256::from_limbs(*limbs).into())
}

impl Inspector for StructLogger {
    fn wants_steps(&self) -> bool {
        true
    }

    fn step(&mut self, step: &Step<'_>) {
        let mut from_top = step.stack.iter().rev();
        if let Some(Open {
            log,
            access: Some(access),
            ..
        }) = self.open.last().copied().flatten()
        {
            // What was loaded.
            self.used(log, access, word(step.stack.last()));
        }
        let access = matches!(step.opcode, SLOAD | SSTORE).then(|| Access {
            address: step.address,
            key: word(from_top.next()),
            value: (step.opcode == SSTORE).then(|| word(from_top.next())),
        });
        let log = self.logs.len();
        let StructLogOptions {
            memory,
            return_data,
        } = self.options;
        self.logs.push(StructLog {
            pc: step.pc,
            op: match step.opcode {
                // As geth and reth go on to call it.
                PREVRANDAO => "DIFFICULTY",
                opcode => opcodes::name(opcode).unwrap_or("Unknown"),
            },
            gas: step.gas,
            gas_cost: 0,
            depth: step.depth,
            error: None,
            stack: (step.stack.iter())
                .map(|limbs| U256::from_limbs(*limbs))
                .collect(),
            return_data: return_data.then(|| Bytes::copy_from_slice(step.return_data)),
            memory: memory.then(|| {
                let (words, _) = step.memory.as_chunks::<32>();
                words.iter().map(B256::from).collect()
            }),
            storage: None,
            refund: step.refund,
        });
        if let Some(open) = self.open.last_mut() {
            *open = Some(Open {
                log,
                access,
                is_charged: false,
            });
        }
    }

    fn step_end(&mut self, gas_left: u64) {
        let Some(open) = self.current() else {
            return;
        };
        open.is_charged = true;
        let (log, access) = (open.log, open.access);
        if let Some(access) = access
            && let Some(value) = access.value
        {
            open.access = None;
            self.used(log, access, value);
        }
        if let Some(log) = self.logs.get_mut(log) {
            log.gas_cost = log.gas.saturating_sub(gas_left);
        }
    }

    fn enter(&mut self, _: &FrameStart<'_>) {
        self.open.push(None);
    }

    fn exit(&mut self, end: &FrameEnd<'_>) {
        if let Some(Some(open)) = self.open.pop()
            && let Status::Halt(halt) = end.status
            && !open.is_charged
            && let Some(log) = self.logs.get_mut(open.log)
        {
            log.error = Some(halt.to_string());
        }
    }
}
