//! `eth_*`: accounts, code, storage and calls at the end of a block.

use super::{
    params::Params,
    request::{GAS_MAX, Request, check_outcome, question, refused, unsupported},
};
use crate::{
    ask::Ask,
    fault::{Answer, Fault},
    json::{data, quantity},
};
use alloy_primitives::B256;
use serde_json::Value;
use txgraph::{CallResult, StateOverrides};

pub(super) fn balance(ask: &Ask<'_>, params: &Params<'_>) -> Answer<Value> {
    let (address, block) = (params.address(0)?, params.block(ask, 1)?);
    let account = ask.state(block, |state| state.account(address))?;
    Ok(quantity(account.balance))
}

pub(super) fn nonce(ask: &Ask<'_>, params: &Params<'_>) -> Answer<Value> {
    let (address, block) = (params.address(0)?, params.block(ask, 1)?);
    let account = ask.state(block, |state| state.account(address))?;
    Ok(quantity(account.nonce))
}

pub(super) fn code(ask: &Ask<'_>, params: &Params<'_>) -> Answer<Value> {
    let (address, block) = (params.address(0)?, params.block(ask, 1)?);
    Ok(data(ask.state(block, |state| state.code(address))?))
}

pub(super) fn storage(ask: &Ask<'_>, params: &Params<'_>) -> Answer<Value> {
    let (address, slot) = (params.address(0)?, params.word(1)?);
    let block = params.block(ask, 2)?;
    let slot = ask.state(block, |state| state.storage(address, slot))?;
    match slot.caveat {
        None => Ok(data(B256::from(slot.value))),
        Some(why) => Err(Fault::NotHere(why)),
    }
}

pub(super) fn call(ask: &Ask<'_>, params: &Params<'_>) -> Answer<Value> {
    let (request, block, overrides) = question(ask, params)?;
    if !request.access_list.is_empty() {
        return Err(unsupported(ask, "accessList"));
    }
    let CallResult { outcome, .. } = self::run(ask, request, block, overrides)?;
    check_outcome(&outcome)?;
    Ok(data(&outcome.output))
}

fn run(
    ask: &Ask<'_>,
    request: Request,
    block: u64,
    overrides: StateOverrides,
) -> Answer<CallResult> {
    let Request {
        from,
        value,
        price,
        gas: given,
        ..
    } = request;
    let mut gas = given.unwrap_or(GAS_MAX).min(GAS_MAX);
    if !price.is_zero() {
        let changed = overrides.accounts.get(&from).and_then(|it| it.balance);
        let balance = match changed {
            Some(balance) => balance,
            None => ask.state(block, |state| state.account(from))?.balance,
        };
        let affordable = balance.checked_sub(value).map(|left| left / price);
        let affordable: u64 = affordable.unwrap_or_default().saturating_to();
        if (affordable < gas && given.is_some()) || affordable == 0 {
            return Err(refused("insufficient funds for gas * price + value"));
        }
        gas = gas.min(affordable);
    }
    let call = ask.source.call(request.to).from(from).data(request.input);
    let call = call.block(block).value(value).gas(gas).gas_price(price);
    Ok(call.of_transaction().overrides(overrides).run()?)
}
