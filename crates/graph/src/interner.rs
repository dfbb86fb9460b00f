//! Interning: each distinct value gets the next `u32`.

use crate::SearchError;
use alloy_primitives::map::DefaultHashBuilder;
use std::hash::{BuildHasher, Hash};

/// Values of [`Interner::intern_all`] that are looked up together.
const GROUP: usize = 128;

/// No number: an empty slot, or a value without one.
pub(crate) const NONE: u32 = u32::MAX;

/// Values, numbered in the order in which they were first interned.
///
/// An open-addressing table of numbers next to the list of values. It takes 4 bytes a
/// slot, where a map would store every value twice. The hasher has a random seed, because
/// anyone can search for addresses that collide under a known one. The numbers do not
/// depend on the seed.
pub struct Interner<T> {
    values: Vec<T>,
    /// Numbers at their hash, or at the next free slot. The length is a power of two.
    slots: Vec<u32>,
    hasher: DefaultHashBuilder,
}

impl<T> std::fmt::Debug for Interner<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Interner")
            .field("len", &self.values.len())
            .finish_non_exhaustive()
    }
}

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Self {
            values: Vec::new(),
            slots: vec![NONE; 16],
            hasher: DefaultHashBuilder::default(),
        }
    }
}

impl<T: Copy + Eq + Hash> Interner<T> {
    /// Returns the number of `value`, a new one if it is new.
    ///
    /// # Errors
    ///
    /// [`SearchError::TooLarge`] at 2^32 - 1 values.
    #[inline]
    pub fn intern(&mut self, value: T) -> Result<u32, SearchError> {
        let hash = self.hasher.hash_one(value);
        self.intern_hashed(value, hash)
    }

    /// Appends the number of each of `values` to `numbers`, as [`Self::intern`] returns them
    /// one after the other.
    ///
    /// The lookups of a group do not depend on each other until a value is new. So the
    /// processor waits for the memory of many of them at once, and a table far larger than
    /// the cache costs little more than a small one.
    ///
    /// # Errors
    ///
    /// As [`Self::intern`].
    pub fn intern_all(&mut self, values: &[T], numbers: &mut Vec<u32>) -> Result<(), SearchError> {
        let (mut hashes, mut found) = ([0; GROUP], [NONE; GROUP]);
        for group in values.chunks(GROUP) {
            for (hash, value) in hashes.iter_mut().zip(group) {
                *hash = self.hasher.hash_one(value);
            }
            let mask = self.slots.len() - 1;
            for (found, hash) in found.iter_mut().zip(hashes).take(group.len()) {
                *found = self.slots[masked(hash, mask)];
            }
            for (found, value) in found.iter_mut().zip(group) {
                let known = *found != NONE && self.values[*found as usize] == *value;
                *found = if known { *found } else { NONE };
            }
            // In order, because new values are numbered.
            for ((found, hash), value) in found.iter().zip(hashes).zip(group) {
                numbers.push(match *found {
                    NONE => self.intern_hashed(*value, hash)?,
                    known => known,
                });
            }
        }
        Ok(())
    }

    #[inline]
    fn intern_hashed(&mut self, value: T, hash: u64) -> Result<u32, SearchError> {
        let slot = self.slot(&value, hash);
        if self.slots[slot] != NONE {
            return Ok(self.slots[slot]);
        }
        let number = u32::try_from(self.values.len())
            .ok()
            .filter(|number| *number != NONE)
            .ok_or(SearchError::TooLarge { what: "addresses" })?;
        self.values.push(value);
        self.slots[slot] = number;
        // Beyond three quarters, linear probing takes long.
        if self.values.len() * 4 > self.slots.len() * 3 {
            self.grow();
        }
        Ok(number)
    }

    /// Returns the number of `value`, if it has one.
    pub fn get(&self, value: &T) -> Option<u32> {
        let number = self.slots[self.slot(value, self.hasher.hash_one(value))];
        (number != NONE).then_some(number)
    }

    /// Returns the value with this number.
    #[inline]
    pub fn value(&self, number: u32) -> T {
        self.values[number as usize]
    }

    /// Returns the values by their numbers.
    pub fn into_values(self) -> Vec<T> {
        self.values
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Memory in use.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&self.values[..]) + size_of_val(&self.slots[..])
    }

    /// Returns the slot of `value`, or the free slot where it would go.
    #[inline]
    fn slot(&self, value: &T, hash: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = masked(hash, mask);
        loop {
            let number = self.slots[slot];
            if number == NONE || self.values[number as usize] == *value {
                return slot;
            }
            slot = (slot + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let len = self.slots.len() * 2;
        // The old table is freed first.
        self.slots = Vec::new();
        self.slots = vec![NONE; len];
        for (number, value) in (0..NONE).zip(&self.values) {
            // All values differ, so only a free slot is searched.
            let mut slot = masked(self.hasher.hash_one(value), len - 1);
            while self.slots[slot] != NONE {
                slot = (slot + 1) & (len - 1);
            }
            self.slots[slot] = number;
        }
    }
}

/// Returns the slot of a hash.
#[inline]
fn masked(hash: u64, mask: usize) -> usize {
    // All bits of the hash are equally good, so losing some on a 32-bit host is harmless.
    #[expect(clippy::cast_possible_truncation, reason = "a hash, which is masked")]
    let hash = hash as usize;
    hash & mask
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        #[test]
        fn numbers_agree_with_a_hash_map(values in proptest::collection::vec(0u16..300, 0..600)) {
            let mut interner = Interner::default();
            let mut map = HashMap::new();
            for value in values {
                let next = u32::try_from(map.len()).unwrap();
                prop_assert_eq!(interner.get(&value), map.get(&value).copied());
                let number = interner.intern(value).unwrap();
                prop_assert_eq!(number, *map.entry(value).or_insert(next));
                prop_assert_eq!(interner.value(number), value);
            }
            prop_assert_eq!(interner.len(), map.len());
        }

        #[test]
        fn groups_are_numbered_in_order(values in proptest::collection::vec(0u16..900, 0..2000)) {
            let (mut one_by_one, mut groups) = (Interner::default(), Interner::default());
            let expected: Vec<_> = values.iter().map(|v| one_by_one.intern(*v).unwrap()).collect();
            let mut numbers = Vec::new();
            for values in values.chunks(700) {
                groups.intern_all(values, &mut numbers).unwrap();
            }
            prop_assert_eq!(numbers, expected);
            prop_assert_eq!(groups.into_values(), one_by_one.into_values());
        }
    }
}
