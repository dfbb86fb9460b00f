//! Around the interpreter: public tests, an assembler, benchmark programs, traces.
//!
//! ```text
//! fixture   JSON and packed test files ─► engine ─► roots compared ─► report
//! asm       mnemonics ◄─► bytecode
//! program   one call with its state, as text ─► engine
//! run       one call of bare code ─► outcome, trace (EIP-3155)
//! ```
//!
//! Input are files and bytes, output are reports and text. What an opcode does, only
//! `txgraph-evm` knows; terminals only the command line.

pub mod asm;
pub mod bench;
pub mod engine;
mod error;
pub mod fixture;
pub mod program;
pub mod run;

pub use error::{Error, Result};
