//! A JSON-RPC server as a source.

use super::{backend::Backend, run_control::RunControl};
use crate::{Capabilities, Capability, Config, Error, Result, SourceSpec};
use txgraph_rpc::{Endpoint, RpcNode, RpcOptions, RpcSource};
use txgraph_transfers::{ChainInfo, TransferFilter, TransferSource};

/// Names the server if the location is empty, so that keys in a URL are in no list of processes.
const URL_ENV: &str = "ETH_RPC_URL";

/// A server that speaks JSON-RPC.
#[derive(Debug)]
pub(crate) struct RpcServer {
    source: RpcSource,
}

impl RpcServer {
    /// All blocks of the server.
    pub(crate) const fn source(&self) -> &RpcSource {
        &self.source
    }

    pub(crate) fn open(spec: &SourceSpec, config: &Config, control: &RunControl) -> Result<Self> {
        let location = if spec.location().is_empty() {
            std::env::var_os(URL_ENV).ok_or_else(|| {
                Error::usage(format!("{spec} has no URL, and {URL_ENV} is not set"))
            })?
        } else {
            spec.location().to_owned()
        };
        let endpoint = Endpoint::parse(&location.to_string_lossy())?;
        let options = RpcOptions {
            chain_id: config.chain_id,
            chunk_blocks: config.chunk_blocks,
            verify: config.check_roots.unwrap_or(false),
            retry: None,
        };
        let node = RpcNode::open(endpoint, options, control.cancel.clone())?;
        Ok(Self {
            source: RpcSource::new(node, control.work()),
        })
    }
}

impl Backend for RpcServer {
    fn capabilities(&self) -> Capabilities {
        let all = Capabilities::default()
            .with(Capability::Transfers)
            .with(Capability::Hashes);
        if cfg!(feature = "lake") {
            all.with(Capability::Lake)
        } else {
            all
        }
    }

    fn chain(&self) -> Result<&ChainInfo> {
        Ok(self.source.chain())
    }

    fn tip(&self) -> Result<u64> {
        Ok(self.source.node().refresh()?)
    }

    fn block_time(&self, block: u64) -> Result<Option<u64>> {
        Ok(Some(self.source.node().block_time(block)?))
    }

    fn transfers(&self, _: &TransferFilter) -> Result<Box<dyn TransferSource + Sync + '_>> {
        Ok(Box::new(&self.source))
    }

    /// Found by traces of the server. It refuses the query if it has none.
    fn has_internal(&self) -> bool {
        true
    }

    #[cfg(feature = "lake")]
    fn with_build_source(&self, internal: bool, work: &mut super::BuildSourceFn<'_>) -> Result<()> {
        work(txgraph_stored::BuildSource {
            source: &self.source,
            internal: internal.then_some(&self.source as _),
            work: self.source.work().clone(),
        })
    }
}
