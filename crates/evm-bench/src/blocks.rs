//! Real blocks as timed work: the transactions of a block, on the state that they read.

use alloy_primitives::{
    Address, B256, Bytes, U256,
    map::{AddressMap, AddressSet, B256Map, HashMap},
};
use anyhow::{Context as _, Result, anyhow, bail, ensure};
use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};
use txgraph_base::BlockRange;
use txgraph_block::BlockRules;
use txgraph_bundle::{Bundle, FlatState, Recorder};
use txgraph_evm::{Account, Block, CodeCache, Error, Evm, Fork, State, StateSource, Transaction};
use txgraph_nodedb::Scratch;
use txgraph_replay::{BlockSource, ChainRules};
use txgraph_revm_peer::{BlockEvm, Failure, JournalEvm, RevmCodes, TxEnv, transaction};

/// A block that is timed.
#[derive(Debug)]
pub struct BlockCase {
    /// The block number.
    pub number: u64,
    /// The gas in the header.
    pub gas_used: u64,
    rules: BlockRules,
    chain_id: u64,
    block: Block,
    transactions: Vec<Transaction>,
    peer_transactions: Vec<TxEnv>,
    reads: Reads,
}

/// What the transactions of a block read. Both engines read it in the same way, so timings
/// compare engines and not their states.
#[derive(Debug, Default)]
struct Reads {
    accounts: AddressMap<Account>,
    slots: HashMap<(Address, U256), U256>,
    with_storage: AddressSet,
    codes: B256Map<Bytes>,
    block_hashes: HashMap<u64, B256>,
}

/// The state before a block, for one execution.
#[derive(Clone, Copy, Debug)]
pub struct Before<'a>(&'a Reads);

/// Groups of forks, by which results are summed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Era {
    /// Frontier to Petersburg.
    Early,
    /// Istanbul to London.
    Middle,
    /// Paris and later.
    Late,
}

impl Era {
    /// All eras in order, with their names.
    pub const ALL: [(Self, &'static str); 3] = [
        (Self::Early, "Frontier to Petersburg"),
        (Self::Middle, "Istanbul to London"),
        (Self::Late, "Paris and later"),
    ];
}

impl BlockCase {
    /// Reads a bundle, executes its transactions, and keeps what they read.
    ///
    /// # Errors
    ///
    /// The file is not a bundle, or the gas is not that of the header.
    pub fn open(path: &Path) -> Result<Self> {
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
            reads: Reads::default(),
        };
        let record = Arc::new(Mutex::new(FlatState::default()));
        let source = Recorder::new(bundle.state(), Arc::clone(&record));
        let mut evm = Evm::new(rules.fork, chain_id);
        let gas = case.execute(&mut evm, &mut State::new(source))?;
        let (expected, path) = (case.gas_used, path.display());
        ensure!(
            gas == expected,
            "{path}: gas {gas}, in the header {expected}"
        );
        let mut record = record.lock().unwrap_or_else(PoisonError::into_inner);
        case.reads = Reads::new(std::mem::take(&mut record));
        Ok(case)
    }

    /// The era of its fork.
    pub fn era(&self) -> Era {
        match self.rules.fork {
            fork if fork < Fork::Istanbul => Era::Early,
            fork if fork < Fork::Paris => Era::Middle,
            _ => Era::Late,
        }
    }

    /// The fork.
    pub fn fork(&self) -> Fork {
        self.rules.fork
    }

    /// The number of transactions.
    pub fn transactions(&self) -> usize {
        self.transactions.len()
    }

    /// The state before the block.
    pub fn before(&self) -> Before<'_> {
        Before(&self.reads)
    }

    /// The transactions in the form of revm, which consumes them.
    pub fn peer_transactions(&self) -> Vec<TxEnv> {
        self.peer_transactions.clone()
    }

    /// An interpreter for the blocks of this chain, with a cache of prepared code.
    pub fn evm(&self, codes: Arc<CodeCache>) -> Evm {
        Evm::with_code_cache(self.rules.fork, self.chain_id, codes)
    }

    /// Executes the transactions on our interpreter. Returns the gas.
    ///
    /// # Errors
    ///
    /// A transaction is refused, or reads what is not in the state.
    pub fn execute<S>(&self, evm: &mut Evm, state: &mut State<S>) -> Result<u64>
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
    ///
    /// # Errors
    ///
    /// As for [`execute`](Self::execute).
    pub fn execute_on_peer(&self, codes: &RevmCodes, transactions: Vec<TxEnv>) -> Result<u64> {
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
    ///
    /// # Errors
    ///
    /// As for [`execute`](Self::execute).
    pub fn execute_on_peer_with_bundle(
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

    /// Returns the gas of all transactions. `execute` returns that of one.
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

impl Reads {
    fn new(recorded: FlatState) -> Self {
        let mut reads = Self {
            codes: recorded.codes.into_iter().collect(),
            block_hashes: recorded.block_hashes.into_iter().collect(),
            ..Self::default()
        };
        for (address, account) in recorded.accounts {
            let Some(account) = account else {
                continue;
            };
            reads.accounts.insert(address, account.account);
            if account.has_storage == Some(true) {
                reads.with_storage.insert(address);
            }
            for (key, value) in account.storage {
                reads.slots.insert((address, key), value);
            }
        }
        reads
    }
}

/// A bundle that lacks state which its transactions read.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Incomplete(String);

/// A part of the state that the first execution did not read.
#[derive(Debug, thiserror::Error)]
#[error("the transactions do not read {0}")]
pub struct NotRead(String);

impl StateSource for Before<'_> {
    type Error = NotRead;

    fn account(&mut self, address: Address) -> Result<Option<Account>, NotRead> {
        Ok(self.0.accounts.get(&address).copied())
    }

    fn storage(&mut self, address: Address, key: U256) -> Result<U256, NotRead> {
        let value = self.0.slots.get(&(address, key));
        Ok(value.copied().unwrap_or_default())
    }

    fn code(&mut self, code_hash: B256) -> Result<Bytes, NotRead> {
        let code = self.0.codes.get(&code_hash);
        code.cloned()
            .ok_or_else(|| NotRead(format!("code {code_hash}")))
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, NotRead> {
        let hash = self.0.block_hashes.get(&number);
        hash.copied()
            .ok_or_else(|| NotRead(format!("the hash of block {number}")))
    }

    fn has_storage(&mut self, address: Address) -> Result<bool, NotRead> {
        Ok(self.0.with_storage.contains(&address))
    }
}
