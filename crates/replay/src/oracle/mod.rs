//! revm as another engine: an oracle for our own, and a competitor in speed.

mod both;
mod peer;
#[cfg(test)]
mod random;

pub(crate) use both::Both;
pub(crate) use txgraph_revm_peer::{BlockEvm, RevmCodes};
