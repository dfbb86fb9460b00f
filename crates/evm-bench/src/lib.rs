//! Timed runs of the embedded interpreter and of its peers, beside the product: built
//! by `bench.sh evm` only.
//!
//! Input are benchmark programs and test files, output are tables. Every engine's gas
//! and return data are compared before it is timed.

pub mod measure;
pub mod subjects;
pub mod table;
