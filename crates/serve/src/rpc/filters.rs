//! Filters: the logs and blocks that are new since a client last asked.

use super::{
    eth,
    params::{self, Params},
};
use crate::{
    ask::{Anchor, Ask},
    fault::{Answer, Fault},
    json::{data, quantity},
    metrics::lock,
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    hash::{BuildHasher, RandomState},
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// How long a filter is kept after its last use, as nodes do.
const KEPT: Duration = Duration::from_secs(300);

/// Filters at a time.
const MOST: usize = 1_024;

/// Bytes of a question that a filter keeps.
const BYTES: usize = 16 << 10;

/// Answers of a filter whose newest block is remembered: that block may be replaced.
const SEEN: usize = 64;

/// The filters of all clients.
#[derive(Debug, Default)]
pub(crate) struct Filters {
    all: Mutex<BTreeMap<u64, Filter>>,
    count: AtomicU64,
    /// Makes identifiers that other clients cannot guess.
    random: RandomState,
}

#[derive(Clone, Debug)]
struct Filter {
    /// The parameter of `eth_getLogs`; `None`: blocks.
    logs: Option<String>,
    /// The newest block of each answer, ascending.
    seen: Vec<Anchor>,
    used: Instant,
}

impl Filters {
    pub(super) fn remove(&self, _: &Ask<'_>, params: &Params<'_>) -> Answer<Value> {
        let id = params.number(0)?;
        Ok(lock(&self.all).remove(&id).is_some().into())
    }

    pub(super) fn add_logs(&self, ask: &Ask<'_>, params: &Params<'_>) -> Answer<Value> {
        let asked = params.get(0).filter(|asked| asked.is_object());
        let asked = asked.ok_or_else(|| params::missing(0, "a filter"))?;
        eth::log_filter(field(asked, "address"), field(asked, "topics"))?;
        self.add(ask, Some(asked.to_string()))
    }

    pub(super) fn add(&self, ask: &Ask<'_>, logs: Option<String>) -> Answer<Value> {
        if logs.as_ref().is_some_and(|logs| logs.len() > BYTES) {
            return Err(Fault::TooMuch(format!(
                "a filter has at most {BYTES} bytes"
            )));
        }
        let id = (self.random).hash_one(self.count.fetch_add(1, Ordering::Relaxed));
        let mut all = lock(&self.all);
        all.retain(|_, filter| filter.used.elapsed() < KEPT);
        if all.len() >= MOST {
            return Err(Fault::Busy);
        }
        let filter = Filter {
            logs,
            seen: vec![ask.tip],
            used: Instant::now(),
        };
        all.insert(id, filter);
        Ok(quantity(id))
    }

    /// The filter that a client names.
    fn find(&self, params: &Params<'_>) -> Answer<(u64, Filter)> {
        let id = params.number(0)?;
        let mut all = lock(&self.all);
        let found = all.get_mut(&id);
        let found = found.ok_or_else(|| Fault::Failed("filter not found".to_owned()))?;
        found.used = Instant::now();
        Ok((id, found.clone()))
    }

    /// All logs of the blocks that a filter names.
    pub(super) fn logs(&self, ask: &Ask<'_>, params: &Params<'_>) -> Answer<Value> {
        match self.find(params)?.1.logs {
            Some(logs) => eth::logs(ask, &Params(&[parsed(&logs)])),
            None => Err(Fault::Failed("the filter is about blocks".to_owned())),
        }
    }

    /// The logs or the hashes of the blocks since the last answer. If its newest block was replaced, they begin
    /// after the answer before: none is left out, and some come twice.
    pub(super) fn changes(&self, ask: &Ask<'_>, params: &Params<'_>) -> Answer<Value> {
        let (id, Filter { logs, mut seen, .. }) = self.find(params)?;
        let mut first = ask.tip.number.saturating_add(1);
        while let Some(last) = seen.last() {
            if ask.source.block_hash(last.number)? == Some(last.hash) {
                first = last.number + 1;
                break;
            }
            first = last.number;
            seen.pop();
        }
        let answer = match &logs {
            Some(logs) => new_logs(ask, &parsed(logs), first)?,
            None => (first..=ask.tip.number)
                .map(|number| -> Answer<Value> {
                    let hash = ask.source.block_hash(number)?;
                    ask.count(66)?;
                    Ok(hash.map_or(Value::Null, data))
                })
                .collect::<Answer<_>>()?,
        };
        if seen.last().is_none_or(|last| last.number < ask.tip.number) {
            seen.push(ask.tip);
        }
        seen.drain(..seen.len().saturating_sub(SEEN));
        // If the answer is given up because this block was replaced, the next one begins before it.
        if let Some(filter) = lock(&self.all).get_mut(&id) {
            filter.seen = seen;
        }
        Ok(answer)
    }
}

/// The logs of the blocks from `first` on that a filter is about.
fn new_logs(ask: &Ask<'_>, asked: &Value, first: u64) -> Answer<Value> {
    let first = params::number(field(asked, "fromBlock")).map_or(first, |from| first.max(from));
    let last = match params::number(field(asked, "toBlock")) {
        Some(to) => to.min(ask.tip.number),
        None => ask.block(field(asked, "toBlock"))?,
    };
    if first > last || field(asked, "blockHash").is_some() {
        return Ok(json!([]));
    }
    let asked = json!({
        "address": field(asked, "address"),
        "topics": field(asked, "topics"),
        "fromBlock": quantity(first),
        "toBlock": quantity(last),
    });
    eth::logs(ask, &Params(&[asked]))
}

fn field<'a>(asked: &'a Value, name: &str) -> Option<&'a Value> {
    asked.get(name).filter(|value| !value.is_null())
}

/// A question that a client sent as JSON.
fn parsed(logs: &str) -> Value {
    serde_json::from_str(logs).unwrap_or_default()
}
