//! Replays of data directories written by real nodes, compared with the responses of the nodes.

mod amounts;
mod bad_input;
mod balance_check;
mod bundle_rules;
mod bundles;
mod executed;
mod forward;
mod history;
mod indexed;
mod mainnet;
mod newest;
#[cfg(feature = "oracle")]
mod oracle;
mod outputs;
mod soak;
mod source;
mod support;
mod traces;
mod witness;
