//! Random cases by revm, and by each form of the interpreter.
//!
//! `TXGRAPH_EVM_CASES` sets how many, `TXGRAPH_EVM_SEED` where to begin, and
//! `TXGRAPH_EVM_WATCHED` every how many-th is watched, too: watching takes longer than all
//! the rest, as loops are what cases spend their time in.

use txgraph_evm::{Evm, Fork};
use txgraph_revm_peer::{
    case::{CHAIN_ID, case},
    differential::{assert_agreement, ours},
};

fn number(variable: &str, otherwise: u64) -> u64 {
    match std::env::var(variable) {
        Ok(value) => value.parse().expect("a number"),
        Err(_) => otherwise,
    }
}

/// `check` with as many cases.
fn for_cases(otherwise: u64, mut check: impl FnMut(&mut Evm, u64)) {
    let first = number("TXGRAPH_EVM_SEED", 0);
    let cases = number("TXGRAPH_EVM_CASES", otherwise);
    let mut evm = Evm::new(Fork::Osaka, CHAIN_ID);
    for seed in first..first + cases {
        check(&mut evm, seed);
    }
}

#[test]
#[cfg_attr(miri, ignore = "judges revm, too, and takes its time")]
fn agrees_with_revm() {
    let watched = number("TXGRAPH_EVM_WATCHED", 1).max(1);
    for_cases(20_000, |evm, seed| {
        assert_agreement(evm, &case(seed), seed.is_multiple_of(watched));
    });
}

/// Forks that are not compared with revm, each with the fork whose cases it runs. revm does not
/// have Constantinople, and has a later draft of Amsterdam.
const WITHOUT_PEER: [(Fork, Fork); 2] = [
    (Fork::Petersburg, Fork::Constantinople),
    (Fork::Osaka, Fork::Amsterdam),
];

/// What miri and valgrind run: new, decoded and traced code give the same results, at all forks.
#[test]
fn agrees_with_itself() {
    for_cases(if cfg!(miri) { 8 } else { 1_000 }, |evm, seed| {
        let mut case = case(seed);
        if seed.is_multiple_of(2) {
            let other = WITHOUT_PEER.iter().find(|(fork, _)| *fork == case.fork);
            case.fork = other.map_or(case.fork, |(_, fork)| *fork);
        }
        if cfg!(miri) {
            // A thousand times as slow: not the loops of a case, but all else.
            for transaction in &mut case.transactions {
                transaction.gas_limit = transaction.gas_limit.min(80_000);
            }
        }
        let new = ours(evm, &case, false);
        let fork = case.fork;
        assert_eq!(ours(evm, &case, false), new, "decoded, {fork}, seed {seed}");
        assert_eq!(ours(evm, &case, true), new, "traced, {fork}, seed {seed}");
    });
}
