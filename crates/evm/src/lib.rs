//! An EVM interpreter: executes transactions and returns outcomes. It reads state through
//! [`StateSource`] and uses no disk, clock or thread.
//!
//! ```text
//! Evm::execute_transaction(State, Block, Transaction) ─► Outcome
//!   transaction   checks, fees                                  StateSource
//!   outermost     authorizations, what depends on the state         │
//!   machine       nested call frames                                │ read once
//!   interpreter   the loop ─ instructions, Word, Stack ─────────► State: journal
//!   code, decode  prepared code, shared by hash                     │
//!                                                                changes()
//! ```
//!
//! All forks from Frontier to Amsterdam are supported and chosen at run time. Facts about opcodes
//! are in [`opcode::FACTS`], prices in `gas.rs`; each fork is defined by its difference from the
//! one before.
//!
//! To add an opcode:
//!
//! 1. a line in `opcode.rs`;
//! 2. its price in `gas.rs`;
//! 3. its arm in `interpreter.rs`;
//! 4. a body in `instructions/`, if it does more than compute words from words;
//! 5. `decode.rs`, if it jumps, ends a frame or a block, reads the gas left, has bytes of code as
//!    its operand, or accesses state (EIP-7928).
//!
//! Amsterdam is as activated on Sepolia; `docs/amsterdam.md` has its sources.
//!
//! Limits: the memory of all frames together is at most 1 GiB, more than the gas limit of any
//! chain pays for. Return data is at most 1 GiB, stacks 32 MiB, prepared code as much as its
//! [`CodeCache`] holds. The journal grows with gas, by at most two bytes per unit, or twenty
//! before EIP-150. [`Evm::set_memory_limit`] limits runs with any amount of gas. Tests check this
//! with hostile code (`tests/it/hostile.rs`).
//!
//! Modules, each using only those before it: fork, outcome, source, wide_division, env, inspect, opcode,
//! precompiles, word, jumpdest, fused, gas, keccak, stack, decoded, decode, memory, transaction, code,
//! state, frame, outermost, refusal, instructions, interpreter, machine, evm.

#![deny(unsafe_op_in_unsafe_fn)]
#![expect(
    clippy::cast_possible_truncation,
    reason = "limbs are truncated on purpose; heights, offsets and counts are within the limits \
              of stack, memory and code"
)]

mod env;
mod fork;
mod gas;
pub mod opcode;
mod outcome;
mod wide_division;
mod word;

mod code;
mod decode;
mod decoded;
mod fused;
mod jumpdest;

mod source;
mod state;

mod frame;
mod instructions;
mod interpreter;
mod keccak;
mod machine;
mod memory;
mod outermost;
mod precompiles;
mod refusal;
mod stack;

mod evm;
mod inspect;
mod transaction;

pub use code::{CodeCache, DecodeAfter, delegate};
pub use env::{
    AccessListItem, Authorization, BlobSchedule, Block, Message, Transaction, TransactionType,
};
pub use evm::{Evm, UNTRUSTED_MEMORY_LIMIT};
pub use fork::{Fork, UnknownFork};
pub use inspect::{FrameEnd, FrameKind, FrameStart, Inspector, Step};
pub use outcome::{BlockGas, Error, Halt, InvalidTransaction, Outcome, Status};
pub use precompiles::is_precompile;
pub use source::{Account, MemoryState, MemoryStateError, StateSource};
pub use state::{AccountChange, AccountOverride, SlotChange, State, StateMemory, Transition};
pub use transaction::Checks;
