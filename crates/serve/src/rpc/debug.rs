//! `debug_*`: call traces and state differences of past transactions.

use super::{
    params::Params,
    trace::{found, replay},
};
use crate::{
    ask::Ask,
    fault::{Answer, Fault},
    frames,
    json::data,
};
use serde_json::{Value, json};
use txgraph::{AccountFields, BlockRange, CallFrame, StateDiff, Trace, TransactionReplay};

/// The trace that is asked of each transaction.
#[derive(Clone, Copy)]
enum Tracer {
    Call {
        with_logs: bool,
        only_top: bool,
    },
    Diff {
        without_code: bool,
        without_storage: bool,
    },
}

impl Tracer {
    /// The tracer that the options of a request name.
    fn of(options: Option<&Value>) -> Answer<Self> {
        let tracer = option(options, "tracer");
        let config = option(options, "tracerConfig");
        match tracer.and_then(Value::as_str) {
            Some("callTracer") => {
                let [with_logs, only_top] = flags(config, ["withLog", "onlyTopCall"])?;
                Ok(Self::Call {
                    with_logs,
                    only_top,
                })
            }
            Some("prestateTracer") => {
                let names = ["diffMode", "disableCode", "disableStorage"];
                match flags(config, names)? {
                    [true, without_code, without_storage] => Ok(Self::Diff {
                        without_code,
                        without_storage,
                    }),
                    [false, ..] => Err(Fault::NotHere(
                        "prestateTracer is answered here with `diffMode` only".to_owned(),
                    )),
                }
            }
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
            Self::Diff { .. } => Trace::Diff,
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
            Self::Diff {
                without_code,
                without_storage,
            } => serde_json::to_value(diff(replay, without_code, without_storage)),
        };
        value.map_err(|error| Fault::Failed(error.to_string()))
    }
}

/// An option by its name in any case: geth's own client writes `Tracer`.
fn option<'a>(options: Option<&'a Value>, name: &str) -> Option<&'a Value> {
    let mut given = options?.as_object()?.iter();
    let named = given.find(|(given, _)| given.eq_ignore_ascii_case(name));
    named.map(|(_, value)| value)
}

/// The options of a tracer, which are all flags.
fn flags<const N: usize>(config: Option<&Value>, names: [&str; N]) -> Answer<[bool; N]> {
    let wrong = |what: &str| Fault::Params(format!("`{what:.40}` of the tracer is no flag"));
    let mut flags = [false; N];
    let given = match config {
        None | Some(Value::Null) => return Ok(flags),
        Some(config) => config.as_object().ok_or_else(|| wrong("tracerConfig"))?,
    };
    for (name, value) in given {
        let Some(at) = names.iter().position(|known| known == name) else {
            return Err(Fault::NotHere(format!(
                "the option `{name:.40}` of the tracer is not known here"
            )));
        };
        flags[at] = value.as_bool().ok_or_else(|| wrong(name))?;
    }
    Ok(flags)
}

/// The changes of the state. Accounts of which nothing else changed are left out with what is not
/// wanted.
fn diff(replay: &TransactionReplay, without_code: bool, without_storage: bool) -> StateDiff {
    let mut diff = replay.state_diff();
    if without_code || without_storage {
        for account in diff.pre.values_mut().chain(diff.post.values_mut()) {
            if without_code {
                account.code = None;
            }
            if without_storage {
                account.storage.clear();
            }
        }
        let StateDiff { post, pre } = &mut diff;
        post.retain(|address, account| {
            let is_changed = *account != AccountFields::default();
            if !is_changed {
                pre.remove(address);
            }
            is_changed
        });
    }
    diff
}

/// Counts what a trace has, before it is written.
fn count(ask: &Ask<'_>, replay: &TransactionReplay) -> Answer<()> {
    frames::count(ask, replay)?;
    let mut accounts = replay.transitions.iter();
    accounts.try_for_each(|_| ask.count(1000))
}

pub(super) fn transaction(ask: &Ask<'_>, params: &Params<'_>) -> Answer<Value> {
    let (hash, tracer) = (params.hash(0)?, Tracer::of(params.get(1))?);
    let (replay, _) = found(ask, hash, tracer.trace())?;
    count(ask, &replay)?;
    tracer.result(&replay)
}

pub(super) fn block(ask: &Ask<'_>, number: u64, params: &Params<'_>) -> Answer<Value> {
    let tracer = Tracer::of(params.get(1))?;
    let mut found = Vec::new();
    let blocks = BlockRange::one(number).into();
    replay(ask, &blocks, tracer.trace(), |block| {
        for replay in &block.transactions {
            count(ask, replay)?;
            found.push(json!({
                "txHash": data(replay.hash),
                "result": tracer.result(replay)?,
            }));
        }
        Ok(())
    })?;
    Ok(found.into())
}
