//! Traces of instructions, in the form of geth's `structLogs`.

use super::params;
use crate::{
    ask::Ask,
    fault::{Answer, Fault},
    json::data,
};
use alloy_primitives::{Address, B256, U256};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use txgraph::{
    Fork, FrameEnd, FrameStart, Halt, Inspector, Status, Step, TransactionReplay, opcode_name,
};

const PREVRANDAO: u8 = 0x44;
const SLOAD: u8 = 0x54;
const SSTORE: u8 = 0x55;

/// The parts of a trace that are wanted.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepOptions {
    memory: bool,
    stack: bool,
    storage: bool,
    return_data: bool,
    /// The instructions that are traced: the first ones.
    limit: Option<usize>,
}

impl StepOptions {
    /// The options that `option` finds by their names.
    pub(super) fn read<'a>(option: impl Fn(&str) -> Option<&'a Value>) -> Answer<Self> {
        let wrong = |name: &str| Fault::Params(format!("invalid option `{name}` of the trace"));
        let flag = |name: &str| match option(name) {
            None => Ok(false),
            Some(value) => value.as_bool().ok_or_else(|| wrong(name)),
        };
        let limit = option("limit");
        let limit = limit.map(|it| params::number(Some(it)).ok_or_else(|| wrong("limit")));
        let limit = limit.transpose()?.filter(|limit| *limit > 0);
        Ok(Self {
            memory: flag("enableMemory")?,
            stack: !flag("disableStack")?,
            storage: !flag("disableStorage")?,
            return_data: flag("enableReturnData")?,
            limit: limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX)),
        })
    }
}

/// The slots of a contract that were read or written so far.
type Slots = BTreeMap<U256, U256>;

/// An instruction.
#[derive(Debug)]
struct Log {
    pc: usize,
    opcode: u8,
    gas: u64,
    cost: u64,
    depth: usize,
    refund: i64,
    stack: Option<Vec<U256>>,
    memory: Vec<u8>,
    return_data: Vec<u8>,
    slots: Option<Slots>,
    halt: Option<Halt>,
}

/// A call that is being executed.
#[derive(Debug, Default)]
struct Open {
    /// The log of the instruction that is being executed, and what it writes.
    log: Option<usize>,
    write: Option<(Address, U256, U256)>,
    /// The log of the last instruction, if that has read this slot.
    read: Option<(usize, U256)>,
}

/// Records the instructions of one transaction.
#[derive(Debug)]
pub(super) struct StepRecorder<'a> {
    ask: &'a Ask<'a>,
    options: StepOptions,
    logs: Vec<Log>,
    open: Vec<Open>,
    slots: BTreeMap<Address, Slots>,
    /// More than an answer can have.
    too_much: Option<Fault>,
}

impl<'a> StepRecorder<'a> {
    pub(super) const fn new(ask: &'a Ask<'a>, options: StepOptions) -> Self {
        Self {
            ask,
            options,
            logs: Vec::new(),
            open: Vec::new(),
            slots: BTreeMap::new(),
            too_much: None,
        }
    }

    fn is_full(&self) -> bool {
        let limit = self.options.limit;
        self.too_much.is_some() || limit.is_some_and(|limit| self.logs.len() >= limit)
    }

    /// Counts what a log has.
    fn count(&mut self, bytes: usize) {
        match self.ask.count(bytes) {
            Err(Fault::TooMuch(_)) => {
                let limits = self.ask.limits;
                self.too_much = Some(Fault::TooMuch(format!(
                    "the trace has more than {} rows or {} bytes: ask for the first instructions with `limit`, or \
                     set `disableStack` and `disableStorage`",
                    limits.rows, limits.answer_bytes
                )));
            }
            Err(fault) => self.too_much = Some(fault),
            Ok(()) => {}
        }
    }

    /// Adds the slots of a contract to the log of an instruction that read or wrote one of them.
    fn add_slot(&mut self, log: usize, contract: Address, key: U256, value: U256) {
        let slots = self.slots.entry(contract).or_default();
        slots.insert(key, value);
        let (slots, known) = (slots.clone(), slots.len());
        if let Some(log) = self.logs.get_mut(log) {
            log.slots = Some(slots);
            self.count(200 * known);
        }
    }

    /// The trace of the transaction that was executed.
    pub(super) fn result(self, replay: &TransactionReplay) -> Answer<Value> {
        if let Some(fault) = self.too_much {
            return Err(fault);
        }
        let outcome = &replay.outcome;
        let output: &[u8] = match outcome.status {
            Status::Success | Status::Revert => &outcome.output,
            Status::Halt(_) => &[],
        };
        let logs = self.logs.into_iter().map(|log| log.value(replay.fork));
        Ok(json!({
            "gas": outcome.gas_used,
            "failed": !outcome.is_success(),
            "returnValue": data(output),
            "structLogs": logs.collect::<Vec<_>>(),
        }))
    }
}

impl Log {
    fn value(self, fork: Fork) -> Value {
        let name = match self.opcode {
            // As nodes name it, also since the merge.
            PREVRANDAO => Some("DIFFICULTY"),
            opcode => opcode_name(opcode, fork),
        };
        let undefined = || format!("opcode {:#x} not defined", self.opcode);
        let name = name.map_or_else(undefined, str::to_owned);
        let mut value = json!({
            "pc": self.pc,
            "op": name,
            "gas": self.gas,
            "gasCost": self.cost,
            "depth": self.depth,
        });
        if self.refund > 0 {
            value["refund"] = self.refund.into();
        }
        if let Some(stack) = self.stack {
            let words = stack.iter().map(|word| format!("{word:#x}"));
            value["stack"] = words.collect::<Vec<_>>().into();
        }
        if !self.memory.is_empty() {
            value["memory"] = self.memory.chunks(32).map(data).collect();
        }
        if !self.return_data.is_empty() {
            value["returnData"] = data(&self.return_data);
        }
        if let Some(slots) = self.slots {
            let slots = slots.iter();
            let slots =
                slots.map(|(key, value)| (format!("{key:#066x}"), data(B256::from(*value))));
            value["storage"] = slots.collect::<Map<_, _>>().into();
        }
        if let Some(halt) = self.halt {
            value["error"] = halt.to_string().into();
        }
        value
    }
}

impl Inspector for StepRecorder<'_> {
    fn needs_steps(&self) -> bool {
        true
    }

    fn step(&mut self, step: &Step<'_>) {
        let word = |from_top: usize| {
            let at = step.stack.len().checked_sub(from_top);
            at.and_then(|at| step.stack.get(at))
                .copied()
                .map(U256::from_limbs)
        };
        let read = self.open.last_mut().and_then(|open| open.read.take());
        if let (Some((log, key)), Some(value)) = (read, word(1)) {
            self.add_slot(log, step.address, key, value);
        }
        if self.is_full() {
            return;
        }
        let StepOptions {
            memory,
            stack,
            storage,
            return_data,
            ..
        } = self.options;
        let part = |wanted: bool, bytes: &[u8]| match wanted {
            true => bytes.to_vec(),
            false => Vec::new(),
        };
        let words = step.stack.iter().copied().map(U256::from_limbs);
        let log = Log {
            pc: step.pc,
            opcode: step.opcode,
            gas: step.gas,
            cost: 0,
            depth: step.depth,
            refund: step.refund,
            stack: stack.then(|| words.collect()),
            memory: part(memory, step.memory),
            return_data: part(return_data, step.return_data),
            slots: None,
            halt: None,
        };
        let words = log.stack.as_ref().map_or(0, Vec::len) + log.memory.len() / 32;
        self.count(300 + 50 * words + 2 * log.return_data.len());
        if let Some(open) = self.open.last_mut() {
            let at = self.logs.len();
            open.log = Some(at);
            match (step.opcode, word(1), word(2)) {
                (SLOAD, Some(key), _) if storage => open.read = Some((at, key)),
                (SSTORE, Some(key), Some(value)) if storage => {
                    open.write = Some((step.address, key, value));
                }
                _ => {}
            }
        }
        self.logs.push(log);
    }

    fn step_end(&mut self, gas_left: u64) {
        let Some(open) = self.open.last_mut() else {
            return;
        };
        let (at, write) = (open.log.take(), open.write.take());
        let Some((at, log)) = at.and_then(|at| Some((at, self.logs.get_mut(at)?))) else {
            return;
        };
        log.cost = log.gas.saturating_sub(gas_left);
        if let Some((contract, key, value)) = write {
            self.add_slot(at, contract, key, value);
        }
    }

    fn enter(&mut self, _: &FrameStart<'_>) {
        self.open.push(Open::default());
    }

    fn exit(&mut self, end: &FrameEnd<'_>) {
        let halted = self.open.pop().and_then(|open| open.log);
        let halted = halted.and_then(|at| self.logs.get_mut(at));
        if let (Some(log), Status::Halt(halt)) = (halted, end.status) {
            log.halt = Some(halt);
        }
    }
}
