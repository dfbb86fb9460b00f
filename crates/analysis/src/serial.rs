//! Serialization that differs from the default.

use serde::Serializer;
use txgraph_graph::AmountSum;

/// Serializes an amount as decimal text: JSON readers keep 53 bits of a number.
pub(crate) fn decimal<S: Serializer>(amount: &AmountSum, out: S) -> Result<S::Ok, S::Error> {
    out.collect_str(amount)
}
