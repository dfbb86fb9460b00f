//! `/v1/token`: a token and its holders.

use super::{
    named::{label, token_id, token_names, tokens, unless_ended},
    query::{Found, Query, Reply, hex},
};
use crate::{fault::Fault, json::address};
use serde_json::{Value, json};
use txgraph::{Selection, TokenStandard, U256, number, printable};

/// Answers.
pub(super) fn token(query: &Query<'_>) -> Reply {
    let given = query.given;
    let of = given.required_address("token")?;
    let limit = usize::try_from(given.number("limit")).unwrap_or(usize::MAX);
    let mut found = Found::default();
    let mut shown = tokens(query, [Some(of)], &mut found)?;
    let mut shown = shown[token_id(Some(of))].take();
    if let Some(names) = token_names(query, of)?
        && let (Value::Object(fields), Some(name)) = (&mut shown, names.name)
    {
        fields.insert("name".to_owned(), printable(&name).into());
    }
    found.put("token", shown);
    let Selection {
        blocks,
        allow_partial,
        ..
    } = query.selection();
    let mut holders = query.ask.source.holders(of).limit(limit);
    for blocks in blocks {
        holders = holders.blocks(blocks);
    }
    if allow_partial {
        holders = holders.allow_partial();
    }
    let answer = holders.run()?;
    let is_whole = given.blocks().is_none() && answer.scan.missing.is_empty();
    let mut held = answer.holders.clone();
    if is_whole && answer.standard != Some(TokenStandard::Erc1155) && !held.is_empty() {
        // What the token itself says counts more.
        let asked: Vec<_> = held.iter().map(|(holder, _)| (*holder, Some(of))).collect();
        let tip = query.ask.tip.number;
        let balances = query.ask.source.balances(Some(tip), &asked);
        let balances = balances.map_err(Fault::from);
        let balances = unless_ended(balances, "what the token says of its holders", &mut found)?;
        if let Some((_, balances)) = balances {
            let mut differ = 0_u64;
            for ((_, amount), balance) in held.iter_mut().zip(balances) {
                if let Some(balance) = balance.filter(|balance| balance != amount) {
                    (differ, *amount) = (differ + 1, balance);
                }
            }
            if differ > 0 {
                let balances = number(differ, "balance is", "balances are");
                found.lacks(format!(
                    "{balances} not the sum of transfers: holders are ranked by transfers, amounts \
                     are those that the token states"
                ));
            }
        }
    } else if !held.is_empty() {
        found.lacks("amounts are the sums of the transfers that were read");
        if held.iter().any(|(_, amount)| *amount == U256::MAX) {
            found.lacks("sums of 2^256 and more, which no token can hold, are stated as 2^256 - 1");
        }
    }
    found.put("standard", answer.standard.map(TokenStandard::as_str));
    found.put("transfers", answer.transfers);
    let rows = held.iter().map(|(holder, amount): &(_, U256)| {
        query.ask.count(200)?;
        Ok(json!({
            "address": address(*holder),
            "amount": amount.to_string(),
            "label": label(query, *holder),
        }))
    });
    found.put("holders", rows.collect::<Result<Vec<_>, Fault>>()?);
    found.put("more", answer.more);
    if answer.more > 0 {
        found.lacks_rows(number(
            answer.more,
            "more holder has less",
            "more holders have less",
        ));
    }
    if answer.unexplained > 0 {
        let senders = number(answer.unexplained, "address", "addresses");
        found.lacks(format!(
            "{senders} sent more than transfers brought: the token changes balances in other ways"
        ));
    }
    found.scan(&answer.scan);
    // The transfers that amounts are computed from.
    let mut command = query.command("transfers");
    command.option("-t", &hex(of));
    command.option("-f", "jsonl");
    found.command(command);
    Ok(found)
}
