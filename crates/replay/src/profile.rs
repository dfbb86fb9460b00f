//! Gas profiles as folded stacks: one line for each path of calls, in the format that flame
//! graph tools read.

use crate::{Frame, Frames, TransactionReplay};
use alloy_primitives::{Address, hex};
use std::{collections::BTreeMap, fmt::Write as _};

/// Frames below this depth are counted at the path of this depth. A transaction may nest 1,024
/// deep, and every path is written in full.
const DEPTH_MAX: usize = 64;

/// Gas by call path, summed over transactions.
///
/// Each step of a path is the contract whose code ran, a dot, and the selector of the
/// function; `create` stands for init code and `fallback` for a call without a selector. A
/// frame counts its own gas without the gas of the frames it called, before refunds. The intrinsic
/// gas of transactions (calldata, access list …) has the path `intrinsic`, and what a transaction
/// pays more because of the floor for its calldata (EIP-7623) the path `floor`. A transaction with
/// refunds used less than the sum.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GasProfile {
    gas: BTreeMap<String, u64>,
}

impl GasProfile {
    /// Adds a transaction; needs [`Record::frames`](crate::Record).
    pub fn add(&mut self, replay: &TransactionReplay) {
        let Some(frames) = &replay.frames else {
            return;
        };
        let Some(root) = frames.root() else {
            return;
        };
        let used = replay.outcome.gas_used;
        let intrinsic = (replay.transaction.gas_limit).saturating_sub(root.gas_limit);
        self.count("intrinsic", intrinsic);
        self.count(
            "floor",
            used.saturating_sub(intrinsic.saturating_add(root.gas_used)),
        );
        let mut path = String::new();
        // Frames to visit, each with the length of the path before it and its depth.
        let mut open = vec![(0, 0, 0)];
        while let Some((number, before, depth)) = open.pop() {
            let Some(frame) = frames.get(number) else {
                continue;
            };
            path.truncate(before);
            if depth < DEPTH_MAX {
                step(&mut path, frame);
            }
            let own = frame
                .gas_used
                .saturating_sub(gas_of_children(frames, frame));
            self.count(&path, own);
            let calls = frame.children.iter().rev();
            open.extend(calls.map(|child| (*child, path.len(), depth + 1)));
        }
    }

    fn count(&mut self, path: &str, gas: u64) {
        if gas == 0 {
            return;
        }
        match self.gas.get_mut(path) {
            Some(sum) => *sum = sum.saturating_add(gas),
            None => drop(self.gas.insert(path.to_owned(), gas)),
        }
    }

    /// Adds the counts of another profile.
    pub fn merge(&mut self, other: &Self) {
        for (path, gas) in &other.gas {
            self.count(path, *gas);
        }
    }

    /// Paths and their gas, ascending by path.
    pub fn paths(&self) -> impl Iterator<Item = (&str, u64)> {
        self.gas.iter().map(|(path, gas)| (path.as_str(), *gas))
    }

    /// Contracts and their own gas, in descending order of gas.
    pub fn contracts(&self) -> Vec<(Address, u64)> {
        let mut sums: BTreeMap<Address, u64> = BTreeMap::new();
        for (path, gas) in &self.gas {
            let last = path
                .rsplit(';')
                .next()
                .and_then(|step| step.split('.').next());
            if let Some(contract) = last.and_then(|text| text.parse().ok()) {
                let sum = sums.entry(contract).or_default();
                *sum = sum.saturating_add(*gas);
            }
        }
        let mut sums: Vec<_> = sums.into_iter().collect();
        sums.sort_by_key(|(_, gas)| std::cmp::Reverse(*gas));
        sums
    }
}

fn gas_of_children(frames: &Frames, frame: &Frame) -> u64 {
    let children = frame.children.iter().filter_map(|child| frames.get(*child));
    children.fold(0, |sum, child| sum.saturating_add(child.gas_used))
}

fn step(path: &mut String, frame: &Frame) {
    if !path.is_empty() {
        path.push(';');
    }
    let selector = match frame.selector {
        _ if frame.is_creation() => "create".to_owned(),
        Some(selector) => hex::encode_prefixed(selector),
        None => "fallback".to_owned(),
    };
    // Writing to a string cannot fail.
    let _ = write!(path, "{:#x}.{selector}", frame.code_address);
}
