//! Times many threads that call one contract.
//!
//! Threads share the cache of prepared code. A counter that a call writes in it would move between the
//! caches of the processors, and a call would take the longer the more of them run. Beside each run, the
//! same threads run with a cache of code for each, in which nothing is shared.

use super::{
    bench_cases::{FORK, block},
    measure::{Answer, cpu_ns},
    precompiles::Timing,
    table::duration,
};
use crate::measure::{Spread, interleaved};
use alloy_primitives::{Address, B256, Bytes, U256};
use anyhow::{Context, Result, ensure};
use std::{fmt::Write, sync::Arc, thread};
use txgraph_evm::{Account, CodeCache, DecodeAfter, Evm, Message, State};
use txgraph_revm_peer::flat::FlatState;

/// Numbers of threads, also more than there are processors.
const THREADS: [u64; 4] = [1, 2, 8, 64];

/// Calls by one execution of the caller's code.
const CALLS: u16 = 1_000;

const CALLER: Address = Address::repeat_byte(0xca);
const CALLEE: Address = Address::repeat_byte(0xce);

/// Times calls from contract to contract, per call, with a shared cache of code and with one for each
/// thread. Decoded and careful code are timed apart.
pub(crate) fn run(options: &Timing) -> Result<()> {
    let setup = &options.results.setup;
    let mut text = format!(
        "# Many threads, one contract\n\n{setup}\n\nCPU time of a call from contract to contract; ratios \
         are of pairs of one round: median (minimum to maximum).\n\n\
         | code | threads | a cache for each | one cache | one ÷ each |\n\
         | --- | ---: | ---: | ---: | ---: |\n"
    );
    let state = state();
    for (code, decode) in [
        ("decoded", DecodeAfter::AT_ONCE),
        ("careful", DecodeAfter::NEVER),
    ] {
        for threads in THREADS {
            // The same work for each row.
            let runs = (options.ms * 20 / threads).max(1);
            let mut subjects = [false, true];
            let rounds = interleaved(&mut subjects, options.rounds, |shared, _| {
                call_ns(&state, decode, threads, runs, *shared)
            })?;
            let ratios = rounds[1]
                .iter()
                .zip(&rounds[0])
                .map(|(one, each)| one / each);
            let [each, one] = [0, 1].map(|n| Spread::of(rounds[n].iter().copied()).median);
            let Spread {
                min, median, max, ..
            } = Spread::of(ratios);
            writeln!(
                text,
                "| {code} | {threads} | {} | {} | {median:.2} ({min:.2} to {max:.2}) |",
                duration(each),
                duration(one)
            )?;
        }
    }
    options.results.publish("threads.md", &text)
}

/// The nanoseconds of CPU time that a call takes, if each of `threads` executes the caller's code `runs`
/// times.
#[expect(clippy::cast_precision_loss, reason = "nanoseconds of a short run")]
fn call_ns(
    state: &FlatState,
    decode: DecodeAfter,
    threads: u64,
    runs: u64,
    shared: bool,
) -> Result<f64> {
    let cache = || Arc::new(CodeCache::default().with_decode_after(decode));
    let one = cache();
    let times = thread::scope(|scope| {
        let handles: Vec<_> = (0..threads)
            .map(|_| {
                let codes = if shared { Arc::clone(&one) } else { cache() };
                scope.spawn(move || thread_ns(state, codes, runs))
            })
            .collect();
        handles
            .into_iter()
            .map(|handle| handle.join().ok().context("a thread panicked")?)
            .collect::<Result<Vec<u64>>>()
    })?;
    Ok(times.iter().sum::<u64>() as f64 / (threads * runs * u64::from(CALLS)) as f64)
}

/// The CPU time of `runs` executions of the caller's code on this thread.
fn thread_ns(state: &FlatState, codes: Arc<CodeCache>, runs: u64) -> Result<u64> {
    let mut evm = Evm::with_code_cache(FORK, 1, codes);
    let mut state = State::new(state);
    let message = Message {
        to: Some(CALLER),
        gas_limit: 1_000_000_000,
        ..Message::default()
    };
    let mut first: Option<Answer> = None;
    let start = cpu_ns();
    for _ in 0..runs {
        state.clear();
        let answer: Answer = evm.call(&mut state, &block(), &message)?.into();
        ensure!(answer.success, "the caller failed: {answer:?}");
        match &first {
            None => first = Some(answer),
            Some(first) => ensure!(*first == answer, "two runs differ"),
        }
    }
    Ok(cpu_ns() - start)
}

/// A contract that calls the other one [`CALLS`] times.
fn state() -> FlatState {
    let mut caller = vec![0x61];
    caller.extend(CALLS.to_be_bytes());
    // JUMPDEST; five zeros; the address.
    caller.extend([0x5b, 0x5f, 0x5f, 0x5f, 0x5f, 0x5f, 0x73]);
    caller.extend(CALLEE);
    // GAS CALL POP; one less; again from the JUMPDEST, unless it is zero.
    caller.extend([
        0x5a, 0xf1, 0x50, 0x60, 1, 0x90, 0x03, 0x80, 0x60, 3, 0x57, 0x00,
    ]);
    // CALLDATASIZE POP STOP
    let callee = vec![0x36, 0x50, 0x00];
    let mut state = FlatState::default();
    for (address, code) in [(CALLER, caller), (CALLEE, callee)] {
        let code_hash: B256 = state.insert_code(Bytes::from(code));
        let account = Account {
            balance: U256::ZERO,
            nonce: 1,
            code_hash,
        };
        state.insert_account(address, account, false);
    }
    state
}
