//! Building, updating, dropping.
//!
//! Workers take ranges of blocks from a list and write a segment each, from the first
//! block to the last, on their own: nothing is shared but the list. The calling thread
//! hears of finished segments and lists them in the manifest, one after the other, so
//! that a process killed at any moment leaves an index that has all segments up to then.
//! The next run removes what was never listed and goes on with the blocks that lack.
//!
//! What may change, last: a segment whose last block is no longer canonical is undone,
//! and the newest blocks are left out in the first place (the reorg buffer). Blocks come
//! a few at a time when a node is followed, so small segments are joined: each is at
//! least as large as all newer ones of its range together, so there are few of them, and
//! a block is rewritten a few times only, from the index itself, not from the node.

use crate::{
    builder::{Builder, Room},
    directory::{check_chain, resolved, runs},
    error::{Error, Result},
    layout::BLOCKS_MAX,
    manifest::{FILE, Manifest, SegmentInfo, is_ours, sync_folder},
    origin::{Origin, Over},
    segment::Segment,
    worker::{News, Worker, write},
};
use std::{
    collections::{HashSet, VecDeque},
    ffi::OsString,
    fs::{self, File, TryLockError},
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::channel,
    },
    thread,
    time::{Duration, Instant},
};
use txgraph_reader::{BlockAccount, NodeSource, Watched};
use txgraph_transfers::{
    BlockRange, BlockRanges, ScanRequest, SourceError, Transfer, TransferFilter, TransferSource,
    WrappedNative,
};

/// Held by whoever writes.
const LOCK_FILE: &str = "LOCK";

/// How often blocks are read again that were replaced while a segment was made.
const REDONE_MAX: u32 = 4;

/// A worker's segment may always become so large, whatever the memory.
const SHARE_BYTES_MIN: u64 = 8 << 20;

/// What an index is to hold, and how it is made.
#[derive(Clone, Debug)]
pub struct BuildOptions {
    /// Whose `Deposit` and `Withdrawal` events are wraps. Fixed when the index is made;
    /// questions that mean others are answered by the node.
    pub wrapped_native: WrappedNative,
    /// The lowest block. Fixed when the index is made.
    pub first_block: u64,
    /// The highest block; `None`: the tip less the reorg buffer.
    pub last_block: Option<u64>,
    /// Blocks of a full segment, at least 1. Fixed when the index is made. More in a
    /// segment means fewer dictionaries to look into, and more memory to make it.
    pub segment_blocks: u64,
    /// Newest blocks that are left to the node, as they may yet be replaced.
    pub reorg_buffer: u64,
    /// Memory for all segments under way, in bytes. Where it does not suffice, segments
    /// end earlier.
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

/// What a build or update did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Built {
    /// Blocks that were read from the node.
    pub read_blocks: u64,
    /// Their transfers.
    pub transfers: u64,
    /// Segments written, joined ones included.
    pub segments: u64,
    /// Blocks of segments that were undone because they are no longer canonical.
    pub undone_blocks: u64,
    /// Blocks that an update left out, as they cannot be read any more.
    pub gone: BlockRanges,
    /// How long all took.
    pub time: Duration,
}

/// Makes an index in `folder`, or goes on with the one that is there.
///
/// One that holds internal movements is made where `origin` tells them; which of both it
/// is stays as it is.
pub fn build<'a>(
    folder: &Path,
    origin: impl Into<Origin<'a>>,
    options: &BuildOptions,
) -> Result<Built> {
    let origin = origin.into();
    if !(1..=BLOCKS_MAX).contains(&options.segment_blocks) {
        return Err(Error::Options(format!(
            "a segment holds from 1 to {BLOCKS_MAX} blocks"
        )));
    }
    fs::create_dir_all(folder).map_err(|error| Error::io("make", folder, error))?;
    let work = Work::begin(folder, origin)?;
    let chain = origin.node.chain();
    let internal = origin.internal.is_some();
    let wrapped = resolved(&options.wrapped_native, chain.chain_id);
    let manifest = match Manifest::load(folder) {
        // One that holds nothing yet may become anything.
        Ok(manifest) if !manifest.segments.is_empty() => {
            if manifest.wrapped_native != wrapped {
                return Err(Error::Options(format!(
                    "{} was built for other wrapped coins; drop it, or leave them out",
                    folder.display()
                )));
            }
            if manifest.internal != internal {
                return Err(Error::Options(format!(
                    "{} was built {} internal transfers; drop it, or ask for the same",
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
    work.run(manifest, options, false)
}

/// Brings an index up to the tip of the node. Of `options` only the last block, the
/// buffer and the memory count. Blocks that the node has no more are left out, and told
/// ([`Built::gone`]). `origin` must tell internal movements if the index holds
/// them.
pub fn update<'a>(
    folder: &Path,
    origin: impl Into<Origin<'a>>,
    options: &BuildOptions,
) -> Result<Built> {
    let origin = origin.into();
    // Before a lock file is made where there is no index.
    Manifest::load(folder)?;
    let work = Work::begin(folder, origin)?;
    let manifest = Manifest::load(folder)?;
    origin.check_tells(manifest.internal)?;
    work.run(manifest, options, true)
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
    let _lock = lock(folder)?;
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

/// Takes the right to write; given back when the file is closed.
fn lock(folder: &Path) -> Result<File> {
    let path = folder.join(LOCK_FILE);
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(|error| Error::io("open", &path, error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::Locked {
            path: folder.to_owned(),
        }),
        Err(TryLockError::Error(error)) => Err(Error::io("lock", &path, error)),
    }
}

/// The names in a directory.
fn names(folder: &Path) -> Result<Vec<OsString>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(Error::NotAnIndex {
                path: folder.to_owned(),
                what: "there is no such directory".to_owned(),
            });
        }
        Err(error) => return Err(Error::io("list", folder, error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| Error::io("list", folder, error))?;
        names.push(entry.file_name());
    }
    Ok(names)
}

/// Removes a file that may be gone already.
fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::io("remove", path, error)),
        _ => Ok(()),
    }
}

/// A writer at work.
struct Work<'a> {
    folder: &'a Path,
    origin: Origin<'a>,
    node: &'a NodeSource,
    /// Dropped, and with it the lock, when the work is done.
    _lock: File,
    began: Instant,
}

impl<'a> Work<'a> {
    fn begin(folder: &'a Path, origin: Origin<'a>) -> Result<Self> {
        Ok(Self {
            folder,
            origin,
            node: origin.node,
            _lock: lock(folder)?,
            began: Instant::now(),
        })
    }

    fn run(
        &self,
        mut manifest: Manifest,
        options: &BuildOptions,
        leaves_out: bool,
    ) -> Result<Built> {
        check_chain(self.folder, &manifest, self.node.chain())?;
        self.sweep(&manifest)?;
        let mut built = Built::default();
        for attempt in 0.. {
            built.undone_blocks += self.undo(&mut manifest)?;
            let lacking = self.lacking(&manifest, options)?;
            let request = everything(&lacking, &manifest.wrapped_native);
            let (over, gone) = match leaves_out {
                true => self
                    .origin
                    .over_what_is_there(&request, manifest.internal)?,
                false => {
                    let over = self.origin.over(&lacking, manifest.internal)?;
                    (over, BlockRanges::default())
                }
            };
            let lacking = lacking.subtract(&gone);
            built.gone = gone;
            if lacking.is_empty() {
                break;
            }
            if attempt == REDONE_MAX {
                let block = lacking.span().map_or(0, |span| span.first);
                return Err(SourceError::Reorged { block }.into());
            }
            match self.read(&mut manifest, &lacking, &over, options, &mut built) {
                // What was prepared for was of another branch.
                Err(Error::Source(SourceError::Reorged { block })) => {
                    tracing::debug!(block, "reorganised under the index; reading again");
                }
                done => done?,
            }
        }
        self.join(&mut manifest, options, &mut built)?;
        built.time = self.began.elapsed();
        Ok(built)
    }

    /// Removes files that the manifest does not list: of runs that were killed, of
    /// segments that were undone or joined.
    fn sweep(&self, manifest: &Manifest) -> Result<()> {
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

    /// Removes segments that are not of the chain of now. How many blocks they had.
    fn undo(&self, manifest: &mut Manifest) -> Result<u64> {
        let mut stale = Vec::new();
        for run in runs(&manifest.segments) {
            // Of a run, all below a canonical segment are canonical.
            for segment in manifest.segments[run.segments].iter().rev() {
                let now = self.node.canonical_hash(segment.blocks.last)?;
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
            tracing::info!(blocks = %segment.blocks, "undone: no longer canonical");
            remove(&self.folder.join(&segment.file))?;
        }
        Ok(stale.iter().map(|segment| segment.blocks.blocks()).sum())
    }

    /// Blocks that are to be indexed and are not.
    fn lacking(&self, manifest: &Manifest, options: &BuildOptions) -> Result<BlockRanges> {
        let tip = self.node.tip()?;
        let last = match options.last_block {
            Some(last) => Some(last.min(tip)),
            None => tip.checked_sub(options.reorg_buffer),
        };
        let wanted = last.and_then(|last| BlockRange::new(manifest.first_block, last));
        let wanted: BlockRanges = wanted.into_iter().collect();
        Ok(wanted.subtract(
            &manifest
                .segments
                .iter()
                .map(|segment| segment.blocks)
                .collect(),
        ))
    }

    /// Reads blocks into segments.
    fn read(
        &self,
        manifest: &mut Manifest,
        blocks: &BlockRanges,
        over: &Over<'_>,
        options: &BuildOptions,
        built: &mut Built,
    ) -> Result<()> {
        let began = Instant::now();
        let threads = self.node.threads().max(1);
        let request = everything(blocks, &manifest.wrapped_native);
        let jobs = Mutex::new(units(blocks, manifest.segment_blocks));
        let stopped = AtomicBool::new(false);
        let share = (options.memory_bytes_max / threads as u64).max(SHARE_BYTES_MIN);
        let progress = self.node.options().progress.as_deref();
        let watched = Watched::start(progress, blocks.blocks(), "transfers");
        let (sender, news) = channel();
        let mut failed = None;
        thread::scope(|scope| {
            for number in 0..threads {
                let mut worker = Worker {
                    room: Room::default(),
                    folder: self.folder,
                    chain: self.node.chain(),
                    reader: over.reader(&request),
                    share: usize::try_from(share).unwrap_or(usize::MAX),
                    over: &stopped,
                    news: sender.clone(),
                };
                let jobs = &jobs;
                let work = move || {
                    while let Some(job) = next(jobs) {
                        if let Err(error) = worker.write(job) {
                            worker.tell(News::Failed(error));
                            break;
                        }
                    }
                };
                let named = thread::Builder::new().name(format!("txgraph-index-{number}"));
                if let Err(error) = named.spawn_scoped(scope, work) {
                    stopped.store(true, Ordering::Relaxed);
                    failed.get_or_insert(Error::io("start a thread for", self.folder, error));
                }
            }
            drop(sender);
            for news in news {
                let done = match news {
                    News::Read { blocks, transfers } => {
                        built.read_blocks += blocks;
                        built.transfers += transfers;
                        watched.advance(blocks, transfers);
                        Ok(())
                    }
                    News::Written(segment) => {
                        built.segments += 1;
                        manifest.read_blocks += segment.blocks.blocks();
                        manifest.add(segment);
                        manifest.save(self.folder)
                    }
                    News::Failed(error) => Err(error),
                };
                if let Err(error) = done {
                    // The others need not go on; of several failures the first says most.
                    stopped.store(true, Ordering::Relaxed);
                    failed.get_or_insert(error);
                }
            }
        });
        drop(watched);
        if let Some(error) = failed {
            return Err(error);
        }
        let time = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        manifest.read_time_ms = manifest.read_time_ms.saturating_add(time);
        manifest.save(self.folder)
    }

    /// Joins small segments, from the index itself.
    fn join(
        &self,
        manifest: &mut Manifest,
        options: &BuildOptions,
        built: &mut Built,
    ) -> Result<()> {
        while let Some(group) = next_group(manifest, options.memory_bytes_max) {
            let old: Vec<SegmentInfo> = manifest.segments[group].to_vec();
            let segment = self.joined(&old)?;
            manifest.segments.retain(|segment| !old.contains(segment));
            manifest.add(segment);
            manifest.save(self.folder)?;
            built.segments += 1;
            for segment in &old {
                remove(&self.folder.join(&segment.file))?;
            }
        }
        Ok(())
    }

    fn joined(&self, old: &[SegmentInfo]) -> Result<SegmentInfo> {
        let chain = self.node.chain();
        let mut builder: Option<Builder> = None;
        for info in old {
            let segment = Segment::open(&self.folder.join(&info.file))?;
            // What is damaged must not be made to look whole.
            segment.check()?;
            let head = segment.head();
            let builder = builder.get_or_insert_with(|| {
                Builder::new(
                    chain.chain_id,
                    chain.genesis_hash,
                    head.blocks.first,
                    head.parent_hash,
                    Room::default(),
                )
            });
            let rows = segment.rows()?;
            for block in head.blocks.first..=head.blocks.last {
                if self.node.options().cancel.is_cancelled() {
                    return Err(SourceError::Interrupted.into());
                }
                let (timestamp, counts) = segment.block(block)?;
                let account = BlockAccount {
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
                let odd = segment.anomalies(blocks)?;
                builder.push(&[account], &odd, &transfers, head.last_hash)?;
            }
        }
        match builder {
            Some(builder) => write(self.folder, builder),
            None => Err(Error::Options("nothing to join".to_owned())),
        }
    }
}

/// What workers read: every transfer there is.
pub(crate) fn everything(blocks: &BlockRanges, wrapped: &WrappedNative) -> ScanRequest {
    ScanRequest {
        blocks: blocks.clone(),
        filter: TransferFilter::default(),
        wrapped_native: wrapped.clone(),
        with_times: true,
        with_hashes: false,
        allow_partial: false,
    }
}

fn next(jobs: &Mutex<VecDeque<BlockRange>>) -> Option<BlockRange> {
    jobs.lock()
        .unwrap_or_else(PoisonError::into_inner)
        .pop_front()
}

/// The blocks, cut at multiples of `segment_blocks`.
fn units(blocks: &BlockRanges, segment_blocks: u64) -> VecDeque<BlockRange> {
    let mut units = VecDeque::new();
    for range in blocks.iter() {
        let mut first = range.first;
        loop {
            let end = (first / segment_blocks * segment_blocks).saturating_add(segment_blocks - 1);
            let last = end.min(range.last);
            units.push_back(BlockRange { first, last });
            match last.checked_add(1).filter(|next| *next <= range.last) {
                Some(next) => first = next,
                None => break,
            }
        }
    }
    units
}

/// Segments to be joined, if any are: consecutive ones of one range whose newer ones are
/// together as large as the one before, or, when the range is full, all of it.
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
            // Made from about twice its size.
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

    #[test]
    fn units_are_cut_at_multiples() {
        let cut =
            |blocks: &[BlockRange], size| Vec::from(units(&blocks.iter().copied().collect(), size));
        assert_eq!(
            cut(&[range(3, 9), range(20, 21)], 4),
            [range(3, 3), range(4, 7), range(8, 9), range(20, 21)]
        );
        assert_eq!(cut(&[range(0, 7)], 8), [range(0, 7)]);
        assert_eq!(
            cut(&[range(u64::MAX - 1, u64::MAX)], 8),
            [range(u64::MAX - 1, u64::MAX)]
        );
        assert_eq!(cut(&[], 8), []);
    }

    /// A list of segments of these sizes, from block 0 on.
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
    fn small_segments_are_joined_with_their_equals() {
        let group = |sizes: &[u64], memory| next_group(&manifest(sizes, 100), memory);
        assert_eq!(group(&[], 1000), None);
        assert_eq!(group(&[10], 1000), None);
        assert_eq!(group(&[10, 1], 1000), None);
        assert_eq!(group(&[10, 1, 1], 1000), Some(1..3));
        assert_eq!(group(&[10, 5, 5], 1000), Some(0..3));
        // A full range becomes one, unless memory is short.
        assert_eq!(group(&[90, 9, 1, 20], 1000), Some(0..3));
        assert_eq!(group(&[90, 9, 1, 20], 25), Some(1..3));
        // Never across two ranges, nor where the hashes do not fit.
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
