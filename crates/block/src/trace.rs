//! Traces in the format of EIP-3155: one line of JSON for each instruction and one at the
//! end, as geth's `evm` writes them.

use crate::opcodes;
use alloy_primitives::{U256, hex};
use std::io::{self, Write};
use txgraph_evm::{Fork, FrameEnd, FrameStart, Inspector, Outcome, Status, Step};

/// Optional fields of a line.
#[derive(Clone, Copy, Debug)]
pub struct TraceOptions {
    /// The fork of the block. Opcodes of forks after the latest one of mainnet are named there only.
    pub fork: Fork,
    /// Write the memory of the frame, which makes long lines.
    pub memory: bool,
    /// Write what the last call returned.
    pub return_data: bool,
}

impl Default for TraceOptions {
    fn default() -> Self {
        Self {
            fork: Fork::LATEST,
            memory: false,
            return_data: false,
        }
    }
}

/// An inspector that writes a trace.
///
/// The line of an instruction is written after it was executed, because its cost is not
/// known before. An instruction that halts has the cost 0 and an `error`.
#[derive(Debug)]
pub struct Trace<W> {
    out: W,
    options: TraceOptions,
    /// For each frame, the line of the instruction that is being executed.
    open: Vec<Option<Line>>,
    /// The first error. Nothing is written after it.
    failure: Option<io::Error>,
}

#[derive(Debug)]
struct Line {
    /// Gas before the instruction.
    gas: u64,
    /// The text before the cost.
    before: String,
    /// The text after the cost.
    after: String,
}

impl<W: Write> Trace<W> {
    /// Creates a trace that writes to `out`, which should be buffered.
    pub fn new(out: W, options: TraceOptions) -> Self {
        Self {
            out,
            options,
            open: Vec::new(),
            failure: None,
        }
    }

    /// Writes the last line, and returns the writer.
    ///
    /// # Errors
    ///
    /// The first error of the writer.
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

    /// Writes the pending line of the innermost frame, if there is one. `gas_left` is
    /// `None` for an instruction that halted.
    fn close(&mut self, gas_left: Option<u64>, error: &str) {
        if let Some(Line { gas, before, after }) = self.open.last_mut().and_then(Option::take) {
            let cost = gas_left.map_or(0, |left| gas.saturating_sub(left));
            self.write(format_args!(r#"{before}"{cost:#x}"{after}{error}}}"#));
        }
    }
}

impl<W: Write> Inspector for Trace<W> {
    fn needs_steps(&self) -> bool {
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
            // As reth and revm name a byte that is not an instruction.
            opcodes::name_at(step.opcode, self.options.fork).unwrap_or("Unknown"),
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

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::{Address, Bytes};
    use txgraph_evm::{Evm, Fork, MemoryState, Message, State};

    /// The lines of a call of `code`.
    fn lines(code: &'static [u8]) -> Vec<serde_json::Value> {
        let address = Address::repeat_byte(0xcc);
        let mut memory = MemoryState::default();
        memory.insert(address, U256::ZERO, 1, Bytes::from_static(code));
        let message = Message {
            to: Some(address),
            gas_limit: 1_000,
            ..Message::default()
        };
        let mut trace = Trace::new(Vec::new(), TraceOptions::default());
        let outcome = Evm::new(Fork::Osaka, 1)
            .call_inspected(
                &mut State::new(memory),
                &txgraph_evm::Block::default(),
                &message,
                &mut trace,
            )
            .unwrap();
        let text = String::from_utf8(trace.finish(&outcome).unwrap()).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    #[test]
    fn undefined_opcodes_are_not_named_like_the_designated_invalid_one() {
        for (code, name) in [(&[0xfe][..], "INVALID"), (&[0xef][..], "Unknown")] {
            let lines = lines(code);
            assert_eq!(lines.len(), 2, "{name}");
            assert_eq!(lines[0]["opName"], name);
            assert_eq!(lines[0]["op"], code[0]);
        }
    }
}
