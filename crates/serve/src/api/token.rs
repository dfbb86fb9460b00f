//! `/v1/token`: a token and its holders.

use super::{
    named::{label, token_id, token_names, tokens},
    query::{Found, Query, Reply, hex},
};
use crate::{fault::Fault, json::address};
use serde_json::{Value, json};
use txgraph::{Selection, TokenStandard, number, printable};

/// Answers.
pub(super) fn token(query: &Query<'_>) -> Reply {
    let given = query.given;
    let of = given.required_address("token")?;
    let limit = usize::try_from(given.number("limit")).unwrap_or(usize::MAX);
    let mut found = Found::default();
    let mut shown = tokens(query, [Some(of)], &mut found)?;
    let mut shown = shown[token_id(Some(of))].take();
    let names = token_names(query, of)?;
    let is_silent = names.is_none();
    if let (Value::Object(fields), Some(name)) = (&mut shown, names.and_then(|it| it.name)) {
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
    answer
        .notes
        .iter()
        .for_each(|note| found.lacks(note.clone()));
    if is_silent && answer.transfers == 0 {
        found.lacks("it has no transfers, and is not known to be a token");
    }
    found.put("standard", answer.standard.map(TokenStandard::as_str));
    found.put("transfers", answer.transfers);
    let rows = answer.holders.iter().map(|holder| {
        query.ask.count(200)?;
        Ok(json!({
            "address": address(holder.address),
            "amount": holder.amount.to_string(),
            "label": label(query, holder.address),
        }))
    });
    found.put("holders", rows.collect::<Result<Vec<_>, Fault>>()?);
    found.put("more", answer.more);
    if answer.more > 0 && answer.is_ranked {
        found.lacks_rows(number(
            answer.more,
            "more holder is not listed",
            "more holders are not listed",
        ));
    }
    found.scan(&answer.scan);
    let mut command = query.command(&format!("holders {}", hex(of)));
    command.option("--limit", &limit.to_string());
    found.command(command);
    Ok(found)
}
