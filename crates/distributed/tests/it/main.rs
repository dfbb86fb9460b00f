//! Queries to a real scheduler and real executors, as processes on this machine.

#![expect(
    clippy::print_stdout,
    reason = "tests report what they measured or skipped"
)]

mod answers;
mod damage;
mod faults;
mod harness;
mod kills;
mod large;
mod runs;
mod sql;
mod tls;
