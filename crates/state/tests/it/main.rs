//! State compared with the answers of nodes and with the state roots of headers.

#![allow(
    clippy::cast_possible_truncation,
    clippy::print_stdout,
    reason = "tests: numbers are small, and output is shown when they fail"
)]

mod answers;
mod index;
mod live;
mod refusals;
mod roots;
mod support;
