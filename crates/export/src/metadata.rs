//! Where an answer comes from and what it covers.

use crate::{
    Result,
    json_text::{push_json, push_json_pretty},
};
use serde::Serialize;
use serde_json::Value;
use txgraph_graph::LimitHit;
use txgraph_transfers::{BlockRanges, ChainInfo, ScanReport};

/// Where an answer comes from and what it covers: what a reader needs to ask
/// the same question again, and to know what the answer does not hold.
///
/// It holds no clock time and no thread count: the same question gives the same bytes.
#[derive(Clone, Debug, Serialize)]
pub struct Metadata {
    /// Programme and version: `txgraph 0.1.0`.
    pub tool: String,
    /// What was asked for: `transfers`, `graph`, the name of a saved query.
    pub command: String,
    /// The question, as its asker words it: roots, tokens, hops, limits.
    pub question: Value,
    /// The chain; absent when no chain was read.
    pub chain: Option<ChainInfo>,
    /// Blocks that were asked for.
    pub requested: BlockRanges,
    /// What was read, with its gaps and what the decoder counted.
    pub scan: ScanReport,
    /// Limits that bit.
    pub limits: Vec<LimitHit>,
}

impl Metadata {
    /// Metadata without a chain, blocks or limits.
    pub fn new(command: impl Into<String>, question: Value) -> Self {
        Self {
            tool: concat!("txgraph ", env!("CARGO_PKG_VERSION")).to_owned(),
            command: command.into(),
            question,
            chain: None,
            requested: BlockRanges::default(),
            scan: ScanReport::default(),
            limits: Vec::new(),
        }
    }

    /// Indented JSON, as it stands in a file of its own.
    pub(crate) fn to_json_lines(&self) -> Result<Vec<u8>> {
        let mut text = Vec::new();
        push_json_pretty(&mut text, self)?;
        text.push(b'\n');
        Ok(text)
    }

    /// JSON on one line, as it stands inside another file.
    pub(crate) fn to_json(&self) -> Result<String> {
        let mut text = Vec::new();
        push_json(&mut text, self)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// Whether every requested block was read.
    pub fn is_complete(&self) -> bool {
        self.scan.missing.is_empty()
    }
}
