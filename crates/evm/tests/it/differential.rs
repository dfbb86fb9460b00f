//! The same random cases by revm: outcome, gas, refund, logs, output and state must be
//! the same.
//!
//! `TXGRAPH_EVM_CASES` sets how many, `TXGRAPH_EVM_SEED` where to begin.

#![expect(
    clippy::iter_over_hash_type,
    reason = "what is iterated goes into sorted maps"
)]

use crate::case::{CHAIN_ID, Case, case};
use alloy_primitives::{Address, B256, Bytes, Log, U256};
use revm::{
    Context, DatabaseRef, ExecuteEvm, MainBuilder, MainContext,
    bytecode::Bytecode,
    context::{BlockEnv, result::ExecutionResult},
    context_interface::block::BlobExcessGasAndPrice,
    database_interface::WrapDatabaseRef,
    state::AccountInfo,
};
use std::{collections::BTreeMap, convert::Infallible};
use txgraph_evm::{
    AccountChange, Error, Evm, Fork, Inspector, MemoryState, Outcome, State, StateSource, Status,
    Step,
};

/// What both must agree on.
#[derive(Debug, PartialEq, Eq)]
struct Result {
    status: &'static str,
    gas_used: u64,
    gas_refunded: u64,
    logs: Vec<Log>,
    output: Bytes,
}

/// Accounts with everything, absent ones absent.
type World = BTreeMap<Address, (U256, u64, B256, BTreeMap<U256, U256>)>;

fn block_hash(number: u64) -> B256 {
    alloy_primitives::keccak256(number.to_be_bytes())
}

/// The state of a case for either engine.
#[derive(Debug)]
struct Source(MemoryState);

impl StateSource for Source {
    type Error = Infallible;

    fn account(
        &mut self,
        address: Address,
    ) -> std::result::Result<Option<txgraph_evm::Account>, Infallible> {
        Ok(self.0.accounts.get(&address).copied())
    }

    fn storage(&mut self, address: Address, key: U256) -> std::result::Result<U256, Infallible> {
        let slots = self.0.storage.get(&address);
        Ok(slots
            .and_then(|slots| slots.get(&key))
            .copied()
            .unwrap_or_default())
    }

    fn code(&mut self, hash: B256) -> std::result::Result<Bytes, Infallible> {
        Ok(self.0.codes[&hash].clone())
    }

    fn block_hash(&mut self, number: u64) -> std::result::Result<B256, Infallible> {
        Ok(block_hash(number))
    }
}

impl DatabaseRef for Source {
    type Error = Infallible;

    fn basic_ref(&self, address: Address) -> std::result::Result<Option<AccountInfo>, Infallible> {
        Ok(self.0.accounts.get(&address).map(|account| AccountInfo {
            balance: account.balance,
            nonce: account.nonce,
            code_hash: account.code_hash,
            code: None,
            ..AccountInfo::default()
        }))
    }

    fn code_by_hash_ref(&self, hash: B256) -> std::result::Result<Bytecode, Infallible> {
        let code = self.0.codes.get(&hash).cloned().unwrap_or_default();
        Ok(Bytecode::new_raw(code))
    }

    fn storage_ref(&self, address: Address, key: U256) -> std::result::Result<U256, Infallible> {
        let slots = self.0.storage.get(&address);
        Ok(slots
            .and_then(|slots| slots.get(&key))
            .copied()
            .unwrap_or_default())
    }

    fn block_hash_ref(&self, number: u64) -> std::result::Result<B256, Infallible> {
        Ok(block_hash(number))
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

/// Every instruction is watched, and so executed by the careful instance.
struct Watch {
    steps: usize,
}

impl Inspector for Watch {
    fn wants_steps(&self) -> bool {
        true
    }

    fn step(&mut self, _: &Step<'_>) {
        self.steps += 1;
    }
}

fn ours(case: &Case, evm: &mut Evm, watched: bool) -> (Vec<Option<Result>>, World) {
    let mut state = State::new(Source(case.state.clone()));
    let mut results = Vec::new();
    for transaction in &case.transactions {
        let outcome = if watched {
            let mut watch = Watch { steps: 0 };
            evm.execute_transaction_inspected(&mut state, &case.block, transaction, &mut watch)
        } else {
            evm.execute_transaction(&mut state, &case.block, transaction)
        };
        results.push(match outcome {
            Ok(outcome) => Some(result(outcome)),
            Err(Error::Invalid(_)) => None,
            Err(Error::Source(never)) => match never {},
        });
    }
    (results, changed(world_of(&case.state), state.changes()))
}

fn result(outcome: Outcome) -> Result {
    let (status, refunds) = match outcome.status {
        Status::Success => ("success", true),
        Status::Revert => ("revert", true),
        Status::Halt(_) => ("halt", true),
    };
    Result {
        status,
        gas_used: outcome.gas_used,
        gas_refunded: if refunds { outcome.gas_refunded } else { 0 },
        logs: outcome.logs,
        output: outcome.output,
    }
}

fn theirs(case: &Case) -> (Vec<Option<Result>>, World) {
    let block = BlockEnv {
        number: U256::from(case.block.number),
        beneficiary: case.block.beneficiary,
        timestamp: U256::from(case.block.timestamp),
        gas_limit: case.block.gas_limit,
        basefee: case.block.base_fee.to(),
        difficulty: case.block.difficulty,
        prevrandao: Some(case.block.prevrandao),
        blob_excess_gas_and_price: Some(BlobExcessGasAndPrice {
            excess_blob_gas: 0,
            blob_gasprice: case.block.blob_base_fee.to(),
        }),
        slot_num: case.block.slot_number,
    };
    let mut evm = Context::mainnet()
        .with_db(WrapDatabaseRef(Source(case.state.clone())))
        .with_block(block)
        .modify_cfg_chained(|cfg| {
            cfg.set_spec_and_mainnet_gas_params(txgraph_evm_peer::spec(case.fork));
            cfg.chain_id = CHAIN_ID;
        })
        .build_mainnet();
    let mut results = Vec::new();
    for transaction in &case.transactions {
        let Ok(executed) = evm.transact(txgraph_evm_peer::transaction(transaction)) else {
            results.push(None);
            continue;
        };
        results.push(Some(their_result(executed.result)));
        let WrapDatabaseRef(Source(state)) = &mut evm.ctx.journaled_state.database;
        for (address, account) in executed.state {
            commit(case.fork, state, address, account);
        }
    }
    let WrapDatabaseRef(Source(state)) = &evm.ctx.journaled_state.database;
    (results, world_of(state))
}

/// What a transaction did to an account, by the rules of the fork.
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

fn their_result(result: ExecutionResult) -> Result {
    let gas = *result.gas();
    let status = match result {
        ExecutionResult::Success { .. } => "success",
        ExecutionResult::Revert { .. } => "revert",
        ExecutionResult::Halt { .. } => "halt",
    };
    Result {
        status,
        gas_used: gas.tx_gas_used(),
        gas_refunded: gas.inner_refunded(),
        output: result.output().cloned().unwrap_or_default(),
        logs: match status {
            "success" => result.into_logs(),
            _ => Vec::new(),
        },
    }
}

/// Executed three times: as new code, as code that ran before, and watched.
fn compare(evm: &mut Evm, seed: u64) {
    let case = case(seed);
    evm.set_fork(case.fork);
    let theirs = theirs(&case);
    for (how, watched) in [("new", false), ("decoded", false), ("watched", true)] {
        let ours = ours(&case, evm, watched);
        assert_eq!(ours, theirs, "seed {seed} ({how}), ours first\n{case:#?}");
    }
}

fn number(variable: &str, otherwise: u64) -> u64 {
    match std::env::var(variable) {
        Ok(value) => value.parse().expect("a number"),
        Err(_) => otherwise,
    }
}

#[test]
fn agrees_with_revm() {
    let first = number("TXGRAPH_EVM_SEED", 0);
    let cases = number("TXGRAPH_EVM_CASES", 20_000);
    let mut evm = Evm::new(Fork::Osaka, CHAIN_ID);
    for seed in first..first + cases {
        compare(&mut evm, seed);
    }
}
