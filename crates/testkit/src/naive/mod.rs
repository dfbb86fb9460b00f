//! Slow implementations of what the fast crates do, simple enough to check by reading.

mod bfs;
mod decode;

pub use bfs::{Reached, Rules, bfs};
pub use decode::{Decoded, decode_block, decode_fixture, decode_logs, quantity};
