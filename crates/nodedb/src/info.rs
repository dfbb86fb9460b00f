//! Everything `txgraph info` tells.

use crate::{Result, Snapshot};
use serde::Serialize;

/// What a data directory holds. Serialised as the answer of `txgraph info --json`.
#[derive(Clone, Debug, Serialize)]
pub struct Info {
    /// `v1` or `v2`.
    pub layout: &'static str,
}

impl Snapshot<'_> {
    /// Everything `txgraph info` tells.
    pub fn info(&self) -> Result<Info> {
        Ok(Info {
            layout: self.layout()?.name(),
        })
    }
}
