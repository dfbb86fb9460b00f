//! How transfers lead from one address to another, and counterparties in common.

use super::{retry::retry_on_reorg, search::PreparedSearch};
use crate::Result;
use alloy_primitives::Address;
use txgraph_graph::{CommonCounterparties, TransferPaths, common_counterparties, transfer_paths};
use txgraph_transfers::Transfer;

impl PreparedSearch<'_> {
    /// Finds the shortest route of transfers from the root to `to`, and in a time-respecting
    /// search the one that arrives first. The hops bound its length. The direction is not used.
    ///
    /// # Errors
    ///
    /// If there is not exactly one root, if it equals `to`, or if reading fails.
    pub fn paths_to(&self, to: Address) -> Result<TransferPaths> {
        let (source, request) = (self.source, &self.request);
        let from = source.transfer_source(&request.filter)?;
        let mut found = retry_on_reorg(source, || {
            Ok(source.install(|| transfer_paths(&*from, request, to))??)
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

/// Why a route of transfers need not be the way of one amount, in sentences.
pub fn route_remarks(route: &[Transfer]) -> Vec<String> {
    let place = |transfer: &Transfer| (transfer.block_number, transfer.transaction_index);
    let mut remarks = Vec::new();
    for (number, pair) in (2..).zip(route.windows(2)) {
        let [before, after] = pair else { continue };
        let before_token = (before.token_address, before.token_id);
        let is_same = before_token == (after.token_address, after.token_id);
        if !is_same && place(before) != place(after) {
            remarks.push(format!(
                "transfer {number} is of another token, in another transaction: the addresses are in \
                 contact, but nothing shows that the amount went on"
            ));
        } else if is_same && after.value > before.value {
            remarks.push(format!(
                "transfer {number} moves more than arrived by transfer {}",
                number - 1
            ));
        }
    }
    remarks
}
