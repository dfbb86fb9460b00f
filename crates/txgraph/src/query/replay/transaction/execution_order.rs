//! The order in which a transaction moved things. The total order of transfers has coins before the
//! tokens of a transaction, because coins have no log.

use std::collections::BTreeMap;
use txgraph_replay::{NativeTransfer, TransactionReplay};
use txgraph_transfers::Transfer;

/// The places of transfers in the order in which the transaction made them. `first_log` is the number
/// of its first log in the block. Empty if a log has no call.
pub(super) fn execution_order(
    replay: &TransactionReplay,
    internal: &[NativeTransfer],
    transfers: &[Transfer],
    first_log: u32,
) -> Vec<usize> {
    let logs = log_paths(replay);
    let internal = internal.iter();
    let paths: BTreeMap<u32, &[u32]> = internal
        .map(|it| (it.transfer.sub_index, &*it.trace_address))
        .collect();
    // Of equal paths, the log was before the call: its path ends with the number of calls before.
    let key = |place: &usize| {
        let it = transfers.get(*place)?;
        let (path, is_call) = match it.log_index {
            Some(log) => {
                let at = usize::try_from(log.checked_sub(first_log)?).ok()?;
                (&**logs.get(at)?, false)
            }
            // The value of the transaction has no path: it is first.
            None => (paths.get(&it.sub_index).copied().unwrap_or_default(), true),
        };
        Some((path, is_call, it.position()))
    };
    let mut order: Vec<usize> = (0..transfers.len()).collect();
    if order.iter().any(|place| key(place).is_none()) {
        return Vec::new();
    }
    order.sort_by_key(key);
    order
}

/// The paths of the logs of a transaction, in their order: the path of the call, and the number of
/// calls that it had made.
fn log_paths(replay: &TransactionReplay) -> Vec<Vec<u32>> {
    let Some(frames) = &replay.frames else {
        return Vec::new();
    };
    let mut logs = BTreeMap::new();
    for (number, frame) in frames.iter().enumerate() {
        if frame.is_reverted || frame.logs.is_empty() {
            continue;
        }
        let path = frames.trace_address(number);
        for log in &frame.logs {
            let mut path = path.clone();
            path.extend(u32::try_from(log.position));
            logs.insert(log.index, path);
        }
    }
    logs.into_values().collect()
}
