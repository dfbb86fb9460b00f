//! What a data directory holds.

use super::Node;
use crate::Result;
use txgraph_nodedb::Info;

/// Chain, layout, tip, and which blocks really exist.
pub fn info(node: &Node) -> Result<Info> {
    Ok(node.db.snapshot()?.info()?)
}
