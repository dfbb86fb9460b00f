//! Which rules hold in which block of a chain.

mod genesis;
mod known;

pub use genesis::Genesis;

use crate::{Error, Result};
use alloy_primitives::{Address, B256};
use std::path::Path;
use txgraph_base::KnownChain;
use txgraph_block::BlockRules;
use txgraph_evm::{BlobSchedule, Fork};
use txgraph_nodedb::{Header, NodeDb};

/// The rules of a chain: which fork holds when, and what else a block needs that its
/// header does not tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainRules {
    /// EIP-155.
    pub chain_id: u64,
    /// Hash of block 0: a database with another one holds another chain.
    pub genesis_hash: B256,
    /// Forks by block number, ascending; of several at one number the last holds.
    by_number: Vec<(u64, Fork)>,
    /// Forks since the merge by timestamp, ascending.
    by_time: Vec<(u64, Fork)>,
    /// Blob parameters by timestamp, ascending.
    blobs: Vec<(u64, BlobSchedule)>,
    /// The block that moves the DAO's wei (EIP-779).
    dao_block: Option<u64>,
    /// Whose logs are deposits (EIP-6110).
    deposit_contract: Address,
}

impl ChainRules {
    /// Those of the chain in a database: given as a genesis file, or known by the hash
    /// of block 0.
    pub fn of_database(db: &NodeDb, chain_file: Option<&Path>) -> Result<Self> {
        let found = db.chain()?.genesis_hash;
        let Some(path) = chain_file else {
            return Self::known(found).ok_or(Error::UnknownChain {
                path: db.dir().root.clone(),
                genesis_hash: found,
            });
        };
        let rules = Genesis::open(path)?.rules;
        rules.check_genesis(db, found)?;
        Ok(rules)
    }

    /// Those of mainnet, Sepolia, Holesky, Hoodi or `reth --dev`, by the hash of block 0.
    pub fn known(genesis_hash: B256) -> Option<Self> {
        KnownChain::by_genesis(&genesis_hash).and_then(known::rules)
    }

    /// That a database holds this chain.
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

    /// Those of a block. Proof-of-stake blocks, and they alone, have difficulty zero
    /// (EIP-3675), so that no total difficulty is needed.
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

/// What began last at `now`.
fn last<T: Copy>(steps: &[(u64, T)], now: u64) -> Option<T> {
    let begun = steps.partition_point(|(begin, _)| *begin <= now);
    begun.checked_sub(1).map(|at| steps[at].1)
}
