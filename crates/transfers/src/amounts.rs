//! Conditions on amounts that differ by token, and on the ids of tokens.

use alloy_primitives::{Address, U256};
use serde::{Deserialize, Serialize};

/// Conditions on amounts and ids. The default has none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AmountFilter {
    /// By token (`None`: the native coin), the smallest wanted amount in its smallest unit. Sorted.
    min_values: Vec<(Option<Address>, U256)>,
    /// The wanted token ids, sorted; empty: all, and transfers without an id.
    token_ids: Vec<U256>,
}

impl AmountFilter {
    /// Conditions with a smallest amount for some tokens, and the wanted ids, if any.
    ///
    /// Amounts of other tokens are not limited. If there are ids, transfers without one are not
    /// wanted. Of several amounts for one token, the largest counts.
    pub fn new(
        min_values: impl IntoIterator<Item = (Option<Address>, U256)>,
        token_ids: impl IntoIterator<Item = U256>,
    ) -> Self {
        let mut min_values: Vec<_> = min_values.into_iter().collect();
        min_values.sort_unstable();
        min_values.reverse();
        min_values.dedup_by_key(|(token, _)| *token);
        min_values.reverse();
        let mut token_ids: Vec<_> = token_ids.into_iter().collect();
        token_ids.sort_unstable();
        token_ids.dedup();
        Self {
            min_values,
            token_ids,
        }
    }

    /// Whether there is no condition.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.min_values.is_empty() && self.token_ids.is_empty()
    }

    /// The smallest amounts by token, in ascending order of tokens.
    pub fn min_values(&self) -> &[(Option<Address>, U256)] {
        &self.min_values
    }

    /// The wanted ids, ascending.
    pub fn token_ids(&self) -> &[U256] {
        &self.token_ids
    }

    /// Whether a transfer of this token, amount and id meets every condition.
    #[inline]
    pub fn matches(&self, token: Option<&Address>, value: &U256, id: Option<&U256>) -> bool {
        self.is_empty() || self.meets(token, value, id)
    }

    #[cold]
    fn meets(&self, token: Option<&Address>, value: &U256, id: Option<&U256>) -> bool {
        let found = (self.min_values).binary_search_by_key(&token, |(token, _)| token.as_ref());
        let is_large = found.is_ok_and(|at| *value >= self.min_values[at].1) || found.is_err();
        let has_id = |id: &U256| self.token_ids.binary_search(id).is_ok();
        is_large && (self.token_ids.is_empty() || id.is_some_and(has_id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn token(byte: u8) -> Option<Address> {
        (byte > 0).then(|| Address::repeat_byte(byte))
    }

    proptest! {
        #[test]
        fn conditions_equal_their_definition(
            min_values in prop::collection::vec((0u8..4, 0u8..9), 0..6),
            ids in prop::collection::vec(0u8..5, 0..4),
            of in 0u8..5,
            value in 0u8..10,
            id in prop::option::of(0u8..6),
        ) {
            let filter = AmountFilter::new(
                min_values.iter().map(|(of, min)| (token(*of), U256::from(*min))),
                ids.iter().map(|id| U256::from(*id)),
            );
            let is_large = min_values.iter().all(|(other, min)| *other != of || value >= *min);
            let has_id = ids.is_empty() || id.is_some_and(|id| ids.contains(&id));
            let id = id.map(U256::from);
            let wanted = filter.matches(token(of).as_ref(), &U256::from(value), id.as_ref());
            prop_assert_eq!(wanted, is_large && has_id);
        }
    }
}
