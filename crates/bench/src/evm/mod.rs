//! Timed runs of our interpreter and of revm, and comparisons of their answers.
//!
//! Input is benchmark programs, real blocks, chains and test files, output is tables. Gas and return
//! data of the engines are compared before they are timed.

mod bench_cases;
mod blocks;
pub(crate) mod compare;
pub(crate) mod geth;
pub(crate) mod mainnet;
mod measure;
pub(crate) mod precompiles;
pub(crate) mod programs;
pub(crate) mod replay;
mod table;
pub(crate) mod threads;
