//! Opens a reth data directory, strictly read-only; the only crate that knows
//! its tables and files. In: a path. Out: blocks, receipts, transactions as
//! borrowed bytes, and the truth about which of them exist.
//!
//! It knows nothing of transfers or graphs, starts no threads, and never writes
//! to the data directory (opening MDBX registers a reader in its lock table).
//!
//! INTERFACE SKELETON: bodies to be written, signatures are what `reader`,
//! the façade and `bench` compile against.

#![allow(missing_docs, unused, dead_code, clippy::todo)]

use alloy_primitives::{Address, B256, Bloom, U256};
use serde::Serialize;
use std::{ops::ControlFlow, path::PathBuf};

/// Where the parts of a data directory lie.
#[derive(Clone, Debug)]
pub struct DataDir {
    pub root: PathBuf,
    /// `--datadir.static-files`; default `root/static_files`.
    pub static_files: Option<PathBuf>,
    /// `--datadir.rocksdb`; default `root/rocksdb`.
    pub rocksdb: Option<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("todo")]
    Todo,
}
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// The files changed under the reader (truncated, pruned, reorged): take a
    /// new snapshot and ask again. [`NodeDb`] itself retries where it can.
    pub fn is_stale(&self) -> bool {
        todo!()
    }
}

/// An open data directory. Shared between threads; one per directory and process.
#[derive(Debug)]
pub struct NodeDb {}

impl NodeDb {
    pub fn open(dir: &DataDir) -> Result<Self> {
        todo!()
    }
    /// Begins a read transaction, then lists the static files (section 8.2 of the
    /// reader protocol). Cheap: sealed jars stay open between snapshots.
    pub fn snapshot(&self) -> Result<Snapshot<'_>> {
        todo!()
    }
    /// Chain id (from the genesis hash, else from a stored transaction), genesis hash, name.
    pub fn chain(&self) -> Result<Chain> {
        todo!()
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct Chain {
    /// None: genesis unknown and no transaction carries a chain id; ask the user.
    pub chain_id: Option<u64>,
    pub genesis_hash: B256,
    pub name: Option<&'static str>,
}

/// One consistent view: an MDBX read transaction and the static files listed
/// after it began. Keep it for seconds, not minutes: it holds back the node.
#[derive(Debug)]
pub struct Snapshot<'db> {
    db: &'db NodeDb,
}

/// Inclusive range of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Blocks {
    pub first: u64,
    pub last: u64,
}

/// A part of a range and whether its receipts exist completely.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Gap {
    pub blocks: Blocks,
    /// "above the tip", "receipts pruned", "receipts filtered by log address", "bodies pruned", …
    pub reason: String,
}

/// Which parts of a block a scan reads.
#[derive(Clone, Copy, Debug, Default)]
pub struct Parts {
    pub receipts: bool,
    pub transactions: bool,
    /// From the sender source, else recovered from the signature.
    pub senders: bool,
    pub withdrawals: bool,
}

impl<'db> Snapshot<'db> {
    /// The `Finish` checkpoint: the highest block that may be read.
    pub fn tip(&self) -> u64 {
        todo!()
    }
    pub fn block_hash(&self, block: u64) -> Result<B256> {
        todo!()
    }
    pub fn header(&self, block: u64) -> Result<Header> {
        todo!()
    }
    /// The blocks of `wanted` that cannot be read whole, ascending, with the reason.
    /// `parts.receipts`: counts rows per block against `BlockBodyIndices` (section 11).
    pub fn gaps(&self, wanted: Blocks, parts: Parts) -> Result<Vec<Gap>> {
        todo!()
    }
    /// First and last transaction number of a range are cheap: used to size chunks.
    pub fn body(&self, block: u64) -> Result<BodyIndices> {
        todo!()
    }
    /// Visits blocks in ascending order; buffers of `scratch` are reused between calls.
    pub fn for_each_block(
        &self,
        blocks: Blocks,
        parts: Parts,
        scratch: &mut Scratch,
        visit: &mut dyn FnMut(&mut Block<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        todo!()
    }
    /// Hash of one transaction, by block and index.
    pub fn transaction_hash(&self, block: u64, index: u32, scratch: &mut Scratch) -> Result<B256> {
        todo!()
    }
    /// Everything `txgraph info` tells.
    pub fn info(&self) -> Result<Info> {
        todo!()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyIndices {
    pub first_tx: u64,
    pub tx_count: u64,
}

/// Read and decompression buffers of one worker.
#[derive(Debug, Default)]
pub struct Scratch {}

#[derive(Clone, Debug)]
pub struct Header {
    pub number: u64,
    pub hash: B256,
    pub parent_hash: B256,
    pub timestamp: u64,
    pub gas_used: u64,
    pub gas_limit: u64,
    pub beneficiary: Address,
    pub base_fee: Option<u64>,
    pub transactions_root: B256,
    pub receipts_root: B256,
    pub withdrawals_root: Option<B256>,
    pub logs_bloom: Bloom,
}

/// One block under the cursor.
#[derive(Debug)]
pub struct Block<'a> {
    pub header: Header,
    pub body: BodyIndices,
    _buffers: &'a mut Scratch,
}

impl Block<'_> {
    /// The next receipt of the block, in order; `None` after the last. At the last
    /// one its cumulative gas is checked against the header.
    pub fn next_receipt(&mut self) -> Result<Option<Receipt<'_>>> {
        todo!()
    }
    pub fn transaction(&mut self, index: u32) -> Result<Transaction> {
        todo!()
    }
    pub fn transaction_hash(&mut self, index: u32) -> Result<B256> {
        todo!()
    }
    pub fn sender(&mut self, index: u32) -> Result<Address> {
        todo!()
    }
    pub fn withdrawals(&self) -> &[Withdrawal] {
        todo!()
    }
}

/// A receipt, its logs borrowed; shape checked when it was read.
#[derive(Clone, Copy, Debug)]
pub struct Receipt<'a> {
    pub index: u32,
    pub tx_type: u8,
    pub success: bool,
    pub cumulative_gas_used: u64,
    logs: &'a [u8],
}

impl<'a> Receipt<'a> {
    pub fn logs(&self) -> Logs<'a> {
        todo!()
    }
}

#[derive(Clone, Debug)]
pub struct Logs<'a> {
    rest: &'a [u8],
}
impl<'a> Iterator for Logs<'a> {
    type Item = Log<'a>;
    fn next(&mut self) -> Option<Log<'a>> {
        todo!()
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Log<'a> {
    pub address: Address,
    pub topics: &'a [[u8; 32]],
    pub data: &'a [u8],
}

/// What txgraph needs of a transaction without its signature and input.
#[derive(Clone, Debug)]
pub struct Transaction {
    pub hash: B256,
    pub tx_type: u8,
    pub nonce: u64,
    /// None: contract creation.
    pub to: Option<Address>,
    pub value: U256,
    pub chain_id: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Withdrawal {
    pub index: u64,
    pub validator_index: u64,
    pub address: Address,
    pub amount_gwei: u64,
}

/// What a data directory holds. Serialised as the answer of `txgraph info --json`.
#[derive(Clone, Debug, Serialize)]
pub struct Info {
    pub layout: &'static str,
}
