//! The runner on public tests: those committed under `testdata/evm`, and samples of the
//! large packed files where they are present.

mod conformance;
mod programs;
