//! Sums of amounts.

/// A sum of 256-bit amounts that neither overflows nor rounds: 2^64 of the
/// largest amounts fit. Printed in decimal.
pub type AmountSum = alloy_primitives::aliases::U320;
