//! `eth_*`: accounts, code and storage at the end of a block.

use super::params::Params;
use crate::{
    ask::Ask,
    fault::{Answer, Fault},
    json::{data, quantity},
};
use alloy_primitives::B256;
use serde_json::Value;

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
