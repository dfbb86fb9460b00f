//! Who an address exchanges tokens with: its transfers, merged by counterparty and token.

use super::{retry::retry_on_reorg, transfers::Transfers};
use crate::{Result, Selection, Source, select::selection_methods};
use alloy_primitives::Address;
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::ControlFlow,
};
use txgraph_analysis::{PairOrder, PairSettings, first_pairs};
use txgraph_graph::{AmountSum, Asset, Merger, StoredEdge, scan};
use txgraph_transfers::{
    BlockRange, BlockRanges, Direction, ScanReport, ScanRequest, SourceError, Transfer,
    TransferSource,
};

/// Asks who an address exchanges tokens with. See [`Source::neighbors`].
#[derive(Clone, Debug)]
#[must_use = "a query is run by `run`"]
pub struct Neighbors<'s> {
    source: &'s Source,
    address: Address,
    selection: Selection,
    direction: Direction,
    limit: usize,
}

/// The edges between an address and its counterparties.
#[derive(Clone, Debug)]
pub struct NeighborEdges {
    /// The edges with the most transfers, in the order of [`PairOrder::Count`].
    pub edges: Vec<NeighborEdge>,
    /// The number of other edges.
    pub more: u64,
    /// The report of the scan, with gaps.
    pub scan: ScanReport,
}

/// All transfers of an asset from one address to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeighborEdge {
    /// The sender.
    pub from: Address,
    /// The receiver.
    pub to: Address,
    /// The asset.
    pub asset: Asset,
    /// The number of transfers.
    pub count: u64,
    /// The sum of their amounts.
    pub sum: AmountSum,
    /// The first of them.
    pub first: Transfer,
    /// The last of them.
    pub last: Transfer,
}

impl Source {
    /// Asks who an address exchanges tokens with. Transfers are merged while they are read, so the
    /// memory depends on the number of counterparties and tokens, not on the number of transfers.
    pub fn neighbors(&self, address: Address) -> Neighbors<'_> {
        Neighbors {
            source: self,
            address,
            selection: Selection::default(),
            direction: Direction::Both,
            limit: usize::MAX,
        }
    }
}

impl Neighbors<'_> {
    selection_methods!(selection);

    /// Only what the address sends (`Out`) or receives (`In`); default: both.
    pub const fn direction(mut self, direction: Direction) -> Self {
        self.direction = direction;
        self
    }

    /// The number of edges; default: all.
    pub const fn limit(mut self, edges: usize) -> Self {
        self.limit = edges;
        self
    }

    /// Reads the transfers and merges them. Starts again when the chain is reorganized in the
    /// meantime.
    ///
    /// # Errors
    ///
    /// If the query is wrong, or reading fails.
    pub fn run(self) -> Result<NeighborEdges> {
        let transfers = Transfers::new(self.source)
            .select(self.selection)
            .address(self.address)
            .direction(self.direction);
        let query = transfers.prepare()?.numbers_only();
        let request = query.request();
        let from = self.source.transfer_source(&request.filter)?;
        let mut found = retry_on_reorg(self.source, || {
            let (edges, more, report) = merged(&*from, request, self.limit)?;
            let edges = placed(&*from, request, &edges)?;
            // The second scan read only some of the blocks: the last block of the first one shows
            // whether both are of one chain.
            check_last(&*from, &report)?;
            Ok(NeighborEdges {
                edges,
                more,
                scan: report,
            })
        })?;
        found.scan.caveats.extend(query.cut().map(str::to_owned));
        self.source.check_interrupted()?;
        Ok(found)
    }
}

/// The strongest edges, the number of the others, and the report of the scan.
fn merged(
    from: &dyn TransferSource,
    request: &ScanRequest,
    limit: usize,
) -> Result<(Vec<StoredEdge>, u64, ScanReport)> {
    let mut merger = Merger::default();
    let report = scan(from, request, |batch| merger.add(batch))?;
    let graph = merger.finish()?;
    let edges: Vec<_> = graph.edges().map(|edge| graph.stored(&edge)).collect();
    let total = edges.len();
    let settings = PairSettings {
        order: PairOrder::Count,
        limit: Some(limit),
    };
    let edges = first_pairs(edges, &settings);
    let more = (total - edges.len()) as u64;
    Ok((edges, more, report))
}

/// Adds the first and the last transfer of each edge, with their times and transactions. They are
/// read again, from their blocks alone.
fn placed(
    from: &dyn TransferSource,
    request: &ScanRequest,
    edges: &[StoredEdge],
) -> Result<Vec<NeighborEdge>> {
    if edges.is_empty() {
        return Ok(Vec::new());
    }
    let ends = edges.iter().flat_map(|edge| [edge.first.0, edge.last.0]);
    let blocks: BTreeSet<u64> = ends.collect();
    let request = ScanRequest {
        blocks: BlockRanges::new(blocks.into_iter().map(BlockRange::one).collect()),
        with_times: true,
        with_hashes: true,
        ..request.clone()
    };
    let mut wanted: BTreeMap<Key, (Option<Transfer>, Option<Transfer>)> =
        edges.iter().map(|it| (key(it), (None, None))).collect();
    let mut note = |transfer: Transfer| {
        let ends = (
            transfer.from_address,
            transfer.to_address,
            Asset::of(&transfer),
        );
        if let Some((first, last)) = wanted.get_mut(&ends) {
            first.get_or_insert_with(|| transfer.clone());
            *last = Some(transfer);
        }
    };
    from.scan(&request, &mut |batch| {
        batch.transfers.into_iter().for_each(&mut note);
        ControlFlow::Continue(())
    })?;
    let placed = edges.iter().map(|edge| {
        let found = wanted.get(&key(edge)).cloned();
        match found {
            Some((Some(first), Some(last)))
                if (first.block_number, last.block_number) == (edge.first.0, edge.last.0) =>
            {
                Ok(NeighborEdge {
                    from: edge.from,
                    to: edge.to,
                    asset: edge.asset,
                    count: edge.count,
                    sum: edge.sum,
                    first,
                    last,
                })
            }
            _ => Err(SourceError::Reorged {
                block: edge.first.0,
            }
            .into()),
        }
    });
    placed.collect()
}

/// Sender, receiver and asset of an edge.
type Key = (Address, Address, Asset);

const fn key(edge: &StoredEdge) -> Key {
    (edge.from, edge.to, edge.asset)
}

/// Refuses a result whose last block was replaced.
pub(super) fn check_last(from: &dyn TransferSource, report: &ScanReport) -> Result<()> {
    let (Some(span), Some(hash)) = (report.covered.span(), report.last_block_hash) else {
        return Ok(());
    };
    match from.canonical_hash(span.last)? {
        Some(now) if now != hash => Err(SourceError::Reorged { block: span.last }.into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use txgraph_graph::testing::{MemorySource, address, transfers};

    #[test]
    fn edges_are_the_strongest_with_their_first_and_last_transfers() {
        let all = transfers("a>b:5 b>a:1 a>b:7 a>c:2 a>d:3 d>b:9 a>d:1 a>b:1");
        let source = MemorySource::new(all.clone());
        let request = ScanRequest {
            blocks: source.available.clone(),
            ..ScanRequest::default()
        };
        let (edges, more, _) = merged(&source, &request, 2).unwrap();
        let edges = placed(&source, &request, &edges).unwrap();
        assert_eq!(more, 3);
        let ends: Vec<_> = edges.iter().map(|it| (it.to, it.count)).collect();
        assert_eq!(ends, [(address("b"), 3), (address("d"), 2)]);
        assert_eq!(edges[0].sum, AmountSum::from(13));
        assert_eq!(edges[0].first.block_number, all[0].block_number);
        assert_eq!(edges[0].last.block_number, all[7].block_number);
        let (all, none, _) = merged(&source, &request, 99).unwrap();
        assert_eq!((all.len(), none), (5, 0));
    }
}
