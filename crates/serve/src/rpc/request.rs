//! Calls and transactions that are in no block, as clients describe them.

use super::{
    overrides::simulation,
    params::{self, Params},
};
use crate::{
    ask::{Ask, parse_address, parse_hash},
    fault::{Answer, Fault},
};
use alloy_eips::eip7702::{self, SignedAuthorization};
use alloy_primitives::{Address, Bytes, U256};
use serde_json::{Map, Value};
use txgraph::{
    AccessListItem, Authorization, EvmTransaction, Outcome, Simulation, Status, TransactionType,
    evm_authorization, revert_reason,
};

/// The most gas of a call, as in nodes.
pub(super) const GAS_MAX: u64 = 50_000_000;

/// A call.
#[derive(Clone, Debug)]
pub(super) struct Request {
    /// The transaction that makes the call, without its gas limit.
    pub(super) transaction: EvmTransaction,
    /// Its gas limit, if one is given.
    pub(super) gas: Option<u64>,
}

/// A call with its block and what it changes, in the order of `eth_call`.
pub(super) fn question(ask: &Ask<'_>, params: &Params<'_>) -> Answer<(Request, Simulation)> {
    let block = params.block(ask, 1)?;
    let simulation = simulation(block, params.get(2), params.get(3))?;
    Ok((Request::read(ask, params, &simulation)?, simulation))
}

impl Request {
    /// Reads the first parameter of a method.
    pub(super) fn read(
        ask: &Ask<'_>,
        params: &Params<'_>,
        simulation: &Simulation,
    ) -> Answer<Self> {
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
        let stored = ask.source.header(simulation.block)?.base_fee_per_gas;
        let base_fee = (simulation.block_overrides.base_fee).or(stored.map(U256::from));
        let fees = [fields.number("gasPrice")?, fields.number("maxFeePerGas")?];
        let tip = fields.number("maxPriorityFeePerGas")?;
        let (price, most) = prices(base_fee.unwrap_or_default(), fees, tip)?;
        let access_list = fields.list("accessList", access_list_item)?;
        let authorizations = fields.list("authorizationList", authorization)?;
        let blob_hashes = fields.list("blobVersionedHashes", |it| parse_hash(it.as_str()?))?;
        let blob_fee = fields.number("maxFeePerBlobGas")?;
        let transaction_type = match (authorizations.is_empty(), blob_hashes.is_empty()) {
            (true, true) if blob_fee.is_some() => {
                return Err(Fault::Params(
                    "`maxFeePerBlobGas` of the call without blobVersionedHashes".to_owned(),
                ));
            }
            (true, true) if base_fee.is_none() => TransactionType::Legacy,
            (true, true) => TransactionType::DynamicFee,
            (true, false) => TransactionType::Blob,
            (false, true) => TransactionType::SetCode,
            (false, false) => {
                return Err(Fault::Params(
                    "`authorizationList` of the call excludes blobVersionedHashes".to_owned(),
                ));
            }
        };
        let transaction = EvmTransaction {
            transaction_type,
            caller: fields.address("from")?.unwrap_or_default(),
            to: fields.address("to")?,
            max_fee_per_gas: most,
            max_priority_fee_per_gas: base_fee.map(|base_fee| price.saturating_sub(base_fee)),
            value: fields.number("value")?.unwrap_or_default(),
            input,
            chain_id: Some(chain_id),
            access_list,
            blob_hashes,
            max_fee_per_blob_gas: blob_fee.unwrap_or_default(),
            authorizations,
            ..EvmTransaction::default()
        };
        let gas = fields.number("gas")?.map(|gas| gas.saturating_to());
        Ok(Self { transaction, gas })
    }

    /// The transaction with a gas limit.
    pub(super) fn with_gas(&self, gas: u64) -> EvmTransaction {
        EvmTransaction {
            gas_limit: gas,
            ..self.transaction.clone()
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
        let given = self.get(name);
        let given = given.map(|value| params::wide(value).ok_or_else(|| Self::wrong(name)));
        given.transpose()
    }

    /// A list of what `read` understands; absent: empty.
    fn list<T>(&self, name: &str, read: impl Fn(&Value) -> Option<T>) -> Answer<Vec<T>> {
        let Some(list) = self.get(name) else {
            return Ok(Vec::new());
        };
        let items = list.as_array();
        let items = items.and_then(|all| all.iter().map(read).collect());
        items.ok_or_else(|| Self::wrong(name))
    }
}

fn access_list_item(item: &Value) -> Option<AccessListItem> {
    let slots = item["storageKeys"].as_array()?.iter();
    Some(AccessListItem {
        address: parse_address(item["address"].as_str()?)?,
        storage_keys: slots
            .map(|slot| parse_hash(slot.as_str()?))
            .collect::<Option<_>>()?,
    })
}

fn authorization(item: &Value) -> Option<Authorization> {
    let number = |name: &str| params::wide(&item[name]);
    let parity = number("yParity").or_else(|| number("v"))?;
    let unsigned = eip7702::Authorization {
        chain_id: number("chainId")?,
        address: parse_address(item["address"].as_str()?)?,
        nonce: number("nonce")?.try_into().ok()?,
    };
    let signed = SignedAuthorization::new_unchecked(
        unsigned,
        parity.try_into().ok()?,
        number("r")?,
        number("s")?,
    );
    Some(evm_authorization(&signed))
}

/// The wei per gas that a call sees, and the most that its sender pays: of `gasPrice` or `maxFeePerGas`, and
/// `maxPriorityFeePerGas`.
fn prices(
    base_fee: U256,
    [price, most]: [Option<U256>; 2],
    tip: Option<U256>,
) -> Answer<(U256, U256)> {
    if price.is_some() && (most.is_some() || tip.is_some()) {
        return Err(Fault::Params(
            "`gasPrice` of the call excludes maxFeePerGas and maxPriorityFeePerGas".to_owned(),
        ));
    }
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
