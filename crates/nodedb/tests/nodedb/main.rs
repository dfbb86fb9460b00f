//! The reader against data directories that real nodes wrote, and against the
//! nodes' own answers.

#![allow(
    clippy::cast_possible_truncation,
    clippy::print_stdout,
    reason = "tests: small numbers, and what they saw is shown when they fail"
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
mod refusals;
mod roots;
mod senders;
mod special_files;
