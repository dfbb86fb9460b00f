//! The built programme on real data directories: what it prints, writes and
//! returns. A module per command, and one per habit they share.

mod harness;

mod analyze;
mod config;
mod determinism;
mod evm;
mod graph;
mod help;
mod index;
mod info;
mod outputs;
mod query;
mod replay;
mod signals;
mod status;
mod terminal;
mod transfers;
