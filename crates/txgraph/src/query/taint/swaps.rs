//! Finds the swaps of a graph, and the addresses that get what is swapped.

use crate::{Result, Source, query::search::scan_request};
use alloy_primitives::Address;
use std::collections::{BTreeMap, BTreeSet};
use txgraph_analysis::{Netting, netting};
use txgraph_graph::{Expansion, SearchRequest, TransferGraph, same_chain, search};
use txgraph_transfers::{BlockRange, ScanRequest, Transfer, TransferSource};

/// The swaps of transactions (block and index).
pub(super) type Nettings = BTreeMap<(u64, u32), Netting>;

/// Searches, reads all transfers of the transactions in which an address of the graph sends something, and
/// searches again around the addresses that get what is swapped, until there are no more of them.
pub(super) fn search_through(
    source: &Source,
    from: &dyn TransferSource,
    request: &SearchRequest,
) -> Result<(TransferGraph, Nettings)> {
    let mut around = request.clone();
    let mut before: Option<TransferGraph> = None;
    let (mut read, mut found) = (BTreeSet::new(), Nettings::new());
    let mut graph = loop {
        let graph = search(from, &around)?;
        source.check_interrupted()?;
        if let Some(before) = &before {
            same_chain(&before.scan, &graph.scan)?;
        }
        let edges = graph.graph.edge_weights();
        let mut wanted: BTreeSet<_> = edges.map(|edge| edge.transfer.transaction()).collect();
        wanted.retain(|transaction| read.insert(*transaction));
        read_swaps(from, request, &wanted, &mut found)?;
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

/// Adds the swaps of these transactions, from all of their transfers.
fn read_swaps(
    from: &dyn TransferSource,
    request: &SearchRequest,
    wanted: &BTreeSet<(u64, u32)>,
    found: &mut Nettings,
) -> Result<()> {
    if wanted.is_empty() {
        return Ok(());
    }
    let blocks = wanted.iter().map(|(block, _)| BlockRange::one(*block));
    let scan = ScanRequest {
        blocks: blocks.collect(),
        with_times: false,
        with_hashes: false,
        ..scan_request(request)
    };
    let mut transaction: Vec<Transfer> = Vec::new();
    let mut close = |transaction: &mut Vec<Transfer>| {
        if let Some(first) = transaction.first() {
            let netting = netting(transaction);
            if netting != Netting::default() {
                found.insert(first.transaction(), netting);
            }
        }
        transaction.clear();
    };
    txgraph_graph::scan(from, &scan, |batch| {
        for transfer in batch {
            let is_next = |first: &Transfer| first.transaction() != transfer.transaction();
            if transaction.first().is_some_and(is_next) {
                close(&mut transaction);
            }
            if wanted.contains(&transfer.transaction()) {
                transaction.push(transfer.clone());
            }
        }
        Ok(())
    })?;
    close(&mut transaction);
    Ok(())
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
