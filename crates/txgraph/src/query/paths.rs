//! How transfers lead from one address to another, and counterparties in common.

use super::{retry::retry_on_reorg, search::PreparedSearch};
use crate::Result;
use alloy_primitives::Address;
use txgraph_graph::{
    CommonCounterparties, Continuation, Leg, TransferPaths, common_counterparties, legs,
    transfer_paths,
};
use txgraph_transfers::Transfer;

impl PreparedSearch<'_> {
    /// Finds the shortest route of transfers from the root to `to`, and in a time-respecting
    /// search the one that arrives first. `continuation` says how a route goes on from a transfer to
    /// the next one. The hops bound its length. The direction is not used.
    ///
    /// # Errors
    ///
    /// If there is not exactly one root, if it equals `to`, or if reading fails.
    pub fn paths_to(&self, to: Address, continuation: Continuation) -> Result<TransferPaths> {
        let (source, request) = (self.source, &self.request);
        let from = source.transfer_source(&request.filter)?;
        let mut found = retry_on_reorg(source, || {
            Ok(source.install(|| transfer_paths(&*from, request, to, continuation))??)
        })?;
        found.scan.caveats.extend(self.cut.clone());
        source.check_interrupted()?;
        Ok(found)
    }

    /// Finds the counterparties that all roots have. Hops and direction are not used.
    ///
    /// # Errors
    ///
    /// If there are fewer than two roots, or if reading fails.
    pub fn common_counterparties(&self) -> Result<CommonCounterparties> {
        let (source, request) = (self.source, &self.request);
        let from = source.transfer_source(&request.filter)?;
        let mut found = retry_on_reorg(source, || {
            Ok(source.install(|| common_counterparties(&*from, request))??)
        })?;
        found.scan.caveats.extend(self.cut.clone());
        source.check_interrupted()?;
        Ok(found)
    }
}

/// Sentences on what a route shows of an amount, and what it does not. `amount` formats the amount of
/// a leg.
pub fn route_remarks(route: &[Transfer], amount: impl Fn(&Leg) -> String) -> Vec<String> {
    let mut remarks = Vec::new();
    for (number, leg) in legs(route).iter().enumerate() {
        let (first, last) = (leg.transfers.start + 1, leg.transfers.end);
        if number > 0 {
            let transfer = &route[leg.transfers.start];
            let before = first - 1;
            remarks.push(match leg.is_swapped {
                true => format!(
                    "transfers {before} and {first} are of one transaction, {}:{}: a swap at {}, or payments of \
                     a batch that do not belong together",
                    transfer.block_number, transfer.transaction_index, transfer.from_address
                ),
                false => format!(
                    "transfer {first} is of another token, in another transaction: the addresses \
                     are in contact, but nothing shows that the amount went on"
                ),
            });
        }
        if last > first {
            let most = amount(leg);
            remarks.push(format!(
                "at most {most} can have gone from transfer {first} to {last}"
            ));
        }
    }
    remarks
}
