//! The source of a replay: a node, or bundles.

use super::Location;
use super::{Replay, ReplaySummary, TransactionName};
use crate::{
    Capability, Config, Error, Result, RunControl, Source,
    source::{Bundles, DistinctBlocks, RethNode},
};
use std::{
    collections::BTreeSet,
    ops::ControlFlow,
    path::{Path, PathBuf},
};
use txgraph_evm::Inspector;
use txgraph_nodedb::NodeDb;
use txgraph_replay::{
    BlockReplay, Bundle, ChainRules, Mismatch, RangeReport, ReplayOptions, Replayer,
    TransactionLocation, TransactionReplay, Verify,
};
use txgraph_state::StateRange;
use txgraph_transfers::{BlockRange, BlockRanges};
use txgraph_work::ProgressGuard;

/// Blocks that are replayed and not yet delivered, per thread.
const BLOCKS_AHEAD: usize = 4;

/// Where blocks and the states before them come from.
#[derive(Clone, Copy, Debug)]
pub(super) enum ReplaySource<'s> {
    /// The data directory of a node.
    Node(&'s RethNode),
    /// Files with one block each.
    Bundles(&'s Bundles),
}

/// A replayed transaction with the environment of its block.
pub(super) struct OneTransaction {
    pub(super) replay: TransactionReplay,
    pub(super) mismatches: Vec<Mismatch>,
    pub(super) environment: txgraph_evm::Block,
}

impl<'s> ReplaySource<'s> {
    pub(super) fn of(source: &'s Source) -> Result<Self> {
        match source.bundles(Capability::Replay)? {
            Some(bundles) => Ok(Self::Bundles(bundles)),
            None => Ok(Self::Node(source.node(Capability::Replay)?)),
        }
    }

    /// Replays one transaction, observed by `inspector`.
    pub(super) fn transaction(
        self,
        query: &Replay<'_>,
        name: TransactionName,
        inspector: Option<&mut dyn Inspector>,
    ) -> Result<OneTransaction> {
        match self {
            Self::Node(node) => {
                let location = Location::find(query, node, name)?;
                let states = node.state()?;
                let state = states.range(location.before()?)?;
                let replayer = query.replayer(node, &state)?;
                let (replay, mismatches) = replayer.transaction(location.0, inspector)?;
                let header = node.db().snapshot()?.header(location.0.block)?;
                Ok(OneTransaction {
                    replay,
                    mismatches,
                    environment: replayer.environment(&header)?,
                })
            }
            Self::Bundles(bundles) => {
                let (bundle, location) = find(bundles, name)?;
                let replayer = query.bundle_replayer(bundles, &bundle)?;
                let (replay, mismatches) = replayer.transaction(location, inspector)?;
                let header = txgraph_replay::BlockSource::header(&bundle, location.block)?;
                Ok(OneTransaction {
                    replay,
                    mismatches,
                    environment: replayer.environment(&header)?,
                })
            }
        }
    }
}

impl ReplaySource<'_> {
    /// Replays some transactions of a block, observed by `inspector` one after the other. Returns them with
    /// their differences from what is stored.
    pub(super) fn transactions(
        self,
        query: &Replay<'_>,
        block: u64,
        only: &BTreeSet<u32>,
        inspector: &mut dyn Inspector,
    ) -> Result<(Vec<TransactionReplay>, Vec<Mismatch>)> {
        match self {
            Self::Node(node) => {
                let states = node.state()?;
                let state = states.range(BlockRange::one(block.saturating_sub(1)))?;
                let replayer = query.replayer(node, &state)?;
                Ok(replayer.transactions(block, only, None, Some(inspector))?)
            }
            Self::Bundles(bundles) => {
                let bundle = bundles.open_block(block)?;
                let replayer = query.bundle_replayer(bundles, &bundle)?;
                Ok(replayer.transactions(block, only, None, Some(inspector))?)
            }
        }
    }
}

/// Finds the bundle with a transaction.
fn find(bundles: &Bundles, name: TransactionName) -> Result<(Bundle, TransactionLocation)> {
    let location = |bundle: &Bundle| {
        let block = bundle.block();
        let number = block.header.number;
        match name {
            TransactionName::Position { block, index } => {
                (block == number).then_some(TransactionLocation::new(block, index, None))
            }
            TransactionName::Hash(hash) => {
                let mut transactions = block.transactions.iter();
                let index = transactions.position(|signed| *signed.tx_hash() == hash)?;
                Some(TransactionLocation::new(
                    number,
                    u32::try_from(index).ok()?,
                    Some(hash),
                ))
            }
        }
    };
    let found = bundles.find(|bundle| match location(&bundle) {
        Some(location) => ControlFlow::Break((bundle, location)),
        None => ControlFlow::Continue(()),
    })?;
    found.ok_or_else(|| {
        let what = match name {
            TransactionName::Hash(hash) => format!("transaction {hash}"),
            TransactionName::Position { block, .. } => format!("block {block}"),
        };
        Error::unavailable(format!("no bundle contains {what}"))
    })
}

/// Replays blocks on several threads, and passes the results to `deliver` in the order of `items`.
/// The first error in that order ends it.
pub(super) fn in_order<T: Send, R: Send>(
    control: &RunControl,
    items: impl IntoIterator<Item = T>,
    replay: impl Fn(T) -> Result<R> + Sync,
    mut deliver: impl FnMut(R) -> Result<()>,
) -> Result<()> {
    control.in_order(
        BLOCKS_AHEAD,
        items,
        || (),
        |item, ()| replay(item),
        |replayed| deliver(replayed).map(ControlFlow::Continue),
    )
}

/// The block of a bundle, executed again.
struct ReplayedBundle {
    rules: ChainRules,
    block: BlockReplay,
    report: RangeReport,
}

impl Replay<'_> {
    /// A replayer of blocks of a node, for the outputs of the query.
    pub(super) fn replayer<'a>(
        &self,
        node: &'a RethNode,
        state: &'a StateRange<'a>,
    ) -> Result<Replayer<'a, &'a StateRange<'a>>> {
        let options = self.options(&node.config, &node.control);
        let db: &NodeDb = node.db();
        Ok(Replayer::new(node.rules()?, db, state, options)?)
    }

    /// The same for a bundle.
    fn bundle_replayer<'a>(
        &self,
        bundles: &Bundles,
        bundle: &'a Bundle,
    ) -> Result<Replayer<'a, &'a Bundle, Bundle>> {
        let options = self.options(&bundles.config, &bundles.control);
        let chain_file = bundles.config.chain.as_deref();
        Ok(Replayer::of_bundle(bundle, chain_file, options)?)
    }

    fn options(&self, config: &Config, control: &RunControl) -> ReplayOptions {
        ReplayOptions {
            record: self.record(),
            verify: Verify {
                transactions: self.verify_only || config.check_roots.unwrap_or(false),
                ..Verify::default()
            },
            threads: control.threads.clone(),
            cancel: control.cancel.clone(),
            engine: self.engine,
            tokens: self.balances.clone(),
            overrides: self.overrides.clone(),
        }
    }

    /// Replays the bundles of these blocks, on several threads, and passes them to `each` in the
    /// order of the files.
    pub(super) fn for_each_bundle(
        &self,
        bundles: &Bundles,
        blocks: Option<&BlockRanges>,
        mut each: impl FnMut(&BlockReplay) -> Result<()>,
    ) -> Result<ReplaySummary> {
        let control = &bundles.control;
        let files = bundles.files();
        let progress = control.progress.as_deref();
        let watched = ProgressGuard::start(progress, files.len() as u64, "transactions");
        let mut summary = ReplaySummary::default();
        let replay = |file: &PathBuf| {
            let replayed = self.bundle(bundles, file, blocks)?;
            Ok(replayed.map(|replayed| (file.clone(), replayed)))
        };
        let mut distinct = DistinctBlocks::default();
        let mut replayed_blocks = Vec::new();
        in_order(control, files, replay, |replayed| {
            let Some((
                file,
                ReplayedBundle {
                    rules,
                    block,
                    report,
                },
            )) = replayed
            else {
                return Ok(());
            };
            replayed_blocks.push(BlockRange::one(block.number));
            // Each file is verified, but rows of one block are not listed twice, nor rows of two chains together.
            if !self.verify_only && !distinct.add(&rules, (block.number, block.hash), &file)? {
                return Ok(());
            }
            summary.note(&block.mismatches);
            summary.report += report;
            watched.advance(1, block.transactions.len() as u64);
            self.source.check_interrupted()?;
            each(&block)
        })?;
        let missing = blocks.map(|blocks| blocks.subtract(&BlockRanges::new(replayed_blocks)));
        match missing.filter(|missing| !missing.is_empty()) {
            Some(missing) => Err(Error::unavailable(format!(
                "no bundle contains blocks {missing}"
            ))),
            None if summary.report.blocks == 0 => Err(Error::unavailable("there is no bundle")),
            None => Ok(summary),
        }
    }

    /// Replays one file; `None` if its block is not one of `blocks`.
    fn bundle(
        &self,
        bundles: &Bundles,
        file: &Path,
        blocks: Option<&BlockRanges>,
    ) -> Result<Option<ReplayedBundle>> {
        let bundle = Bundle::open(file)?;
        let number = bundle.block().header.number;
        if blocks.is_some_and(|blocks| !blocks.contains(number)) {
            return Ok(None);
        }
        let replayer = self.bundle_replayer(bundles, &bundle)?;
        let block = replayer.block(number)?;
        Ok(Some(ReplayedBundle {
            rules: replayer.rules().clone(),
            report: replayer.report(&block),
            block,
        }))
    }
}
