//! A profile as JSON.

use super::{Shown, unknown};
use serde_json::{Value, json};
use txgraph::{Activity, AddressProfile, BlockTime, Fields, Metadata, Unrecorded};

impl Shown {
    pub(super) fn as_json(&self, found: &AddressProfile, metadata: &Metadata) -> Value {
        let activity = |activity: &Activity| {
            let top = activity.top.iter().map(|it| {
                json!({
                    "address": it.address,
                    "label": self.0.labels.name(it.address),
                    "transfers": it.transfers,
                    "assets": it.assets.iter().map(|moved| {
                        json!({
                            "token_address": moved.asset.token_address,
                            "transfers": moved.transfers,
                            "value": moved.amount.to_string(),
                        })
                    }).collect::<Vec<_>>(),
                    "first_timestamp": it.first.map(BlockTime::seconds),
                    "last_timestamp": it.last.map(BlockTime::seconds),
                })
            });
            json!({
                "transfers": activity.transfers,
                "first": activity.first.as_ref().map(Fields::placed),
                "last": activity.last.as_ref().map(Fields::placed),
                "counterparties": activity.counterparties,
                "top": top.collect::<Vec<_>>(),
            })
        };
        let balances = found.balances.iter().map(|(token, balance)| {
            json!({
                "token_address": token,
                "value": balance.map(|balance| balance.to_string()),
                "text": self.balance(*token, *balance),
            })
        });
        let state = found.state.as_ref().map(|state| {
            let mut account = json!(state.account);
            // As all amounts.
            account["balance"] = state.account.balance.to_string().into();
            json!({
                "block": state.block,
                "account": account,
                "is_contract": state.code_bytes > 0 && state.delegate.is_none(),
                "code_bytes": state.code_bytes,
                "delegate": state.delegate,
            })
        });
        let creation = found.creation.as_ref().map(|creation| {
            json!({
                "block": creation.block,
                "creator": creation.by.map(|by| by.creator),
                "sender": creation.by.map(|by| by.sender),
                "transaction_index": creation.by.map(|by| by.index),
                "transaction_hash": creation.by.map(|by| by.hash),
            })
        });
        let contract = found.contract.as_ref().map(|facts| {
            json!({
                "implementation": facts.implementation,
                "name": facts.names.name,
                "symbol": facts.names.symbol,
                "decimals": facts.names.decimals,
                "total_supply": facts.total_supply.map(|supply| supply.to_string()),
                "tokens": facts.pair.map(|(one, other)| [one, other]),
                "owner": facts.owner,
                "signers": facts.signers.as_ref().map(|(owners, _)| owners),
                "threshold": facts.signers.as_ref().map(|(_, threshold)| threshold.to_string()),
            })
        });
        let items = found.items.iter().map(|item| {
            json!({
                "token_address": item.token,
                "id": item.id.to_string(),
                "value": item.amount.to_string(),
            })
        });
        json!({
            "address": found.address,
            "label": self.0.labels.name(found.address),
            "contract": contract,
            "items": items.collect::<Vec<_>>(),
            "state": state,
            "creation": creation,
            "first_funding": found.first_funding.as_ref().map(Fields::placed),
            "balance_before": found.balance_before.map(|(block, balance)| {
                json!({ "block": block, "value": balance.to_string() })
            }),
            "unrecorded": found.unrecorded.map(|unrecorded| match unrecorded {
                Unrecorded::Left(amount) => json!({ "left": amount.to_string() }),
                Unrecorded::Arrived(amount) => json!({ "arrived": amount.to_string() }),
            }),
            "first_sent": found.first_sent.as_ref().map(|first| {
                json!({
                    "transfer": Fields::placed(&first.transfer),
                    "gas_payer": first.gas_payer,
                })
            }),
            "received": activity(&found.received),
            "sent": activity(&found.sent),
            "balances": balances.collect::<Vec<_>>(),
            "not_known": unknown(found).collect::<Vec<_>>(),
            "metadata": metadata,
        })
    }
}
