//! The reader against data directories that real nodes wrote, and against the
//! nodes' own answers.

#![allow(
    clippy::cast_possible_truncation,
    clippy::print_stderr,
    reason = "tests"
)]

mod allocations;
mod answers;
mod codecs;
mod damage;
mod info;
mod json;
mod live;
mod refusals;
mod roots;
