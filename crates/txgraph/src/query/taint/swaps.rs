//! Finds the swaps of a graph, and the addresses that get what is swapped.

use crate::{Result, Source};
use alloy_primitives::Address;
use std::collections::{BTreeMap, BTreeSet};
use txgraph_graph::{
    Expansion, Nettings, SearchRequest, TransferGraph,
    petgraph::{Incoming, Outgoing},
    read_nettings, same_chain, search,
};
use txgraph_transfers::{Direction, TransferSource};

/// Searches, reads all transfers of the transactions in which an address of the graph sends something, and
/// searches again around the addresses that get what is swapped, until there are no more of them.
///
/// This is not the search of [`SearchRequest::through_swaps`], because hops differ:
///
/// - Hops are between addresses here, so a swap is none, and the hops of who gets what another address
///   swapped are counted from there again. There, each swap is a hop.
/// - There, an address is expanded for each token by itself, and a bound on hops can end it for one token
///   only. Its vertex says that it ended, but taint and ranks follow what it has of the other tokens.
///
/// Without a bound on hops, either graph leads to the same amounts and scores.
pub(in crate::query) fn search_through(
    source: &Source,
    from: &dyn TransferSource,
    request: &SearchRequest,
) -> Result<(TransferGraph, Nettings)> {
    let mut around = request.clone();
    let mut before: Option<TransferGraph> = None;
    let mut found = Nettings::new();
    let mut graph = loop {
        let mut graph = search(from, &around)?;
        end_takers(&mut graph, request);
        source.check_interrupted()?;
        if let Some(before) = &before {
            same_chain(&before.scan, &graph.scan)?;
        }
        let edges = graph.graph.edge_weights();
        let transfers = edges.map(|edge| &edge.transfer);
        read_nettings(from, request, transfers, &mut found)?;
        // Only transfers of pools lead to them, and pools are not followed.
        let takers = takers(&graph, &found);
        if takers.is_empty() {
            break graph;
        }
        around.roots.extend(takers);
        before = Some(graph);
    };
    let takers: BTreeSet<_> = around.roots[request.roots.len()..].iter().collect();
    let mut roots = std::mem::take(&mut graph.roots);
    roots.retain(|id| {
        let vertex = &mut graph.graph[*id];
        let is_taker = takers.contains(&vertex.address);
        if is_taker {
            vertex.hop = 1;
        }
        !is_taker
    });
    graph.roots = roots;
    Ok((graph, found))
}

/// Marks the roots that only the search here has: the stop list and hubs hold for them, too.
fn end_takers(graph: &mut TransferGraph, request: &SearchRequest) {
    for id in graph.roots.clone() {
        let address = graph.graph[id].address;
        if request.roots.contains(&address) {
            continue;
        }
        let ways = match request.direction {
            Direction::Out => &[Outgoing][..],
            Direction::In => &[Incoming],
            Direction::Both => &[Outgoing, Incoming],
        };
        let ends = ways.iter();
        let ends = ends.flat_map(|way| graph.graph.neighbors_directed(id, *way));
        let ends: BTreeSet<_> = ends.filter(|end| *end != id).collect();
        let is_hub = |max: u32| ends.len() as u64 > u64::from(max);
        if request.stop_at.contains(&address) {
            graph.graph[id].expansion = Expansion::StopList;
        } else if request.max_degree.is_some_and(is_hub) {
            graph.graph[id].expansion = Expansion::Hub;
        }
    }
}

/// The addresses that get what an expanded address swaps, and to which no transfer of the graph leads.
fn takers(graph: &TransferGraph, swaps: &Nettings) -> BTreeSet<Address> {
    let vertices = graph.graph.node_weights();
    let vertices: BTreeMap<_, _> = vertices.map(|it| (it.address, it.expansion)).collect();
    let swaps = swaps.values().flat_map(|netting| &netting.swaps);
    swaps
        .filter(|it| vertices.get(&it.address) == Some(&Expansion::Expanded))
        .map(|it| it.to)
        .filter(|to| !vertices.contains_key(to) && !to.is_zero())
        .collect()
}
