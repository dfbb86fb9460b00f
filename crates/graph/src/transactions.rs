//! Reads the swaps of single transactions.

use crate::{Netting, SearchError, SearchRequest, netting, plan, scan};
use std::collections::BTreeMap;
use txgraph_transfers::{
    BlockRange, ScanRequest, SourceError, Transfer, TransferFilter, TransferSource,
};

/// The swaps of transactions: see [`Transfer::transaction`].
pub type Nettings = BTreeMap<(u64, u32), Netting>;

/// Adds the swaps of the transactions of these transfers, but for those that are there. Swaps are found
/// among all transfers of a transaction, whatever the request filters; those inside of it only if the
/// request asks for them.
///
/// # Errors
///
/// As for a scan. [`SourceError::Reorged`] if a transfer is no longer in its transaction.
pub fn read_nettings<'a>(
    source: &dyn TransferSource,
    request: &SearchRequest,
    transfers: impl IntoIterator<Item = &'a Transfer>,
    nettings: &mut Nettings,
) -> Result<(), SearchError> {
    let mut wanted = BTreeMap::<_, Vec<&Transfer>>::new();
    for transfer in transfers {
        if !nettings.contains_key(&transfer.transaction()) {
            let known = wanted.entry(transfer.transaction()).or_default();
            known.push(transfer);
        }
    }
    if wanted.is_empty() {
        return Ok(());
    }
    let blocks = wanted.keys().map(|(block, _)| BlockRange::one(*block));
    let scan = ScanRequest {
        blocks: blocks.collect(),
        filter: TransferFilter::with_internal(request.filter.internal),
        ..plan::scan_request(request, None)
    };
    let mut transaction: Vec<Transfer> = Vec::new();
    scan::scan(source, &scan, |batch| {
        for transfer in batch {
            let place = transfer.transaction();
            if transaction
                .first()
                .is_some_and(|it| it.transaction() != place)
            {
                close(&mut transaction, &mut wanted, nettings);
            }
            if wanted.contains_key(&place) {
                transaction.push(transfer.clone());
            }
        }
        Ok(())
    })?;
    close(&mut transaction, &mut wanted, nettings);
    match wanted.first_key_value() {
        Some(((block, _), _)) => Err(SourceError::Reorged { block: *block }.into()),
        None => Ok(()),
    }
}

/// Nets a transaction that is read, and takes it off the list if it has the transfers that are known of it.
fn close(
    transaction: &mut Vec<Transfer>,
    wanted: &mut BTreeMap<(u64, u32), Vec<&Transfer>>,
    nettings: &mut Nettings,
) {
    let Some(first) = transaction.first() else {
        return;
    };
    let place = first.transaction();
    let has = |known: &&Transfer| {
        let found = transaction.binary_search_by_key(&known.position(), Transfer::position);
        found.is_ok_and(|at| is_same(&transaction[at], known))
    };
    if wanted
        .get(&place)
        .is_some_and(|known| known.iter().all(has))
    {
        wanted.remove(&place);
        nettings.insert(place, netting(transaction));
    }
    transaction.clear();
}

/// Whether two transfers move the same. Hashes and times are not always read.
fn is_same(one: &Transfer, other: &Transfer) -> bool {
    let moved = |it: &Transfer| {
        (
            it.from_address,
            it.to_address,
            (it.token_address, it.token_id),
            it.value,
        )
    };
    moved(one) == moved(other)
}
