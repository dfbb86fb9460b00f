//! Finds out which storage slots of a contract an amount that it receives or pays is accounted in.
//!
//! The tracer follows every word through stack, memory, storage and calls (dynamic data-flow
//! analysis): for each it knows the calldata words, received amounts and slots that it was computed
//! from. Arithmetic joins these sets. Comparisons, hashes and jumps do not: an amount that only decides
//! what is done leaves no origin. At the end, [`AmountTracer::flows`] joins transfers and changed slots
//! whose sets meet.

mod flows;
mod origins;
mod words;

use alloy_primitives::{Address, B256, Log, U256, map::HashMap};
use origins::{Origin, Origins, Set};
use txgraph_evm::{FrameEnd, FrameKind, FrameStart, Inspector, Status, Step, opcode as op};
use words::Words;

/// Something outside of frames that has origins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    /// A storage slot.
    Storage(Address, U256),
    /// A slot of transient storage (EIP-1153).
    Transient(Address, U256),
    /// The wei that an account received.
    Balance(Address),
}

/// A movement of wei.
#[derive(Clone, Copy, Debug)]
struct Movement {
    from: Address,
    to: Address,
    value: U256,
    set: Set,
}

/// A word that was stored.
#[derive(Clone, Copy, Debug)]
struct Write {
    contract: Address,
    slot: U256,
    value: U256,
    set: Set,
}

/// Calldata of a frame.
#[derive(Debug)]
enum Input {
    /// The calldata of the transaction. Each word is an origin.
    Transaction(usize),
    /// Calldata that another frame wrote.
    Words(Words),
}

/// A call that is about to begin.
#[derive(Debug, Default)]
struct Call {
    value: Set,
    input: Words,
    /// Offset and length of the memory that receives the output.
    output: (usize, usize),
}

/// Lengths of what is undone if a frame fails.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    undo: usize,
    movements: usize,
    logs: usize,
    writes: usize,
}

/// A running frame.
#[derive(Debug)]
struct Running {
    address: Address,
    stack: Vec<Set>,
    memory: Words,
    input: Input,
    value: Set,
    /// The return data of the last call.
    returned: Words,
    output: Words,
    call: Call,
    /// The first word of what is hashed, whose hash is on the stack at the next step.
    hashed: Option<B256>,
    mark: Mark,
}

/// An inspector of one transaction that follows amounts through storage.
#[derive(Debug, Default)]
pub struct AmountTracer {
    origins: Origins,
    running: Vec<Running>,
    places: HashMap<Place, Set>,
    undo: Vec<(Place, Option<Set>)>,
    movements: Vec<Movement>,
    writes: Vec<Write>,
    /// The origins of the last word of the data of every log.
    logs: Vec<Set>,
    /// The same for a log that is about to be written.
    next_log: Set,
    /// The number of frames so far.
    frames: usize,
    /// Keys of mappings, by the hash that is their slot.
    keys: HashMap<U256, B256>,
}

/// The most operands of an instruction that computes: `CALL`.
const OPERANDS_MAX: usize = 7;

/// The number of a stack word; `None` if memory of that size cannot exist.
fn size(word: [u64; 4]) -> Option<usize> {
    let [low, 0, 0, 0] = word else {
        return None;
    };
    usize::try_from(low).ok().filter(|size| *size < 1 << 40)
}

impl AmountTracer {
    /// A tracer. It is used for one transaction.
    pub fn new() -> Self {
        Self::default()
    }

    fn set(&mut self, place: Place, set: Set) {
        let before = self.places.insert(place, set);
        self.undo.push((place, before));
    }

    fn get(&self, place: Place) -> Set {
        self.places.get(&place).copied().unwrap_or_default()
    }

    fn join(&mut self, place: Place, set: Set) {
        let all = self.origins.union(self.get(place), set);
        self.set(place, all);
    }

    /// The origins of a stored value: the slot itself until something is stored there.
    fn stored(&mut self, place: Place) -> Set {
        match (self.places.get(&place), place) {
            (Some(set), _) => *set,
            (None, Place::Storage(contract, slot)) => {
                self.origins.one(Origin::Slot(contract, slot))
            }
            (None, _) => Set::EMPTY,
        }
    }

    fn moved(&mut self, from: Address, to: Address, value: U256, set: Set) {
        if value.is_zero() {
            return;
        }
        self.movements.push(Movement {
            from,
            to,
            value,
            set,
        });
        self.join(Place::Balance(to), set);
    }

    /// The output of an instruction, and what it does to memory and storage.
    fn execute(&mut self, frame: &mut Running, step: &Step<'_>) {
        let facts = op::FACTS[usize::from(step.opcode)];
        let inputs = usize::from(facts.inputs);
        let height = step.stack.len();
        frame.stack.resize(height, Set::EMPTY);
        let Some(bottom) = height.checked_sub(inputs) else {
            return;
        };
        // Operands from the top.
        let word = |n: usize| step.stack[height - 1 - n];
        let mut sets = [Set::EMPTY; OPERANDS_MAX];
        for (set, of) in sets.iter_mut().zip(frame.stack.iter().rev()) {
            *set = *of;
        }
        let set = |n: usize| sets[n];
        let at = |n: usize| size(word(n)).unwrap_or(usize::MAX);
        let range = |from: usize, len: usize| Some((size(word(from))?, size(word(len))?));
        let slot = |n: usize| U256::from_limbs(word(n));
        let result = match step.opcode {
            op::DUP1..=op::DUP16 => {
                let from = height - 1 - usize::from(step.opcode - op::DUP1);
                frame.stack.push(frame.stack[from]);
                return;
            }
            op::SWAP1..=op::SWAP16 => {
                let other = height - 2 - usize::from(step.opcode - op::SWAP1);
                frame.stack.swap(height - 1, other);
                return;
            }
            op::DUPN | op::SWAPN | op::EXCHANGE => {
                // Their operand is in the code, which an inspector does not see.
                frame.stack.fill(Set::EMPTY);
                return;
            }
            op::ADD
            | op::MUL
            | op::SUB
            | op::DIV
            | op::SDIV
            | op::MOD
            | op::SMOD
            | op::ADDMOD
            | op::MULMOD
            | op::AND
            | op::OR
            | op::XOR => self.origins.union(set(0), set(1)),
            op::SIGNEXTEND | op::SHL | op::SHR | op::SAR => set(1),
            op::NOT => set(0),
            op::CALLVALUE => frame.value,
            op::CALLDATALOAD => match &frame.input {
                Input::Transaction(len) if at(0) < *len => self.origins.one(Origin::Input(at(0))),
                Input::Transaction(_) => Set::EMPTY,
                Input::Words(words) => words.read(at(0), &mut self.origins),
            },
            op::CALLDATACOPY => {
                if let (Some((to, len)), from) = (range(0, 2), at(1)) {
                    let copied = self.copied_input(&frame.input, from, len);
                    frame.memory.paste(to, len, &copied);
                }
                Set::EMPTY
            }
            op::RETURNDATACOPY => {
                if let (Some((to, len)), Some(from)) = (range(0, 2), size(word(1))) {
                    let copied = frame.returned.slice(from, len);
                    frame.memory.paste(to, len, &copied);
                }
                Set::EMPTY
            }
            op::CODECOPY | op::EXTCODECOPY => {
                let first = usize::from(step.opcode == op::EXTCODECOPY);
                if let Some((to, len)) = range(first, first + 2) {
                    frame.memory.clear(to, len);
                }
                Set::EMPTY
            }
            op::MCOPY => {
                if let (Some((to, len)), Some(from)) = (range(0, 2), size(word(1))) {
                    let copied = frame.memory.slice(from, len);
                    frame.memory.paste(to, len, &copied);
                }
                Set::EMPTY
            }
            op::BALANCE => {
                let address = Address::from_word(B256::from(slot(0)));
                self.get(Place::Balance(address))
            }
            op::SELFBALANCE => self.get(Place::Balance(frame.address)),
            op::MLOAD => frame.memory.read(at(0), &mut self.origins),
            op::MSTORE => {
                if let Some(to) = size(word(0)) {
                    frame.memory.write(to, set(1));
                }
                Set::EMPTY
            }
            op::MSTORE8 => {
                if let Some(to) = size(word(0)) {
                    frame.memory.clear(to, 1);
                }
                Set::EMPTY
            }
            op::SLOAD => self.stored(Place::Storage(frame.address, slot(0))),
            op::TLOAD => self.stored(Place::Transient(frame.address, slot(0))),
            op::SSTORE => {
                self.set(Place::Storage(frame.address, slot(0)), set(1));
                self.writes.push(Write {
                    contract: frame.address,
                    slot: slot(0),
                    value: slot(1),
                    set: set(1),
                });
                Set::EMPTY
            }
            op::TSTORE => {
                self.set(Place::Transient(frame.address, slot(0)), set(1));
                Set::EMPTY
            }
            op::KECCAK256 => {
                // The slot of a mapping's entry is the hash of its key and the slot of the mapping.
                if let Some((from, 64)) = range(0, 1) {
                    let key = step.memory.get(from..).and_then(|rest| rest.first_chunk());
                    frame.hashed = key.map(|key: &[u8; 32]| B256::from(*key));
                }
                Set::EMPTY
            }
            op::LOG0..=op::LOG4 => {
                self.next_log = match range(0, 1) {
                    Some((from, len)) if len >= 32 => {
                        let last = from.saturating_add(len - 32);
                        frame.memory.read(last, &mut self.origins)
                    }
                    _ => Set::EMPTY,
                };
                Set::EMPTY
            }
            op::CREATE | op::CREATE2 => {
                frame.call = Call {
                    value: set(0),
                    ..Call::default()
                };
                Set::EMPTY
            }
            op::CALL | op::CALLCODE | op::DELEGATECALL | op::STATICCALL => {
                let has_value = usize::from(matches!(step.opcode, op::CALL | op::CALLCODE));
                let input = range(2 + has_value, 3 + has_value);
                let output = range(4 + has_value, 5 + has_value);
                frame.call = Call {
                    value: if has_value == 1 { set(2) } else { Set::EMPTY },
                    input: input
                        .map_or_else(Words::default, |(from, len)| frame.memory.slice(from, len)),
                    output: output.unwrap_or_default(),
                };
                Set::EMPTY
            }
            op::RETURN | op::REVERT => {
                if let Some((from, len)) = range(0, 1) {
                    frame.output = frame.memory.slice(from, len);
                }
                Set::EMPTY
            }
            _ => Set::EMPTY,
        };
        frame.stack.truncate(bottom);
        if facts.outputs == 1 {
            frame.stack.push(result);
        }
    }

    /// The words of calldata that are copied to memory. In the calldata of the transaction they
    /// follow the selector, if there is one.
    fn copied_input(&mut self, input: &Input, from: usize, len: usize) -> Words {
        match input {
            Input::Words(words) => words.slice(from, len),
            Input::Transaction(size) => {
                let mut words = Words::default();
                let end = from.saturating_add(len).min(*size);
                let first = from + (size % 32 + 32 - from % 32) % 32;
                for at in (first..end).step_by(32) {
                    let set = self.origins.one(Origin::Input(at));
                    words.write(at - from, set);
                }
                words.slice(0, len)
            }
        }
    }
}

/// An inspector that traces every transaction with an [`AmountTracer`] of its own.
#[derive(Debug, Default)]
pub struct AmountTracers(pub Vec<AmountTracer>);

impl AmountTracers {
    fn last(&mut self) -> Option<&mut AmountTracer> {
        self.0.last_mut()
    }
}

impl Inspector for AmountTracers {
    fn needs_steps(&self) -> bool {
        true
    }

    fn step(&mut self, step: &Step<'_>) {
        if let Some(tracer) = self.last() {
            tracer.step(step);
        }
    }

    fn enter(&mut self, start: &FrameStart<'_>) {
        if start.depth == 0 {
            self.0.push(AmountTracer::default());
        }
        if let Some(tracer) = self.last() {
            tracer.enter(start);
        }
    }

    fn exit(&mut self, end: &FrameEnd<'_>) {
        if let Some(tracer) = self.last() {
            tracer.exit(end);
        }
    }

    fn selfdestruct(&mut self, contract: Address, beneficiary: Address, amount: U256) {
        if let Some(tracer) = self.last() {
            tracer.selfdestruct(contract, beneficiary, amount);
        }
    }

    fn log(&mut self, log: &Log) {
        if let Some(tracer) = self.last() {
            tracer.log(log);
        }
    }
}

impl Inspector for AmountTracer {
    fn needs_steps(&self) -> bool {
        true
    }

    fn step(&mut self, step: &Step<'_>) {
        let Some(mut frame) = self.running.pop() else {
            return;
        };
        if let (Some(key), Some(hash)) = (frame.hashed.take(), step.stack.last()) {
            self.keys.insert(U256::from_limbs(*hash), key);
        }
        self.execute(&mut frame, step);
        self.running.push(frame);
    }

    fn enter(&mut self, start: &FrameStart<'_>) {
        let number = self.frames;
        self.frames += 1;
        let mark = Mark {
            undo: self.undo.len(),
            movements: self.movements.len(),
            logs: self.logs.len(),
            writes: self.writes.len(),
        };
        let is_creation = matches!(start.kind, FrameKind::Create | FrameKind::Create2);
        let (input, mut value) = match self.running.last_mut() {
            None if is_creation => (Input::Words(Words::default()), Set::EMPTY),
            None => (Input::Transaction(start.input.len()), Set::EMPTY),
            Some(caller) => {
                let input = std::mem::take(&mut caller.call.input);
                let value = match start.kind {
                    FrameKind::DelegateCall => caller.value,
                    _ => caller.call.value,
                };
                (Input::Words(input), value)
            }
        };
        let moves = is_creation || start.kind == FrameKind::Call;
        if moves && !start.value.is_zero() {
            let received = self.origins.one(Origin::Value(number));
            value = self.origins.union(value, received);
            self.moved(start.caller, start.address, start.value, value);
        }
        // The identity contract returns its calldata.
        let is_identity = start.code_address == Address::with_last_byte(4);
        let output = match &input {
            Input::Words(words) if is_identity => words.clone(),
            _ => Words::default(),
        };
        self.running.push(Running {
            address: start.address,
            stack: Vec::new(),
            memory: Words::default(),
            input,
            value,
            returned: Words::default(),
            output,
            call: Call::default(),
            hashed: None,
            mark,
        });
    }

    fn exit(&mut self, end: &FrameEnd<'_>) {
        let Some(frame) = self.running.pop() else {
            return;
        };
        if end.status != Status::Success {
            for (place, before) in self.undo.drain(frame.mark.undo..).rev() {
                match before {
                    Some(set) => drop(self.places.insert(place, set)),
                    None => drop(self.places.remove(&place)),
                }
            }
            self.movements.truncate(frame.mark.movements);
            self.logs.truncate(frame.mark.logs);
            self.writes.truncate(frame.mark.writes);
        }
        if let Some(caller) = self.running.last_mut() {
            let (to, room) = caller.call.output;
            caller
                .memory
                .paste(to, room.min(end.output.len()), &frame.output);
            caller.returned = frame.output;
        }
    }

    fn selfdestruct(&mut self, contract: Address, beneficiary: Address, amount: U256) {
        let set = self.get(Place::Balance(contract));
        self.moved(contract, beneficiary, amount, set);
    }

    fn log(&mut self, _: &Log) {
        self.logs.push(std::mem::take(&mut self.next_log));
    }
}
