//! Transactions that are in no block: `eth_call`, `eth_estimateGas` and `eth_createAccessList`.

use super::{
    params::Params,
    request::{GAS_MAX, Request, check_outcome, question, refused},
};
use crate::{
    ask::Ask,
    fault::{Answer, Fault},
    json::{address, data, quantity},
};
use alloy_primitives::{Address, B256, U256};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use txgraph::{
    AccessListItem, Checks, EvmTransaction, Halt, Inspector, InvalidTransaction, Outcome, Record,
    Refusal, Simulate, Simulation, Status, TransactionReplay, is_precompile,
};

/// The gas of a transfer of coins.
const TRANSFER: u64 = 21_000;
/// The gas that a call with coins gives to the called contract.
const STIPEND: u64 = 2_300;
/// An estimate may be too high by this share, as at geth.
const TOLERANCE: f64 = 0.015;

/// Executes the transaction of a request. Without a gas limit, it gets as much as its sender can pay.
pub(super) fn one(
    ask: &Ask<'_>,
    request: &Request,
    simulation: &Simulation,
    record: Record,
    inspector: Option<&mut dyn Inspector>,
) -> Answer<TransactionReplay> {
    ask.source.simulate(simulation, |simulation| {
        let gas = match request.gas {
            Some(gas) => gas,
            None => affordable(request, simulation)?
                .filter(|gas| *gas > 0)
                .ok_or_else(|| refused("insufficient funds for gas * price + value"))?,
        };
        let transaction = request.with_gas(gas.min(GAS_MAX));
        let replay = execute(simulation, transaction, record, inspector)?;
        replay.map_err(|invalid| refused(words(&invalid, request.transaction.caller)))
    })?
}

/// The gas that the sender of a request can pay; `None` if it has no more than the value.
fn affordable(request: &Request, simulation: &mut dyn Simulate) -> Answer<Option<u64>> {
    let EvmTransaction {
        caller,
        value,
        max_fee_per_gas: most,
        ..
    } = request.transaction;
    if most.is_zero() {
        return Ok(Some(u64::MAX));
    }
    let sender = simulation.account(caller);
    let (sender, _) = sender.map_err(txgraph::Error::from)?;
    let left = sender.balance.checked_sub(value).filter(|it| !it.is_zero());
    Ok(left.map(|left| (left / most).saturating_to()))
}

/// Executes a transaction.
fn execute(
    simulation: &mut dyn Simulate,
    transaction: EvmTransaction,
    record: Record,
    inspector: Option<&mut dyn Inspector>,
) -> Answer<Result<TransactionReplay, InvalidTransaction>> {
    let done = simulation.execute(transaction, record, inspector);
    match done.map_err(txgraph::Error::from)? {
        Ok(replay) => Ok(Ok(replay)),
        Err(Refusal::Invalid(invalid)) => Ok(Err(invalid)),
        Err(Refusal::Peer(why)) => Err(Fault::Failed(why)),
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

pub(super) fn call(ask: &Ask<'_>, params: &Params<'_>) -> Answer<Value> {
    let (request, simulation) = question(ask, params)?;
    let outcome = one(ask, &request, &simulation, Record::default(), None)?.outcome;
    check_outcome(&outcome)?;
    Ok(data(&outcome.output))
}

pub(super) fn estimate_gas(ask: &Ask<'_>, params: &Params<'_>) -> Answer<Value> {
    let (request, mut simulation) = question(ask, params)?;
    simulation.checks = Checks::AnySender;
    let estimate = |simulation: &mut dyn Simulate| estimate(&request, simulation);
    Ok(quantity(ask.source.simulate(&simulation, estimate)??))
}

/// The gas limit with which a transaction succeeds: a search by halves that ends as at geth.
fn estimate(request: &Request, simulation: &mut dyn Simulate) -> Answer<u64> {
    let mut high = match request.gas {
        Some(gas) if gas >= TRANSFER => gas,
        _ => simulation.environment().gas_limit,
    };
    let affordable = affordable(request, simulation)?;
    let affordable = affordable.ok_or_else(|| refused("insufficient funds for transfer"))?;
    high = high.min(affordable).min(GAS_MAX);
    if let Some(to) = request.transaction.to
        && request.transaction.input.is_empty()
    {
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

/// Executes with a limit, or with less gas if no block may have that much: the limit that was possible, and the
/// outcome unless that is below the intrinsic gas.
fn attempt(
    request: &Request,
    simulation: &mut dyn Simulate,
    mut gas: u64,
) -> Answer<(u64, Option<Outcome>)> {
    loop {
        let done = execute(simulation, request.with_gas(gas), Record::default(), None)?;
        let invalid = match done {
            Ok(replay) => return Ok((gas, Some(replay.outcome))),
            Err(invalid) => invalid,
        };
        gas = match invalid {
            InvalidTransaction::AboveBlockGasLimit { block, .. } => block,
            InvalidTransaction::AboveGasCap { cap, .. } => cap,
            InvalidTransaction::IntrinsicGas { .. } => return Ok((gas, None)),
            invalid => {
                let why = words(&invalid, request.transaction.caller);
                return Err(refused(format!("failed with {gas} gas: {why}")));
            }
        };
    }
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
    let (request, simulation) = question(ask, params)?;
    let create = |simulation: &mut dyn Simulate| access_list(ask, request, simulation);
    ask.source.simulate(&simulation, create)?
}

/// Executes with what the execution before touched, until that is all.
fn access_list(
    ask: &Ask<'_>,
    mut request: Request,
    simulation: &mut dyn Simulate,
) -> Answer<Value> {
    let EvmTransaction {
        caller: from,
        to,
        chain_id,
        ..
    } = request.transaction;
    let (sender, _) = simulation.account(from).map_err(txgraph::Error::from)?;
    let to = to.unwrap_or_else(|| from.create(sender.nonce));
    let authorizations = request.transaction.authorizations.iter();
    let here = authorizations
        .filter(|it| it.chain_id.is_zero() || Some(it.chain_id) == chain_id.map(U256::from));
    // They are warm without a list.
    let mut warm: BTreeSet<_> = here.filter_map(|it| it.authority).collect();
    warm.extend([from, to]);
    let mut list: BTreeMap<Address, BTreeSet<B256>> = BTreeMap::new();
    let given = std::mem::take(&mut request.transaction.access_list).into_iter();
    for item in given.filter(|it| !warm.contains(&it.address)) {
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
        request.transaction.access_list = list.iter().map(item).collect();
        let replay = execute(simulation, request.with_gas(gas), record, None)?;
        let replay = replay.map_err(|invalid| refused(words(&invalid, from)))?;
        let mut touched = list.clone();
        for (address, slots) in replay.touched.unwrap_or_default().slots {
            touched.entry(address).or_default().extend(slots);
        }
        touched.retain(|address, slots| {
            let is_warm = warm.contains(address) || is_precompile(replay.fork, address);
            !(is_warm && slots.is_empty())
        });
        if touched == list {
            return written(ask, &request.transaction.access_list, &replay.outcome);
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
