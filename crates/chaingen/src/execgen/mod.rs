//! Sample chains whose transactions are really executed: contract-heavy blocks, with
//! receipts, state, change sets and history as a node would have them.
//!
//! ```text
//! seed ─► traffic ─► execute (revm) ─► ExecutedBlock ─► BlockWriter ─► data directory
//!            ▲            │
//!        contracts      state, in memory
//! ```
//!
//! What executes is revm, not our interpreter: these chains are to judge ours. Contracts
//! are written in assembly, in `contracts/`, and assembled when a chain begins. The same
//! plan gives the same chain. State roots above block 0 are placeholders, as no trie is
//! kept; everything else in a header is right.
//!
//! [`Chain`] writes in this process, [`Miner`] in one of its own, in its own rhythm, with
//! reorganisations.

mod chain;
mod contracts;
mod error;
mod execute;
mod miner;
mod state;
mod traffic;

pub use chain::{Chain, Plan};
pub use error::Error;
pub use miner::{Miner, MinerPlan, Progress, mine_if_asked};
