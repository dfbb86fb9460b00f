//! Answers that contradict themselves, the query or other answers.

use alloy_primitives::{Bloom, BloomInput};
use serde_json::Value;
use std::collections::BTreeMap;

/// How an answer is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contradiction {
    /// An element of a list, or a field of an object, is missing.
    Drop,
    /// An element of a list is there twice.
    Double,
    /// A list is in another order.
    Reorder,
    /// The end of a list is missing.
    Truncate,
    /// A value is `null`.
    Null,
    /// A part belongs to another chain.
    Foreign,
}

impl Contradiction {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Drop,
        Self::Double,
        Self::Reorder,
        Self::Truncate,
        Self::Null,
        Self::Foreign,
    ];

    /// Changes an answer at a place that the seed chooses. `other` is the answer of another chain.
    ///
    /// Only changes that something else shows are made. No answer shows that single logs are
    /// missing in `eth_getLogs`, so all logs of a block go. No answer shows that frames are
    /// missing in a trace, so traces are changed as a whole.
    pub(super) fn apply(self, method: &str, seed: u64, answer: &mut Value, other: &Value) {
        let before = answer.clone();
        self.change(method, seed, answer, other);
        // The last logs of a block may have nothing that others do not have, too.
        let after = logs_of_blocks(answer);
        let is_shown = |(block, (count, bloom)): (&String, &(usize, Bloom))| {
            let left = after.get(block);
            left.is_none_or(|(left, found)| left >= count || found != bloom)
        };
        if method != "eth_getLogs" && !logs_of_blocks(&before).iter().all(is_shown) {
            *answer = before;
        }
    }

    fn change(self, method: &str, seed: u64, answer: &mut Value, other: &Value) {
        let mut seed = seed;
        if method == "eth_getLogs" && matches!(self, Self::Drop | Self::Truncate) {
            return drop_blocks(self == Self::Truncate, seed, answer);
        }
        // Below the answer to a query.
        let deepest = match method {
            "debug_traceBlockByNumber" | "trace_block" => 1,
            _ => usize::MAX,
        };
        let is_result = |step: &Step| *step == Step::Field("result".to_owned());
        let below = |place: &[Step]| match place.iter().position(is_result) {
            Some(at) => place.len() - 1 - at,
            None => 0,
        };
        let mut places = Vec::new();
        collect(answer, &mut Vec::new(), &mut places);
        places.retain(|place| below(place) <= deepest && self.fits(answer.get_at(place)));
        if method == "trace_block" && matches!(self, Self::Drop | Self::Truncate) {
            // A batch, or an answer as a whole.
            places.retain(|place| !place.iter().any(is_result));
        }
        // First how deep, then where: otherwise nearly all places are fields of logs.
        let is_log = |step: &Step| *step == Step::Field("logs".to_owned());
        if method == "eth_getTransactionReceipt" && matches!(self, Self::Drop | Self::Truncate) {
            // The other logs of the block may be in other answers.
            places.retain(|place| !place.iter().any(is_log));
        }
        let depth = places.iter().map(Vec::len).max().unwrap_or(0);
        let depth = pick(&mut seed, depth + 1);
        if places.iter().any(|place| place.len() == depth) {
            places.retain(|place| place.len() == depth);
        }
        if places.is_empty() {
            return;
        }
        let place = places.swap_remove(pick(&mut seed, places.len()));
        let counterpart = other.get_at(&place).cloned();
        let Some(part) = answer.get_mut_at(&place) else {
            return;
        };
        match (self, part) {
            (Self::Drop, Value::Array(list)) => drop(list.remove(pick(&mut seed, list.len()))),
            (Self::Drop, Value::Object(fields)) => {
                let name = fields.keys().nth(pick(&mut seed, fields.len())).cloned();
                drop(name.and_then(|name| fields.remove(&name)));
            }
            (Self::Double, Value::Array(list)) => {
                let at = pick(&mut seed, list.len());
                list.insert(pick(&mut seed, list.len()), list[at].clone());
            }
            (Self::Reorder, Value::Array(list)) => {
                let at = 1 + pick(&mut seed, list.len() - 1);
                list.rotate_left(at);
            }
            (Self::Truncate, Value::Array(list)) => list.truncate(pick(&mut seed, list.len())),
            (Self::Null, part) => *part = Value::Null,
            (Self::Foreign, part) => *part = counterpart.unwrap_or_default(),
            _ => {}
        }
    }

    /// Whether a part can be changed in this way.
    fn fits(self, part: Option<&Value>) -> bool {
        // Of the values in a list nothing shows that one is missing, e.g. of topics.
        let has_objects = |list: &[Value]| list.iter().all(Value::is_object);
        match (self, part) {
            (Self::Reorder, Some(Value::Array(list))) => list.len() > 1 && has_objects(list),
            (Self::Drop | Self::Double | Self::Truncate, Some(Value::Array(list))) => {
                !list.is_empty() && has_objects(list)
            }
            (Self::Drop, Some(Value::Object(fields))) => !fields.is_empty(),
            (Self::Null, Some(_)) => true,
            // Single fields of another chain are only another chain.
            (Self::Foreign, Some(Value::Array(list))) => has_objects(list),
            (Self::Foreign, Some(Value::Object(_))) => true,
            _ => false,
        }
    }
}

/// A step into JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Field(String),
    Item(usize),
}

trait Places {
    fn get_at(&self, place: &[Step]) -> Option<&Value>;
    fn get_mut_at(&mut self, place: &[Step]) -> Option<&mut Value>;
}

impl Places for Value {
    fn get_at(&self, place: &[Step]) -> Option<&Value> {
        place.iter().try_fold(self, |value, step| match step {
            Step::Field(name) => value.get(name),
            Step::Item(at) => value.get(at),
        })
    }

    fn get_mut_at(&mut self, place: &[Step]) -> Option<&mut Value> {
        place.iter().try_fold(self, |value, step| match step {
            Step::Field(name) => value.get_mut(name),
            Step::Item(at) => value.get_mut(at),
        })
    }
}

fn collect(value: &Value, place: &mut Vec<Step>, places: &mut Vec<Vec<Step>>) {
    places.push(place.clone());
    let steps: Vec<Step> = match value {
        Value::Array(list) => (0..list.len()).map(Step::Item).collect(),
        Value::Object(fields) => fields.keys().cloned().map(Step::Field).collect(),
        _ => Vec::new(),
    };
    for step in steps {
        if let Some(part) = value.get_at(std::slice::from_ref(&step)) {
            place.push(step);
            collect(part, place, places);
            place.pop();
        }
    }
}

/// The number of logs of each block in receipts, and their bloom filter.
fn logs_of_blocks(answer: &Value) -> BTreeMap<String, (usize, Bloom)> {
    let mut blocks: BTreeMap<String, (usize, Bloom)> = BTreeMap::new();
    let mut places = Vec::new();
    collect(answer, &mut Vec::new(), &mut places);
    let logs = places.iter().filter_map(|place| answer.get_at(place));
    for log in logs.filter(|value| value["topics"].is_array()) {
        let (count, bloom) = blocks.entry(log["blockNumber"].to_string()).or_default();
        *count += 1;
        let topics = log["topics"].as_array().into_iter().flatten();
        for part in topics.chain([&log["address"]]).filter_map(Value::as_str) {
            let bytes = alloy_primitives::hex::decode(part).unwrap_or_default();
            bloom.accrue(BloomInput::Raw(&bytes));
        }
    }
    blocks
}

/// Removes the logs of one block, or those from it on, as a server that is behind does.
fn drop_blocks(and_later: bool, mut seed: u64, answer: &mut Value) {
    let items = match answer {
        Value::Array(items) => items.iter_mut().collect(),
        one => vec![one],
    };
    for item in items {
        let Some(logs) = item["result"]
            .as_array_mut()
            .filter(|logs| !logs.is_empty())
        else {
            continue;
        };
        let block = logs[pick(&mut seed, logs.len())]["blockNumber"].clone();
        let mut is_behind = false;
        logs.retain(|log| {
            is_behind = log["blockNumber"] == block || (and_later && is_behind);
            !is_behind
        });
    }
}

/// A number below `count`, by SplitMix64.
fn pick(seed: &mut u64, count: usize) -> usize {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *seed;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^= mixed >> 31;
    usize::try_from(mixed % count.max(1) as u64).expect("below a usize")
}
