//! Compares a replay with a trace by another client, instruction by instruction.

use crate::{ReferenceTrace, TraceStep};
use alloy_primitives::U256;
use std::fmt;
use txgraph_block::opcodes;
use txgraph_evm::{FrameEnd, FrameStart, Inspector, Step};

/// The most stack words in a message, from the top.
const WORDS_MAX: usize = 8;

/// The first instruction in which a replay and a trace differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepDifference {
    /// The number of the instruction, from 0.
    pub step: usize,
    /// The step of the trace; `None` if the trace has ended.
    pub theirs: Option<TraceStep>,
    /// The step of the replay; `None` if the replay has ended.
    pub ours: Option<TraceStep>,
}

impl StepDifference {
    /// The names of the differing fields; none if one of them has ended.
    pub fn fields(&self) -> Vec<&'static str> {
        let (Some(theirs), Some(ours)) = (&self.theirs, &self.ours) else {
            return Vec::new();
        };
        let mut fields = differing(theirs, ours);
        if let (Some(theirs), Some(ours)) = (theirs.cost, ours.cost)
            && theirs != ours
        {
            fields.push("cost");
        }
        fields
    }
}

impl fmt::Display for StepDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {} differs", self.step)?;
        let fields = self.fields();
        if !fields.is_empty() {
            write!(f, " in {}", fields.join(", "))?;
        }
        for (side, step) in [("trace", &self.theirs), ("replay", &self.ours)] {
            match step {
                Some(step) => write!(f, "; {side}: {step}")?,
                None => write!(f, "; {side}: ended")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for TraceStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self
            .op
            .and_then(opcodes::name)
            .unwrap_or("undefined opcode");
        write!(f, "{name} at pc {}, gas {}", self.pc, self.gas)?;
        if let Some(cost) = self.cost {
            write!(f, ", cost {cost}")?;
        }
        write!(f, ", depth {}", self.depth)?;
        if let Some(stack) = &self.stack {
            let words = stack.iter().rev().take(WORDS_MAX);
            let words: Vec<_> = words.map(|word| format!("{word:#x}")).collect();
            let more = if stack.len() > WORDS_MAX { " …" } else { "" };
            write!(f, ", stack of {} [{}{more}]", stack.len(), words.join(" "))?;
        }
        Ok(())
    }
}

/// The names of the differing fields that are known before an instruction is executed.
fn differing(theirs: &TraceStep, ours: &TraceStep) -> Vec<&'static str> {
    let stacks = theirs.stack.as_ref().zip(ours.stack.as_ref());
    let pairs = [
        ("pc", theirs.pc != ours.pc),
        ("op", theirs.op != ours.op),
        ("gas", theirs.gas != ours.gas),
        ("depth", theirs.depth != ours.depth),
        ("stack", stacks.is_some_and(|(theirs, ours)| theirs != ours)),
    ];
    let differing = pairs.into_iter().filter(|(_, differs)| *differs);
    differing.map(|(name, _)| name).collect()
}

/// An inspector that finds the first step of a transaction that differs from a trace.
#[derive(Debug)]
pub struct TraceComparer<'a> {
    trace: &'a ReferenceTrace,
    /// The number of steps so far.
    steps: usize,
    /// The running instruction of each frame: its number, and the gas before it.
    open: Vec<Option<(usize, u64)>>,
    first: Option<StepDifference>,
}

impl<'a> TraceComparer<'a> {
    /// A comparison with `trace`.
    pub fn new(trace: &'a ReferenceTrace) -> Self {
        Self {
            trace,
            steps: 0,
            open: Vec::new(),
            first: None,
        }
    }

    /// Returns the number of equal steps, or the first difference, after the execution.
    pub fn finish(self) -> Result<usize, Box<StepDifference>> {
        let ended = || StepDifference {
            step: self.steps,
            theirs: self.trace.steps.get(self.steps).cloned(),
            ours: None,
        };
        let is_short = self.trace.steps.len() > self.steps;
        match self.first.or_else(|| is_short.then(ended)) {
            Some(difference) => Err(Box::new(difference)),
            None => Ok(self.steps),
        }
    }
}

impl Inspector for TraceComparer<'_> {
    fn needs_steps(&self) -> bool {
        true
    }

    fn step(&mut self, step: &Step<'_>) {
        let number = self.steps;
        self.steps += 1;
        if let Some(open) = self.open.last_mut() {
            *open = Some((number, step.gas));
        }
        if self.first.is_some() {
            return;
        }
        let ours = TraceStep {
            pc: step.pc as u64,
            op: opcodes::is_on_mainnet(step.opcode).then_some(step.opcode),
            gas: step.gas,
            cost: None,
            depth: step.depth as u64,
            stack: Some(
                (step.stack.iter())
                    .map(|limbs| U256::from_limbs(*limbs))
                    .collect(),
            ),
        };
        let theirs = self.trace.steps.get(number);
        if theirs.is_none_or(|theirs| !differing(theirs, &ours).is_empty()) {
            self.first = Some(StepDifference {
                step: number,
                theirs: theirs.cloned(),
                ours: Some(ours),
            });
        }
    }

    fn step_end(&mut self, gas_left: u64) {
        let Some((number, gas)) = self.open.last_mut().and_then(Option::take) else {
            return;
        };
        let cost = gas.saturating_sub(gas_left);
        match &mut self.first {
            Some(first) if first.step == number => {
                if let Some(ours) = &mut first.ours {
                    ours.cost = Some(cost);
                }
                return;
            }
            Some(first) if first.step < number => return,
            // A call ends after the steps of its frame. One of these may have differed because
            // of the gas that the call passed on.
            _ => {}
        }
        let Some(theirs) = self.trace.steps.get(number) else {
            return;
        };
        if theirs.cost.is_some_and(|theirs| theirs != cost) {
            let ours = TraceStep {
                cost: Some(cost),
                ..theirs.clone()
            };
            self.first = Some(StepDifference {
                step: number,
                theirs: Some(theirs.clone()),
                ours: Some(ours),
            });
        }
    }

    fn enter(&mut self, _: &FrameStart<'_>) {
        self.open.push(None);
    }

    fn exit(&mut self, _: &FrameEnd<'_>) {
        self.open.pop();
    }
}
