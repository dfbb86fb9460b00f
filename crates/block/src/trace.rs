//! EIP-3155: a line of JSON for each instruction, and one at the end, as geth's `evm`
//! writes them.

use crate::opcodes;
use alloy_primitives::{U256, hex};
use std::io::{self, Write};
use txgraph_evm::{FrameEnd, FrameStart, Inspector, Outcome, Status, Step};

/// What a line may hold beside the fields that it must.
#[derive(Clone, Copy, Debug, Default)]
pub struct TraceOptions {
    /// Memory of the frame, which makes long lines.
    pub memory: bool,
    /// What the last call returned.
    pub return_data: bool,
}

/// Writes a trace while something is executed.
///
/// A line is written when its instruction is done, because only then its cost is known;
/// an instruction that halts is written with the cost 0 and an `error`.
#[derive(Debug)]
pub struct Trace<W> {
    out: W,
    options: TraceOptions,
    /// The line of the instruction that runs, of each frame.
    open: Vec<Option<Line>>,
    /// Nothing more is written after a failure.
    failure: Option<io::Error>,
}

#[derive(Debug)]
struct Line {
    /// Before the instruction.
    gas: u64,
    /// Everything before the cost.
    before: String,
    /// Everything behind it.
    after: String,
}

impl<W: Write> Trace<W> {
    /// Lines go to `out`: give a buffered one.
    pub fn new(out: W, options: TraceOptions) -> Self {
        Self {
            out,
            options,
            open: Vec::new(),
            failure: None,
        }
    }

    /// Writes the last line and hands back the writer.
    ///
    /// # Errors
    ///
    /// The first failure to write, if there was one.
    pub fn finish(mut self, outcome: &Outcome) -> io::Result<W> {
        let output = hex::encode(&outcome.output);
        let error = match outcome.status {
            Status::Success => String::new(),
            Status::Revert => r#","error":"execution reverted""#.to_owned(),
            Status::Halt(halt) => format!(r#","error":"{halt}""#),
        };
        self.write(format_args!(
            r#"{{"output":"{output}","gasUsed":"{:#x}"{error}}}"#,
            outcome.gas_used
        ));
        match self.failure {
            Some(error) => Err(error),
            None => self.out.flush().map(|()| self.out),
        }
    }

    fn write(&mut self, line: std::fmt::Arguments<'_>) {
        if self.failure.is_none() {
            self.failure = writeln!(self.out, "{line}").err();
        }
    }

    /// Writes the line of the innermost frame's instruction, if one is open. Without the
    /// gas that is left it halted.
    fn close(&mut self, gas_left: Option<u64>, error: &str) {
        if let Some(Line { gas, before, after }) = self.open.last_mut().and_then(Option::take) {
            let cost = gas_left.map_or(0, |left| gas.saturating_sub(left));
            self.write(format_args!(r#"{before}"{cost:#x}"{after}{error}}}"#));
        }
    }
}

impl<W: Write> Inspector for Trace<W> {
    fn wants_steps(&self) -> bool {
        true
    }

    fn step(&mut self, step: &Step<'_>) {
        let stack: Vec<String> = step
            .stack
            .iter()
            .map(|limbs| format!(r#""{:#x}""#, U256::from_limbs(*limbs)))
            .collect();
        let mut after = format!(
            r#","memSize":{},"stack":[{}],"depth":{},"refund":{},"opName":"{}""#,
            step.memory.len(),
            stack.join(","),
            step.depth,
            step.refund,
            opcodes::name(step.opcode).unwrap_or("INVALID"),
        );
        if self.options.memory {
            after += &format!(r#","memory":"0x{}""#, hex::encode(step.memory));
        }
        if self.options.return_data {
            after += &format!(r#","returnData":"0x{}""#, hex::encode(step.return_data));
        }
        let before = format!(
            r#"{{"pc":{},"op":{},"gas":"{:#x}","gasCost":"#,
            step.pc, step.opcode, step.gas
        );
        if let Some(open) = self.open.last_mut() {
            *open = Some(Line {
                gas: step.gas,
                before,
                after,
            });
        }
    }

    fn step_end(&mut self, gas_left: u64) {
        self.close(Some(gas_left), "");
    }

    fn enter(&mut self, _: &FrameStart<'_>) {
        self.open.push(None);
    }

    fn exit(&mut self, end: &FrameEnd<'_>) {
        if let Status::Halt(halt) = end.status {
            self.close(None, &format!(r#","error":"{halt}""#));
        }
        self.open.pop();
    }
}
