//! `/v1/graph`: the graph around some addresses.

use super::{
    address::direction,
    named::{Contracts, Edge, label_of, tokens},
    query::{Found, Query, Reply, hex},
};
use crate::{
    fault::{Answer, Fault},
    json::address,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use txgraph::{
    ArrowCollector, Asset, Cell, Expansion, GraphOutputs, GraphResult, MergedEdge, Search,
    TableFormat, VertexId, cells,
};

/// A search with the parameters that endpoints of graphs share.
pub(super) fn search<'s>(query: &Query<'s>, roots: &[txgraph::Address]) -> Option<Search<'s>> {
    let (first, others) = roots.split_first()?;
    let mut search = query.ask.source.search(*first);
    for root in others {
        search = search.root(*root);
    }
    Some(search.select(query.selection()))
}

/// The number of a parameter, as the library counts it.
pub(super) fn count(query: &Query<'_>, name: &str) -> u32 {
    u32::try_from(query.given.number(name)).unwrap_or(u32::MAX)
}

/// Answers.
pub(super) fn graph(query: &Query<'_>) -> Reply {
    let (result, command) = run(query)?;
    let mut found = Found::default();
    found.command(command);
    let edges = result.merged_edges()?;
    let places = cells(&result, &edges);
    let addresses = result.graph.node_weights().map(|vertex| vertex.address);
    let contracts = Contracts::read(query, addresses, &mut found)?;
    found.put("vertices", vertices(query, &result, &places, &contracts)?);
    found.put("edges", merged(query, &result, &edges, &contracts)?);
    let shown = edges.iter().map(|edge| edge.asset.token_address);
    let tokens = tokens(query, shown, &mut found)?;
    found.put("tokens", tokens);
    found.scan(&result.scan);
    found.limits(&result.limits);
    found.internal(query.given);
    Ok(found)
}

/// The merged edges as a stream of Arrow IPC, in the columns of the command line.
pub(super) fn arrow(query: &Query<'_>) -> Answer<Vec<u8>> {
    let (result, _) = run(query)?;
    let (collector, target) = ArrowCollector::new();
    let outputs = GraphOutputs {
        files: vec![(TableFormat::Ipc.into(), target)],
        merge: true,
        ..GraphOutputs::default()
    };
    let mut written = result.write_all(&outputs)?;
    if let Some(error) = written.failed.pop() {
        return Err(error.into());
    }
    let table = collector.take();
    let table = table.ok_or_else(|| Fault::Failed("no table was written".to_owned()))?;
    table
        .to_ipc_stream()
        .map_err(|error| Fault::Failed(error.to_string()))
}

/// Searches. Also returns the command line that does.
pub(super) fn run<'s>(query: &Query<'s>) -> Answer<(GraphResult<'s>, super::query::Command)> {
    let given = query.given;
    let roots = given.addresses("root");
    let direction = direction(query)?;
    let missing = || Fault::Params("`root` is missing".to_owned());
    let mut search = search(query, &roots).ok_or_else(missing)?;
    let (hops, degree) = (count(query, "hops"), count(query, "max_degree"));
    let edges = given.number("max_edges");
    search = search.hops(hops).direction(direction);
    search = search.max_edges(edges).max_degree(degree);
    let mut command = query.command("graph");
    for root in &roots {
        command.option("-r", &hex(*root));
    }
    command.option("-n", &hops.to_string());
    command.option("-d", direction.as_str());
    command.option("--max-edges", &edges.to_string());
    command.option("--max-degree", &degree.to_string());
    if given.flag("time_respecting") {
        search = search.time_respecting();
        command.word("--time-respecting");
    }
    if given.flag("swaps") {
        search = search.through_swaps(true);
        command.word("--through-swaps");
    }
    command.word("--merge");
    command.option("-f", "json");
    Ok((search.run()?, command))
}

fn vertices(
    query: &Query<'_>,
    result: &GraphResult<'_>,
    places: &[Cell],
    contracts: &Contracts,
) -> Answer<Value> {
    let rows = result.graph.node_indices().zip(places).map(|(id, place)| {
        query.ask.count(300)?;
        let vertex = &result.graph[id];
        Ok(json!({
            "address": address(vertex.address),
            "column": place.column,
            "row": place.row,
            "depth": vertex.hop,
            "label": label_of(&query.ask.names.labels.get(vertex.address)),
            "is_contract": contracts.get(vertex.address),
            "marks": marks(result, id),
        }))
    });
    rows.collect::<Answer<Vec<_>>>().map(Value::from)
}

/// The marks of a vertex: the search starts there, or why it does not go on.
fn marks(result: &GraphResult<'_>, id: VertexId) -> Vec<&'static str> {
    let mut marks = Vec::new();
    if result.roots.contains(&id) {
        marks.push("root");
    }
    match result.graph[id].expansion {
        Expansion::Expanded => {}
        other => marks.push(other.as_str()),
    }
    marks
}

/// The merged edges, with the first and the last transfer of each.
fn merged(
    query: &Query<'_>,
    result: &GraphResult<'_>,
    edges: &[MergedEdge],
    contracts: &Contracts,
) -> Answer<Value> {
    // Edges are in the order of their transfers.
    let mut ends: BTreeMap<(VertexId, VertexId, Asset), (usize, usize)> = BTreeMap::new();
    let all = result.graph.raw_edges();
    for (at, edge) in all.iter().enumerate() {
        let asset = Asset::of(&edge.weight.transfer);
        let ends = ends.entry((edge.source(), edge.target(), asset));
        ends.or_insert((at, at)).1 = at;
    }
    let rows = edges.iter().filter_map(|edge| {
        let (first, last) = ends.get(&(edge.source, edge.target, edge.asset))?;
        let edge = Edge {
            from: result.graph[edge.source].address,
            to: result.graph[edge.target].address,
            asset: edge.asset,
            count: edge.count,
            sum: edge.sum,
            first: &all[*first].weight.transfer,
            last: &all[*last].weight.transfer,
        };
        Some(edge.value(query, contracts))
    });
    rows.collect::<Answer<Vec<_>>>().map(Value::from)
}
