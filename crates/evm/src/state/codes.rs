//! The codes of a state, by number.
//!
//! Frames and accounts hold numbers. A call therefore writes no counter that threads share, as a
//! clone of an [`Arc`] would: many threads may run one contract at a time.

use crate::code::{Code, DecodeAfter};
use std::sync::Arc;

/// The number of the empty code.
pub(crate) const NO_CODE: u32 = 0;

/// A code, and what this state may still execute of it before it is decoded.
#[derive(Debug)]
struct Entry {
    code: Arc<Code>,
    /// The bytes that were left when it was added.
    budget_before: i64,
    budget: i64,
}

impl Entry {
    fn new(code: Arc<Code>) -> Self {
        let budget = code.budget();
        Self {
            code,
            budget_before: budget,
            budget,
        }
    }
}

impl Drop for Entry {
    /// Reports to other states what was executed.
    fn drop(&mut self) {
        if self.budget != self.budget_before {
            self.code.spend(self.budget_before - self.budget);
        }
    }
}

/// Codes by number, from [`NO_CODE`].
#[derive(Debug)]
pub(crate) struct Codes(Vec<Entry>);

impl Default for Codes {
    fn default() -> Self {
        let no_code = Code::new(&[], DecodeAfter::default());
        Self(vec![Entry::new(Arc::new(no_code))])
    }
}

impl Codes {
    /// Adds code; returns its number.
    pub(crate) fn add(&mut self, code: Arc<Code>) -> u32 {
        self.0.push(Entry::new(code));
        (self.0.len() - 1) as u32
    }

    /// Drops code that neither an account nor a frame uses any more.
    pub(crate) fn remove(&mut self, number: u32) {
        if number as usize + 1 == self.0.len() && number != NO_CODE {
            self.0.pop();
        } else {
            // Other numbers stay.
            self.0[number as usize] = Entry::new(self.shared(NO_CODE));
        }
    }

    /// Drops all codes but the empty one.
    pub(super) fn clear(&mut self) {
        self.0.truncate(NO_CODE as usize + 1);
    }

    #[inline(always)]
    pub(crate) fn get(&self, number: u32) -> &Code {
        &self.0[number as usize].code
    }

    /// The code, to keep.
    pub(crate) fn shared(&self, number: u32) -> Arc<Code> {
        Arc::clone(&self.0[number as usize].code)
    }

    /// The bytes that may be executed before the code is decoded.
    #[inline(always)]
    pub(crate) fn budget(&self, number: u32) -> i64 {
        self.0[number as usize].budget
    }

    /// Sets [`budget`](Self::budget).
    #[inline(always)]
    pub(crate) fn set_budget(&mut self, number: u32, bytes: i64) {
        self.0[number as usize].budget = bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_when_codes_are_removed() {
        let mut codes = Codes::default();
        let code = |byte: u8| Arc::new(Code::new(&[byte], DecodeAfter::default()));
        let (one, two) = (codes.add(code(1)), codes.add(code(2)));
        codes.remove(one);
        assert_eq!(codes.get(two).bytes()[..], [2]);
        assert!(codes.get(one).bytes().is_empty());
        codes.remove(two);
        assert_eq!(codes.add(code(3)), two, "the last number is used again");
        codes.clear();
        assert!(codes.get(NO_CODE).bytes().is_empty());
        assert_eq!(codes.add(code(4)), 1);
    }

    #[test]
    fn states_learn_what_others_executed() {
        let code = Arc::new(Code::new(&[0; 100], DecodeAfter::default()));
        let all = code.budget();
        let (mut one, mut other) = (Codes::default(), Codes::default());
        let number = one.add(Arc::clone(&code));
        one.set_budget(number, all - 30);
        let number = other.add(Arc::clone(&code));
        other.set_budget(number, all - 12);
        assert_eq!(code.budget(), all, "nothing is shared while it runs");
        one.clear();
        drop(other);
        assert_eq!(code.budget(), all - 42);
    }
}
