//! The rules of each block of a chain.

mod genesis;
mod known;
mod steps;

pub use genesis::Genesis;

use crate::{Error, Result};
use alloy_primitives::{Address, B256};
use std::path::Path;
use steps::last;
use txgraph_base::{ChainFamily, KnownChain};
use txgraph_block::BlockRules;
use txgraph_evm::{BlobSchedule, Fork};
use txgraph_nodedb::{Header, NodeDb};

/// The rules of a chain: the dates of its forks, and other parameters of blocks that headers do
/// not contain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainRules {
    /// The chain id (EIP-155).
    pub chain_id: u64,
    /// The hash of block 0. A database with another hash contains another chain.
    pub genesis_hash: B256,
    /// Forks by block number, ascending; the last of several with one number applies.
    by_number: Vec<(u64, Fork)>,
    /// Forks since the merge by timestamp, ascending.
    by_time: Vec<(u64, Fork)>,
    /// Blob parameters by timestamp, ascending.
    blobs: Vec<(u64, BlobSchedule)>,
    /// The block that transfers the balance of the DAO (EIP-779).
    dao_block: Option<u64>,
    /// The contract whose logs are deposits (EIP-6110).
    deposit_contract: Address,
}

/// The name of the file with the rules of a chain that are not built in.
const GENESIS_FILE: &str = "genesis.json";

impl ChainRules {
    /// Returns the rules of the chain in a database: from a genesis file if one is given, else
    /// those known for the hash of block 0, else from `genesis.json` in the data directory.
    pub fn of_database(db: &NodeDb, chain_file: Option<&Path>) -> Result<Self> {
        if db.family() == ChainFamily::OpStack {
            return Err(Error::OpStack {
                path: db.dir().root.clone(),
            });
        }
        let found = db.chain()?.genesis_hash;
        let Some(path) = chain_file else {
            return match Self::known(found) {
                Some(rules) => Ok(rules),
                None => Self::from_data_directory(db, found),
            };
        };
        Self::open(path, db, found)
    }

    fn open(path: &Path, db: &NodeDb, found: B256) -> Result<Self> {
        let rules = Genesis::open(path)?.rules;
        rules.check_genesis(db, found)?;
        Ok(rules)
    }

    fn from_data_directory(db: &NodeDb, found: B256) -> Result<Self> {
        let path = db.dir().root.join(GENESIS_FILE);
        match path.is_file() {
            true => Self::open(&path, db, found),
            false => Err(Error::UnknownChain {
                path: db.dir().root.clone(),
                genesis_hash: found,
            }),
        }
    }

    /// Returns the rules of mainnet, Sepolia, Holesky, Hoodi or `reth --dev`, by the hash of block 0.
    pub fn known(genesis_hash: B256) -> Option<Self> {
        KnownChain::by_genesis(&genesis_hash).and_then(known::rules)
    }

    /// The rules of a chain of which one block is known. They hold for this block only.
    pub(crate) fn of_block(
        chain_id: u64,
        genesis_hash: B256,
        number: u64,
        rules: &BlockRules,
    ) -> Self {
        Self {
            chain_id,
            genesis_hash,
            by_number: vec![(0, rules.fork)],
            by_time: vec![(0, rules.fork)],
            blobs: vec![(0, rules.blobs)],
            dao_block: rules.moves_dao.then_some(number),
            deposit_contract: rules.deposit_contract,
        }
    }

    /// Checks that a database contains this chain.
    pub(crate) fn check_genesis(&self, db: &NodeDb, found: B256) -> Result<()> {
        if self.genesis_hash == found {
            return Ok(());
        }
        Err(Error::WrongChain {
            path: db.dir().root.clone(),
            found,
            expected: self.genesis_hash,
        })
    }

    /// Returns the rules of a block. Exactly the proof-of-stake blocks have difficulty zero
    /// (EIP-3675), so the total difficulty is not needed.
    pub fn at(&self, header: &Header) -> BlockRules {
        let by_number = last(&self.by_number, header.number).unwrap_or(Fork::Frontier);
        let fork = if header.difficulty.is_zero() {
            let by_time = last(&self.by_time, header.timestamp);
            by_time.unwrap_or(Fork::Paris.max(by_number))
        } else {
            by_number
        };
        BlockRules {
            fork,
            blobs: last(&self.blobs, header.timestamp).unwrap_or(BlobSchedule::of(fork)),
            moves_dao: self.dao_block == Some(header.number),
            deposit_contract: self.deposit_contract,
        }
    }
}
