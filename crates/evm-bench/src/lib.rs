//! Timed runs of our interpreter and of revm. Not part of the product: only `bench.sh evm`
//! builds it.
//!
//! Input is benchmark programs and test files, output is tables. Gas and return data of the
//! engines are compared before they are timed.

pub mod measure;
pub mod subjects;
pub mod table;
