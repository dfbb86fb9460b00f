//! What tests and benchmarks stand on, outside of the flow: data directories of
//! real nodes ([`fixtures`]), and obvious, slow re-makings of what the fast
//! crates do ([`naive`]).
//!
//! Used by tests and benches only. The naive twins know nothing of the fast code
//! they judge: they read the JSON answers of a node, not its files.

pub mod fixtures;
pub mod naive;
