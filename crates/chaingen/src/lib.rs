//! Writes sample chains in reth's on-disk format: real data directories of any size, from a
//! seed, with known answers.
//!
//! Headers are linked by hash. Roots, bloom filters, gas and fees are correct. Transactions of
//! every type are signed by their senders, and accounts and change sets follow from payments
//! and fees. Executions are not real: logs are invented, contracts have no storage, and the
//! state root of every block except the genesis block is a placeholder. Tries are not written,
//! nor what v2 keeps in RocksDB: the lookup by transaction hash and the history indices, which
//! v1 has in MDBX. Their stage checkpoints are 0, so a node would build them.
//!
//! [`Appender`] is the writer. It appends blocks in steps of any size, unwinds and prunes, and
//! changes files in the order of a node. [`LiveNode`] does the same in a process of its own,
//! because a process can open a database only once.
//!
//! [`BlockWriter`] writes chains whose blocks the caller executes. It also writes storage, code
//! and complete change sets. [`BlockWriter::create_from`] writes blocks of an existing chain, such
//! as mainnet, with their transactions and receipts ([`ExecutedBlock::decode`]) and without state.
//! The first block can have any number.
//!
//! Modules, each using only those before it: draw, encode, error, tip, contracts, jar, op, signers,
//! config, tables, events, histories, segments, world, intent, scenarios, scene, anomalies, traffic,
//! executed, block, header, truth, masking, state, block_writer, appender, live, execgen, sample,
//! logged_sample, op_sample, op_recorded.

mod anomalies;
mod appender;
mod block;
mod block_writer;
mod config;
mod contracts;
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
mod logged_sample;
mod masking;
#[cfg(feature = "op")]
mod op;
#[cfg(feature = "op")]
mod op_recorded;
#[cfg(feature = "op")]
mod op_sample;
mod sample;
mod scenarios;
mod scene;
mod segments;
mod signers;
mod state;
mod tables;
mod tip;
mod traffic;
mod truth;
mod world;

pub use appender::Appender;
pub use block::Counts;
pub use block_writer::BlockWriter;
pub use config::{CANCUN, CHAIN_ID, Config, Layout, OSAKA, PRAGUE, Profile, SHANGHAI, Storage};
pub use contracts::{Token, TokenKind};
pub use draw::Draw;
pub use encode::{Account, FirstAccount};
pub use error::Error;
pub use executed::{Changed, ExecutedBlock, ExecutedTransaction};
pub use header::first_header;
pub use live::{LiveNode, serve_if_asked};
#[cfg(feature = "op")]
pub use op::OpTransaction;
#[cfg(feature = "op")]
pub use op_recorded::{op_block, op_block_of_receipts, op_receipt};
#[cfg(feature = "op")]
pub use op_sample::receipts_root;
pub use sample::BlockSample;
pub use signers::Signer;
pub use tip::Tip;
pub use truth::{Edge, ScenarioTruth, SearchTruth, TokenTruth, TransferCount, Truth};
