//! Writes bundles: blocks with the state that they read.

use super::{
    PreparedReplay, ReplaySummary,
    replay_source::{ReplaySource, in_order},
};
use crate::{Capability, Error, Result};
use std::path::Path;
use txgraph_replay::BundleWriter;
use txgraph_transfers::BlockRange;
use txgraph_work::ProgressGuard;

impl PreparedReplay<'_> {
    /// Replays blocks of a node, and writes each with the state that it reads into a file of the
    /// directory, which is created if necessary. Bundles of blocks whose replay differs from what
    /// the node stored are written, too.
    ///
    /// # Errors
    ///
    /// The source is not a node, the query is about one transaction, a block cannot be
    /// replayed, or a file cannot be written.
    pub fn write_bundles(&self, directory: &Path, overwrite: bool) -> Result<ReplaySummary> {
        let query = &self.query;
        let ReplaySource::Node(node) = self.replay_source else {
            return Err(Error::unsupported(query.source.spec(), Capability::State));
        };
        let Some((blocks, span)) = self.blocks.as_ref().and_then(|it| Some((it, it.span()?)))
        else {
            return Err(Error::usage("bundles contain whole blocks"));
        };
        query.source.protected_paths().check(directory)?;
        let writer = BundleWriter::new(directory, overwrite)?;
        let states = node.state()?;
        let state = states.range(BlockRange::from_to(
            span.first.saturating_sub(1),
            span.last.saturating_sub(1),
        ))?;
        let replayer = query.replayer(node, &state)?;
        let progress = node.control.progress.as_deref();
        let watched = ProgressGuard::start(progress, blocks.blocks(), "transactions");
        let mut summary = ReplaySummary::default();
        let record = |number| Ok(Box::new(replayer.record(number)?));
        let numbers = blocks.iter().flat_map(|range| range.first..=range.last);
        in_order(&node.control, numbers, record, |recorded| {
            writer.write(&recorded.chain, &recorded.block, &recorded.state)?;
            let replay = &recorded.replay;
            summary.note(&replay.mismatches);
            summary.report += replayer.report(replay);
            watched.advance(1, replay.transactions.len() as u64);
            Ok(())
        })?;
        Ok(summary)
    }
}
