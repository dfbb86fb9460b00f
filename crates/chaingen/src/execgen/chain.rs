//! A growing chain: transactions are drawn, executed, and written.

use super::{
    answers::{Answer, Asker},
    contracts::{Contracts, place},
    error::Error,
    execute::{self, CHAIN_ID, Order},
    state::State,
    traffic::Traffic,
};
use crate::{
    BlockWriter, Draw, ExecutedBlock, FirstAccount, Layout, SHANGHAI, Signer, Storage, Tip,
    first_header, header,
};
use alloy_consensus::Header;
use alloy_eips::eip4895::Withdrawal;
use alloy_primitives::{Address, B256, U256};
use serde::{Deserialize, Serialize};
use std::{collections::VecDeque, path::Path, time::Duration};

/// Blocks per commit at most, in a chain without blocks in memory.
const COMMIT_BLOCKS: u64 = 32;
/// Withdrawals per block.
const WITHDRAWALS: u64 = 8;

/// The parameters of a chain. Equal plans give equal chains, however they are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Seed of the chain.
    pub seed: u64,
    /// Approximate gas of the transactions of a block.
    pub gas_per_block: u64,
    /// Number of signers.
    pub signers: u64,
    /// How the chain is stored.
    pub storage: Storage,
    /// The blocks that stay in memory.
    pub memory: Memory,
    /// Known answers about the state after each block ([`Chain::take_answers`]).
    pub answers_per_block: u64,
}

/// The newest blocks, which a node keeps in memory before it writes them (reth
/// `crates/engine/primitives/src/config.rs`). The default is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// The node writes when it has more blocks than this in memory
    /// (`--engine.persistence-threshold`). 0: it writes every block at once.
    pub threshold: u64,
    /// The newest blocks that stay in memory when it writes
    /// (`--engine.memory-block-buffer-target`); at most the threshold.
    pub buffer: u64,
}

impl Memory {
    /// The defaults of reth since 2.6.0. The buffer is the default of its source of 2026-08-21.
    pub const RETH: Self = Self {
        threshold: 50,
        buffer: 5,
    };
}

/// `--engine.num-state-masking-blocks` of reth, by default since 2.6.0.
pub const MASKING_BLOCKS: u64 = 30;

impl Plan {
    /// Creates a plan for blocks of this size.
    pub fn new(seed: u64, layout: Layout, gas_per_block: u64) -> Self {
        Self {
            seed,
            gas_per_block,
            signers: 64,
            storage: layout.into(),
            memory: Memory::default(),
            answers_per_block: 0,
        }
    }

    /// Returns why a node refuses these values, if so (reth `EngineArgs::validate`).
    fn problem(&self) -> Option<String> {
        let Memory { threshold, buffer } = self.memory;
        let masking = self.storage.masking_blocks;
        if buffer > threshold {
            return Some(format!("{buffer} blocks in memory of at most {threshold}"));
        }
        let window = masking.saturating_add(buffer);
        (threshold > 0 && masking > 0 && window >= threshold).then(|| {
            format!(
                "{masking} masking blocks and {buffer} blocks in memory, which together must be \
                 fewer than the threshold of {threshold}"
            )
        })
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
    /// The blocks above those on disk.
    memory: VecDeque<ExecutedBlock>,
    /// Header of the newest block, in memory or on disk.
    header: Header,
    /// Headers of earlier blocks that an unwind may make the newest again.
    below: VecDeque<Header>,
    /// Number of unwinds so far.
    branch: u64,
    asker: Asker,
    /// Answers about blocks, by block hash.
    answers: Vec<(B256, Vec<Answer>)>,
}

impl Chain {
    /// Creates a data directory in `folder`, which must be empty or not exist.
    pub fn create(folder: &Path, plan: Plan) -> Result<Self, Error> {
        if let Some(problem) = plan.problem() {
            return Err(crate::Error::Config(problem).into());
        }
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
        let header = first_header(header::state_root(&accounts), plan.gas_limit());
        let state = State::new(&accounts, header.hash_slow());
        let storage = plan.storage;
        let writer = BlockWriter::create(folder, storage, CHAIN_ID, header.clone(), &accounts)?;
        Ok(Self {
            plan,
            contracts,
            signers,
            addresses,
            state,
            writer,
            memory: VecDeque::new(),
            header,
            below: VecDeque::new(),
            branch: 0,
            asker: Asker::new(plan.seed, plan.answers_per_block),
            answers: Vec::new(),
        })
    }

    /// The newest block on disk.
    pub fn tip(&self) -> Tip {
        self.writer.tip()
    }

    /// The number of the newest block, in memory or on disk.
    pub fn head(&self) -> u64 {
        self.header.number
    }

    /// The block up to which hashed state is on disk ([`BlockWriter::state_block`]).
    pub fn state_block(&self) -> u64 {
        self.writer.state_block()
    }

    /// The newest block that cannot be replaced ([`BlockWriter::finalized`]).
    pub fn finalized(&self) -> u64 {
        self.writer.finalized()
    }

    /// Sets a pause between static files and MDBX in every commit.
    pub fn set_pause(&mut self, pause: Duration) {
        self.writer.set_pause(pause);
    }

    /// Appends `count` blocks. Writes those that do not stay in memory, and returns the newest
    /// block on disk.
    pub fn append(&mut self, count: u64) -> Result<Tip, Error> {
        let Memory { threshold, buffer } = self.plan.memory;
        let full = match threshold {
            0 => COMMIT_BLOCKS,
            _ => threshold + 1,
        };
        for _ in 0..count {
            let block = self.execute()?;
            self.memory.push_back(block);
            if self.memory.len() as u64 == full {
                self.write(buffer)?;
            }
        }
        if threshold == 0 && !self.memory.is_empty() {
            self.write(0)?;
        }
        Ok(self.tip())
    }

    /// Writes all blocks except the newest `buffer` ones.
    fn write(&mut self, buffer: u64) -> Result<(), Error> {
        let kept = usize::try_from(buffer).unwrap_or(usize::MAX);
        let count = self.memory.len().saturating_sub(kept);
        self.writer.append(self.memory.drain(..count).collect())?;
        Ok(())
    }

    /// Writes all blocks and all state, like a node that is stopped.
    pub fn flush(&mut self) -> Result<Tip, Error> {
        let blocks = self.memory.drain(..).collect();
        Ok(self.writer.flush(blocks)?)
    }

    /// Removes all blocks above `to`, and returns the newest block on disk. The next blocks
    /// belong to another branch.
    pub fn unwind(&mut self, to: u64) -> Result<Tip, Error> {
        let mut gone = Vec::new();
        while let Some(block) = self.memory.pop_back_if(|block| block.header.number > to) {
            gone.push(block);
        }
        if to < self.tip().number {
            gone.extend(self.writer.unwind(to)?);
        }
        for block in gone {
            self.state.take_back(&block);
            if let Some(header) = self.below.pop_back() {
                self.header = header;
            }
        }
        self.branch += 1;
        Ok(self.tip())
    }

    /// Returns the answers about new blocks, by block hash, including blocks that were removed
    /// again.
    pub fn take_answers(&mut self) -> Vec<(B256, Vec<Answer>)> {
        std::mem::take(&mut self.answers)
    }

    /// Flushes everything to the disk.
    pub fn sync(&mut self) -> Result<(), Error> {
        Ok(self.writer.sync()?)
    }

    fn execute(&mut self) -> Result<ExecutedBlock, Error> {
        let number = self.header.number + 1;
        let mut draw = Draw::new(self.plan.seed, "block", &[number, self.branch]);
        let order = Order {
            gas: self.plan.gas_per_block,
            beneficiary: place("builder", draw.below(5)),
            withdrawals: withdrawals(number, &mut draw),
            signers: &self.signers,
        };
        let mut traffic = Traffic::new(&self.contracts, &self.addresses, number, draw);
        let parent = (&self.header, self.header.hash_slow());
        let block = execute::block(&mut self.state, parent, order, &mut traffic)?;
        let header = block.header.clone();
        let answers = self.asker.ask(&self.state, &block);
        if !answers.is_empty() {
            self.answers.push((header.hash_slow(), answers));
        }
        self.below
            .push_back(std::mem::replace(&mut self.header, header));
        let unwindable = self.plan.storage.finality + self.plan.memory.threshold;
        if self.below.len() as u64 > unwindable + COMMIT_BLOCKS {
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
