//! Transfers from a cluster, as any other source of transfers.
//!
//! A request becomes a job, and its rows a step of the run. A search asks for one frontier after
//! another, so it has a job for each hop, unless the first hop kept few transfers: the driver reads
//! these, and a second job finds hashes. A run that is continued finds the steps that it finished,
//! and asks for the others only.

use crate::{
    Driver, Error, Result, chain, rows,
    run::Committed,
    serve::{KEPT, KEPT_MAX, is_wanted},
    wire::{Earlier, Mode, Request, SourceInfo, Task},
};
use alloy_primitives::B256;
use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};
use txgraph::{Backend, MeasureSettings, Measured, ProtectedPaths, Source};
use txgraph_transfers::{
    AddressFilter, Batch, BlockAnchor, BlockRange, ByFrontier, ChainInfo, Direction, ScanReport,
    ScanRequest, Sink, SourceError, Transfer, TransferFilter, TransferSource, Wrapper,
};

/// Answers requests with jobs on a cluster.
struct ClusterSource<'a> {
    driver: &'a Driver,
    /// The lake, read in the driver for small frontiers.
    local: Option<Box<dyn TransferSource + Sync + 'a>>,
    /// The steps with the rows of frontiers, for hashes and times.
    read: Mutex<Vec<Committed>>,
    /// The last request that was answered from the transfers that a first scan kept, and this scan.
    kept: Mutex<Option<(ScanRequest, Committed)>>,
}

/// A transaction, and the transfers of it that have no hash.
type Wanted<'t> = BTreeMap<(u64, u32), Vec<&'t mut Transfer>>;

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ClusterSource<'_> {
    /// Returns the step with the rows of a request.
    fn step(&self, request: &ScanRequest, mode: Mode, inputs: Vec<Earlier>) -> Result<Committed> {
        // A later job for hashes would cost more than the hashes of some more transfers. A lake
        // is read in the driver for them.
        let is_frontier = request.filter.touching.is_some() && self.local.is_none();
        let request = ScanRequest {
            with_times: request.with_times || is_frontier,
            with_hashes: request.with_hashes || is_frontier,
            ..request.clone()
        };
        let driver = self.driver;
        let chunks = driver.divide(&request.blocks);
        let task = Task {
            inputs,
            request: Request::new(&request, &driver.run.store)?,
            ..driver.task(mode)
        };
        let name = match &request.filter.touching {
            Some(touching) => format!(
                "transfers of {} addresses in blocks {}",
                touching.addresses.len(),
                request.blocks
            ),
            None => format!("transfers in blocks {}", request.blocks),
        };
        let (count, input) = (chunks.len(), &driver.input);
        driver.explain(&format!("{name}: {count} chunks of {input} on the cluster"));
        driver.step(&name, task, &chunks)
    }

    /// Whether a request is answered in the driver.
    fn local(&self, request: &ScanRequest) -> Option<&(dyn TransferSource + Sync)> {
        let local = self.local.as_deref()?;
        let addresses = request.filter.touching.as_ref()?.addresses.len();
        (addresses < self.driver.settings.local_frontier).then_some(local)
    }

    /// Answers a request. In a search with several hops, the first scan is kept in `first`.
    fn answer(
        &self,
        request: &ScanRequest,
        first: Option<&OnceLock<Committed>>,
        sink: &mut Sink<'_>,
    ) -> Result<ScanReport, SourceError> {
        let explain = |what: &dyn fmt::Display| {
            let addresses = request.filter.touching.as_ref();
            let addresses = addresses.map_or(0, |touching| touching.addresses.len());
            let line = format!("transfers of {addresses} addresses: {what} in this process");
            self.driver.explain(&line);
        };
        if let Some(local) = self.local(request) {
            explain(&self.driver.input);
            return local.scan(request, sink);
        }
        let (mode, inputs) = match first.map(OnceLock::get) {
            Some(Some(first)) if are_few(first) => {
                explain(&"rows of the first hop");
                deliver(first, KEPT, |transfer| is_wanted(request, transfer), sink)?;
                *lock(&self.kept) = Some((request.clone(), first.clone()));
                return Ok(first.report());
            }
            Some(None) => (Mode::FirstScan, Vec::new()),
            Some(Some(first)) => (Mode::Scan, vec![first.earlier(KEPT, false)]),
            None => (Mode::Scan, Vec::new()),
        };
        let step = self.step(request, mode, inputs)?;
        deliver(&step, 0, |_| true, sink)?;
        let report = step.report();
        if let Some(first) = first {
            first.get_or_init(|| step.clone());
        }
        if request.filter.touching.is_some() && self.local.is_none() {
            lock(&self.read).push(step);
        }
        Ok(report)
    }
}

/// Whether the driver reads what a first scan kept: all transfers that any hop can request, and few.
fn are_few(first: &Committed) -> bool {
    let chunks = first.step.chunks.iter();
    let kept: Option<u64> = chunks.map(|chunk| chunk.facts.as_u64()).sum();
    kept.is_some_and(|kept| kept <= KEPT_MAX as u64)
}

/// Passes wanted rows of a table of a step to `sink`, in batches of whole blocks.
fn deliver(
    step: &Committed,
    table: u32,
    is_wanted: impl Fn(&Transfer) -> bool,
    sink: &mut Sink<'_>,
) -> Result<(), SourceError> {
    for chunk in &step.step.chunks {
        // Those that were not passed on yet.
        let Some(mut blocks) = chunk.report.covered.span() else {
            continue;
        };
        let mut transfers: Vec<Transfer> = Vec::new();
        for transfer in step.transfers(chunk, table) {
            let transfer = transfer?;
            if !is_wanted(&transfer) {
                continue;
            }
            let first = transfer.block_number;
            let is_new = (transfers.last()).is_some_and(|last| last.block_number < first);
            if is_new && transfers.len() >= rows::BATCH_ROWS {
                let last = first - 1;
                let transfers = std::mem::take(&mut transfers);
                let blocks = BlockRange::from_to(std::mem::replace(&mut blocks.first, first), last);
                if sink(Batch { blocks, transfers }).is_break() {
                    return Ok(());
                }
            }
            transfers.push(transfer);
        }
        if sink(Batch { blocks, transfers }).is_break() {
            return Ok(());
        }
    }
    Ok(())
}

/// Fills in the hashes and times of transfers that a step has.
fn fill(step: &Committed, wanted: &mut Wanted<'_>) -> Result<(), SourceError> {
    for chunk in &step.step.chunks {
        let is_wanted = chunk.report.covered.iter().any(|blocks| {
            let keys = (blocks.first, 0)..=(blocks.last, u32::MAX);
            wanted.range(keys).next().is_some()
        });
        if !is_wanted {
            continue;
        }
        for known in step.transfers(chunk, 0) {
            let known = known?;
            for transfer in wanted.remove(&known.transaction()).unwrap_or_default() {
                transfer.transaction_hash = known.transaction_hash;
                transfer.block_timestamp = known.block_timestamp;
            }
        }
    }
    Ok(())
}

impl TransferSource for ClusterSource<'_> {
    fn chain(&self) -> &ChainInfo {
        &self.driver.info.chain
    }

    fn scan(&self, request: &ScanRequest, sink: &mut Sink<'_>) -> Result<ScanReport, SourceError> {
        self.answer(request, None, sink)
    }

    /// Hashes and times came with the rows of the frontiers.
    fn fill_hashes(
        &self,
        transfers: &mut [Transfer],
        anchors: &[BlockAnchor],
    ) -> Result<(), SourceError> {
        if let Some(local) = &self.local {
            return local.fill_hashes(transfers, anchors);
        }
        let mut wanted = Wanted::new();
        for transfer in transfers {
            let transaction = transfer.transaction();
            wanted.entry(transaction).or_default().push(transfer);
        }
        for step in &*lock(&self.read) {
            fill(step, &mut wanted)?;
        }
        let kept = lock(&self.kept).clone();
        if let Some((mut request, first)) = kept.filter(|_| !wanted.is_empty()) {
            // With all transfers of some addresses, as other hops.
            let missing = wanted.values().flatten();
            let touching = match request.filter.touching {
                Some(AddressFilter {
                    direction: Direction::In,
                    ..
                }) => AddressFilter::new(missing.map(|it| it.to_address), Direction::In),
                _ => AddressFilter::new(missing.map(|it| it.from_address), Direction::Out),
            };
            request.filter.touching = Some(touching);
            let step = self.step(&request, Mode::Scan, vec![first.earlier(KEPT, false)])?;
            fill(&step, &mut wanted)?;
            lock(&self.read).push(step);
        }
        match wanted.first_key_value() {
            None => Ok(()),
            Some(((block, tx), _)) => Err(Error::Answer(format!(
                "transaction {tx} of block {block} is in no step of the run"
            ))
            .into()),
        }
    }

    /// The executors check each of their chunks.
    fn check_available(&self, request: &ScanRequest) -> Result<(), SourceError> {
        match &self.local {
            Some(local) => local.check_available(request),
            None => Ok(()),
        }
    }

    fn canonical_hashes(&self, blocks: &[u64]) -> Result<Vec<Option<B256>>, SourceError> {
        match &self.local {
            Some(local) => local.canonical_hashes(blocks),
            None => Ok(vec![None; blocks.len()]),
        }
    }

    fn by_frontier(&self, request: &ScanRequest) -> Result<Option<ByFrontier<'_>>, SourceError> {
        let report = match &self.local {
            Some(local) => local
                .by_frontier(request)?
                .and_then(|prepared| prepared.report),
            None => None,
        };
        let first = report.is_none().then(OnceLock::new);
        Ok(Some(ByFrontier {
            report,
            source: Box::new(Hops { of: self, first }),
        }))
    }
}

/// The source of a search with several hops.
struct Hops<'a> {
    of: &'a ClusterSource<'a>,
    /// The first scan, if it is for the whole request.
    first: Option<OnceLock<Committed>>,
}

impl<'a> Wrapper for Hops<'a> {
    type Inner = ClusterSource<'a>;

    fn inner(&self) -> &ClusterSource<'a> {
        self.of
    }

    fn scan(&self, request: &ScanRequest, sink: &mut Sink<'_>) -> Result<ScanReport, SourceError> {
        self.of.answer(request, self.first.as_ref(), sink)
    }
}

/// A driver as a source. Shared, because the driver also records the end of its run.
#[derive(Debug)]
pub(crate) struct ClusterBackend(pub(crate) Arc<Driver>);

impl Backend for ClusterBackend {
    fn chain(&self) -> txgraph::Result<&ChainInfo> {
        Ok(&self.0.info.chain)
    }

    fn tip(&self) -> txgraph::Result<u64> {
        Ok(self.0.info.tip)
    }

    fn default_range(&self) -> txgraph::Result<BlockRange> {
        Ok(self.0.info.everything)
    }

    fn block_at(&self, seconds: u64) -> Option<txgraph::Result<u64>> {
        Some(self.0.block_at(seconds))
    }

    fn block_time(&self, block: u64) -> txgraph::Result<Option<u64>> {
        let SourceInfo {
            everything, times, ..
        } = &self.0.info;
        let ends = [everything.first, everything.last];
        let at = ends.iter().position(|end| *end == block);
        Ok(at.and_then(|at| times[at]))
    }

    fn transfers(
        &self,
        filter: &TransferFilter,
    ) -> txgraph::Result<Box<dyn TransferSource + Sync + '_>> {
        let lake = self.0.lake.as_ref();
        Ok(Box::new(ClusterSource {
            driver: &self.0,
            local: lake.map(|lake| lake.transfer_source(filter)).transpose()?,
            read: Mutex::default(),
            kept: Mutex::default(),
        }))
    }

    fn measure(
        &self,
        request: &ScanRequest,
        settings: &MeasureSettings,
    ) -> Option<txgraph::Result<Measured>> {
        let measured = chain::measure(&self.0, request, settings);
        measured.map(|measured| measured.map_err(Into::into))
    }

    fn has_internal(&self) -> bool {
        self.0.info.internal
    }

    fn protected_paths(&self) -> ProtectedPaths {
        let lake = self.0.lake.as_ref();
        lake.map(Source::protected_paths).unwrap_or_default()
    }
}
