//! Serialization that differs from the default.

use alloy_primitives::U256;
use serde::Serializer;
use std::fmt::Display;

/// Serializes an amount as decimal text: JSON readers keep 53 bits of a number.
pub(crate) fn decimal<S: Serializer>(amount: &impl Display, out: S) -> Result<S::Ok, S::Error> {
    out.collect_str(amount)
}

/// Serializes the id of a token as decimal text, as tables and transfers have it.
pub(crate) fn optional_decimal<S: Serializer>(
    id: &Option<U256>,
    out: S,
) -> Result<S::Ok, S::Error> {
    match id {
        Some(id) => out.collect_str(id),
        None => out.serialize_none(),
    }
}
