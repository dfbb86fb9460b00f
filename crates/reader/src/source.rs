//! The node database as a source of transfers.

use crate::{
    availability::{self, Survey},
    chunk::{Chunks, Density, Sizing, sample},
    error::{Error, Result},
    fees, hashes,
    merge::{Chunk, Limits, Merge},
    options::ScanOptions,
    plan::{self, ScanPlan, TokenBits},
    read::{ChunkReader, SNAPSHOT_BLOCKS_MAX, parts},
    scan::{Run, Stop},
    workers::{ChunkWorkers, canonical, reread},
};
use alloy_primitives::B256;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
use txgraph_nodedb::{ChainFamily, NodeDb, Scratch};
use txgraph_transfers::{
    BlockAnchor, BlockRanges, ChainInfo, ScanReport, ScanRequest, Sink, SourceError, Transfer,
    TransferSource, Unavailable,
};
use txgraph_work::{ProgressGuard, Threads, run_tasks};

/// The number of blocks at which a scan looks up the transactions so far.
const DENSITY_SAMPLES_MAX: u64 = 256;

/// A node database as a source of transfers. Can be shared between threads; each scan uses all
/// threads.
#[derive(Debug)]
pub struct NodeSource {
    db: Arc<NodeDb>,
    chain: ChainInfo,
    options: ScanOptions,
}

impl NodeSource {
    /// Creates a source for an open database. `chain_id` is needed for chains whose ID is not in
    /// the database. Otherwise it must agree with the database.
    pub fn new(db: Arc<NodeDb>, options: ScanOptions, chain_id: Option<u64>) -> Result<Self> {
        if options.chunk_blocks == Some(0) {
            return Err(Error::Options("a chunk holds at least 1 block"));
        }
        if options.snapshot_blocks_max == Some(0) {
            return Err(Error::Options("a snapshot holds at least 1 block"));
        }
        let known = db.chain()?;
        let chain_id = match (chain_id, known.chain_id) {
            (Some(given), Some(found)) if given != found => {
                return Err(Error::ChainIdContradicts { given, found });
            }
            (Some(id), _) | (None, Some(id)) => id,
            (None, None) => {
                // Missing transactions are reported as such, not as a missing option.
                let id = db.chain_id()?;
                id.ok_or(Error::ChainIdUnknown {
                    genesis_hash: known.genesis_hash,
                })?
            }
        };
        let chain = ChainInfo {
            chain_id,
            genesis_hash: known.genesis_hash,
            name: known.name.map(str::to_owned),
        };
        Ok(Self { db, chain, options })
    }

    /// The database behind this source.
    pub fn db(&self) -> &NodeDb {
        &self.db
    }

    /// The options of scans.
    pub fn options(&self) -> &ScanOptions {
        &self.options
    }

    /// The threads that read.
    pub fn threads(&self) -> &Threads {
        &self.options.threads
    }

    /// Runs `work` on the threads that read, with everything that it splits off with rayon.
    pub fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, SourceError> {
        Ok(self.threads().install(work).map_err(Error::from)?)
    }

    pub(crate) const fn chain_id(&self) -> u64 {
        self.chain.chain_id
    }

    /// Refuses requests for transfers that do not follow from stored rows. Fees on the OP stack do,
    /// and internal transfers in blocks of Amsterdam, which have logs of them.
    fn check_supported(&self, request: &ScanRequest) -> Result<(), SourceError> {
        let filter = &request.filter;
        if self.db.family() != ChainFamily::OpStack && filter.needs_fees() {
            return Err(SourceError::Unsupported {
                what: "a request for fees",
                reason: "the files of the node do not contain them; blocks have to be replayed",
            });
        }
        if filter.needs_traces()
            && let Some(span) = request.blocks.span()
            && !self.is_logged(span.first)?
        {
            return Err(SourceError::Unsupported {
                what: "a request for internal transfers",
                reason: "blocks before Amsterdam have no logs of them and have to be replayed",
            });
        }
        fees::rules(request, &self.db, self.chain.chain_id)?;
        Ok(())
    }

    /// Whether logs report the movements of the native coin in a block and those after it.
    fn is_logged(&self, block: u64) -> Result<bool, SourceError> {
        let logged_from = reread("headers", || self.db.snapshot()?.amsterdam());
        let logged_from = logged_from.map_err(Error::NodeDb)?;
        Ok(logged_from.is_some_and(|first| first <= block))
    }

    /// Returns the error for missing blocks, with the available ones.
    pub(crate) fn unavailable(
        &self,
        request: &ScanRequest,
        missing: Vec<Unavailable>,
    ) -> SourceError {
        let parts = parts(request, self.db.family(), self.options.verify);
        match availability::everything(&self.db, parts, &self.options.cancel) {
            Ok(available) => SourceError::Unavailable { missing, available },
            Err(error) => error,
        }
    }

    /// Looks up the number of transactions before some blocks of `ranges`.
    fn density(&self, ranges: &BlockRanges) -> Result<Density> {
        let snapshot = self.db.snapshot()?;
        let mut samples = Vec::new();
        for block in sample(ranges, DENSITY_SAMPLES_MAX) {
            samples.push((block, snapshot.body(block)?.first_tx));
        }
        if let Some(span) = ranges.span() {
            let body = snapshot.body(span.last)?;
            let transactions = body.first_tx.saturating_add(body.tx_count);
            samples.push((span.last.saturating_add(1), transactions));
        }
        Ok(Density::new(samples))
    }

    /// Chooses the size of chunks, and whether bloom filters are checked.
    fn plan(&self, ranges: &BlockRanges, tokens: Option<&TokenBits>) -> (Sizing, ScanPlan) {
        // If the files change at this moment, only an estimate is lost.
        let density = self.density(ranges).unwrap_or_default();
        let hits = tokens.and_then(|tokens| plan::hits(&self.db, ranges, tokens).ok());
        let plan = ScanPlan::new(ranges, &density, hits);
        let sizing = match self.options.chunk_blocks {
            Some(blocks) => Sizing::Blocks(blocks),
            None => Sizing::balanced(ranges, density, self.threads().count()),
        };
        (sizing, plan)
    }

    /// Scans available blocks.
    fn scan_present(
        &self,
        request: &ScanRequest,
        survey: Survey,
        sink: &mut Sink<'_>,
    ) -> Result<ScanReport, Stop> {
        let limits = Limits::new(self.threads().count(), self.options.memory_bytes_max);
        let tokens = TokenBits::of(&request.filter).filter(|_| !self.options.verify);
        let (sizing, plan) = self.plan(&survey.present, tokens.as_ref());
        tracing::debug!(%plan);
        if let Some(explain) = &self.options.explain {
            explain(&plan);
        }
        let merge = Merge::new(Chunks::new(&survey.present, sizing), limits);
        let reader = ChunkReader {
            db: &self.db,
            request,
            chain_id: self.chain.chain_id,
            parts: parts(request, self.db.family(), self.options.verify),
            fees: fees::rules(request, &self.db, self.chain.chain_id).map_err(SourceError::from)?,
            verify: self.options.verify,
            tokens: tokens.filter(|_| plan.skips_by_bloom),
            piece_bytes: limits.piece_bytes(),
            snapshot_blocks_max: self
                .options
                .snapshot_blocks_max
                .unwrap_or(SNAPSHOT_BLOCKS_MAX),
            cancel: &self.options.cancel,
            rows_expected: 0,
            observer: None,
            stopped: AtomicBool::new(false),
        };
        let progress = self.options.progress.as_deref();
        let progress = ProgressGuard::start(progress, survey.present.blocks(), "transfers");
        let mut run = Run {
            allow_partial: request.allow_partial,
            cancel: &self.options.cancel,
            progress: &progress,
            sink,
            report: ScanReport {
                missing: survey.missing,
                ..ScanReport::default()
            },
        };
        let read = |scratch: &mut Scratch, chunk: Chunk| reader.read(chunk.blocks, scratch);
        let done = run_tasks(self.threads(), Scratch::default, read, |runner| {
            let db = &self.db;
            let result = run.drive(merge, &mut ChunkWorkers { runner, db });
            // Ends the chunks that are still being read.
            reader.stopped.store(true, Ordering::Relaxed);
            result
        });
        done.map_err(Error::from)??;
        Ok(run.report)
    }
}

impl TransferSource for NodeSource {
    fn chain(&self) -> &ChainInfo {
        &self.chain
    }

    fn scan(&self, request: &ScanRequest, sink: &mut Sink<'_>) -> Result<ScanReport, SourceError> {
        self.check_supported(request)?;
        let parts = parts(request, self.db.family(), self.options.verify);
        let survey = availability::survey(&self.db, &request.blocks, parts, &self.options.cancel)?;
        if !survey.missing.is_empty() && !request.allow_partial {
            return Err(self.unavailable(request, survey.missing));
        }
        self.scan_present(request, survey, sink)
            .map_err(|stop| match stop {
                Stop::Gone(gone) => self.unavailable(request, gone),
                Stop::Source(error) => error,
            })
    }

    fn fill_hashes(
        &self,
        transfers: &mut [Transfer],
        anchors: &[BlockAnchor],
    ) -> Result<(), SourceError> {
        let cancel = &self.options.cancel;
        let fill = || hashes::fill(&self.db, transfers, anchors, cancel);
        self.install(fill)??;
        hashes::check_anchors(&self.db, transfers, anchors)
    }

    fn check_available(&self, request: &ScanRequest) -> Result<(), SourceError> {
        self.check_supported(request)?;
        let parts = parts(request, self.db.family(), self.options.verify);
        let survey = availability::survey(&self.db, &request.blocks, parts, &self.options.cancel)?;
        if survey.missing.is_empty() {
            return Ok(());
        }
        Err(self.unavailable(request, survey.missing))
    }

    fn canonical_hash(&self, block: u64) -> Result<Option<B256>, SourceError> {
        canonical(self.db(), block)
    }

    fn canonical_hashes(&self, blocks: &[u64]) -> Result<Vec<Option<B256>>, SourceError> {
        let hashes = reread("block hashes", || {
            let snapshot = self.db().snapshot()?;
            // A directory may begin above block 0.
            let hash = |block: &u64| match snapshot.block_hash(*block) {
                Ok(hash) => Ok(Some(hash)),
                Err(error) if error.is_missing() => Ok(None),
                Err(error) => Err(error),
            };
            blocks.iter().map(hash).collect()
        });
        Ok(hashes.map_err(Error::NodeDb)?)
    }
}
