//! The steps of a block around its transactions, as the execution specification orders
//! them.

use crate::{
    dao,
    requests::{self, BlockRequests, Deposits, RequestFault},
};
use alloy_eips::{eip2935::HISTORY_STORAGE_ADDRESS, eip4788::BEACON_ROOTS_ADDRESS};
use alloy_primitives::{Address, B256, Bytes, U256};
use txgraph_evm::{BlobSchedule, Block, Fork, Outcome};

/// Wei in a Gwei.
const GWEI: u64 = 1_000_000_000;
/// Wei in an ether.
const ETHER: u64 = 1_000_000_000_000_000_000;

/// The rules of one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRules {
    /// The fork.
    pub fork: Fork,
    /// How many blobs, and how their price moves; only since Cancun of interest.
    pub blobs: BlobSchedule,
    /// Whether the DAO's wei are moved before its transactions (EIP-779).
    pub moves_dao: bool,
    /// Whose logs are deposits (EIP-6110).
    pub deposit_contract: Address,
}

/// An interpreter with the state of a block.
pub trait Executor {
    /// Why the state could not be read.
    type Error;

    /// A call by the protocol; `None` if there is nothing to call.
    fn system_call(
        &mut self,
        block: &Block,
        contract: Address,
        input: Bytes,
    ) -> Result<Option<Outcome>, Self::Error>;

    /// Adds wei outside of any transaction.
    fn increase_balance(&mut self, address: Address, amount: U256) -> Result<(), Self::Error>;

    /// Takes all wei outside of any transaction.
    fn drain_balance(&mut self, address: Address) -> Result<U256, Self::Error>;
}

/// What a block tells beside its transactions.
#[derive(Clone, Debug)]
pub struct BlockSteps<'a> {
    /// Its rules.
    pub rules: &'a BlockRules,
    /// Of its header, what execution sees.
    pub block: &'a Block,
    /// Hash of the block before it.
    pub parent_hash: B256,
    /// Since Cancun (EIP-4788).
    pub parent_beacon_block_root: Option<B256>,
    /// Before the merge: number and beneficiary of blocks that lost.
    pub ommers: Vec<(u64, Address)>,
    /// Since Shanghai: who receives how many Gwei (EIP-4895).
    pub withdrawals: Vec<(Address, u64)>,
}

impl BlockSteps<'_> {
    /// What comes before the transactions.
    pub fn before<E: Executor>(&self, executor: &mut E) -> Result<(), E::Error> {
        if self.rules.moves_dao {
            for address in dao::DRAINED {
                let amount = executor.drain_balance(address)?;
                executor.increase_balance(dao::REFUND, amount)?;
            }
        }
        // What becomes of these two calls does not matter to the block.
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

    /// What comes after them.
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
        for (kind, contract) in requests::CONTRACTS {
            let called = executor.system_call(self.block, contract, Bytes::new())?;
            // EIP-7002 and 7251 call a block without the contract invalid; development
            // chains have none, and their node does not mind.
            let Some(outcome) = called else {
                continue;
            };
            if !outcome.is_success() {
                return Ok(Err(RequestFault::Failed(contract)));
            }
            outputs.push((kind, outcome.output));
        }
        Ok(deposits.requests(outputs).map(Some))
    }

    /// Pays whoever found the block, and its ommers, until the merge.
    fn reward<E: Executor>(&self, executor: &mut E) -> Result<(), E::Error> {
        let ether = match self.rules.fork {
            fork if fork >= Fork::Paris => return Ok(()),
            fork if fork >= Fork::Constantinople => 2,
            fork if fork >= Fork::Byzantium => 3,
            _ => 5,
        };
        let base = U256::from(ether * u128::from(ETHER));
        for (number, beneficiary) in &self.ommers {
            // At most six blocks back, or the block was not valid.
            let age = self.block.number.saturating_sub(*number).min(8);
            let share = base * U256::from(8 - age) / U256::from(8);
            executor.increase_balance(*beneficiary, share)?;
        }
        let for_ommers = base / U256::from(32) * U256::from(self.ommers.len());
        executor.increase_balance(self.block.beneficiary, base + for_ommers)
    }
}
