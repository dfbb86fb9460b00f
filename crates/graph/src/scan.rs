//! Scans a source into row stores.

use crate::{
    SearchError, SearchRequest, plan,
    rows::{Interned, RowStore},
};
use alloy_primitives::{Address, map::HashSet};
use std::ops::ControlFlow;
use txgraph_transfers::{
    Direction, Position, ScanReport, ScanRequest, Transfer, TransferFilter, TransferSource,
};

/// The transfers of one scan.
#[derive(Debug, Default)]
pub(crate) struct Fetched {
    pub(crate) rows: RowStore,
    pub(crate) report: ScanReport,
    /// Whether these are all transfers, or only transfers of the requested addresses.
    pub(crate) whole: bool,
    /// Requested addresses with too many counterparties; some of their rows may be missing.
    pub(crate) hubs: HashSet<u32>,
}

/// Fetches all transfers, or only the roots' transfers if all do not fit in memory.
pub(crate) fn fetch_all(
    source: &dyn TransferSource,
    request: &SearchRequest,
    roots: &[Address],
    interned: &mut Interned,
) -> Result<Fetched, SearchError> {
    let mut rows = RowStore::default();
    let mut whole = true;
    // For `matches_ends` only: the scan applies the rest of the filter.
    let of_roots = plan::scan_request(request, Some(roots)).filter;
    let scan_request = plan::scan_request(request, None);
    let mut take = |transfer: &Transfer| {
        if !whole {
            if of_roots.matches_ends(&transfer.from_address, &transfer.to_address) {
                rows.push(transfer, interned)?;
            }
            return Ok(());
        }
        rows.push(transfer, interned)?;
        if !plan::fits(request, &rows, interned) {
            tracing::info!(
                transfers = rows.len(),
                block = transfer.block_number,
                memory_bytes_max = request.memory_bytes_max,
                "transfers do not fit in memory; scanning once per hop"
            );
            (rows, *interned) = only(&of_roots, &rows, interned, roots)?;
            whole = false;
        }
        Ok(())
    };
    let report = scan(source, &scan_request, |batch| {
        batch.iter().try_for_each(&mut take)
    })?;
    Ok(Fetched {
        rows,
        report,
        whole,
        hubs: HashSet::default(),
    })
}

/// Copies the rows that `filter` wants, without interned values of other rows.
fn only(
    filter: &TransferFilter,
    rows: &RowStore,
    interned: &Interned,
    roots: &[Address],
) -> Result<(RowStore, Interned), SearchError> {
    let mut copied = (RowStore::default(), Interned::with_addresses(roots)?);
    for row in (0..).take(rows.len()) {
        let transfer = rows.transfer(row, interned);
        if filter.matches_ends(&transfer.from_address, &transfer.to_address) {
            copied.0.push(&transfer, &mut copied.1)?;
        }
    }
    Ok(copied)
}

/// Fetches the transfers of these addresses. It stops storing transfers of addresses with more
/// than `degree_max` counterparties, so that a hub with millions of transfers costs no more
/// than its limit.
pub(crate) fn fetch_touching(
    source: &dyn TransferSource,
    request: &SearchRequest,
    addresses: &[Address],
    degree_max: Option<u32>,
    interned: &mut Interned,
) -> Result<Fetched, SearchError> {
    let mut rows = RowStore::default();
    let mut degrees = match degree_max {
        Some(max) => {
            let mut degrees = Degrees::new(max, request.direction, addresses, interned)?;
            // A search through swaps reads roots again, for other tokens.
            for root in &request.roots {
                degrees.exempt(interned.addresses.intern(*root)?);
            }
            Some(degrees)
        }
        None => None,
    };
    let mut scan_request = plan::scan_request(request, Some(addresses));
    let mut hubs = HashSet::default();
    // A root can be an exchange. Less memory than the default decides only how often blocks are read.
    let bytes_max = (request.memory_bytes_max).max(SearchRequest::MEMORY_BYTES_MAX_DEFAULT);
    if let Some(max) = degree_max {
        // Hubs that the source knows need not be requested.
        let hubs_known = source.hubs(&scan_request, max)?.into_iter();
        for hub in hubs_known.filter(|hub| !request.roots.contains(hub)) {
            hubs.insert(interned.addresses.intern(hub)?);
            if let Some(touching) = &mut scan_request.filter.touching {
                touching.addresses.remove(&hub);
            }
        }
    }
    let report = scan(source, &scan_request, |batch| {
        let mut wanted = Vec::with_capacity(batch.len());
        match &mut degrees {
            None => wanted.extend(batch),
            Some(degrees) => {
                for transfer in batch {
                    if degrees.matches(transfer, interned)? {
                        wanted.push(transfer);
                    }
                }
            }
        }
        rows.push_all(&wanted, interned)?;
        match (rows.bytes() + interned.bytes()) as u64 > bytes_max {
            false => Ok(()),
            true => Err(SearchError::TooLarge {
                what: "transfers of one hop for the memory that is allowed",
            }),
        }
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

/// Counts counterparties during a scan, so that at most twice the limit is stored of a hub.
/// The stored rows decide whether an address is a hub ([`crate::expand`]).
struct Degrees {
    max: u32,
    direction: Direction,
    /// By number of an address; `None` if it was not requested.
    requested: Vec<Option<Degree>>,
    /// (requested address, counterparty).
    seen: HashSet<(u32, u32)>,
}

/// Counts of a requested address.
#[derive(Clone, Copy, Debug, Default)]
struct Degree {
    /// The number of its first transfers, up to the limit. They have no more counterparties
    /// than that, so those are not examined. Nearly all addresses have no other transfers.
    first_transfers: u32,
    /// Counterparties of its other transfers.
    later: u32,
    /// Whether they are not counted.
    is_exempt: bool,
}

impl Degrees {
    fn new(
        max: u32,
        direction: Direction,
        addresses: &[Address],
        interned: &mut Interned,
    ) -> Result<Self, SearchError> {
        let mut requested = Vec::new();
        for address in addresses {
            let number = interned.addresses.intern(*address)? as usize;
            if requested.len() <= number {
                requested.resize(number + 1, None);
            }
            requested[number] = Some(Degree::default());
        }
        Ok(Self {
            max,
            direction,
            requested,
            seen: HashSet::default(),
        })
    }

    /// All transfers of this address are wanted, if it was requested.
    fn exempt(&mut self, number: u32) {
        if let Some(Some(degree)) = self.requested.get_mut(number as usize) {
            degree.is_exempt = true;
        }
    }

    /// Whether a requested end of the transfer is not known as a hub.
    fn matches(
        &mut self,
        transfer: &Transfer,
        interned: &mut Interned,
    ) -> Result<bool, SearchError> {
        let (from, to) = (transfer.from_address, transfer.to_address);
        let ends: &[(Address, Address)] = match self.direction {
            Direction::Out => &[(from, to)],
            Direction::In => &[(to, from)],
            Direction::Both => &[(from, to), (to, from)],
        };
        let mut wanted = false;
        for (start, end) in ends {
            let Some(start) = interned.addresses.get(start) else {
                continue;
            };
            let Some(Some(degree)) = self.requested.get_mut(start as usize) else {
                continue;
            };
            if degree.is_exempt {
                wanted = true;
                continue;
            }
            if degree.later > self.max {
                continue;
            }
            if degree.first_transfers < self.max {
                degree.first_transfers += 1;
                wanted = true;
                continue;
            }
            let end = interned.addresses.intern(*end)?;
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
            .zip(self.requested)
            .filter(move |(_, degree)| degree.as_ref().is_some_and(is_hub))
            .map(|(number, _)| number)
    }
}

/// Scans, and passes the transfers of every batch to `take`, which may fail.
///
/// # Errors
///
/// [`SearchError::Order`] if the transfers are not in total order, and the errors of the
/// source and of `take`.
pub fn scan(
    source: &dyn TransferSource,
    request: &ScanRequest,
    mut take: impl FnMut(&[Transfer]) -> Result<(), SearchError>,
) -> Result<ScanReport, SearchError> {
    let mut failed = None;
    let mut last: Option<Position> = None;
    let report = source.scan(request, &mut |batch| {
        let order = batch.transfers.iter().try_for_each(|transfer| {
            let after = transfer.position();
            match last.replace(after) {
                Some(before) if before >= after => Err(SearchError::Order { before, after }),
                _ => Ok(()),
            }
        });
        match order.and_then(|()| take(&batch.transfers)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        }
    })?;
    failed.map_or(Ok(report), Err)
}
