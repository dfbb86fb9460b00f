//! Finds out which bytes of code are jump destinations, one at a time.
//!
//! A `JUMPDEST` byte is a destination unless it is part of the constant of a `PUSH`. The usual
//! method reads all of the code once. But a transaction executes a few percent of the code that
//! it calls, so this took up to a quarter of the time of a real block. A byte can be checked
//! alone: only a `PUSH` in the 32 bytes before it can contain it. In most cases none of these
//! bytes could be such a `PUSH`. Otherwise the reading starts at the nearest byte that certainly
//! begins an instruction.

use crate::opcode::{self, FACTS};
use std::sync::{
    OnceLock,
    atomic::{AtomicU64, Ordering},
};

/// The number of bytes in the longest constant.
const CONSTANT_MAX: usize = 32;

/// How far before a byte the reading may start. In code with more bytes in a row that look like
/// a `PUSH`, all destinations are found in one pass. This bounds the work for hostile code.
const DISTANCE_MAX: usize = 1024;

/// The jump destinations of one code, found on demand.
#[derive(Debug)]
pub(crate) struct Destinations {
    /// One bit per byte of the code, set if it is known to be a destination.
    known: Box<[AtomicU64]>,
    /// Set once all bits are known.
    all_known: OnceLock<()>,
}

impl Destinations {
    /// Creates an empty set for code of `len` bytes.
    pub(crate) fn new(len: usize) -> Self {
        Self {
            known: (0..len.div_ceil(64)).map(|_| AtomicU64::new(0)).collect(),
            all_known: OnceLock::new(),
        }
    }

    /// Whether `at` is a jump destination of `code`, for which this set was made.
    #[inline(always)]
    pub(crate) fn contains(&self, code: &[u8], at: u64) -> bool {
        at < code.len() as u64 && (self.is_known(at as usize) || self.find(code, at as usize))
    }

    #[inline(always)]
    fn is_known(&self, at: usize) -> bool {
        self.known[at / 64].load(Ordering::Relaxed) >> (at % 64) & 1 == 1
    }

    #[cold]
    #[inline(never)]
    fn find(&self, code: &[u8], at: usize) -> bool {
        if code[at] != opcode::JUMPDEST {
            return false;
        }
        if self.all_known.get().is_some() {
            // Another thread may have found them since the bit was read.
            return self.is_known(at);
        }
        let Some(start) = instruction_before(code, at) else {
            self.all_known.get_or_init(|| self.find_all(code));
            return self.is_known(at);
        };
        let mut pc = start;
        while pc < at {
            pc += instruction_len(code[pc]);
        }
        if pc == at {
            self.insert(at);
        }
        pc == at
    }

    fn find_all(&self, code: &[u8]) {
        let mut pc = 0;
        while let Some(&byte) = code.get(pc) {
            if byte == opcode::JUMPDEST {
                self.insert(pc);
            }
            pc += instruction_len(byte);
        }
    }

    fn insert(&self, at: usize) {
        self.known[at / 64].fetch_or(1 << (at % 64), Ordering::Relaxed);
    }

    /// The bytes that it uses on the heap.
    #[cfg(test)]
    pub(crate) fn footprint(&self) -> usize {
        size_of_val(&*self.known)
    }
}

/// The number of bytes of an instruction with its constant.
pub(crate) fn instruction_len(byte: u8) -> usize {
    1 + constant_len(byte)
}

fn constant_len(byte: u8) -> usize {
    usize::from(FACTS[usize::from(byte)].immediate)
}

/// Returns a position at or before `at` that begins an instruction; `None` if there is none within
/// [`DISTANCE_MAX`].
fn instruction_before(code: &[u8], at: usize) -> Option<usize> {
    let mut start = at;
    while let Some(push) = first_containing(code, start) {
        if at - push > DISTANCE_MAX {
            return None;
        }
        start = push;
    }
    Some(start)
}

/// The first of the bytes before `at` that would contain `at` in its constant if it is a `PUSH`.
fn first_containing(code: &[u8], at: usize) -> Option<usize> {
    if let Some(before) = code[..at].last_chunk()
        && !any_contains(before)
    {
        return None;
    }
    let first = at.saturating_sub(CONSTANT_MAX);
    (first..at).find(|push| push + constant_len(code[*push]) >= at)
}

/// Whether any of the bytes would contain the byte after them. Has no branches, so that the
/// compiler uses vectors.
#[inline]
fn any_contains(before: &[u8; CONSTANT_MAX]) -> bool {
    let mut any = false;
    for (at, byte) in before.iter().enumerate() {
        // From a `PUSH` with a constant of `shortest` bytes to `PUSH32`.
        let shortest = (CONSTANT_MAX - at) as u8;
        any |= byte.wrapping_sub(opcode::PUSH1 - 1 + shortest) <= 32 - shortest;
    }
    any
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reads the code from its start.
    fn plain(code: &[u8]) -> Vec<usize> {
        let mut found = Vec::new();
        let mut pc = 0;
        while pc < code.len() {
            if code[pc] == opcode::JUMPDEST {
                found.push(pc);
            }
            pc += instruction_len(code[pc]);
        }
        found
    }

    fn found(code: &[u8], order: impl Iterator<Item = usize>) -> Vec<usize> {
        let destinations = Destinations::new(code.len());
        let mut found: Vec<_> = order
            .filter(|at| destinations.contains(code, *at as u64))
            .collect();
        found.sort_unstable();
        let again = |at: &usize| destinations.contains(code, *at as u64);
        assert!(found.iter().all(again));
        found
    }

    #[test]
    fn exclude_data() {
        let code = [0x5b, 0x61, 0x5b, 0x5b, 0x5b, 0x60];
        assert_eq!(found(&code, 0..100), [0, 4]);
        let destinations = Destinations::new(code.len());
        assert!(!destinations.contains(&code, u64::MAX));
        assert!(!Destinations::new(0).contains(&[], 0));
    }

    /// Code in which every byte may be data of the byte before it.
    #[test]
    fn hostile_code_is_read_once() {
        let mut code = vec![opcode::PUSH32; 40_000];
        for at in (0..code.len()).step_by(33 * 5) {
            code[at] = opcode::JUMPDEST;
        }
        code[20_001..20_040].fill(opcode::JUMPDEST);
        assert_eq!(found(&code, (0..code.len()).rev()), plain(&code));
        assert_eq!(found(&code, 0..code.len()), plain(&code));
        let destinations = Destinations::new(code.len());
        assert!(!destinations.contains(&code, 39_600));
        assert!(destinations.all_known.get().is_some());
    }

    proptest! {
        #[test]
        fn agree_with_reading_from_the_start(
            code in proptest::collection::vec(
                prop_oneof![
                    3 => Just(opcode::JUMPDEST),
                    3 => opcode::PUSH1..=opcode::PUSH32,
                    3 => opcode::PUSH1..=opcode::PUSH1 + 3,
                    6 => any::<u8>(),
                ],
                0..300,
            ),
        ) {
            prop_assert_eq!(found(&code, 0..code.len() + 40), plain(&code));
            prop_assert_eq!(found(&code, (0..code.len() + 40).rev()), plain(&code));
        }
    }
}
