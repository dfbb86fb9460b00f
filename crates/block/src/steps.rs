//! The steps of a block around its transactions, as the execution specification orders
//! them.

use crate::{
    dao,
    requests::{self, BlockRequests, Deposits, RequestFault},
};
use alloy_consensus::Header;
use alloy_eips::{eip2935::HISTORY_STORAGE_ADDRESS, eip4788::BEACON_ROOTS_ADDRESS};
use alloy_primitives::{Address, B256, Bytes, U256};
use txgraph_evm::{BlobSchedule, Block, BlockGas, Fork, Outcome};

/// Wei of a gwei.
const GWEI: u64 = 1_000_000_000;
/// Wei of an ether.
const ETHER: u64 = 1_000_000_000_000_000_000;

/// The rules of one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRules {
    /// The fork in force.
    pub fork: Fork,
    /// Limits and price of blobs. Used since Cancun.
    pub blobs: BlobSchedule,
    /// Whether this is the block of the DAO fork, which drains accounts first (EIP-779).
    pub moves_dao: bool,
    /// The contract whose logs are deposits (EIP-6110).
    pub deposit_contract: Address,
}

impl BlockRules {
    /// The environment that the transactions of a block see.
    pub fn environment(&self, header: &Header) -> Block {
        let excess = header.excess_blob_gas;
        Block {
            number: header.number,
            timestamp: header.timestamp,
            beneficiary: header.beneficiary,
            gas_limit: header.gas_limit,
            gas_used: BlockGas::default(),
            base_fee: U256::from(header.base_fee_per_gas.unwrap_or_default()),
            difficulty: header.difficulty,
            prevrandao: match self.fork >= Fork::Paris {
                true => header.mix_hash,
                false => B256::ZERO,
            },
            blob_base_fee: excess.map_or(U256::ZERO, |excess| self.blobs.base_fee(excess)),
            blobs_max: self.blobs.max,
            slot_number: header.slot_number.unwrap_or_default(),
        }
    }
}

/// Executes the steps on the state of a block.
pub trait Executor {
    /// An error of the state.
    type Error;

    /// Makes a system call. Returns `None` if the contract has no code.
    fn system_call(
        &mut self,
        block: &Block,
        contract: Address,
        input: Bytes,
    ) -> Result<Option<Outcome>, Self::Error>;

    /// Adds wei outside any transaction.
    fn increase_balance(&mut self, address: Address, amount: U256) -> Result<(), Self::Error>;

    /// Removes the whole balance outside any transaction, and returns it.
    fn drain_balance(&mut self, address: Address) -> Result<U256, Self::Error>;
}

/// The contents of a block other than its transactions.
#[derive(Clone, Debug)]
pub struct BlockSteps<'a> {
    /// The rules of the block.
    pub rules: &'a BlockRules,
    /// The environment that transactions see.
    pub block: &'a Block,
    /// The hash of the parent block.
    pub parent_hash: B256,
    /// The beacon root of the parent, since Cancun (EIP-4788).
    pub parent_beacon_block_root: Option<B256>,
    /// Number and beneficiary of each ommer, before the merge.
    pub ommers: Vec<(u64, Address)>,
    /// Withdrawals as address and gwei, since Shanghai (EIP-4895).
    pub withdrawals: Vec<(Address, u64)>,
}

impl BlockSteps<'_> {
    /// Executes the steps before the transactions.
    pub fn before<E: Executor>(&self, executor: &mut E) -> Result<(), E::Error> {
        if self.rules.moves_dao {
            for address in dao::drained() {
                let amount = executor.drain_balance(address)?;
                executor.increase_balance(dao::REFUND, amount)?;
            }
        }
        // The block is valid even if these two calls fail.
        if let Some(root) = self.parent_beacon_block_root
            && self.rules.fork >= Fork::Cancun
        {
            executor.system_call(self.block, BEACON_ROOTS_ADDRESS, root.into())?;
        }
        if self.rules.fork >= Fork::Prague {
            let parent = self.parent_hash;
            executor.system_call(self.block, HISTORY_STORAGE_ADDRESS, parent.into())?;
        }
        Ok(())
    }

    /// Executes the steps after the transactions, and returns the requests.
    pub fn after<E: Executor>(
        &self,
        executor: &mut E,
        deposits: Deposits,
    ) -> Result<BlockRequests, E::Error> {
        self.reward(executor)?;
        for (address, gwei) in &self.withdrawals {
            let amount = U256::from(*gwei) * U256::from(GWEI);
            executor.increase_balance(*address, amount)?;
        }
        if self.rules.fork < Fork::Prague {
            return Ok(Ok(None));
        }
        let mut outputs = Vec::new();
        for (since, kind, contract) in requests::CONTRACTS {
            if self.rules.fork < since {
                continue;
            }
            let called = executor.system_call(self.block, contract, Bytes::new())?;
            let Some(outcome) = called else {
                // A block without the contract is invalid by EIP-7002, 7251 and 8282. Development
                // chains lacked the contracts before Amsterdam, and reth accepts their blocks.
                if self.rules.fork >= Fork::Amsterdam {
                    return Ok(Err(RequestFault::NoContract(contract)));
                }
                continue;
            };
            if !outcome.is_success() {
                return Ok(Err(RequestFault::Failed(contract)));
            }
            outputs.push((kind, outcome.output));
        }
        Ok(deposits.requests(outputs).map(Some))
    }

    /// Pays the beneficiaries of the block and its ommers, before the merge.
    fn reward<E: Executor>(&self, executor: &mut E) -> Result<(), E::Error> {
        let ommers = self.ommers.iter().map(|(number, _)| *number);
        let Some((reward, shares)) = self.rules.rewards(self.block.number, ommers) else {
            return Ok(());
        };
        for ((_, beneficiary), share) in self.ommers.iter().zip(shares) {
            executor.increase_balance(*beneficiary, share)?;
        }
        executor.increase_balance(self.block.beneficiary, reward)
    }
}

impl BlockRules {
    /// The wei that block `number` creates for its beneficiary, and for the beneficiaries of its ommers,
    /// which have these numbers. `None` since the merge.
    pub fn rewards(
        &self,
        number: u64,
        ommers: impl IntoIterator<Item = u64>,
    ) -> Option<(U256, Vec<U256>)> {
        let ether = match self.fork {
            fork if fork >= Fork::Paris => return None,
            fork if fork >= Fork::Constantinople => 2,
            fork if fork >= Fork::Byzantium => 3,
            _ => 5,
        };
        let base = U256::from(ether * u128::from(ETHER));
        // Ommers of a valid block are at most six blocks older.
        let age = |ommer: u64| number.saturating_sub(ommer).min(8);
        let shares = ommers.into_iter().map(age);
        let shares: Vec<_> = shares
            .map(|age| base * U256::from(8 - age) / U256::from(8))
            .collect();
        let for_ommers = base / U256::from(32) * U256::from(shares.len());
        Some((base + for_ommers, shares))
    }
}
