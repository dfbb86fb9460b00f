//! How results serialise where the default is not ours.

use serde::Serializer;
use txgraph_graph::AmountSum;

/// Decimal text: JSON readers keep 53 bits of a number, and hex is for machines.
pub(crate) fn decimal<S: Serializer>(amount: &AmountSum, out: S) -> Result<S::Ok, S::Error> {
    out.collect_str(amount)
}
