//! A source: anything that can be asked for transfers.

mod backend;
mod bundle_blocks;
mod bundles;
mod era;
#[cfg(feature = "rpc")]
mod head;
#[cfg(feature = "import")]
mod import;
mod joined;
#[cfg(feature = "lake")]
mod lake;
mod open;
mod reth;
#[cfg(feature = "rpc")]
mod rpc;
mod run_control;

pub use backend::Backend;
#[cfg(feature = "lake")]
pub use backend::BuildSourceFn;
pub(crate) use bundle_blocks::DistinctBlocks;
pub(crate) use bundles::Bundles;
#[cfg(feature = "rpc")]
pub(crate) use head::NodeWithHead;
pub(crate) use reth::RethNode;
pub use run_control::{Explain, RunControl};

use crate::{
    CancelFlag, Capabilities, Capability, Config, Error, ErrorKind, IndexChoice, Progress,
    ProtectedPaths, Result, SourceSpec,
};
use open::open_all;
use std::{any::Any, ffi::OsString, fmt, path::PathBuf, sync::Arc};
use txgraph_base::KnownChain;
use txgraph_transfers::{BlockRange, ChainInfo, SourceError, TransferFilter, TransferSource};
use txgraph_work::Threads;

/// Anything that can be asked for transfers: the data directory of a reth node, and the other
/// [kinds of sources](crate::source_kinds).
///
/// ```no_run
/// use txgraph::{Source, address};
///
/// let token = address!("0xdac17f958d2ee523a2206206994597c13d831ec7");
/// let root = address!("0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed");
/// let source = Source::open("/data/reth")?;
/// let graph = source.search(root).token(token).last_blocks(1000).hops(2).run()?;
/// assert!(graph.graph.edge_count() > 0);
/// # Ok::<(), txgraph::Error>(())
/// ```
#[derive(Debug)]
pub struct Source {
    spec: SourceSpec,
    backend: Box<dyn Backend>,
    pub(crate) config: Config,
    pub(crate) control: RunControl,
}

impl Source {
    /// Opens a source with all settings at their defaults. A plain path is the data
    /// directory of a reth node; see [`SourceSpec`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) for an unknown kind of source, and
    /// whatever prevents it from being read.
    pub fn open(source: impl Into<SourceSpec>) -> Result<Self> {
        Self::builder(source).open()
    }

    /// Starts to open a source with settings.
    pub fn builder(source: impl Into<SourceSpec>) -> SourceBuilder {
        SourceBuilder {
            config: Config {
                source: Some(source.into()),
                ..Config::default()
            },
            control: RunControl::default(),
        }
    }

    /// Opens the source that a configuration names.
    ///
    /// # Errors
    ///
    /// As [`Self::open`], and if the configuration names none.
    pub fn with_config(config: &Config, control: &RunControl) -> Result<Self> {
        let Some(spec) = &config.source else {
            return Err(
                Error::usage("no source is named: which node is to be asked?")
                    .with_hint(crate::Hint::NameSource),
            );
        };
        tracing::info!(source = %spec, "opening");
        let control = control.clone().with_threads(config)?;
        let (backend, spec) = open_all(spec, config, &control)?;
        Ok(Self {
            spec,
            backend,
            config: config.clone(),
            control,
        })
    }

    /// Runs `work` on the threads of this source, with everything that it splits off with
    /// rayon. Whatever uses rayon must run in here; elsewhere it would use a pool with a
    /// thread for each core.
    pub(crate) fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T> {
        let done = self.control.threads.install(work);
        done.map_err(|error| Error::new(ErrorKind::Failed, error.to_string()))
    }

    /// A source that a program implements itself, with a name for messages.
    pub fn with_backend(name: impl Into<SourceSpec>, backend: impl Backend + 'static) -> Self {
        Self {
            spec: name.into(),
            backend: Box::new(backend),
            config: Config::default(),
            control: RunControl::default(),
        }
    }

    /// Like [`Self::with_backend`], with settings and control. Work uses the threads of `config` if
    /// it names a number, otherwise the threads of `control`.
    ///
    /// # Errors
    ///
    /// If the number of threads is too large.
    pub fn with_backend_and(
        name: impl Into<SourceSpec>,
        backend: impl Backend + 'static,
        config: &Config,
        control: &RunControl,
    ) -> Result<Self> {
        Ok(Self {
            control: control.clone().with_threads(config)?,
            config: config.clone(),
            ..Self::with_backend(name, backend)
        })
    }

    /// Another handle on this open source, whose work `control` observes and stops: for a server,
    /// each of whose queries ends with its client. Nothing is opened again, and the threads are shared.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Usage`] for a kind of source that has one control for all work.
    pub fn with_control(&self, control: &RunControl) -> Result<Self> {
        self.handle(RunControl {
            threads: self.control.threads.clone(),
            ..control.clone()
        })
    }

    /// Another handle on this open source, whose work is done by the thread that asks, until `cancel` is
    /// set. Work on other handles does not wait for it.
    ///
    /// # Errors
    ///
    /// As [`Self::with_control`].
    pub fn in_background(&self, cancel: &CancelFlag) -> Result<Self> {
        self.handle(RunControl {
            cancel: cancel.clone(),
            threads: Threads::one(),
            ..RunControl::default()
        })
    }

    fn handle(&self, control: RunControl) -> Result<Self> {
        let Some(backend) = self.backend.share(&control) else {
            return Err(Error::usage(format!(
                "{}: queries to this source cannot be stopped one by one",
                self.spec
            )));
        };
        Ok(Self {
            spec: self.spec.clone(),
            backend,
            config: self.config.clone(),
            control,
        })
    }

    /// The kind and the location of this source.
    pub const fn spec(&self) -> &SourceSpec {
        &self.spec
    }

    pub(crate) fn backend(&self) -> &dyn Backend {
        &*self.backend
    }

    /// The capabilities of this source.
    pub fn capabilities(&self) -> Capabilities {
        self.backend.capabilities()
    }

    /// The chain.
    ///
    /// # Errors
    ///
    /// If the source does not contain the chain id and none is configured.
    pub fn chain(&self) -> Result<&ChainInfo> {
        self.backend.chain()
    }

    /// The symbol of the native coin; `ETH` on chains that are not known.
    ///
    /// # Errors
    ///
    /// As [`Self::chain`].
    pub fn native_symbol(&self) -> Result<&'static str> {
        Ok(KnownChain::native_symbol_of(self.chain()?.chain_id))
    }

    /// The highest block that can be read at present.
    ///
    /// # Errors
    ///
    /// If the source cannot be read.
    pub fn tip(&self) -> Result<u64> {
        self.backend.tip()
    }

    /// The newest block of which everything is stored, with its state: [`Self::tip`], except of a
    /// node with its head, where it is the newest one in the data directory.
    ///
    /// # Errors
    ///
    /// If the source cannot be read.
    pub(crate) fn stored_tip(&self) -> Result<u64> {
        #[cfg(feature = "rpc")]
        if let Some(joined) = self.with_head() {
            return joined.stored_tip();
        }
        self.tip()
    }

    /// The head of the chain, if the server of the node is asked for the blocks that are not in its
    /// data directory yet.
    ///
    /// # Errors
    ///
    /// If the server does not answer.
    pub fn head(&self) -> Result<Option<u64>> {
        #[cfg(feature = "rpc")]
        if self.with_head().is_some() {
            return self.tip().map(Some);
        }
        Ok(None)
    }

    /// The blocks of a query that names none.
    ///
    /// # Errors
    ///
    /// If the source cannot be read.
    pub fn default_range(&self) -> Result<BlockRange> {
        self.backend.default_range()
    }

    /// The time of a block, in seconds since 1970, if the source contains it.
    ///
    /// # Errors
    ///
    /// If the source cannot be read.
    pub fn block_time(&self, block: u64) -> Result<Option<u64>> {
        self.backend.block_time(block)
    }

    /// The directories and files of the source, into which no output is written.
    pub fn protected_paths(&self) -> ProtectedPaths {
        self.backend.protected_paths()
    }

    /// The transfers that match `filter`, at the lowest level: what [`Self::transfers`] and
    /// [`Self::search`] read from.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if the source cannot find
    /// such transfers.
    pub fn transfer_source(
        &self,
        filter: &TransferFilter,
    ) -> Result<Box<dyn TransferSource + Sync + '_>> {
        self.require(Capability::Transfers)?;
        if filter.internal && !self.backend.has_internal() {
            let why = self.backend.why_no_internal();
            self.require(Capability::Replay)
                .map_err(|error| match why {
                    Some(why) => Error::new(error.kind, format!("{}: {why}", self.spec)),
                    None => error,
                })?;
        }
        self.backend.transfers(filter)
    }

    /// Refuses what this source cannot do.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported).
    pub fn require(&self, capability: Capability) -> Result<()> {
        if self.capabilities().contains(capability) {
            Ok(())
        } else {
            Err(Error::unsupported(&self.spec, capability))
        }
    }

    /// The node behind the source, for what only a node can do.
    pub(crate) fn node(&self, needed: Capability) -> Result<&RethNode> {
        self.require(needed)?;
        let node = self.reth();
        node.ok_or_else(|| Error::unsupported(&self.spec, needed))
    }

    /// The data directory of a reth node, if the source is one, with or without its head.
    pub(crate) fn reth(&self) -> Option<&RethNode> {
        #[cfg(feature = "rpc")]
        if let Some(joined) = self.with_head() {
            return Some(joined.node());
        }
        self.is()
    }

    /// The files and the server of a node, if the source is joined from them: for what is only in
    /// the files.
    #[cfg(feature = "rpc")]
    pub(crate) fn with_head(&self) -> Option<&NodeWithHead> {
        self.is()
    }

    /// The server, if the source is one or has one: for single transactions.
    #[cfg(feature = "rpc")]
    pub(crate) fn server(&self) -> Option<&txgraph_rpc::RpcSource> {
        let joined = self.with_head().map(NodeWithHead::served);
        joined.or_else(|| self.is().map(rpc::RpcServer::source))
    }

    /// The backend, if it is of this type.
    fn is<T: Backend>(&self) -> Option<&T> {
        let backend: &dyn Any = &*self.backend;
        backend.downcast_ref()
    }

    /// The bundles behind the source, if it consists of them.
    pub(crate) fn bundles(&self, needed: Capability) -> Result<Option<&Bundles>> {
        self.require(needed)?;
        Ok(self.is())
    }

    /// Whether its work was asked to stop.
    pub fn is_interrupted(&self) -> bool {
        self.control.cancel.is_canceled()
    }

    /// Ends work that was asked to stop, between steps that do not check the flag.
    pub(crate) fn check_interrupted(&self) -> Result<()> {
        if self.is_interrupted() {
            Err(SourceError::Interrupted.into())
        } else {
            Ok(())
        }
    }

    /// Describes the data of the node: chain, layout, tip, and which blocks exist.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if the source is not a node.
    pub fn info(&self) -> Result<txgraph_nodedb::Info> {
        Ok(self.node(Capability::Info)?.db().snapshot()?.info()?)
    }
}

/// Settings for opening a [`Source`].
#[derive(Clone, Debug)]
#[must_use = "call `open`"]
pub struct SourceBuilder {
    config: Config,
    control: RunControl,
}

impl SourceBuilder {
    /// The number of threads; default: one for each core.
    pub fn threads(mut self, threads: usize) -> Self {
        self.config.threads = Some(threads);
        self
    }

    /// The number of blocks that a thread reads at a time; default: chosen for each scan.
    pub fn chunk_blocks(mut self, blocks: u64) -> Self {
        self.config.chunk_blocks = Some(blocks);
        self
    }

    /// The bytes of transfers that a search keeps in memory; default 1 GiB.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.config.memory = Some(bytes);
        self
    }

    /// The index to answer from; default: none, unless [`Self::cache`] is set.
    pub fn index(mut self, index: IndexChoice) -> Self {
        self.config.index = Some(index);
        self
    }

    /// The directory below which indexes and names of tokens are kept.
    pub fn cache(mut self, directory: impl Into<PathBuf>) -> Self {
        self.config.cache = Some(directory.into());
        self
    }

    /// Whether the roots of every block that is read are recomputed; default: no.
    pub fn check_roots(mut self, check: bool) -> Self {
        self.config.check_roots = Some(check);
        self
    }

    /// The chain id, for data that does not contain it.
    pub fn chain_id(mut self, chain_id: u64) -> Self {
        self.config.chain_id = Some(chain_id);
        self
    }

    /// The URL of the node's own JSON-RPC server, for the blocks above the newest one in its
    /// data directory.
    pub fn head(mut self, url: impl Into<OsString>) -> Self {
        self.config.head = Some(SourceSpec::server(url));
        self
    }

    /// Adds another source of the same chain. A block is answered by the first that has it. Its
    /// hash must be the same in all that know it.
    pub fn join(mut self, source: impl Into<SourceSpec>) -> Self {
        self.config.joined.push(source.into());
        self
    }

    /// The blocks that files of other tools cover completely, if the files do not state it.
    /// In the words of [`parse::parse_blocks`](crate::parse::parse_blocks).
    pub fn covers(mut self, blocks: impl Into<String>) -> Self {
        self.config.covers = Some(blocks.into());
        self
    }

    /// The columns of files of other tools by role, e.g. `from=sender,to=receiver`.
    pub fn source_columns(mut self, columns: impl Into<String>) -> Self {
        self.config.source_columns = Some(columns.into());
        self
    }

    /// The genesis file of the chain, to replay chains that are not built in.
    pub fn chain_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.config.chain = Some(path.into());
        self
    }

    /// The static files of a node, if they are not in its data directory.
    pub fn static_files(mut self, directory: impl Into<PathBuf>) -> Self {
        self.config.static_files = Some(directory.into());
        self
    }

    /// The RocksDB of a node, if it is not in its data directory.
    pub fn rocksdb(mut self, directory: impl Into<PathBuf>) -> Self {
        self.config.rocksdb = Some(directory.into());
        self
    }

    /// Receives the number of finished blocks.
    pub fn progress(mut self, progress: impl Progress + 'static) -> Self {
        self.control.progress = Some(Arc::new(progress));
        self
    }

    /// Receives the decisions about how each query is answered.
    pub fn explain(mut self, explain: impl Fn(&dyn fmt::Display) + Send + Sync + 'static) -> Self {
        self.control.explain = Some(Arc::new(explain));
        self
    }

    /// Stops all work when it is set.
    pub fn cancel(mut self, cancel: CancelFlag) -> Self {
        self.control.cancel = cancel;
        self
    }

    /// Opens the source.
    ///
    /// # Errors
    ///
    /// As [`Source::open`].
    pub fn open(self) -> Result<Source> {
        self.config.check()?;
        Source::with_config(&self.config, &self.control)
    }
}
