//! `eth_*`: accounts, code, storage and calls at the end of a block.

use super::params::{self, Params};
use crate::{
    ask::{Ask, parse_address, parse_word},
    fault::{Answer, Fault},
    json::{data, quantity},
};
use alloy_primitives::{Address, B256, Bytes, U256};
use serde_json::{Map, Value};
use txgraph::{AccountOverride, CallResult, StateOverrides, Status};

/// The most gas of a call, as in nodes.
const CALL_GAS_MAX: u64 = 50_000_000;

/// Fields of a call that change what it sees, and are not known here.
const UNKNOWN: [&str; 3] = ["accessList", "authorizationList", "blobVersionedHashes"];

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
    let asked = params.get(0).and_then(Value::as_object);
    let asked = asked.ok_or_else(|| params::missing(0, "a call"))?;
    let block = params.block(ask, 1)?;
    if params.get(3).is_some() {
        return Err(Fault::NotHere(
            "overrides of the block are not known here".to_owned(),
        ));
    }
    let overrides = params.get(2).map(overrides).transpose()?;
    let found = self::run(ask, asked, block, overrides.unwrap_or_default())?;
    match &found.outcome.status {
        Status::Success => Ok(data(&found.outcome.output)),
        Status::Revert => Err(Fault::Reverted {
            message: match &found.reason {
                Some(reason) => format!("execution reverted: {reason}"),
                None => "execution reverted".to_owned(),
            },
            data: found.outcome.output.clone(),
        }),
        Status::Halt(halt) => Err(Fault::NotHere(format!("the call halted: {halt}"))),
    }
}

fn run(
    ask: &Ask<'_>,
    asked: &Map<String, Value>,
    block: u64,
    overrides: StateOverrides,
) -> Answer<CallResult> {
    let wrong = |name: &str| Fault::Params(format!("invalid `{name}` of the call"));
    let get = |name: &str| asked.get(name).filter(|value| !value.is_null());
    let address = |name: &str| -> Answer<Option<Address>> {
        let read = |value: &Value| value.as_str().and_then(parse_address);
        let given = get(name).map(|value| read(value).ok_or_else(|| wrong(name)));
        given.transpose()
    };
    let input = match (get("input"), get("data")) {
        (Some(input), Some(data)) if input != data => {
            return Err(Fault::Params(
                "`input` and `data` of the call differ".to_owned(),
            ));
        }
        (Some(input), _) | (None, Some(input)) => {
            params::bytes(input).ok_or_else(|| wrong("input"))?
        }
        (None, None) => Bytes::new(),
    };
    let mut call = ask.source.call(address("to")?).data(input).block(block);
    if let Some(from) = address("from")? {
        call = call.from(from);
    }
    let number = |name: &str| -> Answer<Option<U256>> {
        let read = |value: &Value| match value {
            Value::Number(number) => number.as_u64().map(U256::from),
            value => value.as_str().and_then(parse_word),
        };
        let given = get(name).map(|value| read(value).ok_or_else(|| wrong(name)));
        given.transpose()
    };
    let value = number("value")?.unwrap_or_default();
    let chain_id = ask.source.chain()?.chain_id;
    if number("chainId")?.is_some_and(|given| given != U256::from(chain_id)) {
        return Err(Fault::Params(format!(
            "`chainId` of the call is not that of this chain, {chain_id}"
        )));
    }
    for name in UNKNOWN {
        let is_empty = |value: &Value| value.as_array().is_some_and(Vec::is_empty);
        if get(name).is_some_and(|value| !is_empty(value)) {
            let why = format!("the field `{name}` of a call is not supported here");
            return Err(match ask.head {
                Some(_) => Fault::NotHere(why),
                None => Fault::Params(why),
            });
        }
    }
    let fees = [number("gasPrice")?, number("maxFeePerGas")?];
    let price = price(ask, block, fees, number("maxPriorityFeePerGas")?)?;
    let gas = number("gas")?.map(|gas| gas.saturating_to());
    let mut gas = gas.unwrap_or(CALL_GAS_MAX).min(CALL_GAS_MAX);
    if !price.is_zero() {
        let from = address("from")?.unwrap_or_default();
        let changed = overrides.accounts.get(&from).and_then(|it| it.balance);
        let balance = match changed {
            Some(balance) => balance,
            None => ask.state(block, |state| state.account(from))?.balance,
        };
        let affordable = balance.checked_sub(value).map(|left| left / price);
        let affordable: u64 = affordable.unwrap_or_default().saturating_to();
        if (affordable < gas && get("gas").is_some()) || affordable == 0 {
            return Err(refused("insufficient funds for gas * price + value"));
        }
        gas = gas.min(affordable);
    }
    call = call.value(value).gas(gas).gas_price(price).of_transaction();
    Ok(call.overrides(overrides).run()?)
}

/// The wei per gas that a call sees, of `gasPrice` or `maxFeePerGas`, and `maxPriorityFeePerGas`.
fn price(
    ask: &Ask<'_>,
    block: u64,
    [price, most]: [Option<U256>; 2],
    tip: Option<U256>,
) -> Answer<U256> {
    if price.is_some() && (most.is_some() || tip.is_some()) {
        return Err(Fault::Params(
            "`gasPrice` of the call excludes maxFeePerGas and maxPriorityFeePerGas".to_owned(),
        ));
    }
    let base_fee = ask.source.header(block)?.base_fee_per_gas;
    let base_fee = U256::from(base_fee.unwrap_or_default());
    let with_tip = tip.map(|tip| base_fee.saturating_add(tip));
    let Some(most) = price.or(most).or(with_tip).filter(|most| !most.is_zero()) else {
        return Ok(U256::ZERO);
    };
    if tip.is_some_and(|tip| tip > most) {
        return Err(refused(
            "max priority fee per gas higher than max fee per gas",
        ));
    }
    if most < base_fee {
        return Err(refused("max fee per gas less than block base fee"));
    }
    Ok(match price {
        Some(price) => price,
        None => with_tip.unwrap_or(base_fee).min(most),
    })
}

/// A call that nodes refuse in these words.
fn refused(why: &str) -> Fault {
    Fault::Source(txgraph::Error::new(txgraph::ErrorKind::Failed, why))
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

fn slots(value: &Value) -> Answer<std::collections::BTreeMap<U256, U256>> {
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
