//! revm as an [`Engine`].

use crate::{
    Refusal,
    engine::{Engine, Failure},
    error::StateError,
};
use alloy_primitives::{Address, Bytes, U256};
use txgraph_evm::{AccountChange, Block, Inspector, Outcome, StateSource, Transaction, Transition};
use txgraph_revm_peer::{BlockEvm, Failure as PeerFailure};

fn failure(failure: PeerFailure) -> Failure {
    match failure {
        PeerFailure::Refused(reason) => Failure::Refused(Refusal::Peer(reason)),
        PeerFailure::Source(error) => Failure::State(error),
    }
}

/// The block is the one that the engine was created for.
impl<S: StateSource<Error: Into<StateError>>> Engine for BlockEvm<S> {
    fn transaction(
        &mut self,
        _: &Block,
        transaction: &Transaction,
        inspector: Option<&mut dyn Inspector>,
    ) -> Result<Outcome, Failure> {
        Self::transaction(self, transaction, inspector).map_err(failure)
    }

    fn system_call(
        &mut self,
        _: &Block,
        contract: Address,
        input: Bytes,
    ) -> Result<Outcome, Failure> {
        Self::system_call(self, contract, input).map_err(failure)
    }

    fn has_code(&mut self, address: Address) -> Result<bool, StateError> {
        Self::has_code(self, address)
    }

    fn increase_balance(&mut self, address: Address, amount: U256) -> Result<(), StateError> {
        Self::increase_balance(self, address, amount)
    }

    fn drain_balance(&mut self, address: Address) -> Result<U256, StateError> {
        Self::drain_balance(self, address)
    }

    /// revm keeps no transitions.
    fn transitions(&mut self) -> Result<Vec<Transition>, StateError> {
        Ok(Vec::new())
    }

    fn changes(&mut self) -> Vec<AccountChange> {
        Self::changes(self)
    }
}
