//! Building a lake, and appending to it.
//!
//! A job is a range of blocks, which one thread writes as one partition, or more if it has
//! many transfers. Jobs run in parallel and are committed in order, so a process killed at any
//! moment leaves a lake that ends earlier.

use crate::{
    builder::{Builder, Capacity},
    dictionary::{Ids, Place, Turns},
    error::{Error, Result},
    lake::Lake,
    manifest::{Manifest, PartitionInfo},
    names::{generation_of, is_ours},
    store::{Lock, Store},
    writer::Target,
};
use alloy_primitives::{Address, B256};
use std::{
    ops::ControlFlow,
    path::Path,
    time::{Duration, Instant},
};
use txgraph_stored::{
    Additions, BuildOptions, BuildReader, BuildReport, BuildSource, Contents, PreparedBuildSource,
    Stop, StoreKind, everything, run, run_jobs, units,
};
use txgraph_transfers::{
    AnomalousLogs, BlockRange, BlockRanges, BlockSummary, ChainInfo, ScanRequest, SourceError,
    Transfer, WrappedNative,
};
use txgraph_work::{CancelFlag, ProgressGuard};

/// The transfers of a partition, about, if its number of blocks is not given.
const PARTITION_TRANSFERS: u64 = 1 << 19;
/// The transfers at which a partition ends.
const PARTITION_TRANSFERS_MAX: u64 = 1 << 20;
/// The smallest and the largest number of blocks of a partition that is chosen.
const PARTITION_BLOCKS: std::ops::RangeInclusive<u64> = 1 << 6..=1 << 16;
/// The newest blocks in which transfers are counted for that choice.
const SAMPLE_BLOCKS: u64 = 1 << 10;
/// Time between two saves of the manifest, in times of the first of them.
const SAVE_SHARE: u32 = 20;

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
    origin: impl Into<BuildSource<'a>>,
    options: &BuildOptions,
) -> Result<BuildReport> {
    if options.unit_blocks == Some(0) {
        return Err(Error::Options(
            "a partition must have at least one block".to_owned(),
        ));
    }
    let store = Store::at(folder)?;
    store.create()?;
    let lock = store.lock()?;
    let origin = origin.into();
    let manifest = match Manifest::load(&store) {
        // A lake without partitions can still change.
        Ok(manifest) if !manifest.partitions.is_empty() => {
            let (contents, blocks) = (manifest.contents(), manifest.partition_blocks);
            contents.check_kept(folder, &origin, blocks, options)?;
            manifest
        }
        Ok(_) | Err(Error::NotAStore { .. }) => {
            let partition_blocks = match options.unit_blocks {
                Some(blocks) => blocks,
                None => choose_partition_blocks(&origin, options)?,
            };
            let contents = Contents::new(StoreKind::Lake, &origin, options);
            let manifest = Manifest::new(contents, partition_blocks, PARTITION_TRANSFERS_MAX);
            manifest.save(&store)?;
            manifest
        }
        Err(error) => return Err(error),
    };
    let mut writer = Writer {
        store: &store,
        lock,
        manifest,
    };
    run(&mut writer, &origin, options, false)
}

/// Continues a lake up to the tip of the source, and removes partitions that a reorganization
/// replaced. Only the last block and the reorg buffer of `options` are used. If the lake has
/// movements inside of transactions, `origin` must find them.
pub fn append<'a>(
    folder: &Path,
    origin: impl Into<BuildSource<'a>>,
    options: &BuildOptions,
) -> Result<BuildReport> {
    // Fails before a lock file is created in a directory that is not a lake.
    let store = Store::at(folder)?;
    Manifest::load(&store)?;
    let mut writer = Writer::at(&store)?;
    run(&mut writer, &origin.into(), options, false)
}

/// Counts transfers in the newest blocks. Returns a power of two.
fn choose_partition_blocks(origin: &BuildSource<'_>, options: &BuildOptions) -> Result<u64> {
    let most = *PARTITION_BLOCKS.end();
    let Some(last) = origin.last_block(options.last_block, options.reorg_buffer)? else {
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
    let prepared = origin.prepare(&request, Additions::default())?;
    origin.source.check_available(&request)?;
    let run = prepared.reader().read(blocks)?;
    let (read, found) = run.map_or((1, 1), |run| {
        (run.blocks.blocks(), run.transfers.len().max(1) as u64)
    });
    let blocks = PARTITION_TRANSFERS.saturating_mul(read) / found;
    let power = 1 << (u64::BITS - 1 - blocks.max(1).leading_zeros());
    Ok(power.clamp(*PARTITION_BLOCKS.start(), most))
}

/// Returns the ids of all addresses of a lake.
pub(crate) fn load_ids(lake: &Lake, partitions: usize) -> Result<Ids> {
    let mut ids = Ids::default();
    for partition in &lake.partitions[..partitions] {
        let first = partition.info.first_address_id;
        for (id, address) in (first..).zip(partition.addresses()?) {
            if ids.add(Address::from(*address)) != Ok(id) {
                return Err(partition.damaged(format!("the address with id {id} is not new")));
            }
        }
    }
    Ok(ids)
}

/// A lake that is being written.
pub(crate) struct Writer<'a> {
    pub(crate) store: &'a Store,
    pub(crate) lock: Lock,
    pub(crate) manifest: Manifest,
}

impl<'a> Writer<'a> {
    /// Locks a lake that exists.
    pub(crate) fn at(store: &'a Store) -> Result<Self> {
        Ok(Self {
            store,
            lock: store.lock()?,
            manifest: Manifest::load(store)?,
        })
    }
}

impl txgraph_stored::Store for Writer<'_> {
    type Unit = PartitionInfo;

    const WITH_HASHES: bool = true;

    fn path(&self) -> &Path {
        self.store.path()
    }

    fn contents(&self) -> Contents {
        self.manifest.contents()
    }

    fn units(&mut self) -> &mut Vec<PartitionInfo> {
        &mut self.manifest.partitions
    }

    fn check_files(&self, _: &ChainInfo) -> Result<()> {
        Lake::at(self.store)?.check_files()
    }

    fn save(&self) -> Result<()> {
        self.manifest.save(self.store)
    }

    fn names(&self) -> Result<Vec<String>> {
        let mut names = self.store.partitions()?;
        names.retain(|name| is_ours(name));
        Ok(names)
    }

    /// While the lake is read, published partitions stay until a later writer, and new ones get
    /// other names.
    fn delete(&mut self, unlisted: &[String]) -> Result<()> {
        let unread = self.store.lock_unread()?;
        for name in unlisted {
            match generation_of(name).filter(|_| unread.is_none()) {
                Some(generation) => {
                    tracing::debug!(name, "a replaced partition is being read");
                    let next = generation.saturating_add(1);
                    self.manifest.generation = self.manifest.generation.max(next);
                }
                None => self.store.remove_partition(name)?,
            }
        }
        Ok(())
    }

    fn read(
        &mut self,
        origin: &BuildSource<'_>,
        prepared: &PreparedBuildSource<'_>,
        blocks: &BlockRanges,
        report: &mut BuildReport,
    ) -> Result<()> {
        let (store, manifest) = (self.store, &mut self.manifest);
        let lake = Lake::at(store)?;
        let turns = Turns::new(load_ids(&lake, lake.partitions.len())?);
        drop(lake);
        let work = &origin.work;
        let progress = ProgressGuard::start(work.progress.as_deref(), blocks.blocks(), "transfers");
        let stop = Stop::new(&work.cancel);
        let limits = Limits {
            target: Target {
                store,
                staging: self.lock.staging(),
                chain: origin.source.chain(),
                generation: manifest.generation,
            },
            transfers: manifest.partition_transfers,
            cancel: &work.cancel,
        };
        let jobs = units(blocks, manifest.partition_blocks);
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
            Ok(partitions)
        };
        let mut saves = Saves::default();
        // Jobs wait for the ids of those before them, so each has its own thread.
        let read = run_jobs(
            (work, work.threads.count()),
            &stop,
            jobs.into_iter().enumerate(),
            worker,
            write,
            |written: Vec<PartitionInfo>| {
                for partition in &written {
                    report.read_blocks += partition.blocks.blocks();
                    report.transfers += partition.transfers;
                    report.units += 1;
                }
                commit(manifest, written)?;
                saves.save_if_due(|| manifest.save(store))
            },
        );
        // After a failure too: what is complete stays.
        read.and(manifest.save(store))
    }

    fn finish(&mut self, _: &BuildSource<'_>, _: &mut BuildReport) -> Result<()> {
        Ok(())
    }
}

/// When the manifest is saved while it grows. It lists all partitions, so a save for each of them would
/// cost the square of their number.
#[derive(Default)]
struct Saves {
    /// The end of the last save, and how long it took.
    last: Option<(Instant, Duration)>,
}

impl Saves {
    /// Saves, unless the last save took more than a twentieth of the time since then.
    fn save_if_due(&mut self, save: impl FnOnce() -> Result<()>) -> Result<()> {
        let start = Instant::now();
        let is_due = |(end, took): (Instant, Duration)| start - end >= took * SAVE_SHARE;
        if !self.last.is_none_or(is_due) {
            return Ok(());
        }
        save()?;
        let end = Instant::now();
        self.last = Some((end, end - start));
        Ok(())
    }
}

/// Adds partitions to the manifest, if they follow the last one.
fn commit(manifest: &mut Manifest, new: Vec<PartitionInfo>) -> Result<()> {
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
    Ok(())
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
                self.end(false)?;
            }
        }
        Ok(())
    }

    /// Ends the partition, which may be the last.
    pub(crate) fn end(&mut self, is_last: bool) -> Result<()> {
        if let Some(builder) = self.builder.take() {
            *self.capacity = builder.capacity();
            let Limits { target, cancel, .. } = self.limits;
            let place = (self.place, is_last);
            self.written.push(builder.finish(target, place, cancel)?);
        }
        Ok(())
    }

    /// Ends the last partition, and returns all.
    pub(crate) fn finish(mut self) -> Result<Vec<PartitionInfo>> {
        self.end(true)?;
        Ok(self.written)
    }
}

/// One thread of a build.
struct Worker<'a> {
    reader: BuildReader<'a>,
    limits: &'a Limits<'a>,
    stop: &'a Stop<'a>,
    capacity: Capacity,
    progress: &'a ProgressGuard<'a>,
}

impl Worker<'_> {
    fn write(&mut self, place: &Place<'_>, job: BlockRange) -> Result<Vec<PartitionInfo>> {
        let mut packer = Packer::new(self.limits, place, &mut self.capacity);
        self.reader.each_run(job, self.stop, |run| {
            let hashes = run.hashes.iter().copied();
            let summaries = run.summaries.iter().copied().zip(hashes);
            packer.push(run.parent_hash, summaries, &run.anomalies, &run.transfers)?;
            let blocks = run.blocks.blocks();
            self.progress.advance(blocks, run.transfers.len() as u64);
            Ok(ControlFlow::Continue(()))
        })?;
        packer.finish()
    }
}
