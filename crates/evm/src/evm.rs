//! The executor.

use crate::{
    env::{Block, Message, Transaction},
    fork::Fork,
    inspect::Inspector,
    outcome::{Error, Outcome},
    source::StateSource,
    state::State,
};
use alloy_primitives::{Address, Bytes};

/// Executes transactions of one chain under one fork. Reuse it: it owns the stacks,
/// memory and decoded code that make the next execution cheap.
#[derive(Debug)]
pub struct Evm {
    fork: Fork,
    chain_id: u64,
}

impl Evm {
    /// Nothing allocated yet.
    pub fn new(fork: Fork, chain_id: u64) -> Self {
        Self { fork, chain_id }
    }

    /// The rules.
    pub fn fork(&self) -> Fork {
        self.fork
    }

    /// As `CHAINID` tells it.
    pub fn chain_id(&self) -> u64 {
        self.chain_id
    }

    /// Other rules from now on.
    pub fn set_fork(&mut self, fork: Fork) {
        self.fork = fork;
    }

    /// A whole transaction: checks, fees, execution, refunds, payment. Its changes are
    /// in `state` afterwards; after an error `state` is as before.
    pub fn execute_transaction<S: StateSource>(
        &mut self,
        _state: &mut State<S>,
        _block: &Block,
        _transaction: &Transaction,
    ) -> Result<Outcome, Error<S::Error>> {
        todo!()
    }

    /// As [`execute_transaction`](Self::execute_transaction), watched.
    pub fn execute_transaction_inspected<S: StateSource>(
        &mut self,
        _state: &mut State<S>,
        _block: &Block,
        _transaction: &Transaction,
        _inspector: &mut dyn Inspector,
    ) -> Result<Outcome, Error<S::Error>> {
        todo!()
    }

    /// A call by the protocol itself (EIP-4788, 2935, 7002, 7251): from 0xff…fe, with
    /// 30 million gas, no fee, no nonce. Nothing happens when `contract` has no code.
    pub fn system_call<S: StateSource>(
        &mut self,
        _state: &mut State<S>,
        _block: &Block,
        _contract: Address,
        _input: Bytes,
    ) -> Result<Outcome, Error<S::Error>> {
        todo!()
    }

    /// A bare call: gas without the intrinsic part, no fees, no nonces. Its changes are
    /// in `state` afterwards.
    pub fn call<S: StateSource>(
        &mut self,
        _state: &mut State<S>,
        _block: &Block,
        _message: &Message,
    ) -> Result<Outcome, Error<S::Error>> {
        todo!()
    }

    /// As [`call`](Self::call), watched.
    pub fn call_inspected<S: StateSource>(
        &mut self,
        _state: &mut State<S>,
        _block: &Block,
        _message: &Message,
        _inspector: &mut dyn Inspector,
    ) -> Result<Outcome, Error<S::Error>> {
        todo!()
    }
}
