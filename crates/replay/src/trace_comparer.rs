//! A replay beside the trace of another client, instruction by instruction.

use crate::{ReferenceTrace, TraceStep};
use alloy_primitives::U256;
use std::fmt;
use txgraph_block::opcodes;
use txgraph_evm::{FrameEnd, FrameStart, Inspector, Step};

/// Words of the stack that are told, from the top.
const WORDS_MAX: usize = 8;

/// The first instruction of which a replay and a trace tell different things.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepDifference {
    /// Its number, from 0.
    pub step: usize,
    /// In the trace; `None`: it has ended.
    pub theirs: Option<TraceStep>,
    /// In the replay; `None`: it has ended.
    pub ours: Option<TraceStep>,
}

impl StepDifference {
    /// Names of what differs; none if one of both has ended.
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
        for (whose, side) in [("trace", &self.theirs), ("replay", &self.ours)] {
            match side {
                Some(step) => write!(f, "; {whose}: {step}")?,
                None => write!(f, "; {whose}: it has ended")?,
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
            let told = stack.iter().rev().take(WORDS_MAX);
            let told: Vec<_> = told.map(|word| format!("{word:#x}")).collect();
            let more = if stack.len() > WORDS_MAX { " …" } else { "" };
            write!(f, ", stack of {} [{}{more}]", stack.len(), told.join(" "))?;
        }
        Ok(())
    }
}

/// What is known before an instruction is executed.
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

/// Watches a transaction and finds the first step that is another than in a trace.
#[derive(Debug)]
pub struct TraceComparer<'a> {
    trace: &'a ReferenceTrace,
    /// Steps so far.
    steps: usize,
    /// Of each frame, the instruction that runs: its number, and gas before it.
    open: Vec<Option<(usize, u64)>>,
    first: Option<StepDifference>,
}

impl<'a> TraceComparer<'a> {
    /// Nothing compared yet.
    pub fn new(trace: &'a ReferenceTrace) -> Self {
        Self {
            trace,
            steps: 0,
            open: Vec::new(),
            first: None,
        }
    }

    /// After the execution: the first difference, or how many steps agree.
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
    fn wants_steps(&self) -> bool {
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
            op: opcodes::is_final(step.opcode).then_some(step.opcode),
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
            // A call ends after the steps within, of which one may have differed because
            // of what it gave them.
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
