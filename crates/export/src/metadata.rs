//! Metadata: the source and the coverage of a result.

use crate::{Result, json_text::push_json};
use alloy_primitives::Address;
use serde::Serialize;
use serde_json::Value;
use txgraph_graph::{BranchEnd, LimitHit, Unchecked};
use txgraph_transfers::{BlockRanges, ChainInfo, ScanReport, StateUsed, Unseen};

/// The source and the coverage of a result: what a reader needs to repeat the query,
/// and to know what the result does not contain.
///
/// It contains no time and no thread count, so the same query gives the same bytes.
#[derive(Clone, Debug, Serialize)]
pub struct Metadata {
    /// Program and version: `txgraph 0.2.0`, which a caller may state in more detail.
    pub tool: String,
    /// The command: `transfers`, `graph`, the name of a saved query.
    pub command: String,
    /// The options of the query: roots, tokens, hops, limits.
    pub question: Value,
    /// The chain; `None` if no chain was read.
    pub chain: Option<ChainInfo>,
    /// Requested blocks.
    pub requested: BlockRanges,
    /// The report of the scan: its blocks, its gaps, and the counts of the decoder.
    pub scan: ScanReport,
    /// The rows of a file of text. Unlike other files, it does not show that its end is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// Limits that were reached.
    pub limits: Vec<LimitHit>,
    /// Notes on the result: the parts that were not looked for, and those that are not known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The state that was used, if a state was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<StateUsed>,
    /// Where the branches of a graph end, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ends: Vec<BranchEnd>,
    /// Roots and ends of branches that may be contracts or tokens: they were not looked up.
    #[serde(skip_serializing_if = "Unchecked::is_empty")]
    pub unchecked: Unchecked,
    /// Roots of a graph that are contracts of tokens.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub token_roots: Vec<Address>,
    /// Tokens and addresses that the query names and the result does not contain.
    #[serde(skip_serializing_if = "Unseen::is_empty")]
    pub unseen: Unseen,
}

impl Metadata {
    /// Creates metadata without a chain, blocks or limits.
    pub fn new(command: impl Into<String>, question: Value) -> Self {
        Self {
            tool: concat!("txgraph ", env!("CARGO_PKG_VERSION")).to_owned(),
            command: command.into(),
            question,
            chain: None,
            requested: BlockRanges::default(),
            scan: ScanReport::default(),
            rows: None,
            limits: Vec::new(),
            notes: Vec::new(),
            state: None,
            ends: Vec::new(),
            unchecked: Unchecked::default(),
            token_roots: Vec::new(),
            unseen: Unseen::default(),
        }
    }

    /// Returns JSON on one line, for use inside another file.
    pub(crate) fn to_json(&self) -> Result<String> {
        let mut text = Vec::new();
        push_json(&mut text, self)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}
