//! Who an address is, and whom it exchanges tokens with.

use super::{
    named::{Contracts, Edge, label, labels, position, token_id, tokens, transfer, transfers},
    query::{Found, Query, Reply, hex},
};
use crate::{
    fault::{Answer, Fault},
    json::{address, data},
    paging::Page,
};
use serde_json::json;
use txgraph::{Address, Direction, Order, Transfer, number};

/// `/v1/address`.
pub(super) fn profile(query: &Query<'_>) -> Reply {
    let given = query.given;
    let of = given.required_address("address")?;
    let selection = query.selection();
    let mut profile = query.ask.source.profile(of).top(0);
    // All parts are about one block.
    profile = profile.block(query.ask.tip.number);
    for blocks in selection.blocks {
        profile = profile.blocks(blocks);
    }
    if selection.allow_partial {
        profile = profile.allow_partial();
    }
    if selection.internal {
        profile = profile.internal();
    }
    let profile = profile.run()?;
    let mut found = Found::default();
    for (what, why) in profile.unknown() {
        found.lacks(format!("{what}: not known: {why}"));
    }
    let state = profile.state.as_ref();
    found.put("address", address(of));
    found.put("label", label(query, of));
    let is_contract = state.map(|it| it.code_bytes > 0 && it.delegate.is_none());
    found.put("is_contract", is_contract);
    found.put("delegate", state.and_then(|it| it.delegate).map(address));
    // The state is of this block, whichever blocks have the transfers.
    found.put("block", state.map(|it| it.block));
    found.put("nonce", state.map(|it| it.account.nonce));
    found.put("balance", state.map(|it| it.account.balance.to_string()));
    let balances = profile.balances.iter();
    let held: Vec<_> = balances.filter(|(token, _)| token.is_some()).collect();
    let funder = profile.first_funding.as_ref();
    let shown = held.iter().map(|(token, _)| *token);
    let shown = shown.chain(funder.map(|it| it.token_address)).chain([None]);
    let contract = profile.contract.as_ref();
    let pool = contract.and_then(|it| it.pair);
    let pool: Vec<Address> = pool
        .into_iter()
        .flat_map(|(one, other)| [one, other])
        .collect();
    let itself = contract.and_then(|it| it.total_supply).map(|_| of);
    let shown = shown.chain(contract.iter().flat_map(|it| it.tokens(of)).map(Some));
    let tokens = tokens(query, shown, &mut found)?;
    let balances = held.iter().map(|(token, amount)| {
        json!({
            "token": tokens[token_id(*token)],
            "amount": amount.map(|amount| amount.to_string()),
        })
    });
    let contract = contract.map(|facts| {
        let (signers, threshold) = facts.signers.clone().unzip();
        let signers: Vec<_> = signers.into_iter().flatten().map(address).collect();
        json!({
            "implementation": facts.implementation.map(address),
            "token": itself.map(|_| &tokens[token_id(Some(of))]),
            "total_supply": facts.total_supply.map(|supply| supply.to_string()),
            "pool": pool.iter().map(|token| &tokens[token_id(Some(*token))]).collect::<Vec<_>>(),
            "owner": facts.owner.map(address),
            "signers": signers,
            "threshold": threshold.map(|it| it.to_string()),
        })
    });
    found.put("contract", contract);
    found.put("balances", balances.collect::<Vec<_>>());
    let creator = profile.creation.as_ref().map(|creation| {
        json!({
            "address": creation.by.map(|by| address(by.creator)),
            "sender": creation.by.map(|by| address(by.sender)),
            "transaction": creation.by.map(|by| data(by.hash)),
            "block": creation.block,
        })
    });
    if let Some(why) = profile
        .creation
        .as_ref()
        .and_then(|it| it.without_creator.as_deref())
    {
        found.lacks(format!("who created it is not known: {why}"));
    }
    found.put("creator", creator);
    found.put("funder", funder.map(transfer));
    match (profile.balance_before, &profile.without_balance_before) {
        (Some((0, balance)), _) if !balance.is_zero() => {
            found.lacks("the genesis funded it, so no transfer was the first funding");
        }
        (Some((block, balance)), _) if !balance.is_zero() => found.lacks(format!(
            "the first funding is not in these blocks: it had coins at the end of block {block}"
        )),
        (None, Some(why)) => {
            found.lacks(format!("what it had before these blocks: not known: {why}"));
        }
        _ => {}
    }
    let sides = [&profile.received, &profile.sent];
    let firsts = sides.iter().filter_map(|side| side.first.as_ref());
    let lasts = sides.iter().filter_map(|side| side.last.as_ref());
    let first = firsts.min_by_key(|it| it.position());
    let last = lasts.max_by_key(|it| it.position());
    found.put("first", first.map(position));
    found.put("last", last.map(position));
    found.put("transfers", profile.transfers);
    found.put("received", profile.received.transfers);
    found.put("sent", profile.sent.transfers);
    found.put("tokens", tokens);
    found.scan(&profile.scan);
    found.internal(given);
    let mut command = query.command(&format!("address {}", hex(of)));
    command.word("--json");
    found.command(command);
    Ok(found)
}

/// The direction that a request names.
pub(super) fn direction(query: &Query<'_>) -> Answer<Direction> {
    let word = query.given.word("direction");
    word.parse()
        .map_err(|_| Fault::Params(format!("`direction`: {word}")))
}

/// `/v1/neighbors`.
pub(super) fn neighbors(query: &Query<'_>) -> Reply {
    let given = query.given;
    let of = given.required_address("address")?;
    let direction = direction(query)?;
    let limit = usize::try_from(given.number("limit")).unwrap_or(usize::MAX);
    let neighbors = query.ask.source.neighbors(of);
    let neighbors = neighbors.select(query.selection()).direction(direction);
    let answer = neighbors.limit(limit).run()?;
    let mut found = Found::default();
    found.put("address", address(of));
    found.put("direction", direction.as_str());
    let ends = answer.edges.iter().flat_map(|edge| [edge.from, edge.to]);
    let contracts = Contracts::read(query, ends, &mut found)?;
    let edges = answer.edges.iter().map(|edge| {
        let edge = Edge {
            from: edge.from,
            to: edge.to,
            asset: edge.asset,
            count: edge.count,
            sum: edge.sum,
            first: &edge.first,
            last: &edge.last,
        };
        edge.value(query, &contracts)
    });
    found.put("edges", edges.collect::<Answer<Vec<_>>>()?);
    found.put("more", answer.more);
    if answer.more > 0 {
        found.lacks_rows(number(
            answer.more,
            "more edge is not listed",
            "more edges are not listed",
        ));
    }
    let shown = answer.edges.iter().map(|edge| edge.asset.token_address);
    let tokens = tokens(query, shown, &mut found)?;
    found.put("tokens", tokens);
    found.scan(&answer.scan);
    found.internal(given);
    let mut command = query.command(&format!("analyze pairs -r {}", hex(of)));
    command.option("-d", direction.as_str());
    command.option("--order", "count");
    command.option("--limit", &limit.to_string());
    if of.is_zero() {
        command.word("--expand-zero");
    }
    command.option("-f", "json");
    found.command(command);
    Ok(found)
}

/// `/v1/transfers`.
pub(super) fn list(query: &Query<'_>) -> Reply {
    let given = query.given;
    let (from, to) = (given.address("from"), given.address("to"));
    let addresses = given.addresses("address");
    let direction = direction(query)?;
    if !addresses.is_empty() && (from.is_some() || to.is_some()) {
        return Err(Fault::Params(
            "`address` excludes `from` and `to`: name one or the others".to_owned(),
        ));
    }
    if addresses.is_empty() && direction != Direction::Both {
        return Err(Fault::Params("`direction` needs `address`".to_owned()));
    }
    let mut list = query.ask.source.transfers().select(query.selection());
    let mut command = query.command("transfers");
    let mut touch = |of: txgraph::Address, direction: Direction| {
        list = list.clone().address(of).direction(direction);
        command.option("-a", &hex(of));
    };
    match (from, to) {
        (Some(from), _) => touch(from, Direction::Out),
        (None, Some(to)) => touch(to, Direction::In),
        (None, None) => {
            for of in &addresses {
                touch(*of, direction);
            }
        }
    }
    match (from, to) {
        (Some(_), _) => command.option("-d", "out"),
        (None, Some(_)) => command.option("-d", "in"),
        (None, None) if !addresses.is_empty() => command.option("-d", direction.as_str()),
        (None, None) => {}
    }
    command.option("-f", "jsonl");
    let both = from.and(to);
    if let Some(to) = both {
        command.then("grep");
        command.word(&format!("\"to_address\":\"{}\"", hex(to)));
    }
    let wanted = |it: &Transfer| both.is_none_or(|to| it.to_address == to);
    let page = Page {
        skip: usize::try_from(given.number("offset")).unwrap_or(usize::MAX),
        rows: usize::try_from(given.number("limit")).unwrap_or(usize::MAX),
        order: match given.word("order") == "newest" {
            true => Order::NewestFirst,
            false => Order::OldestFirst,
        },
    };
    let Page { skip, order, .. } = page;
    let page = page.read(&list.prepare()?, wanted)?;
    let (rows, more) = (page.transfers, page.more);
    if order == Order::NewestFirst {
        command.then("tac");
    }
    if skip > 0 {
        command.then(&format!("tail -n +{}", skip.saturating_add(1)));
    }
    if more {
        command.then(&format!("head -n {}", rows.len()));
    }
    let mut found = Found::default();
    found.put("transfers", transfers(query, &rows)?);
    found.put("more", more);
    if more {
        found.lacks_rows("there are more transfers: ask with a larger `offset`");
    }
    match (skip, rows.is_empty() && !more) {
        (0, _) => {}
        (_, true) => found.lacks_rows("there are not more transfers than the `offset` skips"),
        (skip, false) => found.lacks_rows(number(
            skip as u64,
            "transfer was skipped",
            "transfers were skipped",
        )),
    }
    let ends = rows.iter().flat_map(|it| [it.from_address, it.to_address]);
    found.put("labels", labels(query, ends));
    let shown = rows.iter().map(|it| it.token_address);
    let tokens = tokens(query, shown, &mut found)?;
    found.put("tokens", tokens);
    found.scan(&page.scan);
    found.internal(given);
    found.command(command);
    Ok(found)
}
