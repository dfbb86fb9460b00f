//! Building, updating and dropping an index.
//!
//! Jobs are ranges of blocks, and each writes a segment from its range, on one of the threads.
//! A finished segment is added to the manifest at once.
//!
//! An index that follows a node gets a few blocks at a time, so small segments are joined: each
//! segment is at least as large as all newer ones of its range together. So there are few
//! segments, and a block is rewritten only a few times, from the index and not from the node.

use crate::{
    builder::{Builder, Capacity},
    directory::Index,
    error::{Error, Result, listed},
    layout::BLOCKS_MAX,
    manifest::{FILE, Manifest, SegmentInfo, is_ours},
    segment::Segment,
    worker::{BuildLog, Worker, write},
};
use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    sync::Mutex,
    time::Instant,
};
use txgraph_stored::{
    BuildOptions, BuildReport, BuildSource, Contents, PreparedBuildSource, Stop, Store, StoreKind,
    folder::{self, FolderLock, LOCK_FILE, remove, sync_folder},
    run, run_jobs, units,
};
use txgraph_transfers::{BlockRanges, BlockSummary, ChainInfo, SourceError, Transfer};
use txgraph_work::{CancelFlag, ProgressGuard};

/// Jobs that are started and not yet done, for each thread.
const JOBS_AHEAD: usize = 2;

/// The number of blocks that are copied at a time into a joined segment.
const JOINED_BLOCKS: u64 = 256;

/// The minimum memory of a worker, in bytes, whatever the limit.
const WORKER_BYTES_MIN: u64 = 8 << 20;

/// The memory of a build, in bytes, unless a limit is given.
const MEMORY_BYTES: u64 = 1 << 30;

/// The number of blocks of a segment, unless it is given. Larger segments mean fewer
/// dictionaries to search, and more memory to build.
const SEGMENT_BLOCKS: u64 = 1 << 15;

/// Builds an index in `folder`, or continues with one that is not complete.
///
/// The index has movements inside of transactions if `origin` finds them. This cannot change
/// later.
pub fn build<'a>(
    folder: &Path,
    origin: impl Into<BuildSource<'a>>,
    options: &BuildOptions,
) -> Result<BuildReport> {
    let blocks = options.unit_blocks.unwrap_or(SEGMENT_BLOCKS);
    if !(1..=BLOCKS_MAX).contains(&blocks) {
        return Err(Error::Options(format!(
            "a segment must have 1 to {BLOCKS_MAX} blocks"
        )));
    }
    fs::create_dir_all(folder).map_err(|error| Error::io("create", folder, error))?;
    let lock = folder::lock(folder)?;
    let origin = origin.into();
    let manifest = match Manifest::load(folder) {
        // An index without segments can still change.
        Ok(manifest) if !manifest.segments.is_empty() => {
            let (contents, blocks) = (manifest.contents(), manifest.segment_blocks);
            contents.check_kept(folder, &origin, blocks, options)?;
            manifest
        }
        Ok(_) | Err(Error::NotAStore { .. }) => {
            let contents = Contents::new(StoreKind::Index, &origin, options);
            let manifest = Manifest::new(contents, blocks);
            manifest.save(folder)?;
            manifest
        }
        Err(error) => return Err(error),
    };
    let mut writer = Writer::new(folder, lock, manifest, options);
    run(&mut writer, &origin, options, false)
}

/// Continues an index up to the tip of the source. Only the last block, the reorg buffer and
/// the memory of `options` are used. Blocks that are no longer available are left out and
/// reported ([`BuildReport::unavailable`]). If the index has movements inside of transactions,
/// `origin` must find them.
pub fn update<'a>(
    folder: &Path,
    origin: impl Into<BuildSource<'a>>,
    options: &BuildOptions,
) -> Result<BuildReport> {
    // Fails before a lock file is created in a directory that is not an index.
    Manifest::load(folder)?;
    let lock = folder::lock(folder)?;
    let mut writer = Writer::new(folder, lock, Manifest::load(folder)?, options);
    run(&mut writer, &origin.into(), options, true)
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
        return Err(Error::not_a_store(StoreKind::Index, folder, FILE, true));
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
    folder::names(folder)?.ok_or_else(|| Error::not_a_store(StoreKind::Index, folder, FILE, false))
}

/// An index that is being written.
struct Writer<'a> {
    folder: &'a Path,
    manifest: Manifest,
    /// Memory for all segments that are being built, in bytes.
    memory_max: u64,
    _lock: FolderLock,
}

impl Store for Writer<'_> {
    type Unit = SegmentInfo;

    const WITH_HASHES: bool = false;

    fn path(&self) -> &Path {
        self.folder
    }

    fn contents(&self) -> Contents {
        self.manifest.contents()
    }

    fn units(&mut self) -> &mut Vec<SegmentInfo> {
        &mut self.manifest.segments
    }

    fn check_files(&self, chain: &ChainInfo) -> Result<()> {
        Index::open(self.folder, chain).map(drop)
    }

    fn save(&self) -> Result<()> {
        self.manifest.save(self.folder)
    }

    fn names(&self) -> Result<Vec<String>> {
        let names = names(self.folder)?.into_iter();
        let names = names.filter_map(|name| name.into_string().ok());
        Ok(names.filter(|name| is_ours(name)).collect())
    }

    fn delete(&mut self, unlisted: &[String]) -> Result<()> {
        for name in unlisted {
            remove(&self.folder.join(name))?;
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
        let began = Instant::now();
        let work = &origin.work;
        let threads = work.threads.count();
        let jobs = units(blocks, self.manifest.segment_blocks);
        let memory_max = (self.memory_max / threads as u64).max(WORKER_BYTES_MIN);
        let format = self.manifest.format();
        let stop = Stop::new(&work.cancel);
        let progress = work.progress.as_deref();
        let log = BuildLog {
            folder: self.folder,
            progress: ProgressGuard::start(progress, blocks.blocks(), "transfers"),
            built: Mutex::new((&mut self.manifest, report)),
        };
        let worker = || Worker {
            capacity: Capacity::default(),
            folder: self.folder,
            chain: origin.source.chain(),
            reader: prepared.reader(),
            format,
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
        self.manifest.read_time_ms = self.manifest.read_time_ms.saturating_add(time);
        self.save()
    }

    /// Joins small segments.
    fn finish(&mut self, origin: &BuildSource<'_>, report: &mut BuildReport) -> Result<()> {
        while let Some(group) = next_group(&self.manifest, self.memory_max) {
            let old: Vec<SegmentInfo> = self.manifest.segments[group].to_vec();
            let segment = self.joined(&old, &origin.work.cancel)?;
            self.units().retain(|segment| !old.contains(segment));
            self.manifest.add(segment);
            self.save()?;
            report.units += 1;
            for segment in &old {
                remove(&self.folder.join(&segment.file))?;
            }
        }
        Ok(())
    }
}

impl<'a> Writer<'a> {
    fn new(folder: &'a Path, lock: FolderLock, manifest: Manifest, options: &BuildOptions) -> Self {
        Self {
            folder,
            manifest,
            memory_max: options.memory_bytes_max.unwrap_or(MEMORY_BYTES),
            _lock: lock,
        }
    }

    fn joined(&self, old: &[SegmentInfo], cancel: &CancelFlag) -> Result<SegmentInfo> {
        let mut builder: Option<Builder> = None;
        for info in old {
            let segment = Segment::open(&self.folder.join(&info.file), true).map_err(listed)?;
            // Damage must not get new checksums. Reading checks every block that it uses; this
            // also checks the others.
            segment.check()?;
            let head = segment.head();
            let builder = builder.get_or_insert_with(|| {
                Builder::new(
                    self.manifest.chain_id,
                    self.manifest.genesis_hash,
                    head.blocks.first,
                    head.parent_hash,
                    Capacity::default(),
                    self.manifest.format(),
                )
            });
            let rows = segment.rows(segment.row_count())?;
            let mut participations = segment.participations()?;
            for blocks in units(&head.blocks.into(), JOINED_BLOCKS) {
                if cancel.is_canceled() {
                    return Err(SourceError::Interrupted.into());
                }
                let summary = |block| {
                    let (timestamp, counts) = segment.block(block)?;
                    Ok(BlockSummary {
                        number: block,
                        timestamp,
                        counts,
                    })
                };
                let summaries = (blocks.first..=blocks.last).map(summary);
                let summaries: Vec<_> = summaries.collect::<Result<_>>()?;
                let transfers: Vec<Transfer> = (segment.rows_of(blocks)?)
                    .map(|row| rows.transfer(row))
                    .collect::<Result<_, _>>()?;
                builder.push(
                    &summaries,
                    &segment.anomalies(blocks)?,
                    &transfers,
                    &participations.read(blocks)?,
                    head.last_hash,
                )?;
            }
        }
        match builder {
            Some(builder) => write(self.folder, builder),
            None => Err(Error::Options("no segments to join".to_owned())),
        }
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
    use txgraph_transfers::{BlockRange, WrappedNative};

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
        let contents = Contents {
            kind: StoreKind::Index,
            genesis_hash: B256::ZERO,
            chain_id: 1,
            wrapped_native: WrappedNative::Any,
            internal: false,
            transactions: false,
            first_block: 0,
        };
        Manifest {
            segments,
            ..Manifest::new(contents, segment_blocks)
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
