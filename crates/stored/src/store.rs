//! The life of a store: it is built, follows its source, and is compared with it.
//!
//! A store is a list of units in a manifest: segments of an index, or partitions of a lake. A
//! unit is on disk before the manifest lists it, so a process killed at any moment leaves a
//! store with all units that were finished. The next run deletes what is not listed and
//! continues with the missing blocks.
//!
//! A unit whose last block is no longer canonical is removed after a reorganization. The newest
//! blocks are not stored at all (the reorg buffer).

use crate::{
    Additions, BuildSource, PreparedBuildSource, Stop, StoreError, StoreKind,
    StoreResult as Result, VerifyReport, everything, run_jobs,
};
use alloy_primitives::B256;
use std::{
    collections::HashSet,
    path::Path,
    time::{Duration, Instant},
};
use txgraph_transfers::{
    BlockRange, BlockRanges, ChainInfo, Indexable, ScanRequest, SourceError, WrappedNative,
};
use txgraph_work::{ProgressGuard, Retry, WorkContext};

/// The options of a build or an update.
#[derive(Clone, Debug)]
pub struct BuildOptions {
    /// The contracts whose `Deposit` and `Withdrawal` events are wraps. Fixed when the store is
    /// created.
    pub wrapped_native: WrappedNative,
    /// The lowest block. Fixed when the store is created.
    pub first_block: u64,
    /// The highest block; `None` means the tip minus the reorg buffer.
    pub last_block: Option<u64>,
    /// The number of blocks of a full unit, at least 1. `None` stands for 32,768 blocks of a
    /// segment, and chooses the blocks of half a million transfers for a partition. Fixed when
    /// the store is created.
    pub unit_blocks: Option<u64>,
    /// The number of newest blocks that are left out, because they may be replaced.
    pub reorg_buffer: u64,
    /// Memory for all segments of an index that are being built, in bytes. If it does not
    /// suffice, segments get fewer blocks. `None` stands for 1 GiB. A lake does not use it.
    pub memory_bytes_max: Option<u64>,
    /// Whether an index has transactions by address. Fixed when it is created. A lake has none.
    pub transactions: bool,
}

impl Default for BuildOptions {
    fn default() -> Self {
        Self {
            wrapped_native: WrappedNative::Auto,
            first_block: 0,
            last_block: None,
            unit_blocks: None,
            reorg_buffer: 64,
            memory_bytes_max: None,
            transactions: false,
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
    /// The number of units written, including joined segments of an index.
    pub units: u64,
    /// The number of blocks in units that were removed because they are not canonical.
    pub removed_blocks: u64,
    /// Blocks that an update of an index left out because they are no longer available.
    pub unavailable: BlockRanges,
    /// The duration.
    pub time: Duration,
}

/// How to continue a store that was built in another way.
const SAME_WAY: &str = "build it in the same way";

/// The contents of a store, fixed when it is created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    /// The kind of store.
    pub kind: StoreKind,
    /// Chain id.
    pub chain_id: u64,
    /// Hash of the genesis block.
    pub genesis_hash: B256,
    /// The contracts whose events are wraps.
    pub wrapped_native: WrappedNative,
    /// Whether it has movements inside of transactions that left no log.
    pub internal: bool,
    /// Whether it has transactions by address.
    pub transactions: bool,
    /// The lowest block.
    pub first_block: u64,
}

impl Contents {
    /// Returns the contents of a new store.
    pub fn new(kind: StoreKind, origin: &BuildSource<'_>, options: &BuildOptions) -> Self {
        let chain = origin.source.chain();
        Self {
            kind,
            chain_id: chain.chain_id,
            genesis_hash: chain.genesis_hash,
            wrapped_native: options.wrapped_native.resolved(chain.chain_id),
            internal: origin.internal.is_some(),
            transactions: kind == StoreKind::Index && options.transactions,
            first_block: options.first_block,
        }
    }

    /// Checks that a build with `options` can continue this store, whose units have `unit_blocks`.
    ///
    /// # Errors
    ///
    /// [`StoreError::WrongChain`], and [`StoreError::Options`] if it has another choice of wrapped
    /// coins, internal transfers or transactions by address, or another first block or number of blocks of a
    /// unit is named.
    pub fn check_kept(
        &self,
        path: &Path,
        origin: &BuildSource<'_>,
        unit_blocks: u64,
        options: &BuildOptions,
    ) -> Result<()> {
        self.check_chain(path, origin.source.chain())?;
        let wanted = Self::new(self.kind, origin, options);
        let with = |has: bool, what: &str| match has {
            true => format!("with {what}"),
            false => format!("without {what}"),
        };
        let (what, how) = if self.wrapped_native != wanted.wrapped_native {
            let what = "with another choice of wrapped coins".to_owned();
            (what, "keep that choice")
        } else if self.internal != wanted.internal {
            (with(self.internal, "internal transfers"), SAME_WAY)
        } else if self.transactions != wanted.transactions {
            let what = "transactions by address";
            (with(self.transactions, what), SAME_WAY)
        } else if ![0, self.first_block].contains(&wanted.first_block) {
            (format!("from block {} on", self.first_block), SAME_WAY)
        } else if options.unit_blocks.is_some_and(|it| it != unit_blocks) {
            let units = self.kind.words("segments", "partitions");
            (format!("with {units} of {unit_blocks} blocks"), SAME_WAY)
        } else {
            return Ok(());
        };
        let remedy = (self.kind).words("drop the index first", "build another lake");
        let path = path.display();
        Err(StoreError::Options(format!(
            "{path} was built {what}; {how}, or {remedy}"
        )))
    }

    /// Checks that a store belongs to this chain.
    ///
    /// # Errors
    ///
    /// [`StoreError::WrongChain`] if not.
    pub fn check_chain(&self, path: &Path, chain: &ChainInfo) -> Result<()> {
        if self.genesis_hash == chain.genesis_hash && self.chain_id == chain.chain_id {
            return Ok(());
        }
        Err(StoreError::WrongChain {
            kind: self.kind,
            path: path.to_owned(),
            own_id: self.chain_id,
            own_genesis: self.genesis_hash,
            source_id: chain.chain_id,
            source_genesis: chain.genesis_hash,
        })
    }

    /// The data that is read in addition to transfers that have a log.
    pub const fn additions(&self) -> Additions {
        Additions {
            internal: self.internal,
            participations: self.transactions,
        }
    }

    /// Checks that movements inside of transactions can be found if a store has them.
    ///
    /// # Errors
    ///
    /// [`StoreError::Options`] if not.
    pub fn check_internal(&self, origin: &BuildSource<'_>) -> Result<()> {
        match (self.internal, origin.internal) {
            (true, None) => Err(StoreError::Options(format!(
                "the {} has internal transfers, which only a replay finds",
                self.kind.name()
            ))),
            _ => Ok(()),
        }
    }
}

/// An entry of a manifest.
pub trait Unit {
    /// The name of its file or folder.
    fn name(&self) -> &str;

    /// Its blocks, the parent hash of the first and the hash of the last.
    fn chain(&self) -> (BlockRange, B256, B256);
}

/// A store that is being written: what an index and a lake do differently. All functions fail if
/// the system refuses, or files are damaged.
pub trait Store {
    /// An entry of the manifest.
    type Unit: Unit;

    /// Whether it has hashes of transactions and of all blocks.
    const WITH_HASHES: bool;

    /// The place, for messages.
    fn path(&self) -> &Path;

    /// The contents of the store.
    fn contents(&self) -> Contents;

    /// The units of the manifest, ascending and without overlaps.
    fn units(&mut self) -> &mut Vec<Self::Unit>;

    /// Checks that the files of all units exist. `chain`: the chain of the source.
    fn check_files(&self, chain: &ChainInfo) -> Result<()>;

    /// Replaces the manifest as a whole.
    fn save(&self) -> Result<()>;

    /// The names of all units, also unfinished ones and those that the manifest does not list.
    fn names(&self) -> Result<Vec<String>>;

    /// Deletes units that the manifest does not list, unless readers may still use them.
    fn delete(&mut self, unlisted: &[String]) -> Result<()>;

    /// Reads blocks into units, and adds these to the manifest.
    fn read(
        &mut self,
        origin: &BuildSource<'_>,
        prepared: &PreparedBuildSource<'_>,
        blocks: &BlockRanges,
        report: &mut BuildReport,
    ) -> Result<()>;

    /// Completes a build when all blocks were read.
    fn finish(&mut self, origin: &BuildSource<'_>, report: &mut BuildReport) -> Result<()>;
}

/// Reads what a store does not have yet. If `skip_unavailable`, blocks that are no longer available
/// are left out and reported; otherwise they are an error.
///
/// # Errors
///
/// If the store belongs to another chain, blocks or files are missing, or files cannot be read or written.
pub fn run<S: Store>(
    store: &mut S,
    origin: &BuildSource<'_>,
    options: &BuildOptions,
    skip_unavailable: bool,
) -> Result<BuildReport> {
    let began = Instant::now();
    let (source, contents) = (origin.source, store.contents());
    contents.check_chain(store.path(), source.chain())?;
    contents.check_internal(origin)?;
    store.check_files(source.chain())?;
    let mut report = BuildReport::default();
    // The last block of the first pass: a chain that grows faster than it is read would never be
    // complete. So every later pass follows a reorganization.
    let mut end = None;
    for pass in 0.. {
        delete_unlisted(store)?;
        check_tip(store, source.tip()?)?;
        report.removed_blocks += remove_stale(store, source)?;
        let last = origin.last_block(options.last_block, options.reorg_buffer)?;
        let last = last.min(*end.get_or_insert(last));
        let wanted = last.and_then(|last| BlockRange::new(contents.first_block, last));
        let wanted: BlockRanges = wanted.into_iter().collect();
        let stored = store.units().iter().map(|unit| unit.chain().0).collect();
        let missing = wanted.subtract(&stored);
        if missing.is_empty() {
            report.unavailable = BlockRanges::default();
            break;
        }
        let request = ScanRequest {
            with_hashes: S::WITH_HASHES,
            ..everything(&missing, &contents.wrapped_native)
        };
        let (prepared, gone) = match skip_unavailable {
            true => origin.prepare_available(&request, contents.additions())?,
            false => {
                let prepared = origin.prepare(&request, contents.additions())?;
                // Fails with all missing blocks, before any are read.
                source.check_available(&request)?;
                (prepared, BlockRanges::default())
            }
        };
        let missing = missing.subtract(&gone);
        report.unavailable = gone;
        let Some(span) = missing.span() else {
            break;
        };
        if pass == Retry::REREAD.attempts {
            return Err(SourceError::Reorged { block: span.first }.into());
        }
        match store.read(origin, &prepared, &missing, &mut report) {
            // The blocks that were prepared belong to another branch now.
            Err(StoreError::Source(SourceError::Reorged { block })) => {
                tracing::debug!(block, "the chain was reorganized; reading again");
            }
            done => done?,
        }
    }
    store.finish(origin, &mut report)?;
    report.time = began.elapsed();
    Ok(report)
}

/// Deletes units that the manifest does not list: units of killed processes, and replaced units.
pub fn delete_unlisted<S: Store>(store: &mut S) -> Result<()> {
    let mut unlisted = store.names()?;
    let listed: HashSet<&str> = store.units().iter().map(Unit::name).collect();
    unlisted.retain(|name| !listed.contains(&**name));
    match unlisted.is_empty() {
        true => Ok(()),
        false => store.delete(&unlisted),
    }
}

/// The most blocks by which a chain becomes shorter when blocks are replaced. Nodes finalize sooner.
const SHORTER_MAX: u64 = 256;

/// Refuses a source that ends far below the store: its units would not be canonical.
fn check_tip<S: Store>(store: &mut S, tip: u64) -> Result<()> {
    let stored = store.units().iter().map(|unit| unit.chain().0.last).max();
    match stored {
        Some(stored) if stored > tip.saturating_add(SHORTER_MAX) => {
            Err(StoreError::AheadOfSource {
                kind: store.contents().kind,
                path: store.path().to_owned(),
                stored,
                tip,
            })
        }
        _ => Ok(()),
    }
}

/// Removes units that are not canonical. Returns the number of their blocks.
fn remove_stale<S: Store>(store: &mut S, source: &dyn Indexable) -> Result<u64> {
    let (mut stale, mut removed) = (HashSet::new(), 0);
    let mut next: Option<(BlockRange, B256)> = None;
    for unit in store.units().iter().rev() {
        let (blocks, parent_hash, last_hash) = unit.chain();
        // All units of a run before a canonical one are canonical.
        let is_canonical = next.is_some_and(|(next, parent_hash)| {
            blocks.last.checked_add(1) == Some(next.first) && last_hash == parent_hash
        }) || source.canonical_hash(blocks.last)? == Some(last_hash);
        next = is_canonical.then_some((blocks, parent_hash));
        if !is_canonical {
            tracing::info!(%blocks, "removed: no longer canonical");
            removed += blocks.blocks();
            stale.insert(blocks.first);
        }
    }
    if removed > 0 {
        let is_stale = |unit: &S::Unit| stale.contains(&unit.chain().0.first);
        store.units().retain(|unit| !is_stale(unit));
        store.save()?;
        delete_unlisted(store)?;
    }
    Ok(removed)
}

/// Checks the units of a store in parallel. Returns the sum of the reports of `check`.
pub fn verify_units<U: Sync>(
    units: &[U],
    blocks: impl Fn(&U) -> BlockRange + Sync,
    work: &WorkContext,
    check: impl Fn(&U, &Stop<'_>) -> Result<VerifyReport> + Sync,
) -> Result<VerifyReport> {
    let all: BlockRanges = units.iter().map(&blocks).collect();
    let progress = ProgressGuard::start(work.progress.as_deref(), all.blocks(), "transfers");
    let mut sum = VerifyReport::default();
    let stop = Stop::new(&work.cancel);
    run_jobs(
        (work, 2 * work.threads.count()),
        &stop,
        units,
        || (),
        |(), unit| {
            stop.check()?;
            Ok((blocks(unit).blocks(), check(unit, &stop)?))
        },
        |(blocks, one)| {
            sum.units += 1;
            sum.blocks += one.blocks;
            sum.transfers += one.transfers;
            sum.unread = sum.unread.iter().chain(one.unread.iter()).collect();
            progress.advance(blocks, one.transfers);
            Ok(())
        },
    )?;
    Ok(sum)
}
