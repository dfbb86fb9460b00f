//! How addresses are related: routes, common counterparties, and where amounts went.

use super::{
    graph::{count, search},
    named::{label, listed_tokens, tokens, transfers},
    query::{Found, Query, Reply, hex},
    table::EDGES_MAX,
};
use crate::{
    fault::{Answer, Fault},
    json::address,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use txgraph::{
    Address, Asset, Continuation, Direction, Hops, Measure, Route, TaintMethod, TransferFlows,
    TransferPaths, U256, flows_as_json, number, route_remarks, routes_cut_words, widen,
};

fn missing(name: &str) -> Fault {
    Fault::Params(format!("`{name}` is missing"))
}

/// `/v1/path`.
pub(super) fn path(query: &Query<'_>) -> Reply {
    let given = query.given;
    let (from, to) = (
        given.required_address("from")?,
        given.required_address("to")?,
    );
    let (hops, degree) = (count(query, "hops"), count(query, "max_degree"));
    let mut search = search(query, &[from]).ok_or_else(|| missing("from"))?;
    search = search.hops(hops);
    let mut command = query.command(&format!("path {} {}", hex(from), hex(to)));
    command.option("-n", &hops.to_string());
    if degree > 0 {
        search = search.max_degree(degree);
        command.option("--max-degree", &degree.to_string());
    }
    match given.flag("any_order") {
        true => command.word("--any-order"),
        false => search = search.time_respecting(),
    }
    let continuation = match given.flag("any_token") {
        true => Continuation::AnyToken,
        false => Continuation::SameToken,
    };
    let max_flow = given.flag("max_flow");
    let asked = usize::try_from(given.number("routes")).unwrap_or(usize::MAX);
    if asked != 1 {
        command.option("--routes", &asked.to_string());
    }
    if asked != 1 && max_flow {
        return Err(Fault::Params(
            "`max_flow` excludes `routes`: an amount goes over all of them".to_owned(),
        ));
    }
    match (continuation, max_flow) {
        (Continuation::AnyToken, true) => {
            return Err(Fault::Params(
                "`max_flow` excludes `any_token`: amounts have one token".to_owned(),
            ));
        }
        (Continuation::AnyToken, false) => command.word("--any-token"),
        (Continuation::SameToken, true) => command.word("--max-flow"),
        (Continuation::SameToken, false) => {}
    }
    command.word("--json");
    let search = search.prepare()?;
    let mut found = match max_flow {
        true => flows(query, &search.flows_to(to)?)?,
        false => {
            let paths = search.paths_to(to, continuation, asked)?;
            routes(query, &paths, continuation, asked)?
        }
    };
    found.internal(given);
    found.command(command);
    Ok(found)
}

/// The routes of `/v1/path`.
fn routes(
    query: &Query<'_>,
    paths: &TransferPaths,
    continuation: Continuation,
    asked: usize,
) -> Answer<Found> {
    let mut found = Found::default();
    let (shortest, earliest) = (paths.shortest.first(), paths.earliest.first());
    let all = paths.shortest.iter().chain(&paths.earliest);
    let steps = all.flat_map(|route| &route.transfers);
    let shown: Vec<_> = steps.map(|it| it.token_address).collect();
    let (list, tokens) = listed_tokens(query, shown, &mut found)?;
    let chain_id = query.ask.source.chain()?.chain_id;
    let amount = |asset: &Asset, amount: U256| list.format_amount(chain_id, asset, widen(amount));
    let remarks = |route: &Route| route_remarks(route, paths.internal, amount);
    let hints = match shortest {
        Some(route) => remarks(route),
        None => unsearched(
            query,
            "no route",
            match continuation {
                Continuation::AnyToken => None,
                _ => Some(
                    "changes of the token that are no swap in one transaction were not searched \
                 (`any_token=true`)",
                ),
            },
        ),
    };
    let transfers = |route: &Route| transfers(query, &route.transfers);
    found.put("found", shortest.is_some());
    found.put("transfers", shortest.map_or(Ok(json!([])), transfers)?);
    found.put("earliest", earliest.map(transfers).transpose()?);
    found.put("hints", hints);
    found.put("earliest_hints", earliest.map(remarks));
    for (name, routes) in [
        ("shortest_routes", &paths.shortest),
        ("earliest_routes", &paths.earliest),
    ] {
        let routes = routes
            .iter()
            .map(|route| Ok(json!({ "transfers": transfers(route)?, "hints": remarks(route) })));
        found.put(name, routes.collect::<Answer<Vec<_>>>()?);
    }
    if let Some(cut) = paths.cut {
        found.lacks_rows(routes_cut_words(cut, asked));
    }
    found.put("flows", Value::Null);
    found.put("tokens", tokens);
    found.scan(&paths.scan);
    found.limits(&paths.limits);
    Ok(found)
}

/// The answer of `/v1/path` about amounts.
fn flows(query: &Query<'_>, all: &TransferFlows) -> Answer<Found> {
    let mut found = Found::default();
    let transfers = (all.flows.iter()).map(|flow| flow.cut.len() + flow.parts.len());
    for _ in 0..transfers.sum() {
        query.ask.count(500)?;
    }
    let swaps = "swaps were not followed";
    let hints = match all.flows.is_empty() {
        true => unsearched(query, "no amount", Some(swaps)),
        // More can have gone another way.
        false => {
            let hops = count(query, "hops");
            let longest = number(hops.into(), "transfer", "transfers");
            let longer = format!("routes of more than {longest} were not searched");
            vec![longer, swaps.to_owned()]
        }
    };
    found.put("found", !all.flows.is_empty());
    found.put("transfers", json!([]));
    found.put("earliest", Value::Null);
    found.put("hints", hints);
    found.put("earliest_hints", Value::Null);
    found.put("shortest_routes", json!([]));
    found.put("earliest_routes", json!([]));
    found.put("flows", flows_as_json(&all.flows));
    let shown = all.flows.iter().map(|flow| flow.asset.token_address);
    let tokens = tokens(query, shown, &mut found)?;
    found.put("tokens", tokens);
    found.scan(&all.scan);
    found.limits(&all.limits);
    Ok(found)
}

/// Says that nothing was found, and what was not searched: changes of the token, and more.
fn unsearched(query: &Query<'_>, nothing: &str, changes: Option<&str>) -> Vec<String> {
    let order = match query.given.flag("any_order") {
        true => "",
        false => ", each after the one before (`any_order=true` finds others)",
    };
    let longest = number(count(query, "hops").into(), "transfer", "transfers");
    let mut hints = vec![format!("{nothing} within {longest}{order}")];
    hints.extend(changes.map(str::to_owned));
    hints.push("the other direction was not searched".to_owned());
    hints
}

/// `/v1/common`.
pub(super) fn common(query: &Query<'_>) -> Reply {
    let given = query.given;
    let addresses = given.addresses("address");
    if addresses.len() < 2 {
        return Err(Fault::Params("`address`: give two or more".to_owned()));
    }
    let mut found = Found::default();
    let hops = count(query, "hops").max(1);
    let all = match hops {
        1 => {
            let mut command = query.command("common");
            for address in &addresses {
                command.word(&hex(*address));
            }
            command.word("--json");
            found.command(command);
            direct(query, &addresses, &mut found)?
        }
        hops => within(query, &addresses, hops, &mut found)?,
    };
    let limit = usize::try_from(given.number("limit")).unwrap_or(usize::MAX);
    let more = all.len().saturating_sub(limit);
    let rows = all.iter().take(limit).map(|it| {
        query.ask.count(200)?;
        Ok(json!({
            "address": address(it.address),
            "depths": it.depths,
            "counterparties": it.counterparties,
            "label": label(query, it.address),
        }))
    });
    found.put("addresses", rows.collect::<Answer<Vec<_>>>()?);
    found.put("more", more);
    if more > 0 {
        found.lacks_rows(number(
            more as u64,
            "more address is not listed",
            "more addresses are not listed",
        ));
    }
    found.internal(given);
    Ok(found)
}

/// An address that all of the given ones reach.
struct Reached {
    address: Address,
    /// Its distance from each.
    depths: Vec<u32>,
    /// The number of its own counterparties, if it was counted and is not large.
    counterparties: Option<u64>,
}

/// The counterparties in common, those with the most transfers first.
fn direct(query: &Query<'_>, addresses: &[Address], found: &mut Found) -> Answer<Vec<Reached>> {
    let search = search(query, addresses).ok_or_else(|| missing("address"))?;
    let common = search.prepare()?.common_counterparties()?;
    found.scan(&common.scan);
    found.limits(&common.limits);
    let all = common.counterparties.iter().map(|it| Reached {
        address: it.address,
        depths: vec![1; addresses.len()],
        counterparties: it.counterparties,
    });
    Ok(all.collect())
}

/// The addresses within some hops of each, the nearest first.
fn within(
    query: &Query<'_>,
    addresses: &[Address],
    hops: u32,
    found: &mut Found,
) -> Answer<Vec<Reached>> {
    let mut depths: BTreeMap<Address, Vec<u32>> = BTreeMap::new();
    for (number, of) in addresses.iter().enumerate() {
        let search = search(query, &[*of]).ok_or_else(|| missing("address"))?;
        let search = search.hops(hops).direction(Direction::Both);
        let graph = search.max_edges(EDGES_MAX).run()?;
        found.scan(&graph.scan);
        found.limits(&graph.limits);
        for vertex in graph.graph.node_weights() {
            let depths = depths.entry(vertex.address).or_default();
            // Only those that all of the addresses before reach.
            if depths.len() == number {
                depths.push(vertex.hop);
            }
        }
    }
    let is_common = |(of, depths): &(Address, Vec<u32>)| {
        depths.len() == addresses.len() && !addresses.contains(of) && !of.is_zero()
    };
    let all = depths.into_iter().filter(is_common);
    let mut all: Vec<_> = all
        .map(|(address, depths)| Reached {
            address,
            depths,
            counterparties: None,
        })
        .collect();
    all.sort_by_key(|it| {
        (
            it.depths.iter().max().copied(),
            it.depths.iter().sum::<u32>(),
        )
    });
    Ok(all)
}

/// `/v1/trace`.
pub(super) fn trace(query: &Query<'_>) -> Reply {
    let given = query.given;
    let word = given.word("method");
    let method: TaintMethod = word
        .parse()
        .map_err(|_| Fault::Params(format!("`method`: {word}")))?;
    let roots = given.addresses("root");
    let edges = given.number("max_edges");
    let mut analyze = query.ask.source.analyze(Measure::Taint).method(method);
    analyze = analyze.select(query.selection()).max_edges(edges);
    let swaps = given.flag("swaps");
    analyze = analyze.through_swaps(swaps);
    let mut command = query.command("analyze taint");
    for root in &roots {
        analyze = analyze.root(*root);
        command.option("-r", &hex(*root));
    }
    command.option("--method", word);
    if swaps {
        command.word("--through-swaps");
    }
    command.option("--max-edges", &edges.to_string());
    let hops = count(query, "hops");
    if hops > 0 {
        analyze = analyze.hops(Hops::Number(hops));
        command.option("-n", &hops.to_string());
    }
    command.option("-f", "json");
    let analysis = analyze.run()?;
    let mut found = Found::default();
    found.put("measure", analysis.measure.as_str());
    found.put("method", word);
    found.put("notes", analysis.notes.clone());
    let shown = analysis.shown_tokens().into_iter().map(Some);
    let shown: Vec<_> = shown.chain([None]).collect();
    let tokens = tokens(query, shown, &mut found)?;
    found.result(&analysis.result)?;
    found.put("tokens", tokens);
    found.scan(&analysis.graph.scan);
    found.limits(&analysis.graph.limits);
    found.internal(given);
    found.command(command);
    Ok(found)
}
