//! One transaction compared with the trace that another client made of it.

use super::{Replay, ReplaySource, ReplaySummary, TransactionName, replay_source::OneTransaction};
use crate::{Error, ErrorKind, Result};
use std::path::Path;
use txgraph_replay::{ReferenceTrace, TraceComparer};

/// Replays the transaction, and fails at the first instruction that differs.
pub(super) fn compare(
    query: &Replay<'_>,
    replay_source: ReplaySource<'_>,
    name: TransactionName,
    path: &Path,
) -> Result<ReplaySummary> {
    let trace = ReferenceTrace::open(path)?;
    let mut comparer = TraceComparer::new(&trace);
    let OneTransaction {
        replay, mismatches, ..
    } = replay_source.transaction(query, name, Some(&mut comparer))?;
    let steps = comparer.finish().map_err(|difference| {
        let (block, index) = (replay.block, replay.index);
        let message = format!(
            "block {block}, transaction {index} ({}), compared with {}: {difference}",
            replay.hash,
            path.display()
        );
        Error::new(ErrorKind::Failed, message).hint(if mismatches.is_empty() {
            "the replay agrees with the receipt that the node stored"
        } else {
            "the replay also disagrees with the receipt that the node stored"
        })
    })?;
    let mut summary = ReplaySummary::of_one(&replay, &mismatches);
    summary.steps = Some(steps as u64);
    Ok(summary)
}
