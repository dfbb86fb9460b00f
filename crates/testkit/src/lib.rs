//! Support for tests: data directories of real nodes ([`fixtures`]), edits of them
//! (`edit`, with the feature of that name), blocks of mainnet ([`mainnet`]), a server with the answers
//! of a node ([`rpc`]), its answers about states ([`state_answers`]), random requests with
//! a reference for their answers ([`queries`]), runs of a program ([`program`]), and slow,
//! obvious implementations of what the fast crates do ([`naive`]).
//!
//! Only tests use this crate. It does not use the fast code that it checks: the naive
//! implementations read a node's JSON answers.
//!
//! Modules, each using only those before it: edit, random, fixtures, queries, exports, naive, op, pages,
//! rpc, state_answers, mainnet, program.

#[cfg(feature = "edit")]
pub mod edit;
pub mod exports;
pub mod fixtures;
pub mod mainnet;
pub mod naive;
pub mod op;
pub mod pages;
pub mod program;
pub mod queries;
pub mod random;
pub mod rpc;
pub mod state_answers;

use std::fmt::Display;

/// Asserts that a message contains a text.
///
/// # Panics
///
/// If it does not.
#[track_caller]
pub fn says(message: &(impl Display + ?Sized), text: &str) {
    let message = message.to_string();
    assert!(message.contains(text), "no `{text}`: {message}");
}

/// The value of an [`Option`]. Without one, the test returns: a fixture is missing, which was printed.
#[macro_export]
macro_rules! or_skip {
    ($found:expr) => {
        match $found {
            Some(found) => found,
            None => return,
        }
    };
}
