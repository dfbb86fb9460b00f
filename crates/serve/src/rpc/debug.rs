//! `debug_*`: traces of calls and instructions, and the state before and after transactions.

use super::{
    overrides::simulation,
    params::Params,
    replayed::{Recorded, observed, replay},
    request::Request,
    simulate,
    steps::{StepOptions, StepRecorder},
};
use crate::{
    ask::Ask,
    fault::{Answer, Fault},
    frames,
    json::data,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use txgraph::{AccountFields, BlockRange, CallFrame, Inspector, StateDiff, TransactionReplay};

/// The trace that is asked of each transaction.
#[derive(Clone, Copy)]
enum Tracer {
    Call { with_logs: bool, only_top: bool },
    Diff(LeftOut),
    Before(LeftOut),
    Steps(StepOptions),
}

/// The fields of accounts that are not wanted.
#[derive(Clone, Copy)]
struct LeftOut {
    code: bool,
    storage: bool,
}

impl LeftOut {
    fn of(self, account: &mut AccountFields) {
        if self.code {
            account.code = None;
        }
        if self.storage {
            account.storage.clear();
        }
    }
}

impl Tracer {
    /// The tracer that the options of a request name.
    fn of(options: Option<&Value>) -> Answer<Self> {
        let config = option(options, "tracerConfig");
        let given = |name: &str| option(options, name).filter(|it| !it.is_null());
        let Some(tracer) = given("tracer") else {
            return Ok(Self::Steps(StepOptions::read(given)?));
        };
        match tracer.as_str() {
            Some("callTracer") => {
                let [with_logs, only_top] = flags(config, ["withLog", "onlyTopCall"])?;
                Ok(Self::Call {
                    with_logs,
                    only_top,
                })
            }
            Some("prestateTracer") => {
                let names = ["diffMode", "disableCode", "disableStorage"];
                let [is_diff, code, storage] = flags(config, names)?;
                let left_out = LeftOut { code, storage };
                Ok(match is_diff {
                    true => Self::Diff(left_out),
                    false => Self::Before(left_out),
                })
            }
            Some(other) => Err(Fault::NotHere(format!(
                "the tracer `{other:.40}` is not known here"
            ))),
            None => Err(Fault::Params("`tracer` is no text".to_owned())),
        }
    }

    const fn recorded(self) -> Recorded {
        Recorded {
            calls: matches!(self, Self::Call { .. }),
            changes: matches!(self, Self::Diff(_)),
            touched: matches!(self, Self::Before(_)),
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
            Self::Diff(left_out) => serde_json::to_value(diff(replay, left_out)),
            Self::Before(left_out) => {
                let touched = replay.touched.iter().flat_map(|touched| &touched.before);
                let accounts = touched.map(|(address, account)| {
                    let mut account = account.clone();
                    left_out.of(&mut account);
                    (address, account)
                });
                serde_json::to_value(accounts.collect::<BTreeMap<_, _>>())
            }
            // They are recorded while the transaction is executed.
            Self::Steps(_) => return Err(no_steps()),
        };
        value.map_err(|error| Fault::Failed(error.to_string()))
    }
}

/// The fault of traces of instructions of several transactions.
fn no_steps() -> Fault {
    Fault::NotHere(
        "instructions are traced of one transaction (debug_traceTransaction): name callTracer or prestateTracer"
            .to_owned(),
    )
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
fn diff(replay: &TransactionReplay, left_out: LeftOut) -> StateDiff {
    let mut diff = replay.state_diff();
    if left_out.code || left_out.storage {
        let accounts = diff.pre.values_mut().chain(diff.post.values_mut());
        accounts.for_each(|account| left_out.of(account));
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
    frames::count_changes(ask, replay)?;
    let mut touched = replay.touched.iter().flat_map(|it| it.before.values());
    touched.try_for_each(|account| {
        let code = account.code.as_ref().map_or(0, |code| code.len());
        ask.count(300 + 150 * account.storage.len() + 2 * code)
    })
}

pub(super) fn transaction(ask: &Ask<'_>, params: &Params<'_>) -> Answer<Value> {
    let (hash, tracer) = (params.hash(0)?, Tracer::of(params.get(1))?);
    result(ask, tracer, |inspector| {
        observed(ask, hash, tracer.recorded(), inspector)
    })
}

/// The result of the transaction that `execute` executes, observed by the inspector of the tracer.
fn result(
    ask: &Ask<'_>,
    tracer: Tracer,
    execute: impl FnOnce(Option<&mut dyn Inspector>) -> Answer<TransactionReplay>,
) -> Answer<Value> {
    if let Tracer::Steps(options) = tracer {
        let mut recorder = StepRecorder::new(ask, options);
        let replay = execute(Some(&mut recorder))?;
        return recorder.result(&replay);
    }
    let replay = execute(None)?;
    count(ask, &replay)?;
    tracer.result(&replay)
}

pub(super) fn block(ask: &Ask<'_>, number: Answer<u64>, params: &Params<'_>) -> Answer<Value> {
    let number = number?;
    let tracer = Tracer::of(params.get(1))?;
    if matches!(tracer, Tracer::Steps(_)) {
        return Err(no_steps());
    }
    let mut found = Vec::new();
    let blocks = BlockRange::one(number).into();
    replay(ask, &blocks, tracer.recorded(), |block| {
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

pub(super) fn call(ask: &Ask<'_>, params: &Params<'_>) -> Answer<Value> {
    let block = params.block(ask, 1)?;
    let options = params.get(2);
    let given = |name: &str| option(options, name).filter(|value| !value.is_null());
    if given("txIndex").is_some() {
        return Err(Fault::NotHere(
            "a call between the transactions of a block is not known here".to_owned(),
        ));
    }
    let tracer = Tracer::of(options)?;
    let simulation = simulation(block, given("stateOverrides"), given("blockOverrides"))?;
    let request = Request::read(ask, params, &simulation)?;
    result(ask, tracer, |inspector| {
        let record = tracer.recorded().into();
        simulate::one(ask, &request, &simulation, record, inspector)
    })
}
