//! revm as an engine of the test runner, configured like its own runner.

use crate::{flat::FlatState, outcome::outcome, translate};
use revm::{
    ExecuteEvm, MainnetEvm, context::result::EVMError, handler::MainnetContext, state::EvmState,
};
use txgraph_block::{PlainAccount, PlainState};
use txgraph_evm::{Block, Fork, Message, Transaction};
use txgraph_evm_tools::engine::{Executed, NotExecuted, TestEngine, executed};

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
        let mut state = changed(fork, pre, &done.state);
        touch(fork, block, &mut state);
        Ok(executed(outcome(done.result), state))
    }

    fn frame(
        &mut self,
        _: Fork,
        _: &PlainState,
        _: &Block,
        _: &Message,
    ) -> Result<Executed, NotExecuted> {
        Err(NotExecuted::Failed(
            "revm runs whole transactions only".to_owned(),
        ))
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

fn changed(fork: Fork, pre: &PlainState, changes: &EvmState) -> PlainState {
    let mut state = pre.clone();
    #[expect(clippy::iter_over_hash_type, reason = "each account is written once")]
    for (address, change) in changes {
        if !change.is_touched() {
            continue;
        }
        if change.is_selfdestructed() || fork >= Fork::SpuriousDragon && change.is_empty() {
            state.remove(address);
            continue;
        }
        let account = state.entry(*address).or_default();
        account.balance = change.info.balance;
        account.nonce = change.info.nonce;
        if let Some(code) = &change.info.code {
            account.code = code.original_bytes();
        }
        if change.is_created() {
            account.storage.clear();
        }
        #[expect(clippy::iter_over_hash_type, reason = "each slot is written once")]
        for (key, slot) in &change.storage {
            account.storage.insert(*key, slot.present_value);
        }
    }
    for account in state.values_mut() {
        account.storage.retain(|_, value| !value.is_zero());
    }
    state
}
