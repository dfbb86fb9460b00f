//! The data directory of a reth node as a source.

use super::{backend::Backend, run_control::RunControl};
use crate::{Capabilities, Capability, Config, ProtectedPaths, Result, SourceSpec};
#[cfg(feature = "index")]
use std::sync::Mutex;
use std::{
    path::Path,
    sync::{Arc, OnceLock},
};
use txgraph_nodedb::ChainFamily;
use txgraph_nodedb::{DataDir, NodeDb};
use txgraph_reader::{NodeSource, ScanOptions};
use txgraph_replay::{ChainRules, NewestReplay};
use txgraph_transfers::{ChainInfo, TransferFilter, TransferSource};

/// An index that is opened once, and again when it has changed. `None` before that; inside, `None`
/// if there is no index.
#[cfg(feature = "index")]
pub(crate) type NewestIndex = Mutex<Option<Option<Arc<txgraph_index::Index>>>>;

/// The data directory of a reth node, open read-only.
#[derive(Debug)]
pub(crate) struct RethNode {
    db: Arc<NodeDb>,
    source: OnceLock<NodeSource>,
    /// The index that this handle answers from, if it uses one.
    #[cfg(feature = "index")]
    pub(crate) index: OnceLock<Option<Arc<txgraph_index::Index>>>,
    /// The index that new handles of the node answer from.
    #[cfg(feature = "index")]
    pub(crate) newest_index: Arc<NewestIndex>,
    /// The rules of the chain, read once: a genesis file has a state whose root is computed.
    rules: Arc<OnceLock<ChainRules>>,
    /// Executes the blocks that the node has stored without their state; `None` if the rules of
    /// the chain are not known. Shared by all queries, because it keeps the result.
    pub(crate) newest: Arc<OnceLock<Option<Arc<NewestReplay>>>>,
    pub(crate) config: Config,
    pub(crate) control: RunControl,
}

impl Config {
    /// The parts of the data directory that the configuration names, if it names one.
    pub(crate) fn data_dir(&self) -> Option<DataDir> {
        let spec = self.source.as_ref()?;
        (spec.kind() == "reth").then(|| DataDir {
            root: spec.location().into(),
            static_files: self.static_files.clone(),
            rocksdb: self.rocksdb.clone(),
        })
    }
}

impl RethNode {
    pub(crate) fn open(spec: &SourceSpec, config: &Config, control: &RunControl) -> Result<Self> {
        let dir = DataDir {
            root: Path::new(spec.location()).to_path_buf(),
            static_files: config.static_files.clone(),
            rocksdb: config.rocksdb.clone(),
        };
        let node = Self {
            db: Arc::new(NodeDb::open(&dir)?),
            source: OnceLock::new(),
            #[cfg(feature = "index")]
            index: OnceLock::new(),
            #[cfg(feature = "index")]
            newest_index: Arc::default(),
            rules: Arc::default(),
            newest: Arc::default(),
            config: config.clone(),
            control: control.clone(),
        };
        // A file of another chain is a mistake, also if a query can do without it.
        if config.chain.is_some() && node.db.family() != ChainFamily::OpStack {
            node.rules()?;
        }
        // So is the number of another chain.
        if node.config.chain_id.is_some() {
            node.source()?;
        }
        Ok(node)
    }

    /// Another handle on the same open files, with a control of its own.
    fn share(&self, control: &RunControl) -> Self {
        Self {
            db: self.db.clone(),
            source: OnceLock::new(),
            #[cfg(feature = "index")]
            index: OnceLock::new(),
            #[cfg(feature = "index")]
            newest_index: self.newest_index.clone(),
            rules: self.rules.clone(),
            newest: self.newest.clone(),
            config: self.config.clone(),
            control: control.clone(),
        }
    }

    /// The database.
    pub(crate) const fn db(&self) -> &Arc<NodeDb> {
        &self.db
    }

    /// The rules of the chain, by its genesis hash or from the configured file.
    ///
    /// # Errors
    ///
    /// If they are not known.
    pub(crate) fn rules(&self) -> Result<ChainRules> {
        if let Some(rules) = self.rules.get() {
            return Ok(rules.clone());
        }
        let rules = ChainRules::of_database(&self.db, self.config.chain.as_deref())?;
        Ok(self.rules.get_or_init(|| rules).clone())
    }

    /// The scanner of the database, started at the first call.
    ///
    /// # Errors
    ///
    /// If the chain id is not known, or contradicts the configured one.
    pub(crate) fn source(&self) -> Result<&NodeSource> {
        if let Some(source) = self.source.get() {
            return Ok(source);
        }
        let source = NodeSource::new(self.db.clone(), self.scan_options(), self.config.chain_id)?;
        Ok(self.source.get_or_init(|| source))
    }

    pub(crate) fn scan_options(&self) -> ScanOptions {
        let explain = self.control.explain.clone();
        ScanOptions {
            threads: self.control.threads.clone(),
            chunk_blocks: self.config.chunk_blocks,
            verify: self.config.check_roots.unwrap_or(false),
            explain: explain
                .map(|explain| -> txgraph_reader::Explain { Arc::new(move |plan| explain(plan)) }),
            progress: self.control.progress.clone(),
            cancel: self.control.cancel.clone(),
            ..ScanOptions::default()
        }
    }

    /// Whether transfers of this filter are found by replay: those inside of transactions, unless
    /// all blocks have logs of them (EIP-7708), and fees.
    fn needs_replay(&self, filter: &TransferFilter) -> Result<bool> {
        Ok(match (filter.needs_fees(), filter.internal) {
            (true, _) => !self.computes_fees(filter),
            (false, true) => self.db.snapshot()?.amsterdam()? != Some(0),
            (false, false) => false,
        })
    }

    /// Whether the filter includes fees, which follow from what a node of the OP stack stores. No
    /// index contains them.
    fn computes_fees(&self, filter: &TransferFilter) -> bool {
        self.db.family() == ChainFamily::OpStack && filter.needs_fees() && !filter.needs_traces()
    }

    /// The node without an index, with a replay where the filter needs one.
    fn without_index(
        &self,
        filter: &TransferFilter,
    ) -> Result<Box<dyn TransferSource + Sync + '_>> {
        let node = self.source()?;
        if self.needs_replay(filter)? {
            let internal = self.internal()?;
            return Ok(Box::new(txgraph_replay::WithInternal::new(node, internal)));
        }
        // Refuses what it cannot answer without a replay.
        Ok(Box::new(node))
    }

    #[cfg(feature = "index")]
    fn with_index(
        &self,
        filter: &TransferFilter,
    ) -> Result<Option<Box<dyn TransferSource + Sync + '_>>> {
        use txgraph_index::Indexed;
        // An index contains what was read before; verification has to read it again.
        if self.config.check_roots == Some(true) || self.computes_fees(filter) {
            return Ok(None);
        }
        let Some(index) = self.open_index()? else {
            return Ok(None);
        };
        let node = self.source()?;
        let work = self.control.work();
        let has_internal = filter.internal && index.covers_filter(filter);
        if let Some(explain) = &self.control.explain {
            let (path, blocks) = (index.path().display(), index.blocks());
            let others = match (filter.internal, has_internal) {
                (false, _) => "others are scanned",
                (true, true) => "others are scanned, and replayed for transfers without a log",
                (true, false) => "others are scanned; all are replayed for transfers without a log",
            };
            explain(&format_args!(
                "blocks {blocks} are answered from the index {path}; {others}"
            ));
        }
        if self.needs_replay(filter)? {
            use txgraph_replay::WithInternal;
            return Ok(Some(if has_internal {
                let rest = WithInternal::new(node, self.internal()?);
                Box::new(Indexed::with_rest(index, node, rest).on(work))
            } else {
                Box::new(WithInternal::new(
                    Indexed::new(index, node).on(work),
                    self.internal()?,
                ))
            }));
        }
        Ok(Some(if has_internal {
            Box::new(Indexed::with_rest(index, node, node).on(work))
        } else {
            Box::new(Indexed::new(index, node).on(work))
        }))
    }
}

impl Backend for RethNode {
    fn capabilities(&self) -> Capabilities {
        let mut all = Capabilities::default()
            .with(Capability::Transfers)
            .with(Capability::Blocks)
            .with(Capability::Hashes)
            .with(Capability::Info)
            .with(Capability::State)
            .with(Capability::Replay);
        if cfg!(feature = "index") {
            all = all.with(Capability::Index);
        }
        if cfg!(feature = "lake") {
            all = all.with(Capability::Lake);
        }
        all
    }

    fn chain(&self) -> Result<&ChainInfo> {
        Ok(self.source()?.chain())
    }

    fn share(&self, control: &RunControl) -> Option<Box<dyn Backend>> {
        Some(Box::new(Self::share(self, control)))
    }

    fn tip(&self) -> Result<u64> {
        Ok(self.db.snapshot()?.tip())
    }

    fn block_time(&self, block: u64) -> Result<Option<u64>> {
        Ok(Some(self.db.snapshot()?.header(block)?.timestamp))
    }

    /// The node, with the index before it if there is one (the answers are the same), and a
    /// replay for transfers inside of transactions.
    fn transfers(&self, filter: &TransferFilter) -> Result<Box<dyn TransferSource + Sync + '_>> {
        #[cfg(feature = "index")]
        if let Some(source) = self.with_index(filter)? {
            return Ok(source);
        }
        self.without_index(filter)
    }

    /// Whether the newest blocks have logs of them. The scan refuses older blocks without a replay.
    fn has_internal(&self) -> bool {
        let logged_from = self.db.snapshot().and_then(|snapshot| snapshot.amsterdam());
        matches!(logged_from, Ok(Some(_)))
    }

    fn protected_paths(&self) -> ProtectedPaths {
        ProtectedPaths::data_directory(self.db.dir())
    }

    #[cfg(feature = "lake")]
    fn with_build_source(
        &self,
        internal: bool,
        work: &mut super::backend::BuildSourceFn<'_>,
    ) -> Result<()> {
        let additions = txgraph_stored::Additions {
            internal,
            ..Default::default()
        };
        self.with_build_source(additions, work)
    }
}
