//! Protocol rules around the transactions of a block.
//!
//! ```text
//! BlockSteps::before   DAO transfer, beacon root, parent hash
//!   transactions       evm_transaction ─► an Executor
//! BlockSteps::after    rewards, withdrawals, requests
//!   results            Receipts, AccessList, state_root: compared with the header
//! ```
//!
//! The crate executes nothing itself: the caller provides an [`Executor`], which may run a
//! node's block or a test's. [`trace`] and [`opcodes`] write what an execution did in the
//! forms that other clients use.
//!
//! Modules, each using only those before it: access_list, dao, opcodes, proof, receipts, requests, state,
//! transaction, genesis, steps, trace.

mod access_list;
pub mod dao;
mod proof;
mod receipts;
mod requests;
mod steps;
mod transaction;

mod genesis;
pub mod opcodes;
mod state;
pub mod trace;

pub use access_list::AccessList;
pub use genesis::{GenesisAccounts, parse_accounts};
pub use proof::{check_item, prove_items};
pub use receipts::Receipts;
pub use requests::{BlockRequests, Deposits, RequestFault};
pub use state::{PlainAccount, PlainState, state_root};
pub use steps::{BlockRules, BlockSteps, Executor};
pub use transaction::{evm_authorization, evm_transaction};
