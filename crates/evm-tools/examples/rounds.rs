//! Runs the frame of a program repeatedly, and nothing else: a small binary whose machine
//! code `scripts/check-dispatch.sh` reads.
//!
//! `rounds PROGRAM.prog N` prints the nanoseconds (of CPU) of the fastest of N rounds.

use nix::time::{ClockId, clock_gettime};
use std::{io::Write, path::Path, time::Duration};
use txgraph_evm::{Evm, Fork, State};
use txgraph_evm_tools::{engine::TestState, program::Program};

/// The CPU time of this thread.
fn cpu() -> Duration {
    let clock = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID);
    clock.expect("Linux has this clock").into()
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [path, rounds] = &args[..] else {
        panic!("usage: rounds PROGRAM.prog N");
    };
    let program = Program::open(Path::new(path)).expect("the program can be read");
    let (block, message) = (program.call.block(), program.call.message());
    let mut state = State::new(TestState::new(&program.call.state));
    let mut evm = Evm::new(Fork::Osaka, 1);
    let rounds: u32 = rounds.parse().expect("N is a number");
    let times = (0..rounds).map(|_| {
        state.clear();
        let start = cpu();
        let outcome = evm.call(&mut state, &block, &message);
        assert!(outcome.expect("the state can be read").is_success());
        (cpu() - start).as_nanos()
    });
    let fastest = times.min().unwrap_or(0);
    writeln!(std::io::stdout(), "{fastest}").expect("standard output can be written");
}
