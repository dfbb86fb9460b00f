//! Interning: each distinct value gets the next `u32`.

use crate::SearchError;
use alloy_primitives::map::DefaultHashBuilder;
use std::hash::{BuildHasher, Hash};

/// No number: an empty slot, or a value without one.
pub(crate) const NONE: u32 = u32::MAX;

/// Values, numbered in the order in which they were first interned.
///
/// An open-addressing table of numbers next to the list of values. It takes 4 bytes a
/// slot, where a map would store every value twice. The hasher has a random seed, because
/// anyone can search for addresses that collide under a known one. The numbers do not
/// depend on the seed.
pub(crate) struct Interner<T> {
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
    #[inline]
    pub(crate) fn intern(&mut self, value: T) -> Result<u32, SearchError> {
        let slot = self.slot(&value);
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
    pub(crate) fn get(&self, value: &T) -> Option<u32> {
        let number = self.slots[self.slot(value)];
        (number != NONE).then_some(number)
    }

    /// Returns the value with this number.
    #[inline]
    pub(crate) fn value(&self, number: u32) -> T {
        self.values[number as usize]
    }

    /// The number of values.
    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// Memory in use.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&self.values[..]) + size_of_val(&self.slots[..])
    }

    /// Returns the slot of `value`, or the free slot where it would go.
    #[inline]
    fn slot(&self, value: &T) -> usize {
        let mask = self.slots.len() - 1;
        // All bits of the hash are equally good, so losing some on a 32-bit host is harmless.
        #[expect(clippy::cast_possible_truncation, reason = "a hash, which is masked")]
        let mut slot = self.hasher.hash_one(value) as usize & mask;
        loop {
            let number = self.slots[slot];
            if number == NONE || self.values[number as usize] == *value {
                return slot;
            }
            slot = (slot + 1) & mask;
        }
    }

    fn grow(&mut self) {
        self.slots = vec![NONE; self.slots.len() * 2];
        for (number, value) in (0..NONE).zip(&self.values) {
            let slot = self.slot(value);
            self.slots[slot] = number;
        }
    }
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
    }
}
