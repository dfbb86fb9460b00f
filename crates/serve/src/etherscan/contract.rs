//! `contract` and `stats`: who created contracts, and how much of a token there is.

use super::{
    query::Query,
    reply::{Reply, genesis_hash, text},
};
use crate::{
    ask::Ask,
    fault::{Answer, Fault},
    frames::init_code,
    json::{address, data},
    rpc,
};
use serde_json::{Value, json};

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
                let replay = rpc::at(ask, (creation.block, by.index), rpc::Recorded::CALLS)?;
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
            "txHash": by.map_or_else(|| genesis_hash(contract), |by| data(by.hash)),
            "blockNumber": text(creation.block),
            "timestamp": text(time),
            "contractFactory": factory.map_or_else(empty, |by| address(by.creator)),
            "creationBytecode": data(init),
        }));
    }
    Ok(match rows.is_empty() {
        // Clients take a list for an error here.
        true => Reply::Nothing("No data found"),
        false => Reply::Rows(rows, ""),
    })
}

/// No source code is known here.
const NOT_VERIFIED: &str = "Contract source code not verified";

pub(super) fn abi(query: &Query) -> Answer<Reply> {
    query.address("address")?;
    Err(Fault::NotHere(NOT_VERIFIED.to_owned()))
}

/// The row of a contract without a verified source.
pub(super) fn source_code(query: &Query) -> Answer<Reply> {
    query.address("address")?;
    let row = json!({
        "SourceCode": "",
        "ABI": NOT_VERIFIED,
        "ContractName": "",
        "CompilerVersion": "",
        "CompilerType": "",
        "OptimizationUsed": "",
        "Runs": "",
        "ConstructorArguments": "",
        "EVMVersion": "Default",
        "Library": "",
        "LicenseType": "Unknown",
        "Proxy": "0",
        "Implementation": "",
        "SwarmSource": "",
    });
    Ok(Reply::Rows(vec![row], ""))
}

/// How much of a token there is at the end of a block, by the token itself.
pub(super) fn supply(ask: &Ask<'_>, query: &Query, block: u64) -> Answer<Reply> {
    let token = query.address("contractaddress")?;
    let facts = ask.source.contract_facts(token, block)?;
    let supply = facts.total_supply.ok_or_else(|| {
        Fault::NotHere(format!(
            "{token:#x} is not a token: it does not answer totalSupply"
        ))
    })?;
    Ok(Reply::Value(text(supply)))
}
