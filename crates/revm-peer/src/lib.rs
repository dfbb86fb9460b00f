//! revm as the peer of our interpreter: everything that compares the two uses this crate.
//!
//! ```text
//! configuration, block, transaction   our types ─► revm's: one translation for all uses
//! BlockEvm                            revm on the state of one block, for replay (feature `oracle` there)
//! JournalEvm                          revm with one journal for a block, for timings
//! case, differential                  random cases, executed by both (feature `cases`)
//! block_case                          random blocks of Amsterdam, for a comparison with geth
//!                                     (feature `cases`)
//! runner, flat                        revm in the runner of public tests, and a state in
//!                                     memory for both (feature `runner`)
//! ```
//!
//! There is one translation, so a difference between the engines is never a difference
//! between two translations.
//!
//! Modules, each using only those before it: case, database, flat, outcome, translate, block_case,
//! differential, inspector, journal_evm, runner, block_evm.

#[cfg(feature = "cases")]
pub mod block_case;
mod block_evm;
#[cfg(feature = "cases")]
pub mod case;
mod database;
#[cfg(feature = "cases")]
pub mod differential;
#[cfg(feature = "runner")]
pub mod flat;
mod inspector;
mod journal_evm;
mod outcome;
#[cfg(feature = "runner")]
pub mod runner;
mod translate;

pub use block_evm::{BlockEvm, Failure};
pub use database::{RevmCodes, SourceError};
pub use journal_evm::JournalEvm;
pub use revm::context::TxEnv;
pub use translate::{block, configuration, fees_fit, spec, transaction};
