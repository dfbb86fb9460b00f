//! The embedded EVM: transactions in, outcomes out. Reads state through
//! [`StateSource`]; knows no disk, clock or thread.
//!
//! ```text
//! Evm::execute_transaction(State, Block, Transaction) ─► Outcome
//!   transaction   checks, fees, authorizations                  StateSource
//!   machine       frames within frames                              │ read once
//!   interpreter   the loop ─ instructions, Word, Stack ─────────► State: journal
//!   code, decode  prepared code, shared by hash                     │
//!                                                                changes()
//! ```
//!
//! All forks from Frontier to Amsterdam, chosen at run time: facts of opcodes are in
//! [`opcode::FACTS`], prices in `gas.rs`, each fork as its predecessor's plus the
//! differences. To add an opcode: a line in `opcode.rs`, its price in `gas.rs`, its arm
//! in `interpreter.rs`, and a body in `instructions/` if it needs more than words.
//!
//! Amsterdam is a draft: its rules here are those of one development network (bal-devnet-4,
//! April 2026), and will change (`docs/evm.md`).
//!
//! Limits: memory of all frames together is bounded by 1 GiB (more than any gas limit
//! of a chain pays for), what a call returns by the same, stacks by 32 MiB, prepared code
//! by its [`CodeCache`]. The journal grows with gas: by two bytes a unit at most, before
//! EIP-150 by twenty. Tests hold hostile code to that (`tests/it/hostile.rs`).

#![deny(unsafe_op_in_unsafe_fn)]
#![expect(
    clippy::cast_possible_truncation,
    reason = "limbs are cut on purpose; heights, offsets and counts are bounded by the \
              stack's, the memory's and the code's limits before they are"
)]

mod env;
mod fork;
mod gas;
pub mod opcode;
mod outcome;
mod word;

mod code;
mod decode;
mod fused;

mod source;
mod state;

mod frame;
mod instructions;
mod interpreter;
mod keccak;
mod machine;
mod memory;
mod precompiles;
mod stack;

mod evm;
mod inspect;
mod transaction;

pub use code::CodeCache;
pub use env::{
    AccessListItem, Authorization, BlobSchedule, Block, Message, Transaction, TransactionType,
};
pub use evm::{Evm, UNTRUSTED_MEMORY_LIMIT};
pub use fork::{Fork, UnknownFork};
pub use inspect::{FrameEnd, FrameKind, FrameStart, Inspector, Step};
pub use outcome::{BlockGas, Error, Halt, InvalidTransaction, Outcome, Status};
pub use source::{Account, MemoryState, MemoryStateError, StateSource};
pub use state::{AccountChange, SlotChange, State, Transition};
