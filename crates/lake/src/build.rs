//! Building a lake, and appending to it.
//!
//! A job is a range of blocks, which one thread writes as one partition, or more if it has
//! many transfers. Jobs run in parallel and are committed in order, so a process killed at any
//! moment leaves a lake that ends earlier. The next run deletes what the manifest does not
//! list, and continues.

use crate::{
    builder::{Builder, Capacity},
    dictionary::{Ids, Place, Turns},
    error::{Error, Result},
    lake::Lake,
    manifest::{Manifest, PartitionInfo, generation_of, is_ours},
    store::{Lock, Store},
    writer::Target,
};
use alloy_primitives::{Address, B256};
use std::{
    collections::HashSet,
    ops::ControlFlow,
    path::Path,
    time::{Duration, Instant},
};
use txgraph_stored::{Origin, OriginReader, PreparedOrigin, Stop, everything, run_jobs, units};
use txgraph_transfers::{
    AnomalousLogs, BlockRange, BlockSummary, ScanRequest, SourceError, Transfer, WrappedNative,
};
use txgraph_work::{CancelFlag, ProgressGuard, Retry};

/// The transfers of a partition, about, if its number of blocks is not given.
const PARTITION_TRANSFERS: u64 = 1 << 19;
/// The transfers at which a partition ends.
const PARTITION_TRANSFERS_MAX: u64 = 1 << 20;
/// The smallest and the largest number of blocks of a partition that is chosen.
const PARTITION_BLOCKS: std::ops::RangeInclusive<u64> = 1 << 6..=1 << 16;
/// The newest blocks in which transfers are counted for that choice.
const SAMPLE_BLOCKS: u64 = 1 << 10;

/// The content of a lake.
#[derive(Clone, Debug)]
pub struct BuildOptions {
    /// The contracts whose `Deposit` and `Withdrawal` events are wraps. Fixed when the lake is
    /// created.
    pub wrapped_native: WrappedNative,
    /// The lowest block. Fixed when the lake is created.
    pub first_block: u64,
    /// The highest block; `None` means the tip minus the reorg buffer.
    pub last_block: Option<u64>,
    /// The number of blocks of a partition; `None` chooses it for half a million transfers.
    /// Fixed when the lake is created.
    pub partition_blocks: Option<u64>,
    /// The number of newest blocks that are left out, because they may be replaced.
    pub reorg_buffer: u64,
}

impl Default for BuildOptions {
    fn default() -> Self {
        Self {
            wrapped_native: WrappedNative::Auto,
            first_block: 0,
            last_block: None,
            partition_blocks: None,
            reorg_buffer: 64,
        }
    }
}

/// The result of a build or an append.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BuildReport {
    /// The number of blocks that were read from the source.
    pub read_blocks: u64,
    /// The number of their transfers.
    pub transfers: u64,
    /// The number of partitions that were written.
    pub partitions: u64,
    /// The number of blocks in partitions that were removed because they are not canonical.
    pub removed_blocks: u64,
    /// The duration.
    pub time: Duration,
}

/// Builds a lake in `folder`, or continues with one that is not complete. With the feature `s3`
/// the folder can be a location `s3://BUCKET/PREFIX`.
///
/// The lake has movements inside of transactions if `origin` finds them. This cannot change
/// later.
///
/// # Errors
///
/// If blocks are missing, the folder cannot be written, or it has a lake with other contents.
pub fn build<'a>(
    folder: &Path,
    origin: impl Into<Origin<'a>>,
    options: &BuildOptions,
) -> Result<BuildReport> {
    let origin = origin.into();
    if options.partition_blocks == Some(0) {
        return Err(Error::Options(
            "a partition must have at least one block".to_owned(),
        ));
    }
    let store = Store::at(folder)?;
    store.create()?;
    let build = Build::begin(&store, origin)?;
    let chain = build.origin.source.chain();
    let internal = build.origin.internal.is_some();
    let wrapped = options.wrapped_native.resolved(chain.chain_id);
    let manifest = match Manifest::load(&store) {
        // A lake without partitions can still change.
        Ok(manifest) if !manifest.partitions.is_empty() => {
            let differs = |what| {
                Err(Error::Options(format!(
                    "{} was built with another choice of {what}; keep that choice, or build \
                     another lake",
                    folder.display()
                )))
            };
            if manifest.wrapped_native != wrapped {
                return differs("wrapped coins");
            }
            if manifest.internal != internal {
                return differs("internal transfers");
            }
            manifest
        }
        Ok(_) | Err(Error::NotALake { .. }) => {
            let partition_blocks = match options.partition_blocks {
                Some(blocks) => blocks,
                None => build.choose_partition_blocks(options)?,
            };
            let manifest = Manifest {
                chain_id: chain.chain_id,
                genesis_hash: chain.genesis_hash,
                wrapped_native: wrapped,
                internal,
                first_block: options.first_block,
                partition_blocks,
                partition_transfers: PARTITION_TRANSFERS_MAX,
                generation: 0,
                partitions: Vec::new(),
            };
            manifest.save(&store)?;
            manifest
        }
        Err(error) => return Err(error),
    };
    build.run(manifest, options)
}

/// Continues a lake up to the tip of the source, and removes partitions that a reorganisation
/// replaced. Only the last block and the reorg buffer of `options` are used. If the lake has
/// movements inside of transactions, `origin` must find them.
///
/// # Errors
///
/// As [`build`], and if there is no lake.
pub fn append<'a>(
    folder: &Path,
    origin: impl Into<Origin<'a>>,
    options: &BuildOptions,
) -> Result<BuildReport> {
    // Fails before a lock file is created in a directory that is not a lake.
    let store = Store::at(folder)?;
    Manifest::load(&store)?;
    let build = Build::begin(&store, origin.into())?;
    let manifest = Manifest::load(&store)?;
    check_internal(&build.origin, &manifest)?;
    build.run(manifest, options)
}

/// Checks that movements inside of transactions can be found if a lake has them.
pub(crate) fn check_internal(origin: &Origin<'_>, manifest: &Manifest) -> Result<()> {
    match (manifest.internal, origin.internal) {
        (true, None) => Err(Error::Options(
            "the lake has internal transfers, which only a replay finds".to_owned(),
        )),
        _ => Ok(()),
    }
}

/// Deletes partitions that the manifest does not list: those of killed processes, and those
/// that were replaced. While the lake is read, published ones stay until a later writer, and new
/// partitions get other names.
pub(crate) fn delete_unlisted(store: &Store, manifest: &mut Manifest) -> Result<()> {
    let listed: HashSet<&str> = (manifest.partitions.iter())
        .map(|partition| partition.folder.as_str())
        .collect();
    let mut unlisted = store.partitions()?;
    unlisted.retain(|name| is_ours(name) && !listed.contains(&**name));
    if unlisted.is_empty() {
        return Ok(());
    }
    let unread = store.lock_unread()?;
    for name in &unlisted {
        match generation_of(name).filter(|_| unread.is_none()) {
            Some(generation) => {
                tracing::debug!(name, "a replaced partition is being read");
                manifest.generation = manifest.generation.max(generation.saturating_add(1));
            }
            None => store.remove_partition(name)?,
        }
    }
    Ok(())
}

/// Returns the ids of all addresses of a lake.
pub(crate) fn load_ids(lake: &Lake, partitions: usize) -> Result<Ids> {
    let mut ids = Ids::default();
    for partition in &lake.partitions[..partitions] {
        let first = partition.info.first_address_id;
        for (id, address) in (first..).zip(partition.addresses()?) {
            if ids.add(Address::from(*address)) != Some(id) {
                return Err(partition.damaged(format!("the address with id {id} is not new")));
            }
        }
    }
    Ok(ids)
}

/// A build or an append.
struct Build<'a> {
    store: &'a Store,
    origin: Origin<'a>,
    lock: Lock,
    began: Instant,
}

impl<'a> Build<'a> {
    fn begin(store: &'a Store, origin: Origin<'a>) -> Result<Self> {
        Ok(Self {
            store,
            origin,
            lock: store.lock()?,
            began: Instant::now(),
        })
    }

    /// The last block to be in the lake.
    fn last_block(&self, options: &BuildOptions) -> Result<Option<u64>> {
        Ok((self.origin).last_block(options.last_block, options.reorg_buffer)?)
    }

    /// Counts transfers in the newest blocks. Returns a power of two.
    fn choose_partition_blocks(&self, options: &BuildOptions) -> Result<u64> {
        let most = *PARTITION_BLOCKS.end();
        let Some(last) = self.last_block(options)? else {
            return Ok(most);
        };
        let first = last
            .saturating_sub(SAMPLE_BLOCKS - 1)
            .max(options.first_block);
        let Some(blocks) = BlockRange::new(first, last) else {
            return Ok(most);
        };
        let request = request(&blocks, &options.wrapped_native);
        // Without movements inside of transactions, which take long to find.
        let prepared = self.origin.prepare(&request, false)?;
        self.origin.source.check_available(&request)?;
        let run = prepared.reader().read(blocks)?;
        let (read, found) = run.map_or((1, 1), |run| {
            (run.blocks.blocks(), run.transfers.len().max(1) as u64)
        });
        let blocks = PARTITION_TRANSFERS.saturating_mul(read) / found;
        let power = 1 << (u64::BITS - 1 - blocks.max(1).leading_zeros());
        Ok(power.clamp(*PARTITION_BLOCKS.start(), most))
    }

    fn run(&self, mut manifest: Manifest, options: &BuildOptions) -> Result<BuildReport> {
        manifest.check_chain(self.store.path(), self.origin.source.chain())?;
        let mut report = BuildReport::default();
        // The last block of the first pass: a chain that grows faster than it is read would never be
        // complete. So every later pass follows a reorganisation.
        let mut end = None;
        for pass in 0.. {
            delete_unlisted(self.store, &mut manifest)?;
            report.removed_blocks += self.remove_stale(&mut manifest)?;
            let next = match manifest.blocks() {
                Some(blocks) => blocks.last.checked_add(1),
                None => Some(manifest.first_block),
            };
            let last = self.last_block(options)?;
            let wanted = next
                .zip(last.min(*end.get_or_insert(last)))
                .and_then(|(first, last)| BlockRange::new(first, last));
            let Some(wanted) = wanted else {
                break;
            };
            if pass == Retry::REREAD.attempts {
                return Err(SourceError::Reorged {
                    block: wanted.first,
                }
                .into());
            }
            let request = request(&wanted, &manifest.wrapped_native);
            let prepared = self.origin.prepare(&request, manifest.internal)?;
            // Fails with all missing blocks, before any are read.
            self.origin.source.check_available(&request)?;
            match self.read(&mut manifest, wanted, &prepared, &mut report) {
                // The blocks belong to another branch now.
                Err(Error::Source(SourceError::Reorged { block })) => {
                    tracing::debug!(block, "the chain was reorganised; reading again");
                }
                done => done?,
            }
        }
        report.time = self.began.elapsed();
        Ok(report)
    }

    /// Removes partitions that are not canonical, from the end. Returns the number of their
    /// blocks.
    fn remove_stale(&self, manifest: &mut Manifest) -> Result<u64> {
        let mut removed = 0;
        while let Some(last) = manifest.partitions.last() {
            let now = self.origin.source.canonical_hash(last.blocks.last)?;
            if now == Some(last.last_hash) {
                break;
            }
            tracing::info!(blocks = %last.blocks, "partition removed: no longer canonical");
            removed += last.blocks.blocks();
            manifest.partitions.pop();
        }
        if removed > 0 {
            manifest.save(self.store)?;
            delete_unlisted(self.store, manifest)?;
        }
        Ok(removed)
    }

    /// Reads blocks into partitions.
    fn read(
        &self,
        manifest: &mut Manifest,
        blocks: BlockRange,
        prepared: &PreparedOrigin<'_>,
        report: &mut BuildReport,
    ) -> Result<()> {
        let lake = Lake::at(self.store)?;
        let turns = Turns::new(load_ids(&lake, lake.partitions.len())?);
        drop(lake);
        let work = &self.origin.work;
        let progress = ProgressGuard::start(work.progress.as_deref(), blocks.blocks(), "transfers");
        let stop = Stop::new(&work.cancel);
        let limits = Limits {
            target: Target {
                store: self.store,
                staging: self.lock.staging(),
                chain: self.origin.source.chain(),
                generation: manifest.generation,
            },
            transfers: manifest.partition_transfers,
            cancel: &work.cancel,
        };
        let jobs = units(&blocks.into(), manifest.partition_blocks);
        let worker = || Worker {
            reader: prepared.reader(),
            limits: &limits,
            stop: &stop,
            capacity: Capacity::default(),
            progress: &progress,
        };
        let write = |worker: &mut Worker<'_>, (number, job)| {
            // Dropped after a failure, it ends the jobs that wait for ids.
            let place = turns.place(number);
            let partitions = worker.write(&place, job)?;
            place.done();
            Ok::<_, Error>(partitions)
        };
        // Jobs wait for the ids of those before them, so each has its own thread.
        run_jobs(
            (work, work.threads.count()),
            &stop,
            jobs.into_iter().enumerate(),
            worker,
            write,
            |written| {
                for partition in &written {
                    report.read_blocks += partition.blocks.blocks();
                    report.transfers += partition.transfers;
                    report.partitions += 1;
                }
                commit(self.store, manifest, written)
            },
        )
    }
}

/// Adds partitions to the manifest, if they follow the last one.
fn commit(store: &Store, manifest: &mut Manifest, new: Vec<PartitionInfo>) -> Result<()> {
    let last = manifest.partitions.last();
    let (Some(first), next) = (
        new.first(),
        last.map(|last| last.blocks.last.checked_add(1)),
    ) else {
        return Ok(());
    };
    if next.is_some_and(|next| next != Some(first.blocks.first)) {
        // A job before it stopped without a result.
        return Err(SourceError::Interrupted.into());
    }
    if last.is_some_and(|last| last.last_hash != first.parent_hash) {
        return Err(SourceError::Reorged {
            block: first.blocks.first,
        }
        .into());
    }
    manifest.partitions.extend(new);
    manifest.save(store)
}

/// The request of a build.
pub(crate) fn request(blocks: &BlockRange, wrapped: &WrappedNative) -> ScanRequest {
    ScanRequest {
        with_hashes: true,
        ..everything(&(*blocks).into(), wrapped)
    }
}

/// Where partitions are written, and when they end.
pub(crate) struct Limits<'a> {
    pub(crate) target: Target<'a>,
    /// A partition ends after the block in which it reaches this number of transfers.
    pub(crate) transfers: u64,
    pub(crate) cancel: &'a CancelFlag,
}

/// Writes consecutive blocks as partitions.
pub(crate) struct Packer<'a> {
    limits: &'a Limits<'a>,
    place: &'a Place<'a>,
    builder: Option<Builder>,
    /// The size of the partition before.
    capacity: &'a mut Capacity,
    written: Vec<PartitionInfo>,
}

impl<'a> Packer<'a> {
    pub(crate) const fn new(
        limits: &'a Limits<'a>,
        place: &'a Place<'a>,
        capacity: &'a mut Capacity,
    ) -> Self {
        Self {
            limits,
            place,
            builder: None,
            capacity,
            written: Vec::new(),
        }
    }

    /// Appends blocks with their hashes, anomalous logs and transfers.
    pub(crate) fn push(
        &mut self,
        parent_hash: B256,
        summaries: impl IntoIterator<Item = (BlockSummary, B256)>,
        mut anomalies: &[AnomalousLogs],
        mut transfers: &[Transfer],
    ) -> Result<()> {
        let mut parent_hash = parent_hash;
        for (summary, hash) in summaries {
            let rows = usize::try_from(summary.counts.transfers).unwrap_or(usize::MAX);
            let contradiction = || {
                Error::Options(format!(
                    "the source returned fewer transfers than it counted in block {}",
                    summary.number
                ))
            };
            let (own, rest) = transfers.split_at_checked(rows).ok_or_else(contradiction)?;
            transfers = rest;
            let end = anomalies.partition_point(|logs| logs.block <= summary.number);
            let (logs, rest) = anomalies.split_at(end);
            anomalies = rest;
            let builder = (self.builder)
                .get_or_insert_with(|| Builder::new(summary.number, parent_hash, *self.capacity));
            builder.push(&summary, hash, logs, own)?;
            parent_hash = hash;
            if builder.rows() as u64 >= self.limits.transfers {
                self.end()?;
            }
        }
        Ok(())
    }

    /// Ends the partition.
    pub(crate) fn end(&mut self) -> Result<()> {
        if let Some(builder) = self.builder.take() {
            *self.capacity = builder.capacity();
            let Limits { target, cancel, .. } = self.limits;
            self.written
                .push(builder.finish(target, self.place, cancel)?);
        }
        Ok(())
    }

    /// Ends the last partition, and returns all.
    pub(crate) fn finish(mut self) -> Result<Vec<PartitionInfo>> {
        self.end()?;
        Ok(self.written)
    }
}

/// One thread of a build.
struct Worker<'a> {
    reader: OriginReader<'a>,
    limits: &'a Limits<'a>,
    stop: &'a Stop<'a>,
    capacity: Capacity,
    progress: &'a ProgressGuard<'a>,
}

impl Worker<'_> {
    /// Writes the blocks of a job.
    fn write(&mut self, place: &Place<'_>, job: BlockRange) -> Result<Vec<PartitionInfo>> {
        let mut packer = Packer::new(self.limits, place, &mut self.capacity);
        self.reader.each_run(job, self.stop, |run| {
            let hashes = run.hashes.iter().copied();
            let summaries = run.summaries.iter().copied().zip(hashes);
            packer.push(run.parent_hash, summaries, &run.anomalies, &run.transfers)?;
            let blocks = run.blocks.blocks();
            self.progress.advance(blocks, run.transfers.len() as u64);
            Ok::<_, Error>(ControlFlow::Continue(()))
        })?;
        packer.finish()
    }
}
