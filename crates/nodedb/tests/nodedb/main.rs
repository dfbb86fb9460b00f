//! The reader against data directories that real nodes wrote, and against the
//! nodes' own answers.

#![allow(
    clippy::cast_possible_truncation,
    clippy::print_stderr,
    reason = "tests"
)]

mod answers;
mod info;
mod json;
mod roots;
