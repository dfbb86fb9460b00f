//! A growing chain: transactions are drawn, executed, and written.

use super::{
    contracts::{Contracts, place},
    error::Error,
    execute::{self, Order},
    state::State,
    traffic::Traffic,
};
use crate::{
    BlockWriter, Draw, ExecutedBlock, FirstAccount, Layout, SHANGHAI, Signer, Storage, Tip,
    first_header,
};
use alloy_consensus::{
    Header, TrieAccount,
    constants::{EMPTY_ROOT_HASH, KECCAK_EMPTY},
    proofs::{state_root_unhashed, storage_root_unhashed},
};
use alloy_eips::eip4895::Withdrawal;
use alloy_primitives::{Address, B256, U256, keccak256};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, VecDeque},
    path::Path,
    time::Duration,
};

/// Blocks per commit at most.
const COMMIT_BLOCKS: u64 = 32;
/// Withdrawals per block.
const WITHDRAWALS: u64 = 8;

/// The parameters of a chain. Equal plans give equal chains, however they are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Seed of the chain.
    pub seed: u64,
    /// EIP-155 chain id.
    pub chain_id: u64,
    /// Approximate gas of the transactions of a block.
    pub gas_per_block: u64,
    /// Number of signers.
    pub signers: u64,
    /// How the chain is stored.
    pub storage: Storage,
}

impl Plan {
    /// Creates a plan for blocks of this size.
    pub fn new(seed: u64, layout: Layout, gas_per_block: u64) -> Self {
        Self {
            seed,
            chain_id: 20_261_121,
            gas_per_block,
            signers: 64,
            storage: layout.into(),
        }
    }

    /// Blocks use less than half of it, so that the base fee falls to its minimum.
    fn gas_limit(&self) -> u64 {
        36_000_000.max(2 * self.gas_per_block + 8_000_000)
    }
}

/// A data directory that is being written, with its state.
#[derive(Debug)]
pub struct Chain {
    plan: Plan,
    contracts: Contracts,
    signers: Vec<Signer>,
    /// Addresses of the signers.
    addresses: Vec<Address>,
    state: State,
    writer: BlockWriter,
    /// Header of the newest block.
    header: Header,
    /// Headers of earlier blocks that an unwind may make the newest again.
    below: VecDeque<Header>,
    /// Number of unwinds so far.
    branch: u64,
}

impl Chain {
    /// Creates a data directory in `folder`, which must be empty or not exist.
    pub fn create(folder: &Path, plan: Plan) -> Result<Self, Error> {
        let contracts = Contracts::new();
        let signers: Vec<_> = (0..plan.signers)
            .map(|number| Signer::new(plan.seed, "signer", &[number]))
            .collect();
        let addresses: Vec<_> = signers.iter().map(|signer| signer.address).collect();
        let mut accounts = contracts.accounts(&addresses)?;
        for address in &addresses {
            let account = FirstAccount {
                balance: U256::from(10).pow(U256::from(25)),
                ..FirstAccount::default()
            };
            accounts.insert(*address, account);
        }
        let header = first_header(root(&accounts), plan.gas_limit());
        let state = State::new(&accounts, header.hash_slow());
        let (storage, chain_id) = (plan.storage, plan.chain_id);
        let writer = BlockWriter::create(folder, storage, chain_id, header.clone(), &accounts)?;
        Ok(Self {
            plan,
            contracts,
            signers,
            addresses,
            state,
            writer,
            header,
            below: VecDeque::new(),
            branch: 0,
        })
    }

    /// The newest block.
    pub fn tip(&self) -> Tip {
        self.writer.tip()
    }

    /// Sets a pause between static files and MDBX in every commit.
    pub fn set_pause(&mut self, pause: Duration) {
        self.writer.set_pause(pause);
    }

    /// Appends `count` blocks.
    pub fn append(&mut self, count: u64) -> Result<Tip, Error> {
        let mut left = count;
        while left > 0 {
            let together = left.min(COMMIT_BLOCKS);
            let mut blocks = Vec::new();
            for _ in 0..together {
                blocks.push(self.execute()?);
            }
            self.writer.append(blocks)?;
            left -= together;
        }
        Ok(self.tip())
    }

    /// Removes all blocks above `to`. The next blocks belong to another branch.
    pub fn unwind(&mut self, to: u64) -> Result<Tip, Error> {
        for block in self.writer.unwind(to)? {
            self.state.take_back(&block);
            if let Some(header) = self.below.pop_back() {
                self.header = header;
            }
        }
        self.branch += 1;
        Ok(self.tip())
    }

    /// Flushes everything to the disk.
    pub fn sync(&mut self) -> Result<(), Error> {
        Ok(self.writer.sync()?)
    }

    fn execute(&mut self) -> Result<ExecutedBlock, Error> {
        let number = self.header.number + 1;
        let mut draw = Draw::new(self.plan.seed, "block", &[number, self.branch]);
        let order = Order {
            chain_id: self.plan.chain_id,
            gas: self.plan.gas_per_block,
            beneficiary: place("builder", draw.below(5)),
            withdrawals: withdrawals(number, &mut draw),
            signers: &self.signers,
        };
        let mut traffic = Traffic::new(&self.contracts, &self.addresses, number, draw);
        let parent = (&self.header, self.header.hash_slow());
        let block = execute::block(&mut self.state, parent, order, &mut traffic)?;
        let header = block.header.clone();
        self.below
            .push_back(std::mem::replace(&mut self.header, header));
        if self.below.len() as u64 > self.plan.storage.finality + COMMIT_BLOCKS {
            self.below.pop_front();
        }
        Ok(block)
    }
}

/// Withdrawals, from Shanghai on.
fn withdrawals(number: u64, draw: &mut Draw) -> Vec<Withdrawal> {
    let count = if number < SHANGHAI { 0 } else { WITHDRAWALS };
    (0..count)
        .map(|at| Withdrawal {
            index: number * WITHDRAWALS + at,
            validator_index: draw.below(500_000),
            address: place("validator", draw.below(2_000)),
            amount: draw.between(1, 20_000_000),
        })
        .collect()
}

/// Returns the state root of block 0.
fn root(accounts: &BTreeMap<Address, FirstAccount>) -> B256 {
    state_root_unhashed(accounts.iter().map(|(address, first)| {
        let storage_root = if first.storage.is_empty() {
            EMPTY_ROOT_HASH
        } else {
            storage_root_unhashed(first.storage.iter().map(|(slot, value)| (*slot, *value)))
        };
        let code_hash = if first.code.is_empty() {
            KECCAK_EMPTY
        } else {
            keccak256(&first.code)
        };
        let account = TrieAccount {
            nonce: first.nonce,
            balance: first.balance,
            storage_root,
            code_hash,
        };
        (*address, account)
    }))
}
