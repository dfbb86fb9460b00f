//! Extends the index while the server runs.

use crate::metrics::Metrics;
use std::{
    sync::atomic::Ordering,
    thread,
    time::{Duration, Instant},
};
use txgraph::{BuildOptions, CancelFlag, Result, Source};

/// Blocks that are added at a time.
const STEP_BLOCKS: u64 = 64;

/// How often the thread looks whether it shall stop.
const POLL: Duration = Duration::from_millis(50);

/// Extends the index each time the chain has changed, until `stop` is set. Looks every `interval`. A
/// failure does not end it: requests read from the node what the index lacks.
pub(crate) fn keep(source: &Source, interval: Duration, metrics: &Metrics, stop: &CancelFlag) {
    let mut seen = None;
    let mut said = String::new();
    while !stop.is_canceled() {
        let tip = source.tip_block().ok();
        if tip.is_some() && tip != seen {
            match extend(source, metrics, stop) {
                Ok(is_extended) => {
                    said.clear();
                    seen = tip.filter(|_| is_extended);
                }
                Err(_) if stop.is_canceled() => return,
                Err(error) => {
                    metrics.index_failures.fetch_add(1, Ordering::Relaxed);
                    let text = error.to_string();
                    if text != said {
                        tracing::warn!("the index is not extended: {text}");
                        said = text;
                    }
                }
            }
        }
        let next = Instant::now() + interval;
        while Instant::now() < next && !stop.is_canceled() {
            thread::sleep(POLL.min(interval));
        }
    }
}

/// Extends the index to the tip of the node. Returns whether there is one that has blocks; else looks
/// whether there is one now. An index that goes further than the node is of another, and stays as it is.
fn extend(source: &Source, metrics: &Metrics, stop: &CancelFlag) -> Result<bool> {
    let (mut before, mut is_last) = (None, false);
    loop {
        // A handle keeps the index that it has opened.
        let handle = source.in_background(stop)?;
        let index = handle.index()?;
        let last = index.last_block()?;
        (metrics.index_block).store(last.unwrap_or(0), Ordering::Relaxed);
        let Some(last) = last else {
            index.reopen()?;
            return Ok(false);
        };
        let tip = handle.tip_block()?.0;
        if is_last || last > tip {
            return Ok(true);
        }
        let mut options = BuildOptions::default();
        let end = tip.saturating_sub(options.reorg_buffer);
        let step = last.saturating_add(STEP_BLOCKS);
        // After a step without a new block, the node no longer has the next ones: no step would get past
        // them. The last step leaves out the blocks that may be replaced.
        let goes_on = step < end && before != Some(last);
        options.last_block = goes_on.then_some(step);
        (before, is_last) = (Some(last), !goes_on);
        if let Err(error) = index.update(&options) {
            // Another process may have extended it, or the directory cannot be written.
            index.reopen()?;
            return Err(error);
        }
    }
}
