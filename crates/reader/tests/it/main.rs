//! The reader against data directories that real nodes wrote, and what those
//! nodes said about them.

mod support;

mod find;
mod logged;
mod mainnet;
mod missing;
mod mutations;
mod op;
mod op_fees;
mod options;
mod plan;
mod stress;
mod verify;
mod whole;
