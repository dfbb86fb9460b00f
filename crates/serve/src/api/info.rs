//! The chain, its blocks, and labels.

use super::{
    named::{labels, unless_ended},
    query::{Found, Query, Reply},
};
use crate::{
    ask::{Ask, parse_hash},
    fault::{Answer, Fault},
    json::{address, data},
};
use alloy_consensus::Transaction;
use serde_json::{Value, json};
use txgraph::{COIN_DECIMALS, Capability, NodeBlock, StoredTransaction, TransferFilter, U256};

/// `/v1/info`.
pub(super) fn info(query: &Query<'_>) -> Reply {
    let ask = query.ask;
    let source = ask.source;
    let mut found = Found::default();
    let chain = source.chain()?;
    let header = source.header(ask.tip.number)?;
    let info = source.info()?;
    let capabilities = source.capabilities();
    found.put("version", txgraph::version());
    found.put("chain_id", chain.chain_id);
    found.put("chain", chain.name.clone());
    found.put(
        "coin",
        json!({ "symbol": source.native_symbol()?, "decimals": COIN_DECIMALS }),
    );
    found.put(
        "tip",
        json!({
            "number": ask.tip.number,
            "hash": data(ask.tip.hash),
            "time": header.timestamp,
        }),
    );
    found.put("has_index", source.has_index()?);
    found.put("index_has_internal", source.index_has_internal()?);
    let has_state = capabilities.contains(Capability::State) && !info.account_state.is_empty();
    found.put("has_state", has_state);
    // A replay needs the rules of the chain, too.
    let internal = source.transfer_source(&TransferFilter::with_internal(true));
    found.put("has_internal", has_state && internal.is_ok());
    if let (true, Err(error)) = (has_state, internal) {
        let why = error.message;
        found.lacks(format!(
            "transfers inside of transactions are not known: {why}"
        ));
    }
    let newest = info.receipts.last();
    found.put(
        "blocks",
        newest.map_or(Vec::new(), |range| vec![range.first, range.last]),
    );
    if newest.is_none_or(|range| range.first > 1 || range.last < ask.tip.number) {
        let kept: Vec<_> = info.receipts.iter().map(ToString::to_string).collect();
        let kept = match kept.is_empty() {
            true => "no blocks".to_owned(),
            false => format!("blocks {}", kept.join(", ")),
        };
        found.lacks(format!("the node keeps the receipts of {kept} only"));
    }
    let states = &info.account_state;
    if states.first().is_some_and(|range| range.first > 0) {
        let kept: Vec<_> = states.iter().map(ToString::to_string).collect();
        let kept = kept.join(", ");
        found.lacks(format!("the node keeps the state of blocks {kept} only"));
    }
    found.command(query.command("info --json"));
    Ok(found)
}

/// `/v1/labels`.
pub(super) fn of_addresses(query: &Query<'_>) -> Reply {
    let mut found = Found::default();
    let all = query.given.addresses("address");
    found.put("labels", labels(query, all));
    for warning in query.ask.names.labels.warnings() {
        found.lacks(warning.clone());
    }
    Ok(found)
}

/// The number of a block that a user names by number, hash or `latest`.
pub(super) fn block_number(ask: &Ask<'_>, text: &str) -> Answer<u64> {
    if text == "latest" {
        return Ok(ask.tip.number);
    }
    if let Some(hash) = parse_hash(text) {
        return ask.block_by_hash(hash);
    }
    if text.starts_with("0x") {
        return ask.block_by_text(text);
    }
    match text.parse::<u64>() {
        Ok(number) => ask.block(Some(&number.into())),
        Err(_) => Err(Fault::Params(format!(
            "`block`: `{text:.80}` is no number, hash or `latest`"
        ))),
    }
}

/// `/v1/block`.
pub(super) fn block(query: &Query<'_>) -> Reply {
    let ask = query.ask;
    let number = block_number(ask, query.given.text("block"))?;
    let mut found = Found::default();
    let whole = ask.source.block(number, true).map_err(Fault::from);
    let block = match unless_ended(whole, "what succeeded", &mut found)? {
        Some(block) => block,
        None => ask.source.block(number, false)?,
    };
    let header = &block.header;
    found.put("number", number);
    found.put("hash", data(header.hash));
    found.put("parent", data(header.parent_hash));
    found.put("time", header.timestamp);
    found.put("miner", address(header.beneficiary));
    found.put("gas_used", header.gas_used);
    found.put("gas_limit", header.gas_limit);
    let base_fee = header.base_fee_per_gas.map(|fee| fee.to_string());
    found.put("base_fee", base_fee);
    found.put("transactions", transactions(ask, &block)?);
    let withdrawals = block.withdrawals.iter().flatten().map(|it| {
        json!({
            "index": it.index,
            "validator": it.validator_index,
            "to": address(it.address),
            // It is stored in Gwei.
            "value": (U256::from(it.amount) * U256::from(1_000_000_000)).to_string(),
        })
    });
    found.put("withdrawals", withdrawals.collect::<Vec<_>>());
    Ok(found)
}

fn transactions(ask: &Ask<'_>, block: &NodeBlock) -> Answer<Value> {
    let rows = block.transactions.iter().map(|it| {
        ask.count(400)?;
        let value = match &it.transaction {
            StoredTransaction::Signed(signed) => signed.value(),
            StoredTransaction::Deposit(deposit) => deposit.value,
            StoredTransaction::PostExec(_) => Default::default(),
        };
        Ok(json!({
            "hash": data(it.hash),
            "from": address(it.sender),
            "to": it.transaction.to().map(address),
            "value": value.to_string(),
            "status": it.receipt.as_ref().map(|receipt| receipt.success),
        }))
    });
    rows.collect::<Answer<Vec<_>>>().map(Value::from)
}
