//! A node's data directory up to the head of the chain.
//!
//! A node writes its newest blocks to disk in batches, up to ten minutes late. Until then only
//! its server has them. This source reads the files, and asks the server for the blocks above
//! the newest one in them.

use super::{
    backend::Backend,
    joined::{JoinedTransfers, Member, Seam, same_chain},
    reth::RethNode,
    rpc::RpcServer,
    run_control::RunControl,
};
use crate::{Capabilities, Config, Error, ErrorKind, ProtectedPaths, Result, SourceSpec};
use txgraph_rpc::RpcNode;
use txgraph_transfers::{
    ChainInfo, Indexable, SourceError, SourceFailure, TransferFilter, TransferSource,
};

/// A data directory and the server of its node.
#[derive(Debug)]
pub(crate) struct NodeWithHead {
    node: RethNode,
    server: RpcServer,
    /// For messages and reports, without keys.
    names: [String; 2],
}

impl NodeWithHead {
    /// Opens both, and checks that they are of one chain.
    pub(crate) fn open(
        spec: &SourceSpec,
        head: &SourceSpec,
        config: &Config,
        control: &RunControl,
    ) -> Result<Self> {
        if spec.kind() != "reth" {
            return Err(Error::usage(format!(
                "{head} completes the data directory of a reth node, not {spec}"
            )));
        }
        let node = RethNode::open(spec, config, control)?;
        let server = RpcServer::open(head, config, control)?;
        same_chain((server.chain()?, head), (node.chain()?, spec))?;
        Ok(Self {
            node,
            server,
            names: [spec.to_string(), head.to_string()],
        })
    }

    /// The files.
    pub(super) const fn node(&self) -> &RethNode {
        &self.node
    }

    /// The blocks of the server.
    pub(super) const fn served(&self) -> &txgraph_rpc::RpcSource {
        self.server.source()
    }

    /// The newest block in the files.
    ///
    /// # Errors
    ///
    /// If they cannot be read.
    pub(crate) fn stored_tip(&self) -> Result<u64> {
        self.node.tip()
    }

    /// The client of the server.
    pub(crate) fn rpc(&self) -> &RpcNode {
        self.server.source().node()
    }
}

impl Seam for NodeWithHead {
    fn stored_tip(&self) -> Result<u64, SourceError> {
        let source = self.node.source().map_err(failed)?;
        source.tip()
    }

    /// Asks for the head again if the request goes beyond the one that is known.
    fn before(&self, last: u64) -> Result<(), SourceError> {
        if last > self.rpc().tip() {
            self.rpc().refresh().map_err(SourceError::from)?;
        }
        Ok(())
    }
}

/// An error of the node before it is read. It was opened, so that there is none.
fn failed(error: Error) -> SourceError {
    SourceFailure::new(txgraph_transfers::FailureKind::Unreadable, error).into()
}

impl Backend for NodeWithHead {
    fn capabilities(&self) -> Capabilities {
        self.node.capabilities()
    }

    fn chain(&self) -> Result<&ChainInfo> {
        self.node.chain()
    }

    /// The head of the chain now.
    fn tip(&self) -> Result<u64> {
        let head = self.rpc().refresh()?;
        Ok(head.max(self.node.tip()?))
    }

    fn block_time(&self, block: u64) -> Result<Option<u64>> {
        match self.node.block_time(block) {
            Err(error) if error.kind == ErrorKind::Unavailable => self.server.block_time(block),
            time => time,
        }
    }

    /// The files for the blocks in them, and the server for those above.
    fn transfers(&self, filter: &TransferFilter) -> Result<Box<dyn TransferSource + Sync + '_>> {
        let [stored, served] = self.names.clone();
        let members = vec![
            Member {
                name: stored,
                source: self.node.transfers(filter)?,
            },
            Member {
                name: served,
                source: self.server.transfers(filter)?,
            },
        ];
        let chain = self.node.chain()?;
        Ok(Box::new(JoinedTransfers::new(chain, members, Some(self))))
    }

    fn protected_paths(&self) -> ProtectedPaths {
        self.node.protected_paths()
    }

    /// Reads stored blocks only, up to the newest block in the files.
    #[cfg(feature = "lake")]
    fn with_build_source(&self, internal: bool, work: &mut super::BuildSourceFn<'_>) -> Result<()> {
        Backend::with_build_source(&self.node, internal, work)
    }
}
