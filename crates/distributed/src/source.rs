//! Transfers from a cluster, as any other source of transfers.
//!
//! A request becomes a job, and its rows a step of the run. A search asks for one frontier after
//! another, so it has a job for each hop. A run that is continued finds the steps that it
//! finished, and asks for the others only.

use crate::{
    Error, Result, Settings,
    engine::{Engine, Job},
    operator::WorkExec,
    rows,
    run::{self, Committed, Run},
    wire::{Chunk, Input, Mode, Request, Task},
};
use alloy_primitives::B256;
use serde::Serialize;
use std::{
    collections::BTreeMap,
    ops::ControlFlow,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};
use txgraph_stored::units;
use txgraph_transfers::{
    Batch, BlockAnchor, BlockRange, BlockRanges, ByFrontier, ChainInfo, ScanReport, ScanRequest,
    SourceError, Transfer, TransferSource,
};
use txgraph_work::{CancelFlag, Progress};

/// Answers requests with jobs on a cluster.
pub(crate) struct ClusterSource<'a> {
    pub(crate) engine: &'a dyn Engine,
    pub(crate) run: &'a Run,
    pub(crate) settings: &'a Settings,
    pub(crate) input: &'a Input,
    pub(crate) chain: &'a ChainInfo,
    /// The number of chunks of a job.
    pub(crate) chunks: u64,
    /// Blocks at which chunks end, ascending: the partitions of a lake. Empty for equal chunks.
    pub(crate) cuts: &'a [Cut],
    /// The lake, read in the driver for small frontiers.
    pub(crate) local: Option<Box<dyn TransferSource + Sync + 'a>>,
    pub(crate) cancel: &'a CancelFlag,
    pub(crate) progress: Option<&'a dyn Progress>,
    pub(crate) explain: &'a (dyn Fn(String) + Send + Sync),
    /// The steps with the rows of frontiers, for hashes and times.
    pub(crate) read: Mutex<Vec<Committed>>,
}

/// Some blocks that are stored together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    pub(crate) last: u64,
    pub(crate) transfers: u64,
}

/// The inputs that determine the rows of a step.
#[derive(Serialize)]
struct Key<'a> {
    input: &'a Input,
    chain: &'a ChainInfo,
    first: bool,
    request: &'a Request,
    chunks: Vec<(u64, u64)>,
}

impl ClusterSource<'_> {
    fn lock_read(&self) -> MutexGuard<'_, Vec<Committed>> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the step with the rows of a request.
    fn step(&self, request: &ScanRequest, first: bool) -> Result<Committed> {
        // A later job for hashes would cost more than the hashes of some more transfers. A lake
        // is read in the driver for them.
        let is_frontier = request.filter.touching.is_some() && self.local.is_none();
        let request = ScanRequest {
            with_times: request.with_times || is_frontier,
            with_hashes: request.with_hashes || is_frontier,
            ..request.clone()
        };
        let chunks = divide(&request.blocks, self.cuts, self.chunks);
        let wire = Request::new(&request, &self.run.store)?;
        let key = run::key(&Key {
            input: self.input,
            chain: self.chain,
            first,
            request: &wire,
            chunks: (chunks.iter())
                .map(|chunk| (chunk.blocks.first, chunk.blocks.last))
                .collect(),
        })?;
        let name = match &request.filter.touching {
            Some(touching) => format!(
                "transfers of {} addresses in blocks {}",
                touching.addresses.len(),
                request.blocks
            ),
            None => format!("transfers in blocks {}", request.blocks),
        };
        (self.explain)(format!(
            "{name}: {} chunks of {} on {}",
            chunks.len(),
            self.input,
            self.engine.name()
        ));
        let mode = if first { Mode::FirstScan } else { Mode::Scan };
        self.run.step(&key, self.cancel, |folder| {
            let task = Task {
                step: folder.to_owned(),
                chain: Some(self.chain.clone()),
                request: wire.clone(),
                ..Task::new(self.run.location(), self.input, mode)
            };
            let job = Job {
                name: name.clone(),
                plan: WorkExec::transfers(task, &chunks)?,
                cancel: self.cancel,
                progress: self.progress,
                written: &|| self.run.written(folder),
            };
            run::write_scan(self.engine, &job, chunks.len())
        })
    }

    /// Whether a request is answered in the driver.
    fn local(&self, request: &ScanRequest) -> Option<&(dyn TransferSource + Sync)> {
        let local = self.local.as_deref()?;
        let addresses = request.filter.touching.as_ref()?.addresses.len();
        (addresses < self.settings.local_frontier).then_some(local)
    }

    fn answer(
        &self,
        request: &ScanRequest,
        first: bool,
        sink: &mut dyn FnMut(Batch) -> ControlFlow<()>,
    ) -> Result<ScanReport, SourceError> {
        if let Some(local) = self.local(request) {
            let addresses = request.filter.touching.as_ref();
            let addresses = addresses.map_or(0, |touching| touching.addresses.len());
            tracing::debug!(addresses, "transfers are read in this process");
            (self.explain)(format!(
                "transfers of {addresses} addresses: {} in this process",
                self.input
            ));
            return local.scan(request, sink);
        }
        let step = self.step(request, first)?;
        deliver(&step, sink)?;
        let report = merged(&step);
        if request.filter.touching.is_some() && self.local.is_none() {
            self.lock_read().push(step);
        }
        Ok(report)
    }
}

/// Divides blocks into about `wanted` chunks: at cuts, so that they have about equally many
/// transfers, or into equally many blocks if there is none.
pub(crate) fn divide(blocks: &BlockRanges, cuts: &[Cut], wanted: u64) -> Vec<Chunk> {
    let wanted = wanted.max(1);
    let ranges: Vec<BlockRange> = if cuts.is_empty() {
        let size = blocks.blocks().div_ceil(wanted).max(1);
        units(blocks, size).into()
    } else {
        at_cuts(blocks, cuts, wanted)
    };
    let mut before: Option<BlockRange> = None;
    let mut chunks = Vec::with_capacity(ranges.len());
    for (number, blocks) in (0..).zip(ranges) {
        let follows = before.is_some_and(|before| before.last.checked_add(1) == Some(blocks.first));
        before = Some(blocks);
        chunks.push(Chunk {
            number,
            blocks,
            follows,
            hashes: [None; 2],
        });
    }
    chunks
}

/// Divides blocks at cuts, so that chunks have about equally many transfers.
fn at_cuts(blocks: &BlockRanges, cuts: &[Cut], wanted: u64) -> Vec<BlockRange> {
    let all: u64 = cuts.iter().map(|cut| cut.transfers).sum();
    let enough = all.div_ceil(wanted).max(1);
    let mut ends = Vec::new();
    let mut transfers = 0;
    for cut in cuts {
        transfers += cut.transfers;
        if transfers >= enough {
            ends.push(cut.last);
            transfers = 0;
        }
    }
    let mut ranges = Vec::new();
    for range in blocks.iter() {
        let mut first = range.first;
        for end in &ends {
            if *end >= first && *end < range.last {
                ranges.push(BlockRange { first, last: *end });
                first = *end + 1;
            }
        }
        ranges.push(BlockRange {
            first,
            last: range.last,
        });
    }
    ranges
}

/// Passes the rows of a step to `sink`, in batches of whole blocks.
fn deliver(
    step: &Committed,
    sink: &mut dyn FnMut(Batch) -> ControlFlow<()>,
) -> Result<(), SourceError> {
    for chunk in &step.step.chunks {
        let Some(blocks) = chunk.report.covered.span() else {
            continue;
        };
        let mut delivery = Delivery {
            sink: &mut *sink,
            pending: Vec::new(),
            blocks,
        };
        for part in &chunk.parts {
            let read = step.read_part(part, None, &mut |batch| {
                let mut transfers = rows::decode(&batch)?.into_iter();
                Ok(transfers.try_for_each(|transfer| delivery.push(transfer)))
            });
            if read?.is_break() {
                return Ok(());
            }
        }
        if delivery.end().is_break() {
            return Ok(());
        }
    }
    Ok(())
}

/// Collects the rows of a chunk into batches.
struct Delivery<'a> {
    sink: &'a mut dyn FnMut(Batch) -> ControlFlow<()>,
    pending: Vec<Transfer>,
    /// Blocks of the chunk that were not passed on yet.
    blocks: BlockRange,
}

impl Delivery<'_> {
    /// Passes on the rest of the chunk.
    fn end(self) -> ControlFlow<()> {
        (self.sink)(Batch {
            blocks: self.blocks,
            transfers: self.pending,
        })
    }

    fn push(&mut self, transfer: Transfer) -> ControlFlow<()> {
        let block = transfer.block_number;
        let is_new = self
            .pending
            .last()
            .is_some_and(|last| last.block_number < block);
        let mut flow = ControlFlow::Continue(());
        if is_new && self.pending.len() >= rows::BATCH_ROWS {
            let transfers = std::mem::take(&mut self.pending);
            flow = (self.sink)(Batch {
                blocks: BlockRange {
                    last: block - 1,
                    ..self.blocks
                },
                transfers,
            });
            self.blocks.first = block;
        }
        self.pending.push(transfer);
        flow
    }
}

/// The report of a step: the sum of the reports of its chunks.
fn merged(step: &Committed) -> ScanReport {
    let mut all = ScanReport::default();
    let mut covered = Vec::new();
    for chunk in &step.step.chunks {
        let report = chunk.clone().into_report();
        covered.extend(report.covered.iter());
        all.counts += report.counts;
        for gap in report.missing {
            match all.missing.last_mut() {
                // A gap that a chunk divided.
                Some(last)
                    if last.reason == gap.reason
                        && last.blocks.last.checked_add(1) == Some(gap.blocks.first) =>
                {
                    last.blocks.last = gap.blocks.last;
                }
                _ => all.missing.push(gap),
            }
        }
        all.caveats.extend(report.caveats);
        all.notes.extend(report.notes);
        all.anchors.extend(report.anchors);
        all.last_block_hash = report.last_block_hash.or(all.last_block_hash);
    }
    for list in [&mut all.caveats, &mut all.notes] {
        list.sort();
        list.dedup();
    }
    all.covered = BlockRanges::new(covered);
    all
}

impl TransferSource for ClusterSource<'_> {
    fn chain(&self) -> &ChainInfo {
        self.chain
    }

    fn scan(
        &self,
        request: &ScanRequest,
        sink: &mut dyn FnMut(Batch) -> ControlFlow<()>,
    ) -> Result<ScanReport, SourceError> {
        self.answer(request, false, sink)
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
        let mut wanted: BTreeMap<(u64, u32), Vec<&mut Transfer>> = BTreeMap::new();
        for transfer in transfers {
            let key = (transfer.block_number, transfer.transaction_index);
            wanted.entry(key).or_default().push(transfer);
        }
        for step in &*self.lock_read() {
            for chunk in &step.step.chunks {
                let is_wanted = chunk.report.covered.iter().any(|blocks| {
                    let keys = (blocks.first, 0)..=(blocks.last, u32::MAX);
                    wanted.range(keys).next().is_some()
                });
                let parts = chunk.parts.iter().filter(|_| is_wanted);
                for part in parts {
                    let _ = step.read_part(part, Some(&rows::HASH_COLUMNS), &mut |batch| {
                        for (key, hash, time) in rows::decode_hashes(&batch)? {
                            for transfer in wanted.remove(&key).unwrap_or_default() {
                                transfer.transaction_hash = hash;
                                transfer.block_timestamp = time;
                            }
                        }
                        Ok(ControlFlow::Continue(()))
                    })?;
                }
            }
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
        let first = AtomicBool::new(report.is_none());
        Ok(Some(ByFrontier {
            report,
            source: Box::new(Hops { of: self, first }),
        }))
    }
}

/// The source of a search with several hops.
struct Hops<'a> {
    of: &'a ClusterSource<'a>,
    /// Whether the next scan is the first one.
    first: AtomicBool,
}

impl TransferSource for Hops<'_> {
    fn chain(&self) -> &ChainInfo {
        self.of.chain
    }

    fn scan(
        &self,
        request: &ScanRequest,
        sink: &mut dyn FnMut(Batch) -> ControlFlow<()>,
    ) -> Result<ScanReport, SourceError> {
        let first = self.first.swap(false, Ordering::Relaxed);
        self.of.answer(request, first, sink)
    }

    fn fill_hashes(
        &self,
        transfers: &mut [Transfer],
        anchors: &[BlockAnchor],
    ) -> Result<(), SourceError> {
        self.of.fill_hashes(transfers, anchors)
    }

    fn check_available(&self, request: &ScanRequest) -> Result<(), SourceError> {
        self.of.check_available(request)
    }

    fn canonical_hashes(&self, blocks: &[u64]) -> Result<Vec<Option<B256>>, SourceError> {
        self.of.canonical_hashes(blocks)
    }
}
