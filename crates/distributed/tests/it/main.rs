//! Questions to a real scheduler and real executors, as processes on this machine.

mod answers;
mod damage;
mod faults;
mod harness;
mod kills;
mod large;
mod runs;
mod sql;
