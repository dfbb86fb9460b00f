//! Scans into row stores.

use crate::{
    SearchError, SearchRequest, plan,
    rows::{Names, RowStore},
};
use alloy_primitives::{Address, map::HashSet};
use std::ops::ControlFlow;
use txgraph_transfers::{
    Direction, Position, ScanReport, ScanRequest, Transfer, TransferFilter, TransferSource,
};

/// Transfers in memory.
#[derive(Debug, Default)]
pub(crate) struct Fetched {
    pub(crate) rows: RowStore,
    pub(crate) report: ScanReport,
    /// Whether these are all transfers, or only those that touch what was asked for.
    pub(crate) whole: bool,
    /// Addresses asked for that have too many counterparties; their rows may be missing.
    pub(crate) hubs: HashSet<u32>,
}

/// Fetches everything, or what touches the roots if that does not fit in memory.
pub(crate) fn fetch_all(
    source: &dyn TransferSource,
    request: &SearchRequest,
    roots: &[Address],
    names: &mut Names,
) -> Result<Fetched, SearchError> {
    let mut rows = RowStore::default();
    let mut whole = true;
    // For `wants_ends` only: the scan has applied all else.
    let of_roots = plan::scan_request(request, Some(roots)).filter;
    let scan_request = plan::scan_request(request, None);
    let report = scan(source, &scan_request, |transfer| {
        if !whole {
            if of_roots.wants_ends(&transfer.from_address, &transfer.to_address) {
                rows.push(transfer, names)?;
            }
            return Ok(());
        }
        rows.push(transfer, names)?;
        if !plan::fits(request, &rows, names) {
            tracing::info!(
                transfers = rows.len(),
                block = transfer.block_number,
                memory_bytes_max = request.memory_bytes_max,
                "transfers do not fit in memory; scanning once per hop"
            );
            (rows, *names) = only(&of_roots, &rows, names, roots)?;
            whole = false;
        }
        Ok(())
    })?;
    Ok(Fetched {
        rows,
        report,
        whole,
        hubs: HashSet::default(),
    })
}

/// The rows that `filter` wants, without the names that only others had.
fn only(
    filter: &TransferFilter,
    rows: &RowStore,
    names: &Names,
    roots: &[Address],
) -> Result<(RowStore, Names), SearchError> {
    let mut kept = (RowStore::default(), Names::with_addresses(roots)?);
    for row in (0..).take(rows.len()) {
        let transfer = rows.transfer(row, names);
        if filter.wants_ends(&transfer.from_address, &transfer.to_address) {
            kept.0.push(&transfer, &mut kept.1)?;
        }
    }
    Ok(kept)
}

/// Fetches what touches these addresses. Of addresses with more than `degree_max`
/// counterparties it stops keeping transfers, so that a hub with millions of them
/// costs no more than its limit.
pub(crate) fn fetch_touching(
    source: &dyn TransferSource,
    request: &SearchRequest,
    addresses: &[Address],
    degree_max: Option<u32>,
    names: &mut Names,
) -> Result<Fetched, SearchError> {
    let mut rows = RowStore::default();
    let mut degrees = match degree_max {
        Some(max) => Some(Degrees::new(max, request.direction, addresses, names)?),
        None => None,
    };
    let mut scan_request = plan::scan_request(request, Some(addresses));
    let mut hubs = HashSet::default();
    if let Some(max) = degree_max {
        // Those that the source names need not even be asked for.
        for hub in source.hubs(&scan_request, max)? {
            hubs.insert(names.addresses.intern(hub)?);
            if let Some(touching) = &mut scan_request.filter.touching {
                touching.addresses.remove(&hub);
            }
        }
    }
    let report = scan(source, &scan_request, |transfer| {
        if let Some(degrees) = &mut degrees
            && !degrees.wants(transfer, names)?
        {
            return Ok(());
        }
        rows.push(transfer, names)
    })?;
    if let Some(degrees) = degrees {
        hubs.extend(degrees.hubs());
    }
    Ok(Fetched {
        rows,
        report,
        whole: false,
        hubs,
    })
}

/// Counts counterparties while transfers pass by, so that no more is kept of a hub than
/// twice its limit. Who is one is decided by what was kept ([`crate::walk`]).
struct Degrees {
    max: u32,
    direction: Direction,
    /// By number of an address; absent if it was not asked for.
    asked: Vec<Option<Degree>>,
    /// (address asked for, counterparty).
    seen: HashSet<(u32, u32)>,
}

/// What was seen of an address that was asked for.
#[derive(Clone, Copy, Debug, Default)]
struct Degree {
    /// The first transfers, up to the limit: it has no more counterparties than these, so
    /// theirs are not looked at. Nearly all addresses have no others.
    first_transfers: u32,
    /// Counterparties of the others.
    later: u32,
}

impl Degrees {
    fn new(
        max: u32,
        direction: Direction,
        addresses: &[Address],
        names: &mut Names,
    ) -> Result<Self, SearchError> {
        let mut asked = Vec::new();
        for address in addresses {
            let number = names.addresses.intern(*address)? as usize;
            if asked.len() <= number {
                asked.resize(number + 1, None);
            }
            asked[number] = Some(Degree::default());
        }
        Ok(Self {
            max,
            direction,
            asked,
            seen: HashSet::default(),
        })
    }

    /// Whether an end that was asked for is not known as a hub.
    fn wants(&mut self, transfer: &Transfer, names: &mut Names) -> Result<bool, SearchError> {
        let (from, to) = (transfer.from_address, transfer.to_address);
        let ends: &[(Address, Address)] = match self.direction {
            Direction::Out => &[(from, to)],
            Direction::In => &[(to, from)],
            Direction::Both => &[(from, to), (to, from)],
        };
        let mut wanted = false;
        for (start, end) in ends {
            let Some(start) = names.addresses.get(start) else {
                continue;
            };
            let Some(Some(degree)) = self.asked.get_mut(start as usize) else {
                continue;
            };
            if degree.later > self.max {
                continue;
            }
            if degree.first_transfers < self.max {
                degree.first_transfers += 1;
                wanted = true;
                continue;
            }
            let end = names.addresses.intern(*end)?;
            if end != start && self.seen.insert((start, end)) {
                degree.later += 1;
            }
            wanted |= degree.later <= self.max;
        }
        Ok(wanted)
    }

    fn hubs(self) -> impl Iterator<Item = u32> {
        let is_hub = move |degree: &Degree| degree.later > self.max;
        (0..)
            .zip(self.asked)
            .filter(move |(_, degree)| degree.as_ref().is_some_and(is_hub))
            .map(|(number, _)| number)
    }
}

/// Hands every transfer to `take`, which may fail.
fn scan(
    source: &dyn TransferSource,
    request: &ScanRequest,
    mut take: impl FnMut(&Transfer) -> Result<(), SearchError>,
) -> Result<ScanReport, SearchError> {
    let mut failed = None;
    let mut last: Option<Position> = None;
    let report = source.scan(request, &mut |batch| {
        for transfer in &batch.transfers {
            let after = transfer.position();
            let taken = match last.replace(after) {
                Some(before) if before >= after => Err(SearchError::Order { before, after }),
                _ => take(transfer),
            };
            if let Err(error) = taken {
                failed = Some(error);
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    })?;
    failed.map_or(Ok(report), Err)
}
