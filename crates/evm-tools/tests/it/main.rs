//! Runs the public tests in `testdata/evm`, and samples of the large packed files where they
//! are present.

mod conformance;
mod programs;
