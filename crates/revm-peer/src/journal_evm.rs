//! revm as it is fastest: one journal for all transactions of a block, without a bundle of
//! changes. For timings.

use crate::{RevmCodes, SourceError, database::Source, translate};
use revm::{ExecuteEvm, MainnetEvm, context::TxEnv, handler::MainnetContext};
use txgraph_evm::{Block, Fork, StateSource};

/// revm with one journal for the transactions of a block.
pub struct JournalEvm<S: StateSource<Error: Into<SourceError>>> {
    evm: MainnetEvm<MainnetContext<Source<S>>>,
}

impl<S: StateSource<Error: Into<SourceError>>> JournalEvm<S> {
    /// Creates it for the transactions of `block`. `codes` may be shared by blocks.
    pub fn new(codes: &RevmCodes, fork: Fork, chain_id: u64, block: &Block, state: S) -> Self {
        let codes = codes.clone();
        let evm = translate::mainnet(fork, chain_id, block, Source { state, codes });
        Self { evm }
    }

    /// Executes a transaction, and returns the gas that it used.
    ///
    /// # Errors
    ///
    /// revm refuses the transaction, or the state cannot be read.
    pub fn transaction(&mut self, transaction: TxEnv) -> Result<u64, SourceError> {
        let result = self.evm.transact_one(transaction);
        let result = result.map_err(|error| error.to_string())?;
        Ok(result.gas().tx_gas_used())
    }
}
