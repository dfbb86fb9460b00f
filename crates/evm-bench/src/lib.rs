//! Timed runs of our interpreter and of revm. Not part of the product: only `bench.sh evm` and
//! `bench.sh mainnet` build it.
//!
//! Input is benchmark programs, real blocks and test files, output is tables. Gas and return
//! data of the engines are compared before they are timed.

pub mod blocks;
pub mod measure;
pub mod subjects;
pub mod table;
