//! `contract` and `stats`: who created contracts, and how much of a token there is.

use super::{
    query::Query,
    reply::{Reply, text},
};
use crate::{
    ask::Ask,
    fault::{Answer, Fault},
    frames::init_code,
    json::{address, data},
    rpc,
};
use serde_json::{Value, json};
use txgraph::Trace;

/// The most contracts of one query.
const CONTRACTS_MAX: usize = 5;

pub(super) fn creations(ask: &Ask<'_>, query: &Query) -> Answer<Reply> {
    let contracts = query.addresses("contractaddresses", CONTRACTS_MAX)?;
    let mut rows = Vec::new();
    for contract in contracts {
        let Some(creation) = rpc::creation(ask, contract)? else {
            continue;
        };
        let time = ask.source.header(creation.block)?.timestamp;
        let by = creation.by;
        let init = match by {
            Some(by) => {
                let replay = rpc::at(ask, (creation.block, by.index), Trace::Call)?;
                init_code(&replay, contract).unwrap_or_default()
            }
            // In the genesis.
            None => Default::default(),
        };
        let empty = || Value::from("");
        let factory = by.filter(|by| by.creator != by.sender);
        rows.push(json!({
            "contractAddress": address(contract),
            "contractCreator": by.map_or_else(empty, |by| address(by.sender)),
            "txHash": by.map_or_else(|| format!("GENESIS_{}", &contract.to_string()[2..]).into(), |by| data(by.hash)),
            "blockNumber": text(creation.block),
            "timestamp": text(time),
            "contractFactory": factory.map_or_else(empty, |by| address(by.creator)),
            "creationBytecode": data(init),
        }));
    }
    Ok(Reply::Rows(rows, "No data found"))
}

/// How much of a token there is at the newest block, by the token itself.
pub(super) fn supply(ask: &Ask<'_>, query: &Query) -> Answer<Reply> {
    let token = query.address("contractaddress")?;
    let facts = ask.source.contract_facts(token, ask.tip.number)?;
    let supply = facts.total_supply.ok_or_else(|| {
        Fault::NotHere(format!(
            "{token:#x} is not a token: it does not answer totalSupply"
        ))
    })?;
    Ok(Reply::Value(text(supply)))
}
