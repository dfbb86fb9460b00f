//! One transaction compared with the trace that another client made of it.

use super::{Location, Replay, ReplaySummary, TransactionName};
use crate::{Error, ErrorKind, Result, source::RethNode};
use std::path::Path;
use txgraph_replay::{ReferenceTrace, TraceComparer, TransactionLocation};

/// Replays the transaction, and fails at the first instruction that differs.
pub(super) fn compare(
    question: &Replay<'_>,
    node: &RethNode,
    name: TransactionName,
    path: &Path,
) -> Result<ReplaySummary> {
    let trace = ReferenceTrace::open(path)?;
    let location = Location::find(question, node, name)?;
    let states = node.state();
    let state = states.range(location.before()?)?;
    let replayer = question.replayer(node, &state)?;
    let mut comparer = TraceComparer::new(&trace);
    let (replay, mismatches) = replayer.transaction(location.0, Some(&mut comparer))?;
    let steps = comparer.finish().map_err(|difference| {
        let TransactionLocation { block, index, .. } = location.0;
        let message = format!(
            "block {block}, transaction {index} ({}), compared with {}: {difference}",
            replay.hash,
            path.display()
        );
        Error::new(ErrorKind::Failed, message).hint(match mismatches.is_empty() {
            true => "the replay agrees with the receipt that the node stored",
            false => "the replay also disagrees with the receipt that the node stored",
        })
    })?;
    let mut summary = ReplaySummary::of_one(&replay, &mismatches);
    summary.steps = Some(steps as u64);
    Ok(summary)
}
