//! Transactions that are in no block: `eth_estimateGas` and `eth_createAccessList`.

use super::{
    params::Params,
    request::{GAS_MAX, Request, check_outcome, question, refused},
};
use crate::{
    ask::Ask,
    fault::{Answer, Fault},
    json::{address, data, quantity},
};
use alloy_primitives::{Address, B256};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use txgraph::{
    AccessListItem, EvmTransaction, Halt, InvalidTransaction, Outcome, Record, Refusal, Simulate,
    StateOverrides, Status, TransactionReplay, is_precompile,
};

/// The gas of a transfer of coins.
const TRANSFER: u64 = 21_000;
/// The gas that a call with coins gives to the called contract.
const STIPEND: u64 = 2_300;
/// An estimate may be too high by this share, as at geth.
const TOLERANCE: f64 = 0.015;

/// Executes the transaction of a request after a block.
pub(super) fn one(
    ask: &Ask<'_>,
    request: &Request,
    block: u64,
    overrides: &StateOverrides,
    record: Record,
) -> Answer<TransactionReplay> {
    (ask.source).simulate(block, overrides, |simulation| {
        let mut transaction = request.transaction(request.gas.unwrap_or(GAS_MAX).min(GAS_MAX));
        let replay = execute(simulation, &mut transaction, record)?;
        replay.map_err(|invalid| refused(words(&invalid, request.from)))
    })?
}

/// Executes a transaction, with less gas if no block may have that much.
fn execute(
    simulation: &mut dyn Simulate,
    transaction: &mut EvmTransaction,
    record: Record,
) -> Answer<Result<TransactionReplay, InvalidTransaction>> {
    loop {
        let done = simulation.execute(transaction.clone(), record);
        let invalid = match done.map_err(txgraph::Error::from)? {
            Ok(replay) => return Ok(Ok(replay)),
            Err(Refusal::Invalid(invalid)) => invalid,
            Err(Refusal::Peer(why)) => return Err(Fault::Failed(why)),
        };
        transaction.gas_limit = match invalid {
            InvalidTransaction::AboveBlockGasLimit { block, .. } => block,
            InvalidTransaction::AboveGasCap { cap, .. } => cap,
            InvalidTransaction::SenderHasCode => {
                let sender = address(transaction.caller);
                return Err(Fault::NotHere(format!(
                    "the sender {sender} is a contract, which sends no transactions (EIP-3607)"
                )));
            }
            invalid => return Ok(Err(invalid)),
        };
    }
}

/// Why a transaction is not executed, in the words of geth.
fn words(invalid: &InvalidTransaction, from: Address) -> String {
    match invalid {
        InvalidTransaction::InsufficientBalance { balance, need } => format!(
            "insufficient funds for gas * price + value: address {from} have {balance} want {need}"
        ),
        InvalidTransaction::InitCodeTooLarge { size, max } => {
            format!("max initcode size exceeded: code size {size} limit {max}")
        }
        InvalidTransaction::IntrinsicGas { limit, need } => {
            format!("intrinsic gas too low: have {limit}, want {need}")
        }
        InvalidTransaction::FloorGas { limit, need } => {
            format!("insufficient gas for floor data gas cost: have {limit}, want {need}")
        }
        other => other.to_string(),
    }
}

pub(super) fn estimate_gas(ask: &Ask<'_>, params: &Params<'_>) -> Answer<Value> {
    let (request, block, overrides) = question(ask, params)?;
    let estimate = |simulation: &mut dyn Simulate| estimate(&request, simulation);
    let gas = ask.source.simulate(block, &overrides, estimate)??;
    Ok(quantity(gas))
}

/// The gas limit with which a transaction succeeds: a search by halves that ends as at geth.
fn estimate(request: &Request, simulation: &mut dyn Simulate) -> Answer<u64> {
    let mut high = match request.gas {
        Some(gas) if gas >= TRANSFER => gas,
        _ => simulation.environment().gas_limit,
    };
    if !request.most.is_zero() {
        let sender = simulation.account(request.from);
        let (sender, _) = sender.map_err(txgraph::Error::from)?;
        if request.value >= sender.balance {
            return Err(refused("insufficient funds for transfer"));
        }
        let affordable = (sender.balance - request.value) / request.most;
        high = high.min(affordable.saturating_to());
    }
    high = high.min(GAS_MAX);
    if let Some(to) = request.to.filter(|_| request.input.is_empty()) {
        let (_, code) = simulation.account(to).map_err(txgraph::Error::from)?;
        let is_enough = |(_, outcome): (u64, Option<Outcome>)| is_success(outcome.as_ref());
        if code.is_empty() && attempt(request, simulation, TRANSFER).is_ok_and(is_enough) {
            return Ok(TRANSFER);
        }
    }
    let (limit, outcome) = attempt(request, simulation, high)?;
    high = limit;
    let Some(outcome) = outcome.filter(|it| !is_out_of_gas(it)) else {
        return Err(refused(format!("gas required exceeds allowance ({high})")));
    };
    check_outcome(&outcome)?;
    // Less was used by a transaction that got all it could use.
    let mut low = outcome.gas_used.saturating_sub(1);
    // Calls keep 1/64 of the gas.
    let likely = (outcome.gas_used + outcome.gas_refunded + STIPEND) * 64 / 63;
    let mut next = (likely < high).then_some(likely);
    while low + 1 < high {
        let limit = match next.take() {
            Some(likely) => likely,
            None if (high - low) as f64 / (high as f64) < TOLERANCE => break,
            None => low.midpoint(high).min(low.saturating_mul(2)),
        };
        match is_success(attempt(request, simulation, limit)?.1.as_ref()) {
            true => high = limit,
            false => low = limit,
        }
    }
    Ok(high)
}

/// Executes with a limit: the limit that was possible, and the outcome unless that is below the intrinsic gas.
fn attempt(
    request: &Request,
    simulation: &mut dyn Simulate,
    gas: u64,
) -> Answer<(u64, Option<Outcome>)> {
    let mut transaction = request.transaction(gas);
    let outcome = match execute(simulation, &mut transaction, Record::default())? {
        Ok(replay) => Some(replay.outcome),
        Err(InvalidTransaction::IntrinsicGas { .. }) => None,
        Err(invalid) => {
            let (gas, why) = (transaction.gas_limit, words(&invalid, request.from));
            return Err(refused(format!("failed with {gas} gas: {why}")));
        }
    };
    Ok((transaction.gas_limit, outcome))
}

fn is_success(outcome: Option<&Outcome>) -> bool {
    outcome.is_some_and(Outcome::is_success)
}

const fn is_out_of_gas(outcome: &Outcome) -> bool {
    matches!(
        outcome.status,
        Status::Halt(Halt::OutOfGas | Halt::MemoryLimit)
    )
}

pub(super) fn create_access_list(ask: &Ask<'_>, params: &Params<'_>) -> Answer<Value> {
    let (request, block, overrides) = question(ask, params)?;
    let create = |simulation: &mut dyn Simulate| access_list(ask, request, simulation);
    ask.source.simulate(block, &overrides, create)?
}

/// Executes with what the execution before touched, until that is all.
fn access_list(
    ask: &Ask<'_>,
    mut request: Request,
    simulation: &mut dyn Simulate,
) -> Answer<Value> {
    let from = request.from;
    let (sender, _) = simulation.account(from).map_err(txgraph::Error::from)?;
    let to = request.to.unwrap_or_else(|| from.create(sender.nonce));
    let mut list: BTreeMap<Address, BTreeSet<B256>> = BTreeMap::new();
    for item in std::mem::take(&mut request.access_list) {
        list.entry(item.address)
            .or_default()
            .extend(item.storage_keys);
    }
    let gas = request.gas.unwrap_or(GAS_MAX).min(GAS_MAX);
    let record = Record {
        touched: true,
        ..Record::default()
    };
    loop {
        request.access_list = list.iter().map(item).collect();
        let mut transaction = request.transaction(gas);
        let replay = execute(simulation, &mut transaction, record)?;
        let replay = replay.map_err(|invalid| refused(words(&invalid, from)))?;
        let mut touched = list.clone();
        for (address, slots) in replay.touched.unwrap_or_default().slots {
            touched.entry(address).or_default().extend(slots);
        }
        // They are warm without a list.
        touched.retain(|address, slots| {
            let is_warm = [from, to].contains(address) || is_precompile(replay.fork, address);
            !(is_warm && slots.is_empty())
        });
        if touched == list {
            return written(ask, &request.access_list, &replay.outcome);
        }
        list = touched;
    }
}

fn item((address, slots): (&Address, &BTreeSet<B256>)) -> AccessListItem {
    AccessListItem {
        address: *address,
        storage_keys: slots.iter().copied().collect(),
    }
}

fn written(ask: &Ask<'_>, list: &[AccessListItem], outcome: &Outcome) -> Answer<Value> {
    let items = list.iter().map(|item| {
        ask.count(100 + 70 * item.storage_keys.len())?;
        let keys: Vec<_> = item.storage_keys.iter().map(data).collect();
        Ok(json!({ "address": address(item.address), "storageKeys": keys }))
    });
    let items: Vec<Value> = items.collect::<Answer<_>>()?;
    let mut answer = json!({ "accessList": items, "gasUsed": quantity(outcome.gas_used) });
    match outcome.status {
        Status::Success => {}
        Status::Revert => answer["error"] = "execution reverted".into(),
        Status::Halt(halt) => answer["error"] = halt.to_string().into(),
    }
    Ok(answer)
}
