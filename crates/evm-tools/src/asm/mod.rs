//! Mnemonics to bytecode and back.
//!
//! ```text
//! ; Counts down from ten.
//! FROM = 10                 ; a constant
//!         PUSH FROM         ; as many bytes as needed
//! again:                    ; a label: a name for this place, no byte of its own
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
//! read in any case, names as they are written. `PUSH 0` is `PUSH1 0x00`, which every
//! fork knows; `PUSH0` is what it says.

mod assemble;
mod disassemble;
mod scan;

pub use assemble::assemble;
pub use disassemble::{Listing, disassemble};

use std::fmt;

/// A place in a source that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AsmError {
    /// Line, from one.
    pub line: usize,
    /// Column in characters, from one.
    pub column: usize,
    /// What is wrong, and where it helps, what would be right.
    pub what: String,
    /// The line itself.
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
        // Tabs stay tabs, so that the mark stands below its column on any terminal.
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
