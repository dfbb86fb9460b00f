//! One transaction beside the trace that another client made of it.

use super::{Location, Node, ReplayQuery, Replayed, TransactionName};
use crate::{Error, ErrorKind, Result};
use std::path::Path;
use txgraph_replay::{ReferenceTrace, TraceComparer, TransactionLocation};

/// Replays the transaction, and fails at the first instruction that is another.
pub(super) fn compare(
    node: &Node,
    query: &ReplayQuery,
    name: TransactionName,
    path: &Path,
) -> Result<Replayed> {
    let trace = ReferenceTrace::open(path)?;
    let location = Location::find(node, query, name)?;
    let states = node.state();
    let state = states.range(location.before()?)?;
    let replayer = node.replayer(&state, query)?;
    let mut comparer = TraceComparer::new(&trace);
    let (replay, mismatches) = replayer.transaction(location.0, Some(&mut comparer))?;
    let steps = comparer.finish().map_err(|difference| {
        let TransactionLocation { block, index, .. } = location.0;
        let message = format!(
            "block {block}, transaction {index} ({}), against {}: {difference}",
            replay.hash,
            path.display()
        );
        let error = Error::new(ErrorKind::Failed, message);
        match mismatches.is_empty() {
            true => error.hint("the replay agrees with the receipt that the node stored"),
            false => error.hint("the replay disagrees with the receipt that the node stored, too"),
        }
    })?;
    let mut replayed = Replayed::of_one(&replay, &mismatches);
    replayed.steps = Some(steps as u64);
    Ok(replayed)
}
