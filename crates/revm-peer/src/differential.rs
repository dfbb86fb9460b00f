//! Runs a case on both engines and compares outcome, gas, refund, logs, output and state.

#![expect(
    clippy::iter_over_hash_type,
    reason = "the iterated values go into sorted maps"
)]

use crate::{
    RevmCodes,
    case::{CHAIN_ID, Case},
    database::Source,
    outcome::outcome,
    translate::mainnet,
};
use alloy_primitives::{Address, B256, Bytes, Log, U256, keccak256};
use revm::{ExecuteEvm, bytecode::Bytecode, context::result::EVMError};
use std::{collections::BTreeMap, sync::Arc};
use txgraph_evm::{
    Account, AccountChange, CodeCache, DecodeAfter, Error, Evm, Fork, Inspector, MemoryState,
    MemoryStateError, Outcome, State, StateSource, Status,
};

/// The results of a case.
#[derive(Debug, PartialEq, Eq)]
pub struct CaseResult {
    /// Result of each transaction; `None` if it was invalid.
    pub transactions: Vec<Option<TransactionResult>>,
    /// State after the last transaction.
    pub world: World,
}

/// The parts of a transaction's result on which both engines must agree.
#[derive(Debug, PartialEq, Eq)]
pub struct TransactionResult {
    /// `success`, `revert` or `halt`. The engines name the reasons of a halt differently.
    pub status: &'static str,
    /// Gas used after refunds.
    pub gas_used: u64,
    /// Refund before its limit.
    pub gas_refunded: u64,
    /// Logs, in order.
    pub logs: Vec<Log>,
    /// Return data, or data of a revert.
    pub output: Bytes,
}

/// Balance, nonce, code hash and storage of all existing accounts.
pub type World = BTreeMap<Address, (U256, u64, B256, BTreeMap<U256, U256>)>;

/// Our interpreter in each of its forms: they must not differ in any result.
#[derive(Debug)]
pub struct Forms([Form; 4]);

#[derive(Debug)]
struct Form {
    name: &'static str,
    evm: Evm,
    inspects: bool,
}

impl Default for Forms {
    fn default() -> Self {
        let form = |name, decode_after, inspects| {
            let codes = Arc::new(CodeCache::default().with_decode_after(decode_after));
            let evm = Evm::with_code_cache(Fork::LATEST, CHAIN_ID, codes);
            Form {
                name,
                evm,
                inspects,
            }
        };
        Self([
            form("not decoded", DecodeAfter::NEVER, false),
            form("decoded while it runs", DecodeAfter::executed(1), false),
            form("decoded", DecodeAfter::AT_ONCE, false),
            form("with an inspector", DecodeAfter::NEVER, true),
        ])
    }
}

impl Forms {
    /// Executes a case in each form, with an inspector only if `with_inspector`. Returns the
    /// results with the names of the forms.
    pub fn results(
        &mut self,
        case: &Case,
        with_inspector: bool,
    ) -> impl Iterator<Item = (&'static str, CaseResult)> {
        let forms = self.0.iter_mut();
        forms
            .filter(move |form| with_inspector || !form.inspects)
            .map(|form| (form.name, ours(&mut form.evm, case, form.inspects)))
    }
}

/// Executes `case` on revm and in each form of our interpreter.
///
/// # Panics
///
/// If the results differ.
pub fn assert_agreement(forms: &mut Forms, case: &Case, with_inspector: bool) {
    let theirs = theirs(case);
    for (form, ours) in forms.results(case, with_inspector) {
        assert_eq!(
            ours, theirs,
            "seed {} ({form}), ours first\n{case:#?}",
            case.seed
        );
    }
}

/// Executes a case on our interpreter, with or without an inspector.
fn ours(evm: &mut Evm, case: &Case, with_inspector: bool) -> CaseResult {
    evm.set_fork(case.fork);
    let mut state = State::new(CaseState(case.state.clone()));
    let transactions = case.transactions.iter().map(|transaction| {
        let outcome = if with_inspector {
            evm.execute_transaction_inspected(
                &mut state,
                &case.block,
                transaction,
                &mut StepInspector,
            )
        } else {
            evm.execute_transaction(&mut state, &case.block, transaction)
        };
        match outcome {
            Ok(outcome) => Some(outcome.into()),
            Err(Error::Invalid(_)) => None,
            Err(Error::Source(error)) => panic!("{error}"),
        }
    });
    CaseResult {
        transactions: transactions.collect(),
        world: changed(world_of(&case.state), state.changes()),
    }
}

/// Executes a case on revm.
pub fn theirs(case: &Case) -> CaseResult {
    let state = CaseState(case.state.clone());
    let codes = RevmCodes::default();
    let mut evm = mainnet(case.fork, CHAIN_ID, &case.block, Source { state, codes });
    let mut transactions = Vec::new();
    for transaction in &case.transactions {
        let executed = match evm.transact(crate::transaction(transaction)) {
            Ok(executed) => executed,
            Err(EVMError::Database(error)) => panic!("{error}"),
            Err(_) => {
                transactions.push(None);
                continue;
            }
        };
        transactions.push(Some(outcome(executed.result).into()));
        let CaseState(state) = &mut evm.ctx.journaled_state.database.state;
        for (address, account) in executed.state {
            commit(case.fork, state, address, account);
        }
    }
    CaseResult {
        transactions,
        world: world_of(&evm.ctx.journaled_state.database.state.0),
    }
}

/// Asks for every step, so that the interpreter executes instruction by instruction.
struct StepInspector;

impl Inspector for StepInspector {
    fn needs_steps(&self) -> bool {
        true
    }
}

impl From<Outcome> for TransactionResult {
    fn from(outcome: Outcome) -> Self {
        Self {
            status: match outcome.status {
                Status::Success => "success",
                Status::Revert => "revert",
                Status::Halt(_) => "halt",
            },
            gas_used: outcome.gas_used,
            gas_refunded: outcome.gas_refunded,
            logs: outcome.logs,
            output: outcome.output,
        }
    }
}

/// The state of a case for either engine.
#[derive(Debug)]
struct CaseState(MemoryState);

impl StateSource for CaseState {
    type Error = MemoryStateError;

    fn account(&mut self, address: Address) -> Result<Option<Account>, MemoryStateError> {
        self.0.account(address)
    }

    fn storage(&mut self, address: Address, key: U256) -> Result<U256, MemoryStateError> {
        self.0.storage(address, key)
    }

    fn code(&mut self, hash: B256) -> Result<Bytes, MemoryStateError> {
        self.0.code(hash)
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, MemoryStateError> {
        Ok(keccak256(number.to_be_bytes()))
    }
}

/// Applies the changes of a transaction to an account by the rules of the fork.
fn commit(fork: Fork, state: &mut MemoryState, address: Address, account: revm::state::Account) {
    if !account.is_touched() {
        return;
    }
    let deleted = fork >= Fork::SpuriousDragon && account.is_empty();
    if account.is_selfdestructed() || deleted {
        state.accounts.remove(&address);
        state.storage.remove(&address);
        return;
    }
    if account.is_created() {
        state.storage.remove(&address);
    }
    let info = &account.info;
    let code = info.code.as_ref().map(Bytecode::original_bytes);
    let code = code.unwrap_or_else(|| {
        let known = state.codes.get(&info.code_hash);
        known.cloned().unwrap_or_default()
    });
    state.insert(address, info.balance, info.nonce, code);
    for (key, slot) in &account.storage {
        state.set_storage(address, *key, slot.present_value);
    }
}

fn world_of(state: &MemoryState) -> World {
    let accounts = state.accounts.iter();
    accounts
        .map(|(address, account)| {
            let slots = state.storage.get(address).cloned().unwrap_or_default();
            (
                *address,
                (account.balance, account.nonce, account.code_hash, slots),
            )
        })
        .collect()
}

fn changed(mut world: World, changes: Vec<AccountChange>) -> World {
    for change in changes {
        let Some(present) = change.present else {
            world.remove(&change.address);
            continue;
        };
        let entry = world.entry(change.address).or_default();
        (entry.0, entry.1, entry.2) = (present.balance, present.nonce, present.code_hash);
        if change.storage_cleared {
            entry.3.clear();
        }
        for slot in change.slots {
            entry.3.insert(slot.key, slot.present);
        }
        entry.3.retain(|_, value| !value.is_zero());
    }
    world
}
