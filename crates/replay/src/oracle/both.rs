//! Runs two engines on the same block and compares them instruction by instruction.

use crate::{
    engine::{Engine, Failure},
    error::StateError,
    inspect::InspectorPair,
};
use alloy_primitives::{Address, Bytes, U256};
use std::{
    fmt,
    hash::{BuildHasher, Hasher, RandomState},
};
use txgraph_block::opcodes;
use txgraph_evm::{
    AccountChange, Block, FrameEnd, FrameStart, Inspector, Message, Outcome, Status, Step,
    Transaction, Transition,
};

/// An engine that executes everything twice and returns the results of the first one.
pub(crate) struct Both<A, B> {
    first: A,
    second: B,
    divergence: Option<String>,
    hasher: RandomState,
}

impl<A: Engine, B: Engine> Both<A, B> {
    pub(crate) fn new(first: A, second: B) -> Self {
        Self {
            first,
            second,
            divergence: None,
            hasher: RandomState::new(),
        }
    }

    /// Records a disagreement, unless there is one already.
    fn differ(&mut self, what: impl FnOnce() -> String) {
        self.divergence.get_or_insert_with(what);
    }

    fn compare(
        &mut self,
        first: &Result<Outcome, Failure>,
        second: &Result<Outcome, Failure>,
        is_transaction: bool,
    ) {
        let (first, second) = match (first, second) {
            (Ok(first), Ok(second)) => (
                ComparedOutcome::of(first, is_transaction),
                ComparedOutcome::of(second, is_transaction),
            ),
            (Err(Failure::Refused(_)), Err(Failure::Refused(_))) => return,
            (first, second) => {
                let (first, second) = (format!("{first:?}"), format!("{second:?}"));
                return self.differ(|| format!("{first}, and {second}"));
            }
        };
        if first != second {
            self.differ(|| format!("{first:?}, and {second:?}"));
        }
    }
}

/// The fields in which two outcomes must agree. The engines name the reasons of a halt
/// differently.
#[derive(Debug, PartialEq, Eq)]
struct ComparedOutcome<'a> {
    status: &'static str,
    gas_used: Option<u64>,
    logs: &'a [alloy_primitives::Log],
    output: &'a Bytes,
}

impl<'a> ComparedOutcome<'a> {
    /// The gas of a system call is not compared: one engine subtracts refunds, the other does not.
    fn of(outcome: &'a Outcome, is_transaction: bool) -> Self {
        Self {
            status: word(outcome.status),
            gas_used: is_transaction.then_some(outcome.gas_used),
            logs: &outcome.logs,
            output: &outcome.output,
        }
    }
}

const fn word(status: Status) -> &'static str {
    match status {
        Status::Success => "success",
        Status::Revert => "revert",
        Status::Halt(_) => "halt",
    }
}

/// One event of an execution, small enough to store millions of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Step {
        pc: u32,
        opcode: u8,
        depth: u32,
        gas: u64,
        stack: u64,
    },
    Enter {
        depth: u32,
        gas: u64,
        frame: u64,
    },
    Exit {
        depth: u32,
        gas: u64,
        status: &'static str,
    },
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Step {
                pc,
                opcode,
                depth,
                gas,
                stack,
            } => {
                let name = opcodes::name(*opcode).unwrap_or("INVALID");
                write!(
                    f,
                    "{name} at {pc}, depth {depth}, gas {gas}, stack #{stack:016x}"
                )
            }
            Self::Enter { depth, gas, frame } => {
                write!(f, "frame #{frame:016x} at depth {depth} with gas {gas}")
            }
            Self::Exit { depth, gas, status } => {
                write!(f, "end at depth {depth}: {status}, gas used {gas}")
            }
        }
    }
}

/// Records the events of one engine, or compares another engine's events with them.
struct Steps<'a> {
    hasher: &'a RandomState,
    events: Vec<Event>,
    /// The events of the other engine.
    expected: Option<Vec<Event>>,
    divergence: Option<String>,
}

impl<'a> Steps<'a> {
    fn new(hasher: &'a RandomState, expected: Option<Vec<Event>>) -> Self {
        Self {
            hasher,
            events: Vec::new(),
            expected,
            divergence: None,
        }
    }

    fn event(&mut self, event: Event) {
        let at = self.events.len();
        if let Some(expected) = &self.expected
            && self.divergence.is_none()
            && expected.get(at) != Some(&event)
        {
            let other = expected.get(at);
            let other = other.map_or("no more events".into(), ToString::to_string);
            self.divergence = Some(format!("event {at}: {other}, and {event}"));
        }
        self.events.push(event);
    }

    fn finish(self) -> (Vec<Event>, Option<String>) {
        let missing = self
            .expected
            .as_ref()
            .is_some_and(|it| it.len() > self.events.len());
        let divergence = self.divergence.or_else(|| {
            missing.then(|| format!("the second ended after {} events", self.events.len()))
        });
        (self.events, divergence)
    }
}

/// Depths and positions in code always fit.
fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

impl Inspector for Steps<'_> {
    fn needs_steps(&self) -> bool {
        true
    }

    fn step(&mut self, step: &Step<'_>) {
        let mut hasher = self.hasher.build_hasher();
        for limb in step.stack.iter().flatten() {
            hasher.write_u64(*limb);
        }
        hasher.write_usize(step.memory.len());
        self.event(Event::Step {
            pc: small(step.pc),
            opcode: step.opcode,
            depth: small(step.depth),
            gas: step.gas,
            stack: hasher.finish(),
        });
    }

    fn enter(&mut self, frame: &FrameStart<'_>) {
        let mut hasher = self.hasher.build_hasher();
        hasher.write_u8(frame.kind as u8);
        for part in [frame.caller, frame.address, frame.code_address] {
            hasher.write(part.as_slice());
        }
        hasher.write(&frame.value.to_be_bytes::<32>());
        hasher.write(frame.input);
        self.event(Event::Enter {
            depth: small(frame.depth),
            gas: frame.gas_limit,
            frame: hasher.finish(),
        });
    }

    fn exit(&mut self, end: &FrameEnd<'_>) {
        self.event(Event::Exit {
            depth: small(end.depth),
            gas: end.gas_used,
            status: word(end.status),
        });
    }
}

impl<A: Engine, B: Engine> Engine for Both<A, B> {
    fn transaction(
        &mut self,
        block: &Block,
        transaction: &Transaction,
        inspector: Option<&mut dyn Inspector>,
    ) -> Result<Outcome, Failure> {
        let hasher = self.hasher.clone();
        let mut pair = InspectorPair(Some(Steps::new(&hasher, None)), inspector);
        let first = (self.first).transaction(block, transaction, Some(&mut pair));
        let events = pair.0.map(|steps| steps.finish().0);
        let mut steps = Steps::new(&hasher, events);
        let second = (self.second).transaction(block, transaction, Some(&mut steps));
        if let Some(divergence) = steps.finish().1 {
            self.differ(|| divergence);
        }
        self.compare(&first, &second, true);
        first
    }

    fn system_call(
        &mut self,
        block: &Block,
        contract: Address,
        input: Bytes,
    ) -> Result<Outcome, Failure> {
        let first = self.first.system_call(block, contract, input.clone());
        let second = self.second.system_call(block, contract, input);
        self.compare(&first, &second, false);
        first
    }

    fn has_code(&mut self, address: Address) -> Result<bool, StateError> {
        self.first.has_code(address)
    }

    fn increase_balance(&mut self, address: Address, amount: U256) -> Result<(), StateError> {
        self.second.increase_balance(address, amount)?;
        self.first.increase_balance(address, amount)
    }

    fn drain_balance(&mut self, address: Address) -> Result<U256, StateError> {
        self.second.drain_balance(address)?;
        self.first.drain_balance(address)
    }

    fn transitions(&mut self) -> Result<Vec<Transition>, StateError> {
        self.first.transitions()
    }

    fn discarded_calls(
        &mut self,
        block: &Block,
        undone: &[Transition],
        calls: &[Message],
    ) -> Result<Vec<Option<Outcome>>, StateError> {
        self.first.discarded_calls(block, undone, calls)
    }

    fn changes(&mut self) -> Vec<AccountChange> {
        let first = self.first.changes();
        let second = self.second.changes();
        let compared = |changes: &[AccountChange]| -> Vec<_> {
            let all = changes.iter().map(|change| {
                // Slots of a cleared storage need not have been read.
                let slots = change.slots.iter().map(|slot| (slot.key, slot.present));
                let kept =
                    slots.filter(|(_, present)| !change.storage_cleared || !present.is_zero());
                (
                    change.address,
                    change.original,
                    change.present,
                    kept.collect::<Vec<_>>(),
                )
            });
            all.filter(|(_, original, present, slots)| original != present || !slots.is_empty())
                .collect()
        };
        let (one, two) = (compared(&first), compared(&second));
        if one != two {
            let differs = one.iter().zip(&two).find(|(one, two)| one != two);
            self.differ(|| match differs {
                Some((one, two)) => format!("after the block {one:?}, and {two:?}"),
                None => format!("{} accounts changed, and {}", one.len(), two.len()),
            });
        }
        first
    }

    fn divergence(&mut self) -> Option<String> {
        self.divergence.take()
    }
}
