//! Quick timings of programs on our interpreter alone. `bench.sh evm` compares it with revm,
//! in interleaved rounds and CPU time.

use crate::{call::status_words, engine::TestState, program::Program};
use serde_json::{Value, json};
use std::{
    fmt::Write,
    time::{Duration, Instant},
};
use txgraph_evm::{Error, Evm, Fork, MemoryStateError, Outcome, State};

/// A program with the time of its frame.
#[derive(Clone, Debug)]
pub struct Timed {
    /// Name of the program.
    pub name: String,
    /// The outcome, the same in every run.
    pub outcome: Outcome,
    /// The number of timed runs.
    pub runs: usize,
    /// The fastest run.
    pub min: Duration,
    /// The median run.
    pub median: Duration,
}

/// Calls the frame of a program repeatedly for about `time`, on one interpreter.
///
/// # Errors
///
/// The state contradicts itself. A state that was read from a file does not.
pub fn time_program(
    program: &Program,
    fork: Fork,
    time: Duration,
) -> Result<Timed, Error<MemoryStateError>> {
    let (block, message) = (program.call.block(), program.call.message());
    let (mut evm, mut state) = (
        Evm::new(fork, 1),
        State::new(TestState::new(&program.call.state)),
    );
    let begin = Instant::now();
    let mut times = Vec::new();
    loop {
        state.clear();
        let start = Instant::now();
        let outcome = evm.call(&mut state, &block, &message)?;
        times.push(start.elapsed());
        if begin.elapsed() >= time {
            times.sort();
            return Ok(Timed {
                name: program.name.clone(),
                outcome,
                runs: times.len(),
                min: times[0],
                median: times[times.len() / 2],
            });
        }
    }
}

impl Timed {
    /// Millions of gas per second of the fastest run.
    #[expect(clippy::cast_precision_loss, reason = "a rate for display")]
    pub fn mgas_per_second(&self) -> f64 {
        self.outcome.gas_used as f64 / 1e6 / self.min.as_secs_f64().max(1e-9)
    }

    /// The result as JSON.
    pub fn to_json(&self) -> Value {
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        json!({
            "name": self.name,
            "status": status_words(self.outcome.status).0,
            "gas_used": self.outcome.gas_used,
            "output": self.outcome.output,
            "runs": self.runs,
            "min_ns": ns(self.min),
            "median_ns": ns(self.median),
        })
    }

    /// Formats a table with one line for each program.
    pub fn table(timed: &[Self]) -> String {
        let width = timed
            .iter()
            .map(|row| row.name.len())
            .max()
            .unwrap_or(0)
            .max(7);
        let mut text = format!(
            "{:<width$} {:>12} {:>12} {:>12} {:>10} {:>8}  outcome\n",
            "program", "gas used", "min", "median", "Mgas/s", "runs"
        );
        for row in timed {
            let time = |time: Duration| format!("{:.2} µs", time.as_secs_f64() * 1e6);
            let _ = writeln!(
                text,
                "{:<width$} {:>12} {:>12} {:>12} {:>10.0} {:>8}  {}",
                row.name,
                row.outcome.gas_used,
                time(row.min),
                time(row.median),
                row.mgas_per_second(),
                row.runs,
                status_words(row.outcome.status).0
            );
        }
        text
    }
}
