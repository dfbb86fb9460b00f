//! The crate on data directories of real nodes, compared with the nodes' own answers.

#![allow(
    clippy::cast_possible_truncation,
    clippy::print_stdout,
    reason = "tests: numbers are small, and output is shown when they fail"
)]

mod allocations;
mod answers;
mod codecs;
mod coverage;
mod damage;
mod info;
mod json;
mod live;
mod lookup;
mod op;
mod refusals;

mod rocks;
mod roots;
mod senders;
mod special_files;
