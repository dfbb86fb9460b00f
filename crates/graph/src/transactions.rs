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
    let transfers = transfers.into_iter();
    let unknown: Vec<_> = transfers
        .filter(|it| !nettings.contains_key(&it.transaction()))
        .collect();
    read_transactions(source, request, unknown, |place, transfers| {
        nettings.insert(place, netting(transfers));
        Ok(())
    })
}

/// Reads all transfers of the transactions of these transfers, and passes them to `take`, each
/// transaction once.
///
/// # Errors
///
/// As [`read_nettings`], and the errors of `take`.
pub(crate) fn read_transactions<'a>(
    source: &dyn TransferSource,
    request: &SearchRequest,
    transfers: impl IntoIterator<Item = &'a Transfer>,
    mut take: impl FnMut((u64, u32), &[Transfer]) -> Result<(), SearchError>,
) -> Result<(), SearchError> {
    let mut wanted = BTreeMap::<_, Vec<&Transfer>>::new();
    for transfer in transfers {
        let known = wanted.entry(transfer.transaction()).or_default();
        known.push(transfer);
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
                close(&mut transaction, &mut wanted, &mut take)?;
            }
            if wanted.contains_key(&place) {
                transaction.push(transfer.clone());
            }
        }
        Ok(())
    })?;
    close(&mut transaction, &mut wanted, &mut take)?;
    match wanted.first_key_value() {
        Some(((block, _), _)) => Err(SourceError::Reorged { block: *block }.into()),
        None => Ok(()),
    }
}

/// Passes on a transaction that is read, and takes it off the list, if it has the transfers that are known
/// of it.
fn close(
    transaction: &mut Vec<Transfer>,
    wanted: &mut BTreeMap<(u64, u32), Vec<&Transfer>>,
    take: &mut impl FnMut((u64, u32), &[Transfer]) -> Result<(), SearchError>,
) -> Result<(), SearchError> {
    let Some(first) = transaction.first() else {
        return Ok(());
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
        take(place, transaction)?;
    }
    transaction.clear();
    Ok(())
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
