//! The embedded EVM: transactions in, outcomes out. Reads state through
//! [`StateSource`]; knows no disk, clock, thread or global state.
//!
//! ```text
//! Evm::execute_transaction(State, Block, Transaction) ─► Outcome
//!                            │
//!                            ├─ StateSource   state before, read on demand
//!                            └─ changes()     what execution changed
//! ```

mod env;
mod evm;
mod fork;
mod inspect;
mod outcome;
mod source;
mod state;

pub use env::{
    AccessListItem, Authorization, BlobSchedule, Block, Message, Transaction, TransactionType,
};
pub use evm::Evm;
pub use fork::{Fork, UnknownFork};
pub use inspect::{FrameEnd, FrameKind, FrameStart, Inspector, NoInspector, Step};
pub use outcome::{Error, Halt, InvalidTransaction, Outcome, Status};
pub use source::{Account, MemoryState, MemoryStateError, StateSource};
pub use state::{AccountChange, SlotChange, State};
