//! One transaction beside the trace that another client made of it.

use super::{Node, Place, ReplayQuery, Replayed};
use crate::{Error, ErrorKind, Result};
use std::path::Path;
use txgraph_replay::{ReferenceTrace, TraceComparer, TransactionId};

/// Replays the transaction, and fails at the first instruction that is another.
pub(super) fn compare(
    node: &Node,
    query: &ReplayQuery,
    id: TransactionId,
    path: &Path,
) -> Result<Replayed> {
    let trace = ReferenceTrace::open(path)?;
    let place = Place::find(node, id)?;
    let states = node.state();
    let state = states.range(place.before()?)?;
    let replayer = node.replayer(&state, query)?;
    let mut comparer = TraceComparer::new(&trace);
    let (replay, mismatches) = replayer.transaction(place.id(), Some(&mut comparer))?;
    let steps = comparer.finish().map_err(|difference| {
        let Place { block, index } = place;
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
