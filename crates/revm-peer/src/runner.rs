//! revm as an engine of the test runner, configured like its own runner.

use crate::{
    flat::FlatState,
    outcome::{commit, outcome},
    translate,
};
use revm::{ExecuteEvm, MainnetEvm, context::result::EVMError, handler::MainnetContext};
use txgraph_block::{PlainAccount, PlainState};
use txgraph_evm::{Block, Fork, Transaction};
use txgraph_evm_tools::engine::{Executed, NotExecuted, TestEngine, executed, in_memory, in_order};

/// revm on a [`FlatState`].
pub type StateRevm = MainnetEvm<MainnetContext<FlatState>>;

/// Creates revm for a fork, a block and a state.
pub fn revm_on(fork: Fork, block: &Block, state: FlatState) -> StateRevm {
    translate::mainnet(fork, 1, block, state)
}

/// revm as a [`TestEngine`]. It runs transactions only.
#[derive(Clone, Copy, Debug, Default)]
pub struct Revm;

impl TestEngine for Revm {
    fn transaction(
        &mut self,
        fork: Fork,
        pre: &PlainState,
        block: &Block,
        transaction: &Transaction,
    ) -> Result<Executed, NotExecuted> {
        if fork == Fork::Constantinople {
            let why = "revm does not implement this fork";
            return Err(NotExecuted::Failed(why.to_owned()));
        }
        if !translate::fees_fit(transaction) {
            return Err(NotExecuted::Invalid("a fee above 128 bits".to_owned()));
        }
        let mut evm = revm_on(fork, block, FlatState::new(pre));
        let done = match evm.transact(translate::transaction(transaction)) {
            Ok(done) => done,
            Err(EVMError::Transaction(why)) => return Err(NotExecuted::Invalid(why.to_string())),
            Err(other) => return Err(NotExecuted::Failed(other.to_string())),
        };
        let mut state = in_memory(pre);
        #[expect(clippy::iter_over_hash_type, reason = "each account is written once")]
        for (address, account) in done.state {
            commit(fork, &mut state, address, account);
        }
        let mut state = in_order(&state);
        touch(fork, block, &mut state);
        Ok(executed(outcome(done.result), state))
    }
}

/// Applies a reward of zero. Before EIP-161 it creates an account, since then it removes an
/// empty one.
fn touch(fork: Fork, block: &Block, state: &mut PlainState) {
    let account = state.entry(block.beneficiary).or_default();
    if fork >= Fork::SpuriousDragon && *account == PlainAccount::default() {
        state.remove(&block.beneficiary);
    }
}
