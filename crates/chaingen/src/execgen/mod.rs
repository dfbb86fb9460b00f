//! Sample chains whose transactions are executed: contract-heavy blocks with the
//! receipts, state, change sets and history of a node.
//!
//! ```text
//! seed ─► traffic ─► execute (revm) ─► ExecutedBlock ─► BlockWriter ─► data directory
//!            ▲            │
//!        contracts      state, in memory
//! ```
//!
//! revm executes the blocks and not our interpreter, because these chains test ours.
//! Contracts are written in assembly (`contracts/`) and assembled when a chain begins.
//! The same plan gives the same chain. State roots above block 0 are placeholders,
//! because there is no trie. Everything else in a header is correct.
//!
//! [`Chain`] writes in this process. [`Miner`] writes in a process of its own, at its own
//! pace and with reorganizations. Both can keep blocks in memory and hashed state behind the
//! blocks, as nodes do since reth 2.6 ([`Memory`], `masking_blocks` in
//! [`Storage`](crate::Storage)).

mod answers;
mod chain;
mod contracts;
mod error;
mod execute;
mod miner;
mod state;
mod traffic;

pub use answers::Answer;
pub use chain::{Chain, MASKING_BLOCKS, Memory, Plan};
pub use error::Error;
pub use execute::CHAIN_ID;
pub use miner::{Miner, MinerPlan, Progress, mine_if_asked};
