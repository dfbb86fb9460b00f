//! Building, updating and dropping an index.
//!
//! Jobs are ranges of blocks, and each writes a segment from its range, on one of the threads.
//! A finished segment is added to the manifest at once, so a process killed at any moment
//! leaves an index with all segments that were finished. The next run deletes files that are
//! not listed and continues with the missing blocks.
//!
//! Reorganisations: a segment whose last block is no longer canonical is removed. The newest
//! blocks are not indexed at all (the reorg buffer). An index that follows a node gets a few
//! blocks at a time, so small segments are joined: each segment is at least as large as all
//! newer ones of its range together. So there are few segments, and a block is rewritten only
//! a few times, from the index and not from the node.

use crate::{
    builder::{Builder, Capacity},
    directory::{check_chain, runs},
    error::{Error, Result},
    layout::BLOCKS_MAX,
    manifest::{FILE, Manifest, SegmentInfo, is_ours},
    segment::Segment,
    worker::{BuildLog, Worker, write},
};
use std::{
    collections::HashSet,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    sync::Mutex,
    time::{Duration, Instant},
};
use txgraph_stored::{
    Origin, PreparedOrigin, Stop, everything,
    folder::{self, FolderLock, LOCK_FILE, remove, sync_folder},
    run_jobs, units,
};
use txgraph_transfers::{
    BlockRange, BlockRanges, BlockSummary, SourceError, Transfer, WrappedNative,
};
use txgraph_work::{ProgressGuard, Retry};

/// Jobs that are started and not yet done, for each thread.
const JOBS_AHEAD: usize = 2;

/// The minimum memory of a worker, in bytes, whatever the limit.
const WORKER_BYTES_MIN: u64 = 8 << 20;

/// The content of an index, and how it is report.
#[derive(Clone, Debug)]
pub struct BuildOptions {
    /// The contracts whose `Deposit` and `Withdrawal` events are wraps. Fixed when the index
    /// is created; requests with another choice are answered by the source.
    pub wrapped_native: WrappedNative,
    /// The lowest block. Fixed when the index is created.
    pub first_block: u64,
    /// The highest block; `None` means the tip minus the reorg buffer.
    pub last_block: Option<u64>,
    /// The number of blocks of a full segment, at least 1. Fixed when the index is created.
    /// Larger segments mean fewer dictionaries to search, and more memory to build.
    pub segment_blocks: u64,
    /// The number of newest blocks that are not indexed, because they may be replaced.
    pub reorg_buffer: u64,
    /// Memory for all segments that are being built, in bytes. If it does not suffice,
    /// segments get fewer blocks.
    pub memory_bytes_max: u64,
}

impl Default for BuildOptions {
    fn default() -> Self {
        Self {
            wrapped_native: WrappedNative::Auto,
            first_block: 0,
            last_block: None,
            segment_blocks: 1 << 15,
            reorg_buffer: 64,
            memory_bytes_max: 1 << 30,
        }
    }
}

/// The result of a build or an update.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BuildReport {
    /// The number of blocks that were read from the source.
    pub read_blocks: u64,
    /// The number of their transfers.
    pub transfers: u64,
    /// The number of segments written, including joined ones.
    pub segments: u64,
    /// The number of blocks in segments that were removed because they are not canonical.
    pub removed_blocks: u64,
    /// Blocks that an update left out because they are no longer available.
    pub unavailable: BlockRanges,
    /// The duration.
    pub time: Duration,
}

/// Builds an index in `folder`, or continues with one that is not complete.
///
/// The index has movements inside of transactions if `origin` finds them. This cannot change
/// later.
pub fn build<'a>(
    folder: &Path,
    origin: impl Into<Origin<'a>>,
    options: &BuildOptions,
) -> Result<BuildReport> {
    let origin = origin.into();
    if !(1..=BLOCKS_MAX).contains(&options.segment_blocks) {
        return Err(Error::Options(format!(
            "a segment must have 1 to {BLOCKS_MAX} blocks"
        )));
    }
    fs::create_dir_all(folder).map_err(|error| Error::io("create", folder, error))?;
    let build = Build::begin(folder, origin.clone())?;
    let chain = origin.source.chain();
    let internal = origin.internal.is_some();
    let wrapped = options.wrapped_native.resolved(chain.chain_id);
    let manifest = match Manifest::load(folder) {
        // An index without segments can still change.
        Ok(manifest) if !manifest.segments.is_empty() => {
            if manifest.wrapped_native != wrapped {
                return Err(Error::Options(format!(
                    "{} was built with another choice of wrapped coins; keep that choice, or drop \
                     the index first",
                    folder.display()
                )));
            }
            if manifest.internal != internal {
                return Err(Error::Options(format!(
                    "{} was built {} internal transfers; build it in the same way, or drop it \
                     first",
                    folder.display(),
                    if manifest.internal { "with" } else { "without" },
                )));
            }
            manifest
        }
        Ok(_) | Err(Error::NotAnIndex { .. }) => {
            let manifest = Manifest {
                genesis_hash: chain.genesis_hash,
                chain_id: chain.chain_id,
                wrapped_native: wrapped,
                internal,
                first_block: options.first_block,
                segment_blocks: options.segment_blocks,
                segments: Vec::new(),
                read_blocks: 0,
                read_time_ms: 0,
            };
            manifest.save(folder)?;
            manifest
        }
        Err(error) => return Err(error),
    };
    build.run(manifest, options, false)
}

/// Continues an index up to the tip of the source. Only the last block, the reorg buffer and
/// the memory of `options` are used. Blocks that are no longer available are left out and
/// reported ([`BuildReport::unavailable`]). If the index has movements inside of transactions,
/// `origin` must find them.
pub fn update<'a>(
    folder: &Path,
    origin: impl Into<Origin<'a>>,
    options: &BuildOptions,
) -> Result<BuildReport> {
    let origin = origin.into();
    // Fails before a lock file is created in a directory that is not an index.
    Manifest::load(folder)?;
    let build = Build::begin(folder, origin.clone())?;
    let manifest = Manifest::load(folder)?;
    check_internal(&origin, manifest.internal)?;
    build.run(manifest, options, true)
}

/// Deletes the files of an index, also of one that is damaged or has another version, and
/// then its directory if nothing else is in it. Returns the names of the files that are left
/// because they do not belong to the index.
///
/// A symbolic link is refused before anything is deleted: it may point to a directory that
/// is in use elsewhere, and removing it is not what an index is responsible for.
pub fn drop_index(folder: &Path) -> Result<Vec<OsString>> {
    // Without a trailing slash, which would make the system follow the link.
    let folder: &Path = &folder.components().collect::<PathBuf>();
    let metadata = fs::symlink_metadata(folder);
    if metadata.is_ok_and(|metadata| metadata.is_symlink()) {
        return Err(Error::Options(format!(
            "{} is a symbolic link; drop the index in the directory that it points to",
            folder.display()
        )));
    }
    let found = names(folder)?;
    if !found.iter().any(|name| name == FILE || name == LOCK_FILE) {
        return Err(Error::NotAnIndex {
            path: folder.to_owned(),
            what: format!("it has no {FILE}"),
        });
    }
    let _lock = folder::lock(folder)?;
    // The manifest first: what is left after that is not an index.
    remove(&folder.join(FILE))?;
    sync_folder(folder)?;
    let ours = |name: &&OsString| name.to_str().is_some_and(is_ours);
    for name in found.iter().filter(ours) {
        remove(&folder.join(name))?;
    }
    remove(&folder.join(LOCK_FILE))?;
    let mut left = names(folder)?;
    left.sort_unstable();
    if left.is_empty() {
        // The path of the working directory cannot be removed by the name `.`.
        let path = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        fs::remove_dir(&path).map_err(|error| Error::io("remove", path, error))?;
    }
    Ok(left)
}

/// The names in the directory of an index.
fn names(folder: &Path) -> Result<Vec<OsString>> {
    folder::names(folder)?.ok_or_else(|| Error::NotAnIndex {
        path: folder.to_owned(),
        what: "the directory does not exist".to_owned(),
    })
}

/// A build or an update.
struct Build<'a> {
    folder: &'a Path,
    origin: Origin<'a>,
    /// Keeps the lock.
    _lock: FolderLock,
    began: Instant,
}

impl<'a> Build<'a> {
    fn begin(folder: &'a Path, origin: Origin<'a>) -> Result<Self> {
        Ok(Self {
            folder,
            origin,
            _lock: folder::lock(folder)?,
            began: Instant::now(),
        })
    }

    fn run(
        &self,
        mut manifest: Manifest,
        options: &BuildOptions,
        skip_unavailable: bool,
    ) -> Result<BuildReport> {
        check_chain(self.folder, &manifest, self.origin.source.chain())?;
        self.delete_unlisted(&manifest)?;
        let mut report = BuildReport::default();
        // The last block of the first pass: a chain that grows faster than it is read would never be
        // complete. So every later pass follows a reorganisation.
        let mut end = None;
        for pass in 0.. {
            report.removed_blocks += self.remove_stale(&mut manifest)?;
            let last = self.last_block(options)?;
            let missing = missing(&manifest, last.min(*end.get_or_insert(last)));
            let request = everything(&missing, &manifest.wrapped_native);
            let (prepared, gone) = match skip_unavailable {
                true => self.origin.prepare_available(&request, manifest.internal)?,
                false => {
                    let prepared = self.origin.prepare(&request, manifest.internal)?;
                    // Fails with all missing blocks, before any are read.
                    self.origin.source.check_available(&request)?;
                    (prepared, BlockRanges::default())
                }
            };
            let missing = missing.subtract(&gone);
            report.unavailable = gone;
            if missing.is_empty() {
                break;
            }
            if pass == Retry::REREAD.attempts {
                let block = missing.span().map_or(0, |span| span.first);
                return Err(SourceError::Reorged { block }.into());
            }
            match self.read(&mut manifest, &missing, &prepared, options, &mut report) {
                // The blocks that were prepared belong to another branch now.
                Err(Error::Source(SourceError::Reorged { block })) => {
                    tracing::debug!(block, "the chain was reorganised; reading again");
                }
                done => done?,
            }
        }
        self.join(&mut manifest, options, &mut report)?;
        report.time = self.began.elapsed();
        Ok(report)
    }

    /// Deletes files that the manifest does not list: unfinished files of killed processes,
    /// and segments that were removed or joined.
    fn delete_unlisted(&self, manifest: &Manifest) -> Result<()> {
        let listed: HashSet<&str> = manifest
            .segments
            .iter()
            .map(|segment| segment.file.as_str())
            .collect();
        let names = names(self.folder)?;
        let names = names.iter().filter_map(|name| name.to_str());
        for name in names.filter(|name| is_ours(name) && !listed.contains(name)) {
            remove(&self.folder.join(name))?;
        }
        Ok(())
    }

    /// Removes segments that are not canonical. Returns the number of their blocks.
    fn remove_stale(&self, manifest: &mut Manifest) -> Result<u64> {
        let mut stale = Vec::new();
        for run in runs(&manifest.segments) {
            // All segments of a run before a canonical one are canonical.
            for segment in manifest.segments[run.segments].iter().rev() {
                let now = self.origin.source.canonical_hash(segment.blocks.last)?;
                if now == Some(segment.last_hash) {
                    break;
                }
                stale.push(segment.clone());
            }
        }
        if stale.is_empty() {
            return Ok(0);
        }
        manifest.segments.retain(|segment| !stale.contains(segment));
        manifest.save(self.folder)?;
        for segment in &stale {
            tracing::info!(blocks = %segment.blocks, "segment removed: no longer canonical");
            remove(&self.folder.join(&segment.file))?;
        }
        Ok(stale.iter().map(|segment| segment.blocks.blocks()).sum())
    }

    /// The last block to be in the index.
    fn last_block(&self, options: &BuildOptions) -> Result<Option<u64>> {
        Ok((self.origin).last_block(options.last_block, options.reorg_buffer)?)
    }

    /// Reads blocks into segments.
    fn read(
        &self,
        manifest: &mut Manifest,
        blocks: &BlockRanges,
        prepared: &PreparedOrigin<'_>,
        options: &BuildOptions,
        report: &mut BuildReport,
    ) -> Result<()> {
        let began = Instant::now();
        let work = &self.origin.work;
        let threads = work.threads.count();
        let jobs = units(blocks, manifest.segment_blocks);
        let memory_max = (options.memory_bytes_max / threads as u64).max(WORKER_BYTES_MIN);
        let stop = Stop::new(&work.cancel);
        let progress = work.progress.as_deref();
        let log = BuildLog {
            folder: self.folder,
            progress: ProgressGuard::start(progress, blocks.blocks(), "transfers"),
            built: Mutex::new((&mut *manifest, report)),
        };
        let worker = || Worker {
            capacity: Capacity::default(),
            folder: self.folder,
            chain: self.origin.source.chain(),
            reader: prepared.reader(),
            memory_max: usize::try_from(memory_max).unwrap_or(usize::MAX),
            stop: &stop,
            log: &log,
        };
        let end = run_jobs(
            (work, JOBS_AHEAD * threads),
            &stop,
            jobs,
            worker,
            |worker: &mut Worker<'_, '_>, job| worker.write(job),
            Ok,
        );
        drop(log);
        end?;
        let time = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        manifest.read_time_ms = manifest.read_time_ms.saturating_add(time);
        manifest.save(self.folder)
    }

    /// Joins small segments.
    fn join(
        &self,
        manifest: &mut Manifest,
        options: &BuildOptions,
        report: &mut BuildReport,
    ) -> Result<()> {
        while let Some(group) = next_group(manifest, options.memory_bytes_max) {
            let old: Vec<SegmentInfo> = manifest.segments[group].to_vec();
            let segment = self.joined(&old)?;
            manifest.segments.retain(|segment| !old.contains(segment));
            manifest.add(segment);
            manifest.save(self.folder)?;
            report.segments += 1;
            for segment in &old {
                remove(&self.folder.join(&segment.file))?;
            }
        }
        Ok(())
    }

    fn joined(&self, old: &[SegmentInfo]) -> Result<SegmentInfo> {
        let chain = self.origin.source.chain();
        let mut builder: Option<Builder> = None;
        for info in old {
            let segment = Segment::open(&self.folder.join(&info.file), true)?;
            // Damage must not get new checksums. Reading checks every block that it uses; this
            // also checks the others.
            segment.check()?;
            let head = segment.head();
            let builder = builder.get_or_insert_with(|| {
                Builder::new(
                    chain.chain_id,
                    chain.genesis_hash,
                    head.blocks.first,
                    head.parent_hash,
                    Capacity::default(),
                )
            });
            let rows = segment.rows()?;
            for block in head.blocks.first..=head.blocks.last {
                if self.origin.work.cancel.is_cancelled() {
                    return Err(SourceError::Interrupted.into());
                }
                let (timestamp, counts) = segment.block(block)?;
                let summary = BlockSummary {
                    number: block,
                    timestamp,
                    counts,
                };
                let blocks = BlockRange {
                    first: block,
                    last: block,
                };
                let own = segment.rows_of(blocks)?;
                let transfers: Vec<Transfer> = own
                    .map(|row| rows.transfer(row))
                    .collect::<Result<_, _>>()?;
                let anomalies = segment.anomalies(blocks)?;
                builder.push(&[summary], &anomalies, &transfers, head.last_hash)?;
            }
        }
        match builder {
            Some(builder) => write(self.folder, builder),
            None => Err(Error::Options("no segments to join".to_owned())),
        }
    }
}

/// Returns the blocks up to `last` that are not indexed yet.
fn missing(manifest: &Manifest, last: Option<u64>) -> BlockRanges {
    let wanted = last.and_then(|last| BlockRange::new(manifest.first_block, last));
    let wanted: BlockRanges = wanted.into_iter().collect();
    let segments = manifest.segments.iter();
    wanted.subtract(&segments.map(|segment| segment.blocks).collect())
}

/// Checks that movements inside of transactions can be found if an index has them.
pub(crate) fn check_internal(origin: &Origin<'_>, internal: bool) -> Result<()> {
    match (internal, origin.internal) {
        (true, None) => Err(Error::Options(
            "the index has internal transfers, which only a replay finds".to_owned(),
        )),
        _ => Ok(()),
    }
}

/// Returns the next segments to join, if any: consecutive ones of one range, of which the
/// newer ones together are as large as the one before, or all of a full range.
fn next_group(manifest: &Manifest, memory_bytes_max: u64) -> Option<std::ops::Range<usize>> {
    let segments = &manifest.segments;
    let unit = |at: usize| segments[at].blocks.first / manifest.segment_blocks;
    let linked = |at: usize| {
        segments[at - 1].blocks.last.checked_add(1) == Some(segments[at].blocks.first)
            && segments[at - 1].last_hash == segments[at].parent_hash
    };
    let mut end = segments.len();
    while end > 0 {
        let mut first = end - 1;
        while first > 0 && unit(first - 1) == unit(end - 1) && linked(first) {
            first -= 1;
        }
        let covered = segments[end - 1].blocks.last - segments[first].blocks.first + 1;
        let is_full = covered == manifest.segment_blocks;
        let (mut start, mut blocks, mut bytes) = (end - 1, 0, 0_u64);
        for at in (first..end).rev() {
            let segment = &segments[at];
            // Building takes about twice the size of the file.
            bytes = bytes.saturating_add(segment.bytes.saturating_mul(2));
            if at < end - 1
                && (bytes > memory_bytes_max || !(is_full || segment.blocks.blocks() <= blocks))
            {
                break;
            }
            blocks += segment.blocks.blocks();
            start = at;
        }
        if end - start > 1 {
            return Some(start..end);
        }
        end = first;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::B256;

    fn range(first: u64, last: u64) -> BlockRange {
        BlockRange { first, last }
    }

    /// Returns a manifest of segments with these numbers of blocks, from block 0 on.
    fn manifest(sizes: &[u64], segment_blocks: u64) -> Manifest {
        let mut segments = Vec::new();
        let mut first = 0;
        for size in sizes {
            segments.push(SegmentInfo {
                file: format!("{first}"),
                blocks: range(first, first + size - 1),
                parent_hash: B256::from(alloy_primitives::U256::from(first)),
                last_hash: B256::from(alloy_primitives::U256::from(first + size)),
                rows: 0,
                addresses: 0,
                bytes: *size,
                checksum: 0,
            });
            first += size;
        }
        Manifest {
            genesis_hash: B256::ZERO,
            chain_id: 1,
            wrapped_native: WrappedNative::Any,
            internal: false,
            first_block: 0,
            segment_blocks,
            segments,
            read_blocks: 0,
            read_time_ms: 0,
        }
    }

    #[test]
    fn small_segments_are_joined_with_segments_of_equal_size() {
        let group = |sizes: &[u64], memory| next_group(&manifest(sizes, 100), memory);
        assert_eq!(group(&[], 1000), None);
        assert_eq!(group(&[10], 1000), None);
        assert_eq!(group(&[10, 1], 1000), None);
        assert_eq!(group(&[10, 1, 1], 1000), Some(1..3));
        assert_eq!(group(&[10, 5, 5], 1000), Some(0..3));
        // A full range becomes one segment, unless the memory does not suffice.
        assert_eq!(group(&[90, 9, 1, 20], 1000), Some(0..3));
        assert_eq!(group(&[90, 9, 1, 20], 25), Some(1..3));
        // Neither across two ranges nor with hashes that do not fit.
        assert_eq!(group(&[100, 100], 1000), None);
        let mut broken = manifest(&[1, 1], 100);
        broken.segments[1].parent_hash = B256::ZERO;
        assert_eq!(next_group(&broken, 1000), None);
    }

    #[test]
    fn following_a_chain_block_by_block_leaves_few_segments() {
        let mut sizes: Vec<u64> = Vec::new();
        let mut rewritten = 0;
        for _ in 0..1000 {
            sizes.extend([1]);
            while let Some(group) = next_group(&manifest(&sizes, 128), 1 << 40) {
                let sum = sizes[group.clone()].iter().sum();
                rewritten += sum;
                sizes.splice(group, [sum]);
            }
        }
        assert_eq!(sizes.iter().sum::<u64>(), 1000);
        assert!(sizes.len() <= 1000 / 128 + 7, "{sizes:?}");
        assert!(rewritten <= 1000 * 8, "{rewritten}");
    }
}
