//! The counterparties of a vertex with the largest amounts.

use crate::{
    AmountSum,
    amount::widen,
    rows::{Interned, RowStore},
};
use alloy_primitives::Address;
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

/// The counterparties of one vertex that are followed, by token.
#[derive(Debug)]
pub(crate) struct TopCounterparties(BTreeSet<(Option<Address>, u32)>);

impl TopCounterparties {
    /// Ranks the counterparties of an address by the sum of their transfers with it, for each token
    /// alone, and keeps the first `top`. The lower address comes first among equal sums.
    pub(crate) fn of(
        top: u32,
        address: u32,
        numbers: &[u32],
        rows: &RowStore,
        interned: &Interned,
    ) -> Self {
        let mut sums: BTreeMap<(Option<Address>, u32), AmountSum> = BTreeMap::new();
        for &row in numbers {
            let end = rows.row(row).other_end(address);
            *sums.entry((rows.token(row, interned), end)).or_default() += widen(rows.value(row));
        }
        let mut ranked: Vec<_> = sums
            .into_iter()
            .map(|((token, end), sum)| (token, Reverse(sum), interned.addresses.value(end), end))
            .collect();
        ranked.sort_unstable();
        let by_token = ranked.chunk_by(|one, other| one.0 == other.0);
        let count = usize::try_from(top).unwrap_or(usize::MAX);
        let kept = by_token.flat_map(|ends| ends.iter().take(count));
        Self(kept.map(|(token, _, _, end)| (*token, *end)).collect())
    }

    /// Whether transfers of a token to or from an address are followed.
    pub(crate) fn contains(&self, token: Option<Address>, end: u32) -> bool {
        self.0.contains(&(token, end))
    }
}
