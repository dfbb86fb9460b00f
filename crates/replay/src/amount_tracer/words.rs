//! The origins of words in memory, calldata and return data.

use super::origins::{Origins, Set};
use std::collections::BTreeMap;

/// The bytes of a word.
const WORD: usize = 32;

/// The words of a byte sequence whose origins are known, by the offset at which they were written. They
/// do not overlap.
#[derive(Clone, Debug, Default)]
pub(super) struct Words(BTreeMap<usize, Set>);

impl Words {
    /// The offsets from which words reach into a range of bytes.
    fn reaching(start: usize, len: usize) -> std::ops::Range<usize> {
        start.saturating_sub(WORD - 1)..start.saturating_add(len)
    }

    /// Forgets the words in a range of bytes, also words of which it has a part.
    pub(super) fn clear(&mut self, start: usize, len: usize) {
        if len == 0 || self.0.is_empty() {
            return;
        }
        let range = Self::reaching(start, len);
        let mut rest = self.0.split_off(&range.start);
        let mut after = rest.split_off(&range.end);
        self.0.append(&mut after);
    }

    /// Writes a word.
    pub(super) fn write(&mut self, at: usize, set: Set) {
        self.clear(at, WORD);
        if set != Set::EMPTY {
            self.0.insert(at, set);
        }
    }

    /// The origins of the word at an offset: of all words of which it has a part.
    pub(super) fn read(&self, at: usize, origins: &mut Origins) -> Set {
        if let Some(set) = self.0.get(&at) {
            return *set;
        }
        let parts = self.0.range(Self::reaching(at, WORD));
        parts.fold(Set::EMPTY, |all, (_, set)| origins.union(all, *set))
    }

    /// The words in a range of bytes, with offsets from its start.
    pub(super) fn slice(&self, start: usize, len: usize) -> Self {
        let end = start.saturating_add(len);
        let words = self.0.range(start..end);
        let whole = words.filter(|(at, _)| at.saturating_add(WORD) <= end);
        Self(whole.map(|(at, set)| (at - start, *set)).collect())
    }

    /// Replaces a range of bytes by the words of `from`.
    pub(super) fn paste(&mut self, at: usize, len: usize, from: &Self) {
        self.clear(at, len);
        for (offset, set) in &from.0 {
            if offset.saturating_add(WORD) <= len {
                self.0.insert(at.saturating_add(*offset), *set);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::origins::Origin, *};

    #[test]
    fn words_are_copied_whole() {
        let mut origins = Origins::default();
        let [a, b] = [0, 32].map(|at| origins.one(Origin::Input(at)));
        let mut memory = Words::default();
        memory.write(4, a);
        memory.write(36, b);
        assert_eq!(memory.read(36, &mut origins), b);
        // A word that has parts of both.
        let both = origins.union(a, b);
        assert_eq!(memory.read(20, &mut origins), both);
        let copied = memory.slice(4, 64);
        assert_eq!(copied.read(0, &mut origins), a);
        assert_eq!(copied.read(32, &mut origins), b);
        assert_eq!(memory.slice(5, 62).read(0, &mut origins), Set::EMPTY);
        let mut other = Words::default();
        other.write(0, b);
        other.paste(0, 40, &copied);
        assert_eq!(other.read(0, &mut origins), a);
        assert_eq!(other.read(32, &mut origins), Set::EMPTY);
        memory.clear(35, 1);
        assert_eq!(memory.read(4, &mut origins), Set::EMPTY);
        assert_eq!(memory.read(36, &mut origins), b);
    }
}
