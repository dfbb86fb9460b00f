//! Re-executes the blocks of a node database and compares the results with what the node
//! stored.
//!
//! ```text
//! BlockSource ► StoredBlock ─┐  header, transactions, ommers, withdrawals, receipts
//!                         ▼
//! ChainRules ───────► execution ──► BlockReplay: transactions, frames, transitions,
//!   fork of a block       │          and every Mismatch with receipts, header, change sets
//!                         ▼
//! StateHistory ──────► Engine
//!   state before a block    (txgraph_evm::Evm)
//! ```
//!
//! Input: blocks of a [`BlockSource`] and a [`StateHistory`] with the state after any block. A node
//! database is both, and so is a [`Bundle`], a file with one block. Output: what happened inside transactions, which logs do not contain.
//! The tables that store a state and the semantics of opcodes belong to other crates.
//!
//! Modules, each using only those before it: refusal, mismatch, error, frames, inspect, transaction_transfers,
//! revert_reason, balance_difference, account_fields, touched, replay, balances, block, call_trace,
//! history, look_back, native_transfers, amount_tracer, participants, profile, reference_trace, rules, state_diff,
//! block_overrides, state_overrides, block_source, options, engine, recording, trace_comparer, verify, balance_check, execution,
//! oracle, wanted, worker, block_replayer, newest, replayer, bundles, calls, internal, block_transfers, range,
//! token, with_internal.

mod error;
mod mismatch;
mod refusal;
mod rules;

mod block;
mod block_overrides;
mod block_replayer;
mod block_source;
mod bundles;
mod history;

mod engine;
mod execution;
#[cfg(feature = "oracle")]
mod oracle;

mod frames;
mod replay;
mod verify;

mod account_fields;
mod amount_tracer;
mod balance_check;
mod balance_difference;
mod balances;
mod block_transfers;
mod call_trace;
mod native_transfers;
mod newest;
mod participants;
mod profile;
mod recording;
mod reference_trace;
mod revert_reason;
mod state_diff;
mod touched;
mod trace_comparer;
mod transaction_transfers;

mod inspect;
mod look_back;
mod options;
mod range;
mod replayer;
mod state_overrides;
mod wanted;
mod worker;

mod calls;
mod internal;
mod token;
mod with_internal;

pub use account_fields::AccountFields;
pub use amount_tracer::{AmountTracer, AmountTracers};
pub use balance_difference::{BalanceCheck, BalanceDifference, SignedAmount};
pub use balances::{BalanceChange, BalanceCounter};
pub use block::{StoredBlock, StoredReceipt, StoredTransaction};
pub use block_overrides::BlockOverrides;
pub use block_source::BlockSource;
pub use bundles::RecordedBlock;
pub use call_trace::{CallFrame, CallLog};
pub use calls::{Simulate, Simulation};
pub use error::{Error, Result, StateError};
pub use frames::{Destruction, Frame, FrameDetail, FrameLog, FrameRecorder, Frames};
pub use history::StateHistory;
pub use internal::Internal;
pub use mismatch::{Difference, Mismatch};
pub use native_transfers::{Cause, NativeTransfer};
pub use newest::NewestReplay;
pub use options::{EngineKind, ReplayOptions};
pub use profile::GasProfile;
pub use range::RangeReport;
pub use reference_trace::{ReferenceTrace, TraceStep};
pub use refusal::Refusal;
pub use replay::{BlockReplay, Record, TransactionReplay, Verify};
pub use replayer::{Replayer, TransactionLocation};
pub use revert_reason::revert_reason;
pub use rules::{ChainRules, Genesis};
pub use state_diff::{FieldChange, StateChange, StateDiff};
pub use state_overrides::{StateOverrides, TransactionOverride};
pub use token::{TokenMetadata, query};
pub use touched::Touched;
pub use trace_comparer::{StepDifference, TraceComparer};
pub use transaction_transfers::transaction_transfers;
pub use txgraph_block::{BlockRules, RequestFault};
pub use txgraph_bundle::{Bundle, BundleWriter, Error as BundleError, Missing};
pub use with_internal::WithInternal;
