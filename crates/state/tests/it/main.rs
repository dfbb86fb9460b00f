//! State against what nodes answered, and against the roots in headers.

#![allow(
    clippy::cast_possible_truncation,
    clippy::print_stdout,
    reason = "tests: small numbers, and what they saw is shown when they fail"
)]

mod answers;
mod index;
mod live;
mod refusals;
mod roots;
mod support;
