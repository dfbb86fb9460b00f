//! Writes sample chains in reth's on-disk format: real data directories of any
//! size, from a seed, with known answers.
//!
//! Headers hang together, roots, blooms, gas and fees are right, transactions of
//! every type are signed by their senders, accounts and change sets follow from
//! payments and fees. Not real are the executions: what a contract logs is made up,
//! contracts have no storage, and the state root of every block but the genesis is
//! a placeholder. Account history indices, tries, and in v2 everything that lives in
//! RocksDB (the lookup by transaction hash above all) are not written; their stage
//! checkpoints stand at 0, which is how a node knows that they are to be made.
//!
//! [`Appender`] is the writer: it appends blocks, in steps as large as wanted,
//! takes them back and prunes, in the order in which a node changes its files.
//! [`LiveNode`] does the same in a process of its own, because a process can open a
//! database only once.
//!
//! [`BlockWriter`] is a writer for chains whose blocks somebody else executes, and tells
//! what came of it: storage, code, whole change sets and, in v1, history indices are then
//! written too.

mod appender;
mod block;
mod block_writer;
mod config;
mod csv;
mod draw;
mod encode;
mod error;
mod events;
#[cfg(feature = "executed")]
pub mod execgen;
mod executed;
mod header;
mod histories;
mod intent;
mod jar;
mod live;
mod oddities;
mod people;
mod scenarios;
mod segments;
mod state;
mod tables;
mod things;
mod traffic;
mod truth;
mod world;

pub use appender::{Appender, Tip};
pub use block::Counts;
pub use block_writer::BlockWriter;
pub use config::{CANCUN, Config, Layout, OSAKA, PRAGUE, Profile, SHANGHAI, Storage};
pub use csv::{CSV_HEADER, write_csv};
pub use draw::Draw;
pub use encode::Account;
pub use error::Error;
pub use executed::{
    Changed, ExecutedBlock, ExecutedTransaction, FirstAccount, blobs, first_header, genesis_file,
    next_header,
};
pub use live::{LiveNode, serve, serve_if_asked};
pub use people::Signer;
pub use things::{Token, TokenKind};
pub use truth::{Edge, ScenarioTruth, SearchTruth, TokenTruth, TransferCount, Truth};
