//! The program on real data directories: what it prints and writes, and its exit status. One
//! module for each command, and one for each behavior that commands share.

#[path = "../../../export/tests/it/frame.rs"]
mod frame;
mod harness;
mod pty;

mod address;
mod amounts;
mod analyze;
mod approvals;
mod bundles;
mod case;
mod cluster;
mod columns;
mod config;
mod dates;
mod determinism;
mod era;
mod evm;
mod flows;
mod graph;
mod head;
mod help;
mod import;
mod index;
mod info;
mod labels;
mod lake;
mod mainnet;
mod mistakes;
mod names;
mod op;
mod outputs;
mod overrides;
mod patterns;
mod poisoning;
mod query;
mod relations;
mod replay;
mod replay_tables;
mod rpc;
mod serve;
mod signals;
mod sources;
mod state;
mod statement;
mod status;
mod tables;
mod taint;
mod terminal;
mod tls;
mod tour;
mod transactions;
mod transfers;
mod tx;
mod watch;
