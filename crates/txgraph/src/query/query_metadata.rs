//! Descriptions of queries, for the metadata of their answers: by what they mean, and not as they
//! were written, so that a program, the command line and a cluster have the same.

use crate::options::Options;

/// A query by name and options, in the words of [`parse`](crate::parse).
#[derive(Clone, Debug, Default)]
pub(crate) struct Description {
    pub(crate) command: &'static str,
    pub(crate) options: Options,
}

impl Description {
    pub(crate) fn new(command: &'static str, mut options: Options) -> Self {
        options.sort_keys();
        Self { command, options }
    }
}

impl Description {
    /// A query about an account in some blocks, with one more option that has no value.
    pub(crate) fn of_account(
        command: &'static str,
        address: alloy_primitives::Address,
        blocks: txgraph_transfers::BlockRange,
        flag: Option<&str>,
    ) -> Self {
        let blocks = txgraph_transfers::BlockRanges::from(blocks).to_string();
        let mut options = Options::new();
        options.insert("address".into(), serde_json::json!(address));
        options.insert("blocks".into(), serde_json::json!([blocks]));
        options.extend(flag.map(|flag| (flag.to_owned(), true.into())));
        Self::new(command, options)
    }

    /// The metadata of a result from the state, or from the logs, of all of these blocks.
    pub(crate) fn metadata_of_state(
        &self,
        source: &crate::Source,
        blocks: txgraph_transfers::BlockRange,
    ) -> crate::Result<txgraph_export::Metadata> {
        let counts = txgraph_transfers::DecodeCounts {
            blocks: blocks.blocks(),
            ..Default::default()
        };
        let scan = txgraph_transfers::ScanReport {
            covered: blocks.into(),
            counts,
            last_block_hash: source.block_hash(blocks.last)?,
            ..Default::default()
        };
        Ok(self.metadata(source.chain()?, &blocks.into(), &scan))
    }
}

impl Description {
    /// Adds an option.
    pub(crate) fn with(mut self, name: &str, value: serde_json::Value) -> Self {
        self.options.insert(name.into(), value);
        Self::new(self.command, self.options)
    }

    /// The metadata of a result: the query, the chain, and what was read.
    pub(crate) fn metadata(
        &self,
        chain: &txgraph_transfers::ChainInfo,
        blocks: &txgraph_transfers::BlockRanges,
        scan: &txgraph_transfers::ScanReport,
    ) -> txgraph_export::Metadata {
        let query = self.options.clone().into();
        let mut metadata = txgraph_export::Metadata::new(self.command, query);
        metadata.tool = format!("txgraph {}", crate::version());
        metadata.chain = Some(chain.clone());
        metadata.requested = blocks.clone();
        metadata.scan = scan.clone();
        metadata
    }

    /// The metadata of a result that is a graph, or was computed from one.
    pub(crate) fn of_graph(
        &self,
        chain: &txgraph_transfers::ChainInfo,
        blocks: &txgraph_transfers::BlockRanges,
        scan: &txgraph_transfers::ScanReport,
        limits: &[txgraph_graph::LimitHit],
        ends: &super::BranchEnds,
    ) -> txgraph_export::Metadata {
        let mut metadata = self.metadata(chain, blocks, scan);
        metadata.limits = limits.to_vec();
        metadata.state = ends.state;
        metadata.ends.clone_from(&ends.ends);
        metadata.unchecked = ends.unchecked;
        metadata.token_roots = ends.token_roots.iter().map(|(root, _)| *root).collect();
        metadata.unseen.clone_from(&ends.unseen);
        metadata
    }
}
