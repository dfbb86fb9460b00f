//! Slow twins: the same answers as the fast crates, in code that can be checked
//! by reading it.

mod bfs;
mod decode;

pub use bfs::{Reached, Rules, bfs};
pub use decode::{Decoded, decode_block, decode_fixture, decode_logs, quantity};
