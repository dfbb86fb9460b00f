//! Timed runs of txgraph and of the methods it is compared with. Built by `bench.sh` only.
//!
//! Input is the binaries to time and `benchmarks/workloads.toml`. Output is raw figures (CSV),
//! a summary (Markdown) and plots (SVG). A run with a wrong answer is an error, not a figure.
//!
//! - `txgraph-bench-sweep` runs whole processes and reads their cost from the operating
//!   system.
//! - `txgraph-bench-baseline` is a plain implementation of the reference method: it decodes
//!   every receipt completely, and scans the range once per visited address.
//! - `txgraph-bench-limit` only decompresses every receipt, which is the lower bound of any
//!   scan.

pub mod answer;
pub mod definition;
#[cfg(feature = "index")]
pub mod direct;
pub mod measure;
pub mod plot;
pub mod report;
pub mod rows;
