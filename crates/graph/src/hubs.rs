//! Addresses with many counterparties.

use crate::{SearchError, SearchRequest, plan::scan_request, same_chain, scan};
use alloy_primitives::{
    Address,
    map::{HashMap, HashSet},
};
use txgraph_transfers::{Direction, ScanReport, TransferSource};

/// An address with more counterparties is taken for a service that many use. That two addresses use
/// the same service says little about them.
pub const HUB_COUNTERPARTIES: u32 = 500;

/// The numbers of counterparties of addresses, in either direction; addresses with more than `most` are left
/// out. `before`: the report of an earlier scan, which must be of the same chain.
///
/// # Errors
///
/// If reading fails.
pub(crate) fn counterparty_counts(
    source: &dyn TransferSource,
    request: &SearchRequest,
    addresses: &[Address],
    most: u32,
    before: &ScanReport,
) -> Result<HashMap<Address, u64>, SearchError> {
    if addresses.is_empty() {
        return Ok(HashMap::default());
    }
    let request = &SearchRequest {
        direction: Direction::Both,
        ..request.clone()
    };
    // An index knows most hubs, whose transfers need not be read.
    let hubs = source.hubs(&scan_request(request, Some(addresses)), most)?;
    let others: Vec<_> = (addresses.iter().copied())
        .filter(|address| hubs.binary_search(address).is_err())
        .collect();
    if others.is_empty() {
        return Ok(HashMap::default());
    }
    let mut counterparties: HashMap<Address, HashSet<Address>> =
        others.iter().map(|it| (*it, HashSet::default())).collect();
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let report = scan(source, &scan_request(request, Some(&others)), |batch| {
        for it in batch {
            for (own, other) in [
                (it.from_address, it.to_address),
                (it.to_address, it.from_address),
            ] {
                if let Some(all) = counterparties.get_mut(&own)
                    && own != other
                    && all.len() <= most
                {
                    all.insert(other);
                }
            }
        }
        Ok(())
    })?;
    same_chain(before, &report)?;
    let degrees = counterparties.into_iter();
    Ok(degrees
        .filter(|(_, all)| all.len() <= most)
        .map(|(address, all)| (address, all.len() as u64))
        .collect())
}
