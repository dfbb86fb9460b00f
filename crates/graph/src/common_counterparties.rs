//! Counterparties that several addresses have in common.

use crate::{
    HUB_COUNTERPARTIES, LimitHit, SearchError, SearchRequest, hubs::counterparty_counts, search,
};
use alloy_primitives::Address;
use std::{cmp::Reverse, collections::BTreeMap};
use txgraph_transfers::{Direction, ScanReport, Transfer, TransferSource};

/// Counterparties that all roots of a request have.
#[derive(Clone, Debug)]
pub struct CommonCounterparties {
    /// The counterparties, most transfers first; ties by the lower address.
    pub counterparties: Vec<CommonCounterparty>,
    /// Limits that were reached. With any, there may be more.
    pub limits: Vec<LimitHit>,
    /// The report of the scan, with gaps.
    pub scan: ScanReport,
}

/// An address that all roots sent to or received from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommonCounterparty {
    /// The address.
    pub address: Address,
    /// Its transfers with each root, by the address of the root.
    pub with: BTreeMap<Address, TransferCounts>,
    /// The number of its own counterparties in the wanted transfers; `None` if there are more than
    /// [`HUB_COUNTERPARTIES`](crate::HUB_COUNTERPARTIES). The contact with a service that many use says little.
    pub counterparties: Option<u64>,
}

/// The transfers of an amount between a root and a counterparty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransferCounts {
    /// The number from the root to the counterparty.
    pub sent: u64,
    /// The number from the counterparty to the root.
    pub received: u64,
    /// The block of the first one in either direction.
    pub first_block: u64,
    /// The block of the last one in either direction.
    pub last_block: u64,
}

/// Finds the counterparties that all roots of `request` have. Its direction, hops and order in
/// time are not used. A root is a counterparty of the others, but not of itself. The zero address,
/// which every mint comes from, is one only with `expand_zero`. Transfers of no amount do not count: anyone can
/// emit them in the name of others (address poisoning).
///
/// # Errors
///
/// As for [`search`]. [`SearchError::Request`] for fewer than two roots.
pub fn common_counterparties(
    source: &dyn TransferSource,
    request: &SearchRequest,
) -> Result<CommonCounterparties, SearchError> {
    let roots = request.checked_roots()?;
    if roots.len() < 2 {
        let problem = "counterparties in common need two addresses or more";
        return Err(SearchError::Request(problem.into()));
    }
    let one_hop = SearchRequest {
        roots: roots.clone(),
        direction: Direction::Both,
        hops: Some(1),
        time_respecting: false,
        through_swaps: false,
        ..request.clone()
    };
    let graph = search(source, &one_hop)?;
    let mut all: BTreeMap<Address, BTreeMap<Address, TransferCounts>> = BTreeMap::new();
    let mut exchanged =
        |root: Address, other: Address, block: u64, count: fn(&mut TransferCounts) -> &mut u64| {
            let is_wanted = !other.is_zero() || request.expand_zero;
            if root != other && is_wanted && roots.binary_search(&root).is_ok() {
                let counts = all.entry(other).or_default().entry(root);
                let counts = counts.or_insert_with(|| TransferCounts {
                    first_block: block,
                    ..TransferCounts::default()
                });
                counts.first_block = counts.first_block.min(block);
                counts.last_block = counts.last_block.max(block);
                *count(counts) += 1;
            }
        };
    for edge in graph.graph.raw_edges() {
        let Transfer {
            from_address: from,
            to_address: to,
            block_number: block,
            value,
            ..
        } = edge.weight.transfer;
        if value.is_zero() {
            continue;
        }
        exchanged(from, to, block, |it| &mut it.sent);
        exchanged(to, from, block, |it| &mut it.received);
    }
    let mut counterparties: Vec<_> = all
        .into_iter()
        .filter(|(_, with)| with.len() == roots.len())
        .map(|(address, with)| CommonCounterparty {
            address,
            with,
            counterparties: None,
        })
        .collect();
    // Stable, so equals stay in the order of addresses.
    counterparties.sort_by_key(|it| {
        let transfers = it.with.values().map(|it| it.sent + it.received);
        Reverse(transfers.sum::<u64>())
    });
    let all: Vec<_> = counterparties.iter().map(|it| it.address).collect();
    let counts = counterparty_counts(source, &one_hop, &all, HUB_COUNTERPARTIES, &graph.scan)?;
    for it in &mut counterparties {
        it.counterparties = counts.get(&it.address).copied();
    }
    Ok(CommonCounterparties {
        counterparties,
        limits: graph.limits,
        scan: graph.scan,
    })
}
