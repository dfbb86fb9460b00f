//! The interpreter against revm, against hostile code, and against its own careful half.

#![expect(
    clippy::cast_possible_truncation,
    reason = "choices among a few are made as numbers of any width"
)]

mod differential;
mod heap;
mod hostile;
