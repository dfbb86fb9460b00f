//! Timed runs, and the methods txgraph is compared with. Built by `bench.sh` only.
//!
//! In: the programmes to time and `benchmarks/workloads.toml`. Out: raw figures
//! (CSV), a summary (Markdown) and plots (SVG). A run whose answer is not the
//! expected one is an error, not a figure.
//!
//! - `txgraph-bench-sweep` runs whole processes and asks the operating system
//!   what each cost;
//! - `txgraph-bench-baseline` is the reference method, remade plainly: one full
//!   decode per receipt, one scan of the range per visited address;
//! - `txgraph-bench-limit` touches and decompresses every receipt and does
//!   nothing else: what no scan can beat.

pub mod answer;
pub mod definition;
pub mod measure;
pub mod plot;
pub mod report;
pub mod rows;
