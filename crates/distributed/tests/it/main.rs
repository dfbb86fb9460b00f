//! Questions to a real scheduler and real executors, as processes on this machine.

#![expect(missing_docs, reason = "a test binary")]

mod answers;
mod faults;
mod harness;
mod runs;
