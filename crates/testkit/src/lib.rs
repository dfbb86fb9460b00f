//! What tests and benchmarks stand on, outside of the flow: data directories of
//! real nodes ([`fixtures`]) and edits of them ([`edit`]), sample chains of any size
//! with known answers ([`chaingen`]), and obvious, slow re-makings of what the fast
//! crates do ([`naive`]).
//!
//! Used by tests and benches only. Nothing here knows the fast code that it judges:
//! the naive twins read a node's JSON answers, and the chain writer knows what it
//! meant by what it wrote.

pub mod chaingen;
pub mod edit;
pub mod fixtures;
pub mod naive;
