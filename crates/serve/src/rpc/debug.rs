//! `debug_*`: call traces and state differences of past transactions.

use super::{
    params::Params,
    trace::{found, replay},
};
use crate::{
    ask::Ask,
    fault::{Answer, Fault},
    json::data,
};
use serde_json::{Value, json};
use txgraph::{BlockRange, CallFrame, Trace, TransactionReplay};

/// The trace that is asked of each transaction.
#[derive(Clone, Copy)]
enum Tracer {
    Call { with_logs: bool, only_top: bool },
    Diff,
}

impl Tracer {
    /// The tracer that the options of a request name.
    fn of(options: Option<&Value>) -> Answer<Self> {
        let tracer = options.and_then(|options| options.get("tracer"));
        let config = options.and_then(|options| options.get("tracerConfig"));
        let flag = |name: &str| {
            let value = config.and_then(|config| config.get(name));
            value.and_then(Value::as_bool).unwrap_or(false)
        };
        match tracer.and_then(Value::as_str) {
            Some("callTracer") => Ok(Self::Call {
                with_logs: flag("withLog"),
                only_top: flag("onlyTopCall"),
            }),
            Some("prestateTracer") if flag("diffMode") => Ok(Self::Diff),
            Some("prestateTracer") => Err(Fault::NotHere(
                "prestateTracer is answered here with `diffMode` only".to_owned(),
            )),
            Some(other) => Err(Fault::NotHere(format!(
                "the tracer `{other:.40}` is not known here"
            ))),
            None => Err(Fault::NotHere(
                "only callTracer, and prestateTracer with `diffMode`, are known here".to_owned(),
            )),
        }
    }

    const fn trace(self) -> Trace {
        match self {
            Self::Call { .. } => Trace::Call,
            Self::Diff => Trace::Diff,
        }
    }

    fn result(self, replay: &TransactionReplay) -> Answer<Value> {
        let value = match self {
            Self::Call {
                with_logs,
                only_top,
            } => {
                let mut frame = replay.call_trace(with_logs);
                if let Some(CallFrame { calls, .. }) = &mut frame
                    && only_top
                {
                    calls.clear();
                }
                serde_json::to_value(frame)
            }
            Self::Diff => serde_json::to_value(replay.state_diff()),
        };
        value.map_err(|error| Fault::Failed(error.to_string()))
    }
}

/// About how many bytes a trace has.
fn bytes(replay: &TransactionReplay) -> usize {
    let frames = replay.frames.iter().flat_map(|frames| frames.iter());
    let frames: usize = frames
        .map(|frame| 500 + 2 * (frame.input.len() + frame.output.len()))
        .sum();
    frames + 1000 * replay.transitions.len()
}

pub(super) fn transaction(ask: &Ask<'_>, params: &Params<'_>) -> Answer<Value> {
    let (hash, tracer) = (params.hash(0)?, Tracer::of(params.get(1))?);
    let (replay, _) = found(ask, hash, tracer.trace())?;
    ask.count(bytes(&replay))?;
    tracer.result(&replay)
}

pub(super) fn block(ask: &Ask<'_>, number: u64, params: &Params<'_>) -> Answer<Value> {
    let tracer = Tracer::of(params.get(1))?;
    let mut found = Vec::new();
    let blocks = BlockRange::one(number).into();
    replay(ask, &blocks, tracer.trace(), |block| {
        for replay in &block.transactions {
            ask.count(bytes(replay))?;
            found.push(json!({
                "txHash": data(replay.hash),
                "result": tracer.result(replay)?,
            }));
        }
        Ok(())
    })?;
    Ok(found.into())
}
