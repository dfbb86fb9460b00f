//! Real blocks as timed work: the transactions of a block, on the state that they read.

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};
use txgraph_base::BlockRange;
use txgraph_block::BlockRules;
use txgraph_bundle::{Bundle, Recorder};
use txgraph_evm::{Block, Error, Evm, Fork, State, StateSource, Transaction};
use txgraph_nodedb::Scratch;
use txgraph_replay::{BlockSource, ChainRules};
use txgraph_revm_peer::{
    BlockEvm, Failure, JournalEvm, RevmCodes, TxEnv, flat::FlatState, transaction,
};

/// A block that is timed.
#[derive(Debug)]
pub(crate) struct BlockCase {
    /// The block number.
    pub(crate) number: u64,
    /// The gas in the header.
    pub(crate) gas_used: u64,
    rules: BlockRules,
    chain_id: u64,
    block: Block,
    transactions: Vec<Transaction>,
    peer_transactions: Vec<TxEnv>,
    /// The state that its transactions read. Both engines read it in the same way.
    reads: FlatState,
}

/// Groups of forks, by which results are summed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Era {
    /// Frontier to Petersburg.
    Early,
    /// Istanbul to London.
    Middle,
    /// Paris and later.
    Late,
}

impl Era {
    /// All eras in order, with their names.
    pub(crate) const ALL: [(Self, &'static str); 3] = [
        (Self::Early, "Frontier to Petersburg"),
        (Self::Middle, "Istanbul to London"),
        (Self::Late, "Paris and later"),
    ];
}

impl BlockCase {
    /// Reads a bundle, executes its transactions, and keeps what they read.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let bundle = Bundle::open(path)?;
        let rules = ChainRules::of_bundle(&bundle, None)?;
        let (number, chain_id) = (bundle.block().header.number, rules.chain_id);
        let mut read = Vec::new();
        let range = BlockRange::new(number, number).context("one block")?;
        bundle.read(range, &mut Scratch::default(), false, &mut read)?;
        let stored = read.pop().context("a bundle has one block")?;
        let rules = rules.at(&stored.header);
        let transactions: Vec<_> = (stored.transactions.iter())
            .map(|stored| stored.transaction.clone())
            .collect();
        let mut case = Self {
            number,
            gas_used: stored.header.gas_used,
            block: stored.environment(&rules),
            rules,
            chain_id,
            peer_transactions: transactions.iter().map(transaction).collect(),
            transactions,
            reads: FlatState::default(),
        };
        let record = Arc::new(Mutex::new(txgraph_bundle::FlatState::default()));
        let source = Recorder::new(bundle.state(), Arc::clone(&record));
        let mut evm = Evm::new(rules.fork, chain_id);
        let gas = case.execute(&mut evm, &mut State::new(source))?;
        let (expected, path) = (case.gas_used, path.display());
        ensure!(
            gas == expected,
            "{path}: gas {gas}, in the header {expected}"
        );
        let mut record = record.lock().unwrap_or_else(PoisonError::into_inner);
        case.reads = reads(std::mem::take(&mut record));
        Ok(case)
    }

    /// The era of its fork.
    pub(crate) fn era(&self) -> Era {
        match self.rules.fork {
            fork if fork < Fork::Istanbul => Era::Early,
            fork if fork < Fork::Paris => Era::Middle,
            _ => Era::Late,
        }
    }

    /// The fork.
    pub(crate) fn fork(&self) -> Fork {
        self.rules.fork
    }

    /// The number of transactions.
    pub(crate) fn transactions(&self) -> usize {
        self.transactions.len()
    }

    /// The state before the block.
    pub(crate) fn before(&self) -> &FlatState {
        &self.reads
    }

    /// The transactions in the form of revm, which consumes them.
    pub(crate) fn peer_transactions(&self) -> Vec<TxEnv> {
        self.peer_transactions.clone()
    }

    /// An interpreter for the blocks of this chain, with a cache of prepared code.
    pub(crate) fn evm(&self) -> Evm {
        Evm::new(self.rules.fork, self.chain_id)
    }

    /// Executes the transactions on our interpreter. Returns the gas.
    pub(crate) fn execute<S>(&self, evm: &mut Evm, state: &mut State<S>) -> Result<u64>
    where
        S: StateSource<Error: std::fmt::Debug>,
    {
        evm.set_fork(self.rules.fork);
        let mut gas = 0;
        for transaction in &self.transactions {
            let outcome = evm.execute_transaction(state, &self.block, transaction);
            gas += match outcome {
                Ok(outcome) => outcome.gas_used,
                Err(Error::Source(missing)) => bail!(Incomplete(format!("{missing:?}"))),
                Err(Error::Invalid(refused)) => bail!("block {}: {refused}", self.number),
            };
        }
        Ok(gas)
    }

    /// Executes the transactions on revm with one journal. Returns the gas.
    pub(crate) fn execute_on_peer(
        &self,
        codes: &RevmCodes,
        transactions: Vec<TxEnv>,
    ) -> Result<u64> {
        let mut evm = JournalEvm::new(
            codes,
            self.rules.fork,
            self.chain_id,
            &self.block,
            self.before(),
        );
        self.peer_gas(transactions, |transaction| evm.transaction(transaction))
    }

    /// Executes the transactions on revm as reth does: with `State` and a bundle of the changes.
    /// Returns the gas, and the number of accounts that changed.
    pub(crate) fn execute_on_peer_with_bundle(
        &self,
        codes: &RevmCodes,
        transactions: Vec<TxEnv>,
    ) -> Result<(u64, usize)> {
        let mut evm = BlockEvm::new(
            codes,
            self.rules.fork,
            self.chain_id,
            &self.block,
            self.before(),
        );
        let gas = self.peer_gas(transactions, |transaction| {
            Ok::<_, Failure>(evm.execute(transaction)?.gas_used)
        })?;
        Ok((gas, evm.bundle().state.len()))
    }

    /// Returns the gas of all transactions. `execute` returns the gas of one.
    fn peer_gas<E: std::fmt::Debug>(
        &self,
        transactions: Vec<TxEnv>,
        mut execute: impl FnMut(TxEnv) -> Result<u64, E>,
    ) -> Result<u64> {
        let mut gas = 0;
        for transaction in transactions {
            let used = execute(transaction);
            gas += used.map_err(|error| anyhow!("block {}: revm: {error:?}", self.number))?;
        }
        Ok(gas)
    }
}

fn reads(recorded: txgraph_bundle::FlatState) -> FlatState {
    let mut reads = FlatState::default();
    for code in recorded.codes.into_values() {
        reads.insert_code(code);
    }
    reads.block_hashes.extend(recorded.block_hashes);
    for (address, account) in recorded.accounts {
        if let Some(account) = account {
            let has_storage = account.has_storage == Some(true);
            reads.insert_account(address, account.account, has_storage);
            for (key, value) in account.storage {
                reads.insert_slot(address, key, value);
            }
        }
    }
    reads
}

/// A bundle that lacks state which its transactions read.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Incomplete(String);
