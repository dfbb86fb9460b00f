//! Archives, from writing files to transfers.

mod accumulators;
mod chains;
mod damage;
mod mainnet;
mod random;
mod refused;
mod support;
