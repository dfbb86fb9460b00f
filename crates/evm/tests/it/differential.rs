//! Runs random cases on revm and on each form of the interpreter.
//!
//! `TXGRAPH_EVM_CASES` sets the number of cases and `TXGRAPH_EVM_SEED` the first one.
//! `TXGRAPH_EVM_WATCHED=N` traces only every N-th case, because tracing takes longer than all other
//! executions.

use txgraph_evm::Fork;
use txgraph_revm_peer::{
    case::case,
    differential::{Forms, assert_agreement},
};

fn number(variable: &str, otherwise: u64) -> u64 {
    match std::env::var(variable) {
        Ok(value) => value.parse().expect("a number"),
        Err(_) => otherwise,
    }
}

/// Runs `check` for `otherwise` cases, or as many as the environment sets.
fn for_cases(otherwise: u64, mut check: impl FnMut(&mut Forms, u64)) {
    let first = number("TXGRAPH_EVM_SEED", 0);
    let cases = number("TXGRAPH_EVM_CASES", otherwise);
    let mut forms = Forms::default();
    for seed in first..first + cases {
        check(&mut forms, seed);
    }
}

#[test]
#[cfg_attr(miri, ignore = "runs revm, and takes too long")]
fn agrees_with_revm() {
    let traced_every = number("TXGRAPH_EVM_WATCHED", 1).max(1);
    for_cases(20_000, |forms, seed| {
        assert_agreement(forms, &case(seed), seed.is_multiple_of(traced_every));
    });
}

/// Forks that are not compared with revm, each with the fork whose cases it runs. revm does not
/// have Constantinople, and has a draft of Amsterdam.
const WITHOUT_PEER: [(Fork, Fork); 2] = [
    (Fork::Petersburg, Fork::Constantinople),
    (Fork::Osaka, Fork::Amsterdam),
];

/// The test for miri and valgrind: new, decoded and traced code give the same results, at all
/// forks.
#[test]
fn agrees_with_itself() {
    for_cases(if cfg!(miri) { 8 } else { 1_000 }, |forms, seed| {
        let mut case = case(seed);
        if seed.is_multiple_of(2) {
            let other = WITHOUT_PEER.iter().find(|(fork, _)| *fork == case.fork);
            case.fork = other.map_or(case.fork, |(_, fork)| *fork);
        }
        if cfg!(miri) {
            // miri is a thousand times slower, so cases do not get the gas for their loops.
            for transaction in &mut case.transactions {
                transaction.gas_limit = transaction.gas_limit.min(80_000);
            }
        }
        forms.result(&case, true);
    });
}
