//! A transaction with overrides, compared with its run without them.

use super::transaction::net_json;
use alloy_primitives::{Bytes, Log};
use serde_json::{Map, Value, json};
use std::{
    collections::{HashMap, HashSet},
    hash::Hash,
};
use txgraph_evm::Status;
use txgraph_graph::{NetChange, net_changes};
use txgraph_replay::{StateChange, TransactionReplay};
use txgraph_transfers::{Fields, Transfer};

/// How a transaction differs from its run without overrides. Each run has only the parts in which
/// they differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunDifference {
    /// The run without overrides.
    pub without: RunParts,
    /// The run with overrides.
    pub with: RunParts,
}

/// Parts of a run that the other run does not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunParts {
    /// How it ended: `succeeded`, `reverted`, or why it halted, with the reason of a revert.
    pub status: Option<String>,
    /// The gas used.
    pub gas_used: Option<u64>,
    /// The data that it returned or reverted with.
    pub output: Option<Bytes>,
    /// The transfers, those inside of the transaction included.
    pub transfers: Vec<Transfer>,
    /// The logs that are no transfers.
    pub logs: Vec<Log>,
    /// The changes of balances by the transfers, without the fee.
    pub net: Vec<NetChange>,
    /// The changes of the state, with the fee.
    pub state: Vec<StateChange>,
}

impl RunDifference {
    /// Compares a transaction with its run without overrides; `None` if it has none. Both need
    /// frames and transitions.
    pub(super) fn of(replay: &TransactionReplay, chain_id: u64) -> Option<Self> {
        let original = replay.without_overrides.as_deref()?;
        let mut without = RunParts::of(original, chain_id);
        let mut with = RunParts::of(replay, chain_id);
        let (left, right) = (&mut without, &mut with);
        if left.status == right.status {
            (left.status, right.status) = (None, None);
        }
        if left.gas_used == right.gas_used {
            (left.gas_used, right.gas_used) = (None, None);
        }
        if left.output == right.output {
            (left.output, right.output) = (None, None);
        }
        remove_common([&mut left.transfers, &mut right.transfers], |it| {
            let what = (it.token_address, it.token_id, it.value);
            let kind = (it.token_standard.as_str(), it.kind.as_str());
            (it.from_address, it.to_address, what, kind)
        });
        remove_common([&mut left.logs, &mut right.logs], Log::clone);
        remove_common([&mut left.net, &mut right.net], |it| {
            let change = (it.is_gain, it.amount);
            (it.address, it.token, it.token_id, change)
        });
        remove_common([&mut left.state, &mut right.state], StateChange::clone);
        Some(Self { without, with })
    }

    /// Whether the runs are equal.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The transfers that only one of the runs makes.
    pub fn transfers(&self) -> impl Iterator<Item = &Transfer> {
        self.without.transfers.iter().chain(&self.with.transfers)
    }

    /// Both runs as JSON, amounts of transfers as text. A part in which a run has nothing of its own
    /// is absent.
    pub fn to_json(&self) -> Value {
        json!({ "without": self.without.to_json(), "with": self.with.to_json() })
    }
}

impl RunParts {
    fn of(replay: &TransactionReplay, chain_id: u64) -> Self {
        let outcome = &replay.outcome;
        let reason = txgraph_replay::revert_reason(&outcome.output);
        let status = match (outcome.status, reason) {
            (Status::Success, _) => "succeeded".to_owned(),
            (Status::Revert, Some(reason)) => format!("reverted: {reason}"),
            (Status::Revert, None) => "reverted".to_owned(),
            (Status::Halt(halt), _) => format!("halted: {halt}"),
        };
        let transfers = replay.all_transfers(chain_id);
        let decoded: HashSet<u32> = transfers.iter().filter_map(|it| it.log_index).collect();
        let logs = (replay.first_log..).zip(&outcome.logs);
        let logs = logs.filter(|(index, _)| !decoded.contains(index));
        Self {
            status: Some(status),
            gas_used: Some(outcome.gas_used),
            output: Some(outcome.output.clone()),
            logs: logs.map(|(_, log)| log.clone()).collect(),
            net: net_changes(&transfers),
            transfers,
            state: replay.state_changes(),
        }
    }

    fn to_json(&self) -> Value {
        let transfers: Vec<_> = self.transfers.iter().map(Fields::moved).collect();
        let net: Vec<_> = self.net.iter().map(net_json).collect();
        let parts = [
            ("status", self.status.as_ref().map(|it| json!(it))),
            ("gas_used", self.gas_used.map(|it| json!(it))),
            ("output", self.output.as_ref().map(|it| json!(it))),
            (
                "transfers",
                (!transfers.is_empty()).then(|| json!(transfers)),
            ),
            ("logs", (!self.logs.is_empty()).then(|| json!(self.logs))),
            ("net", (!net.is_empty()).then(|| json!(net))),
            ("state", (!self.state.is_empty()).then(|| json!(self.state))),
        ];
        let parts = parts.into_iter();
        let parts = parts.filter_map(|(name, part)| Some((name.to_owned(), part?)));
        Value::Object(parts.collect::<Map<_, _>>())
    }
}

/// Removes what both lists have, each item as often as both have it. Items are the same if their keys
/// are.
fn remove_common<T, K: Eq + Hash>(lists: [&mut Vec<T>; 2], key: impl Fn(&T) -> K) {
    let count = |items: &[T]| {
        let mut counts = HashMap::<K, usize>::new();
        for item in items {
            *counts.entry(key(item)).or_default() += 1;
        }
        counts
    };
    let [left, right] = lists;
    let (of_left, of_right) = (count(left), count(right));
    for (list, mut other) in [(left, of_right), (right, of_left)] {
        list.retain(|item| match other.get_mut(&key(item)) {
            Some(count) if *count > 0 => {
                *count -= 1;
                false
            }
            _ => true,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::remove_common;

    #[test]
    fn lists_keep_what_they_have_more_often() {
        let (mut left, mut right) = (vec![3, 1, 1, 2, 1], vec![2, 1, 4, 2]);
        remove_common([&mut left, &mut right], |it| *it);
        assert_eq!((left, right), (vec![3, 1, 1], vec![4, 2]));
    }
}
