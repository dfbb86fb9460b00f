//! Mnemonics to bytecode and back.
//!
//! ```text
//! ; Counts down from ten.
//! FROM = 10                 ; a constant
//!         PUSH FROM         ; the shortest push of the value
//! again:                    ; a label names this position and takes no byte
//!         JUMPDEST
//!         PUSH1 1           ; exactly one byte
//!         SWAP1 SUB DUP1    ; several on a line
//!         PUSH again JUMPI
//!         PUSH end-again    ; sums of numbers, constants and labels
//! end:    STOP
//!         DATA 0xdeadbeef   ; raw bytes, or "text"
//! ```
//!
//! Comments begin with `;`, `#` or `//`. Numbers are decimal or `0x…`. Mnemonics are
//! case-insensitive, names are not. `PUSH 0` is `PUSH1 0x00`, which every fork executes;
//! `PUSH0` is the opcode of that name.

mod assemble;
mod disassemble;
mod scan;

pub use assemble::assemble;
pub use disassemble::{Listing, disassemble};

use std::fmt;

/// An error in assembly source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AsmError {
    /// The line, from one.
    pub line: usize,
    /// The column in characters, from one.
    pub column: usize,
    /// The fault, and a correction if there is an obvious one.
    pub what: String,
    /// The text of the line.
    pub text: String,
}

impl fmt::Display for AsmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            line,
            column,
            what,
            text,
        } = self;
        // Tabs stay tabs, so that the mark is below its column on any terminal.
        let before = text.chars().take(column - 1);
        let indent: String = before.map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        write!(
            f,
            "line {line}, column {column}: {what}\n  {text}\n  {indent}^"
        )
    }
}

impl std::error::Error for AsmError {}

#[cfg(test)]
mod tests;
