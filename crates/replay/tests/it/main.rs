//! Replays of data directories that real nodes wrote, compared with what the nodes say.

mod bad_input;
mod balance_check;
mod executed;
mod forward;
mod history;
mod indexed;
#[cfg(feature = "oracle")]
mod oracle;
mod outputs;
mod soak;
mod source;
mod support;
mod traces;
