//! Tools for the interpreter: an assembler, single calls, benchmark programs, and the runner
//! of public tests.
//!
//! ```text
//! asm       mnemonics ◄─► bytecode
//! call      one call of bytecode ─► outcome, trace (EIP-3155)
//! program   a call with its state as text ─► call
//! bench     programs ─► times
//! block_run a block ─► state, access list
//! fixture   JSON and packed test files ─► engine ─► compared with the test ─► report
//! ```
//!
//! Input is files and bytes, output is reports and text. The semantics of opcodes are in
//! `txgraph-evm`, the terminal is in the command line.
//!
//! Modules, each using only those before it: asm, error, block_run, engine, call, fixture, program,
//! bench.

pub mod asm;
pub mod bench;
pub mod block_run;
pub mod call;
pub mod engine;
mod error;
pub mod fixture;
pub mod program;

pub use error::{Error, Result};
