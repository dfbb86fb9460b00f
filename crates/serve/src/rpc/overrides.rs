//! Changes that a simulation begins with, in the words of clients: accounts, and fields of the block.

use super::params;
use crate::{
    ask::{parse_address, parse_hash, parse_word},
    fault::{Answer, Fault},
};
use alloy_primitives::U256;
use serde_json::Value;
use std::collections::BTreeMap;
use txgraph::{AccountOverride, BlockOverrides, Checks, Simulation, StateOverrides};

/// A simulation at the end of a block, with the parameters that change accounts and the block.
pub(super) fn simulation(
    block: u64,
    accounts: Option<&Value>,
    fields: Option<&Value>,
) -> Answer<Simulation> {
    Ok(Simulation {
        block,
        overrides: accounts.map(overrides).transpose()?.unwrap_or_default(),
        block_overrides: fields.map(block_overrides).transpose()?.unwrap_or_default(),
        checks: Checks::AnySenderAndGas,
    })
}

/// Overrides of the block, by their names in geth or in reth.
fn block_overrides(value: &Value) -> Answer<BlockOverrides> {
    let wrong = || Fault::Params("invalid overrides of the block".to_owned());
    let mut changed = BlockOverrides::default();
    for (name, value) in value.as_object().ok_or_else(wrong)? {
        let invalid = || Fault::Params(format!("invalid override `{name:.40}` of the block"));
        let number = || params::number(Some(value)).ok_or_else(invalid).map(Some);
        let wide = || params::wide(value).ok_or_else(invalid).map(Some);
        let text = || value.as_str().ok_or_else(invalid);
        match name.as_str() {
            _ if value.is_null() => {}
            "number" => changed.number = number()?,
            "time" => changed.timestamp = number()?,
            "gasLimit" => changed.gas_limit = number()?,
            "feeRecipient" | "coinbase" => {
                changed.beneficiary = Some(parse_address(text()?).ok_or_else(invalid)?);
            }
            "prevRandao" | "random" => {
                changed.prevrandao = Some(parse_hash(text()?).ok_or_else(invalid)?);
            }
            "difficulty" => changed.difficulty = wide()?,
            "baseFeePerGas" | "baseFee" => changed.base_fee = wide()?,
            "blobBaseFee" => changed.blob_base_fee = wide()?,
            other => {
                return Err(Fault::NotHere(format!(
                    "overrides of `{other:.40}` of the block are not known here"
                )));
            }
        }
    }
    Ok(changed)
}

/// State overrides in the form of nodes.
fn overrides(value: &Value) -> Answer<StateOverrides> {
    let wrong = || Fault::Params("invalid state overrides".to_owned());
    let mut all = StateOverrides::default();
    for (address, fields) in value.as_object().ok_or_else(wrong)? {
        let address = parse_address(address).ok_or_else(wrong)?;
        let mut account = AccountOverride::default();
        for (name, value) in fields.as_object().ok_or_else(wrong)? {
            let text = || value.as_str().ok_or_else(wrong);
            match name.as_str() {
                _ if value.is_null() => {}
                "balance" => account.balance = Some(parse_word(text()?).ok_or_else(wrong)?),
                "nonce" => account.nonce = Some(params::number(Some(value)).ok_or_else(wrong)?),
                "code" => account.code = Some(params::bytes(value).ok_or_else(wrong)?),
                "stateDiff" => account.slots = slots(value)?,
                other => {
                    return Err(Fault::NotHere(format!(
                        "state overrides of `{other:.40}` are not known here"
                    )));
                }
            }
        }
        all.accounts.insert(address, account);
    }
    Ok(all)
}

fn slots(value: &Value) -> Answer<BTreeMap<U256, U256>> {
    let wrong = || Fault::Params("invalid slots of state overrides".to_owned());
    let slots = value.as_object().ok_or_else(wrong)?.iter();
    let slot = |(slot, value): (&String, &Value)| {
        let value = value.as_str().and_then(parse_word);
        Ok((
            parse_word(slot).ok_or_else(wrong)?,
            value.ok_or_else(wrong)?,
        ))
    };
    slots.map(slot).collect()
}
