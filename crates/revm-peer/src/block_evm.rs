//! revm with the state of one block, as reth sets it up.

use crate::{
    RevmCodes, SourceError,
    database::{Source, SourceFailed},
    inspector::ForwardingInspector,
    outcome, translate,
};
use alloy_primitives::{Address, Bytes, KECCAK256_EMPTY, U256};
use revm::{
    Database, ExecuteCommitEvm, InspectCommitEvm, MainBuilder, MainnetEvm, SystemCallCommitEvm,
    context::{
        TxEnv,
        result::{EVMError, ExecutionResult},
    },
    database::{BundleState, State, states::bundle_state::BundleRetention},
    database_interface::{DatabaseCommitExt, bal::EvmDatabaseError},
    handler::MainnetContext,
    state::AccountInfo,
};
use txgraph_evm::{
    Account, AccountChange, Block, Fork, Inspector, Outcome, SlotChange, StateSource, Transaction,
};

type Cx<S> = MainnetContext<State<Source<S>>>;

/// Why a transaction or a call has no outcome.
#[derive(Debug)]
pub enum Failure {
    /// revm refuses to execute it, with its message.
    Refused(String),
    /// The state could not be read.
    Source(SourceError),
}

/// revm with the state of one block.
pub struct BlockEvm<S: StateSource<Error: Into<SourceError>>> {
    /// Taken out while a transaction runs with an inspector, which changes the type.
    evm: Option<MainnetEvm<Cx<S>>>,
}

impl<S: StateSource<Error: Into<SourceError>>> BlockEvm<S> {
    /// Creates it for the transactions of `block`. `codes` may be shared by threads.
    pub fn new(codes: &RevmCodes, fork: Fork, chain_id: u64, block: &Block, state: S) -> Self {
        let source = Source {
            state,
            codes: codes.clone(),
        };
        let state = State::builder()
            .with_database(source)
            .with_bundle_update()
            .build();
        Self {
            evm: Some(translate::mainnet(fork, chain_id, block, state)),
        }
    }

    fn evm(&mut self) -> Result<&mut MainnetEvm<Cx<S>>, SourceError> {
        // `with_inspector` always puts it back.
        self.evm
            .as_mut()
            .ok_or_else(|| "revm was not put back".into())
    }

    fn state(&mut self) -> Result<&mut State<Source<S>>, SourceError> {
        Ok(&mut self.evm()?.ctx.journaled_state.database)
    }

    fn with_inspector(
        &mut self,
        transaction: &Transaction,
        inspector: &mut dyn Inspector,
    ) -> Result<Outcome, Failure> {
        let Some(evm) = self.evm.take() else {
            return Err(Failure::Source("revm was not put back".into()));
        };
        let mut evm = evm
            .ctx
            .build_mainnet_with_inspector(ForwardingInspector::new(inspector));
        let result = evm.inspect_tx_commit(translate::transaction(transaction));
        self.evm = Some(evm.ctx.build_mainnet());
        outcome_of(result)
    }
}

fn outcome_of(
    result: Result<ExecutionResult, EVMError<EvmDatabaseError<SourceFailed>>>,
) -> Result<Outcome, Failure> {
    match result {
        Ok(result) => Ok(outcome::outcome(result)),
        Err(EVMError::Database(EvmDatabaseError::Database(SourceFailed(error)))) => {
            Err(Failure::Source(error))
        }
        Err(other) => Err(Failure::Refused(other.to_string())),
    }
}

impl<S: StateSource<Error: Into<SourceError>>> BlockEvm<S> {
    /// Executes a transaction, with `inspector` if there is one.
    pub fn transaction(
        &mut self,
        transaction: &Transaction,
        inspector: Option<&mut dyn Inspector>,
    ) -> Result<Outcome, Failure> {
        if let Some(inspector) = inspector {
            return self.with_inspector(transaction, inspector);
        }
        self.execute(translate::transaction(transaction))
    }

    /// Executes a transaction that was translated before.
    pub fn execute(&mut self, transaction: TxEnv) -> Result<Outcome, Failure> {
        let evm = self.evm().map_err(Failure::Source)?;
        outcome_of(evm.transact_commit(transaction))
    }

    /// Executes a call by the protocol.
    pub fn system_call(&mut self, contract: Address, input: Bytes) -> Result<Outcome, Failure> {
        let evm = self.evm().map_err(Failure::Source)?;
        outcome_of(evm.system_call_commit(contract, input))
    }

    /// Returns whether an account has code now.
    pub fn has_code(&mut self, address: Address) -> Result<bool, SourceError> {
        let info = self.state()?.basic(address)?;
        Ok(info.is_some_and(|info| info.code_hash != KECCAK256_EMPTY))
    }

    /// Adds wei outside any transaction.
    pub fn increase_balance(&mut self, address: Address, amount: U256) -> Result<(), SourceError> {
        // Balances of real chains fit 128 bits.
        let amount = amount.saturating_to();
        Ok(self.state()?.increment_balances([(address, amount)])?)
    }

    /// Removes the balance of an account outside any transaction, and returns it.
    pub fn drain_balance(&mut self, address: Address) -> Result<U256, SourceError> {
        let drained = self.state()?.drain_balances([address])?;
        Ok(drained.into_iter().map(U256::from).sum())
    }

    /// Returns what differs from the state before the block in the form of revm, and forgets it.
    pub fn bundle(&mut self) -> BundleState {
        let Ok(state) = self.state() else {
            return BundleState::default();
        };
        state.merge_transitions(BundleRetention::Reverts);
        state.take_bundle()
    }

    /// Returns what differs from the state before the block, and forgets it.
    pub fn changes(&mut self) -> Vec<AccountChange> {
        let accounts = self.bundle().state;
        let mut changes: Vec<AccountChange> = accounts
            .into_iter()
            .map(|(address, account)| {
                let storage_cleared = account.status.was_destroyed();
                let mut slots: Vec<_> = account
                    .storage
                    .iter()
                    .map(|(key, slot)| SlotChange {
                        key: *key,
                        original: slot.previous_or_original_value,
                        present: slot.present_value,
                    })
                    .filter(|slot| {
                        let written_again = storage_cleared && !slot.present.is_zero();
                        written_again || slot.original != slot.present
                    })
                    .collect();
                slots.sort_unstable_by_key(|slot| slot.key);
                AccountChange {
                    address,
                    original: account.original_info.as_ref().map(account_of),
                    present: account.info.as_ref().map(account_of),
                    code: None,
                    storage_cleared,
                    slots,
                }
            })
            .filter(|change| {
                change.original != change.present
                    || !change.slots.is_empty()
                    || change.storage_cleared
            })
            .collect();
        changes.sort_unstable_by_key(|change| change.address);
        changes
    }
}

fn account_of(info: &AccountInfo) -> Account {
    Account {
        balance: info.balance,
        nonce: info.nonce,
        code_hash: info.code_hash,
    }
}
