//! Calls and transactions that are in no block, as clients describe them.

use super::params::{self, Params};
use crate::{
    ask::{Ask, parse_address, parse_hash, parse_word},
    fault::{Answer, Fault},
};
use alloy_primitives::{Address, Bytes, U256};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use txgraph::{
    AccessListItem, AccountOverride, EvmTransaction, Outcome, StateOverrides, Status,
    TransactionType, revert_reason,
};

/// The most gas of a call, as in nodes.
pub(super) const GAS_MAX: u64 = 50_000_000;

/// Fields of a call that change what it sees, and are not known here.
const UNKNOWN: [&str; 2] = ["authorizationList", "blobVersionedHashes"];

/// A call.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) from: Address,
    /// `None`: the input is init code.
    pub(super) to: Option<Address>,
    pub(super) input: Bytes,
    pub(super) value: U256,
    pub(super) gas: Option<u64>,
    /// The wei per gas that it sees.
    pub(super) price: U256,
    /// The most wei per gas that its sender pays.
    pub(super) most: U256,
    pub(super) access_list: Vec<AccessListItem>,
    chain_id: u64,
    base_fee: Option<u64>,
}

/// A call with its block and the changes of the state, in the order of `eth_call`.
pub(super) fn question(
    ask: &Ask<'_>,
    params: &Params<'_>,
) -> Answer<(Request, u64, StateOverrides)> {
    let block = params.block(ask, 1)?;
    if params.get(3).is_some() {
        return Err(no_block_overrides());
    }
    let overrides = params.get(2).map(overrides).transpose()?;
    let request = Request::read(ask, params, block)?;
    Ok((request, block, overrides.unwrap_or_default()))
}

pub(super) fn no_block_overrides() -> Fault {
    Fault::NotHere("overrides of the block are not known here".to_owned())
}

/// The fault of a field that is not known here.
pub(super) fn unsupported(ask: &Ask<'_>, name: &str) -> Fault {
    let why = format!("the field `{name}` of a call is not supported here");
    match ask.head {
        Some(_) => Fault::NotHere(why),
        None => Fault::Params(why),
    }
}

impl Request {
    /// Reads the first parameter of a method.
    pub(super) fn read(ask: &Ask<'_>, params: &Params<'_>, block: u64) -> Answer<Self> {
        let asked = params.get(0).and_then(Value::as_object);
        let fields = Fields(asked.ok_or_else(|| params::missing(0, "a call"))?);
        let input = match (fields.get("input"), fields.get("data")) {
            (Some(input), Some(data)) if input != data => {
                return Err(Fault::Params(
                    "`input` and `data` of the call differ".to_owned(),
                ));
            }
            (Some(input), _) | (None, Some(input)) => {
                params::bytes(input).ok_or_else(|| Fields::wrong("input"))?
            }
            (None, None) => Bytes::new(),
        };
        let chain_id = ask.source.chain()?.chain_id;
        if (fields.number("chainId")?).is_some_and(|given| given != U256::from(chain_id)) {
            return Err(Fault::Params(format!(
                "`chainId` of the call is not that of this chain, {chain_id}"
            )));
        }
        let base_fee = ask.source.header(block)?.base_fee_per_gas;
        let fees = [fields.number("gasPrice")?, fields.number("maxFeePerGas")?];
        let tip = fields.number("maxPriorityFeePerGas")?;
        let (price, most) = prices(base_fee, fees, tip)?;
        let request = Self {
            from: fields.address("from")?.unwrap_or_default(),
            to: fields.address("to")?,
            input,
            value: fields.number("value")?.unwrap_or_default(),
            gas: fields.number("gas")?.map(|gas| gas.saturating_to()),
            price,
            most,
            access_list: fields.access_list()?,
            chain_id,
            base_fee,
        };
        let is_empty = |value: &Value| value.as_array().is_some_and(Vec::is_empty);
        let unknown =
            (UNKNOWN.iter()).find(|name| fields.get(name).is_some_and(|it| !is_empty(it)));
        match unknown {
            Some(name) => Err(unsupported(ask, name)),
            None => Ok(request),
        }
    }

    /// A transaction that makes the call.
    pub(super) fn transaction(&self, gas: u64) -> EvmTransaction {
        let base_fee = U256::from(self.base_fee.unwrap_or_default());
        let (kind, tip) = match self.base_fee {
            Some(_) => (
                TransactionType::DynamicFee,
                Some(self.price.saturating_sub(base_fee)),
            ),
            None => (TransactionType::Legacy, None),
        };
        EvmTransaction {
            transaction_type: kind,
            caller: self.from,
            to: self.to,
            gas_limit: gas,
            max_fee_per_gas: self.most,
            max_priority_fee_per_gas: tip,
            value: self.value,
            input: self.input.clone(),
            chain_id: Some(self.chain_id),
            access_list: self.access_list.clone(),
            ..EvmTransaction::default()
        }
    }
}

/// The fields of a call.
struct Fields<'a>(&'a Map<String, Value>);

impl Fields<'_> {
    fn wrong(name: &str) -> Fault {
        Fault::Params(format!("invalid `{name}` of the call"))
    }

    fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    fn address(&self, name: &str) -> Answer<Option<Address>> {
        let read = |value: &Value| value.as_str().and_then(parse_address);
        let given = self.get(name);
        let given = given.map(|value| read(value).ok_or_else(|| Self::wrong(name)));
        given.transpose()
    }

    fn number(&self, name: &str) -> Answer<Option<U256>> {
        let read = |value: &Value| match value {
            Value::Number(number) => number.as_u64().map(U256::from),
            value => value.as_str().and_then(parse_word),
        };
        let given = self.get(name);
        let given = given.map(|value| read(value).ok_or_else(|| Self::wrong(name)));
        given.transpose()
    }

    fn access_list(&self) -> Answer<Vec<AccessListItem>> {
        let item = |item: &Value| {
            let slots = item["storageKeys"].as_array()?.iter();
            Some(AccessListItem {
                address: parse_address(item["address"].as_str()?)?,
                storage_keys: slots
                    .map(|slot| parse_hash(slot.as_str()?))
                    .collect::<Option<_>>()?,
            })
        };
        let Some(list) = self.get("accessList") else {
            return Ok(Vec::new());
        };
        let items = list
            .as_array()
            .and_then(|all| all.iter().map(item).collect());
        items.ok_or_else(|| Self::wrong("accessList"))
    }
}

/// The wei per gas that a call sees, and the most that its sender pays: of `gasPrice` or `maxFeePerGas`, and
/// `maxPriorityFeePerGas`.
fn prices(
    base_fee: Option<u64>,
    [price, most]: [Option<U256>; 2],
    tip: Option<U256>,
) -> Answer<(U256, U256)> {
    if price.is_some() && (most.is_some() || tip.is_some()) {
        return Err(Fault::Params(
            "`gasPrice` of the call excludes maxFeePerGas and maxPriorityFeePerGas".to_owned(),
        ));
    }
    let base_fee = U256::from(base_fee.unwrap_or_default());
    let with_tip = tip.map(|tip| base_fee.saturating_add(tip));
    let Some(most) = price.or(most).or(with_tip).filter(|most| !most.is_zero()) else {
        return Ok((U256::ZERO, U256::ZERO));
    };
    if tip.is_some_and(|tip| tip > most) {
        return Err(refused(
            "max priority fee per gas higher than max fee per gas",
        ));
    }
    if most < base_fee {
        return Err(refused("max fee per gas less than block base fee"));
    }
    let seen = price.unwrap_or_else(|| with_tip.unwrap_or(base_fee).min(most));
    Ok((seen, most))
}

/// A call that nodes refuse in these words.
pub(super) fn refused(why: impl Into<String>) -> Fault {
    Fault::Source(txgraph::Error::new(txgraph::ErrorKind::Failed, why))
}

/// The fault of a call that did not succeed.
pub(super) fn check_outcome(outcome: &Outcome) -> Answer<()> {
    match outcome.status {
        Status::Success => Ok(()),
        Status::Revert => Err(Fault::Reverted {
            message: match revert_reason(&outcome.output) {
                Some(reason) => format!("execution reverted: {reason}"),
                None => "execution reverted".to_owned(),
            },
            data: outcome.output.clone(),
        }),
        Status::Halt(halt) => Err(Fault::NotHere(format!("the call halted: {halt}"))),
    }
}

/// State overrides in the form of nodes.
pub(super) fn overrides(value: &Value) -> Answer<StateOverrides> {
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
