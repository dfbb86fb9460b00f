//! `contract`: who created contracts.

use super::{
    query::Query,
    reply::{Reply, text},
};
use crate::{
    ask::Ask,
    fault::{Answer, Fault},
    frames::init_code,
    json::{address, data},
};
use serde_json::{Value, json};
use txgraph::{Trace, TransactionName};

/// The most contracts of one query.
const CONTRACTS_MAX: usize = 5;

pub(super) fn creations(ask: &Ask<'_>, query: &Query) -> Answer<Reply> {
    let contracts = query.addresses("contractaddresses", CONTRACTS_MAX)?;
    let mut rows = Vec::new();
    for contract in contracts {
        let code = ask
            .source
            .with_state(Some(ask.tip.number), |state| state.code(contract))?;
        if code.is_empty() {
            continue;
        }
        let Some(creation) = ask.source.creation_of(contract)? else {
            return Err(Fault::NotHere(format!(
                "{contract} was created before the first block whose changes the node keeps"
            )));
        };
        let time = ask.source.header(creation.block)?.timestamp;
        let (by, init) = match (creation.by, creation.without_creator) {
            (Some(by), _) => {
                let name = TransactionName::Position {
                    block: creation.block,
                    index: by.index,
                };
                let question = ask.source.replay().transaction(name).trace(Trace::Call);
                let (replay, mismatches) = question.one(None)?;
                crate::rpc::check(&mismatches)?;
                (Some(by), init_code(&replay, contract).unwrap_or_default())
            }
            // In the genesis.
            (None, None) => (None, Default::default()),
            (None, Some(why)) => return Err(Fault::NotHere(why)),
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
