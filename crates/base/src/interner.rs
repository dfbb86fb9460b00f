//! Interning: each distinct value gets the next `u32`.

use crate::fold_hasher::FoldHashBuilder;
use std::hash::{BuildHasher, Hash};

/// Values of [`Interner::intern_all`] that are looked up together.
const GROUP: usize = 64;

/// No number: a value without one.
const NONE: u32 = u32::MAX;

/// The bits of a hash that are kept in a slot. They also choose the slot.
const TAG: u64 = !0 << 32;

/// An empty slot.
const EMPTY: u64 = 0;

/// Binary logarithm of the least number of slots.
const SLOT_BITS_MIN: u32 = 4;

/// An interner has as many values as `u32` has numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("more than 4,294,967,294 different values")]
pub struct InternerFull;

/// Values, numbered in the order in which they were first interned.
///
/// An open-addressing table of numbers next to the list of values. It takes 8 bytes a
/// slot, where a map would store every value twice. The hasher has a random seed, because
/// anyone can search for addresses that collide under a known one. The numbers do not
/// depend on the seed.
///
/// A slot has the upper half of the hash of its value, too. Most slots of other values are
/// passed without reading these values, each of which would be a cache miss in a large
/// table. It also suffices to find the slot in a larger table.
///
/// Time of a lookup among 3,000, 60,000, a million and 10 million addresses, half of the lookups to
/// a few busy ones: 8, 10, 20 and 45 ns, and 45, 35, 45 and 80 ns to add one. A table that has the
/// addresses in its slots looks them up in 8, 9, 17 and 33 ns, and adds one in 37, 62, 85 and 117 ns.
pub struct Interner<T> {
    values: Vec<T>,
    /// The [`TAG`] of a hash and a number plus one, or [`EMPTY`], at the place that the upper
    /// bits select or at the next free one. The length is a power of two.
    slots: Vec<u64>,
    /// The number of upper bits to be dropped: 64 less the logarithm of the length.
    shift: u32,
    hasher: FoldHashBuilder,
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
        Self::with_slots(SLOT_BITS_MIN)
    }
}

impl<T> Interner<T> {
    /// Creates an interner with capacity for this many values.
    pub fn with_capacity(values: usize) -> Self {
        let slots = (values * 4 / 3 + 1).next_power_of_two();
        let mut interner = Self::with_slots(slots.ilog2().max(SLOT_BITS_MIN));
        interner.values.reserve(values);
        interner
    }

    fn with_slots(bits: u32) -> Self {
        Self {
            values: Vec::new(),
            slots: vec![EMPTY; 1 << bits],
            shift: u64::BITS - bits,
            hasher: FoldHashBuilder::default(),
        }
    }
}

impl<T: Copy + Eq + Hash> Interner<T> {
    /// Returns the number of `value`, a new one if it is new.
    ///
    /// # Errors
    ///
    /// [`InternerFull`] at 2^32 - 1 values.
    #[inline]
    pub fn intern(&mut self, value: T) -> Result<u32, InternerFull> {
        let tag = self.tag(&value);
        self.intern_tagged(value, tag)
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
    pub fn intern_all(&mut self, values: &[T], numbers: &mut Vec<u32>) -> Result<(), InternerFull> {
        let (mut tags, mut found) = ([0; GROUP], [NONE; GROUP]);
        for group in values.chunks(GROUP) {
            let mut touched = 0;
            for (tag, value) in tags.iter_mut().zip(group) {
                *tag = self.tag(value);
                touched ^= self.slots[home(*tag, self.shift)];
            }
            // The slots are loaded before a branch depends on one of them: a branch that is
            // predicted wrongly would delay the loads that follow.
            std::hint::black_box(touched);
            for (found, tag) in found.iter_mut().zip(tags).take(group.len()) {
                *found = number(self.slots[self.slot(tag, |_| true)]);
            }
            for (found, value) in found.iter_mut().zip(group) {
                let known = *found != NONE && self.values[*found as usize] == *value;
                *found = if known { *found } else { NONE };
            }
            // In order, because new values are numbered.
            for ((found, tag), value) in found.iter().zip(tags).zip(group) {
                numbers.push(match *found {
                    NONE => self.intern_tagged(*value, tag)?,
                    known => known,
                });
            }
        }
        Ok(())
    }

    /// Numbers pairs of values as [`Self::intern_all`] does, and appends the numbers of the first and of the
    /// second values to a list each.
    ///
    /// # Errors
    ///
    /// As [`Self::intern`].
    pub fn intern_pairs(
        &mut self,
        pairs: impl Iterator<Item = [T; 2]>,
        [firsts, seconds]: [&mut Vec<u32>; 2],
    ) -> Result<(), InternerFull> {
        let values: Vec<T> = pairs.flatten().collect();
        let mut numbers = Vec::with_capacity(values.len());
        self.intern_all(&values, &mut numbers)?;
        for [first, second] in numbers.as_chunks::<2>().0 {
            firsts.push(*first);
            seconds.push(*second);
        }
        Ok(())
    }

    #[inline]
    fn intern_tagged(&mut self, value: T, tag: u64) -> Result<u32, InternerFull> {
        let slot = self.slot_of(&value, tag);
        if self.slots[slot] != EMPTY {
            return Ok(number(self.slots[slot]));
        }
        let number = u32::try_from(self.values.len())
            .ok()
            .filter(|number| *number != NONE)
            .ok_or(InternerFull)?;
        self.values.push(value);
        self.slots[slot] = tag | (u64::from(number) + 1);
        // Beyond three quarters, linear probing takes long.
        if self.values.len() * 4 > self.slots.len() * 3 {
            self.grow();
        }
        Ok(number)
    }

    /// Returns the number of `value`, if it has one.
    pub fn get(&self, value: &T) -> Option<u32> {
        let number = number(self.slots[self.slot_of(value, self.tag(value))]);
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

    /// Returns the values in ascending order, each with its number.
    pub fn sorted(self) -> Vec<(T, u32)>
    where
        T: Ord,
    {
        let mut sorted: Vec<_> = self.values.into_iter().zip(0..).collect();
        sorted.sort_unstable_by_key(|(value, _)| *value);
        sorted
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
    pub fn bytes(&self) -> usize {
        size_of_val(&self.values[..]) + size_of_val(&self.slots[..])
    }

    /// Returns the upper half of the hash of `value`, in place.
    #[inline]
    fn tag(&self, value: &T) -> u64 {
        self.hasher.hash_one(value) & TAG
    }

    /// Returns the slot of `value`, or the free slot where it would go.
    #[inline]
    fn slot_of(&self, value: &T, tag: u64) -> usize {
        self.slot(tag, |number| self.values[number as usize] == *value)
    }

    /// Returns the first slot with this tag whose number `is_it`, or the free slot where it
    /// would go.
    #[inline]
    fn slot(&self, tag: u64, is_it: impl Fn(u32) -> bool) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = home(tag, self.shift);
        loop {
            let slot = self.slots[at];
            if slot == EMPTY || (slot & TAG == tag && is_it(number(slot))) {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    /// Doubles the table. No value is read, and both tables are read and written nearly in
    /// order.
    #[cold]
    fn grow(&mut self) {
        let len = self.slots.len() * 2;
        self.shift -= 1;
        for slot in std::mem::replace(&mut self.slots, vec![EMPTY; len]) {
            if slot == EMPTY {
                continue;
            }
            // All values differ, so only a free slot is searched.
            let mut at = home(slot & TAG, self.shift);
            while self.slots[at] != EMPTY {
                at = (at + 1) & (len - 1);
            }
            self.slots[at] = slot;
        }
    }
}

/// Returns the slot at which the search for a tag begins.
#[inline]
fn home(tag: u64, shift: u32) -> usize {
    // Fits: it is below the length of the table.
    #[expect(clippy::cast_possible_truncation, reason = "an index of the table")]
    let home = (tag >> shift) as usize;
    home
}

/// Returns the number in a slot, [`NONE`] if it is empty.
#[inline]
fn number(slot: u64) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "the lower half")]
    let next = slot as u32;
    next.wrapping_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::{
        collections::{BTreeMap, HashMap},
        hash::Hasher,
    };

    /// A value with one of four hashes, so that values with equal tags are common.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Colliding(u16);

    impl Hash for Colliding {
        fn hash<H: Hasher>(&self, state: &mut H) {
            (self.0 % 4).hash(state);
        }
    }

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
            let sorted: BTreeMap<_, _> = map.into_iter().collect();
            prop_assert!(interner.sorted().into_iter().eq(sorted));
        }

        #[test]
        fn groups_are_numbered_in_order(values in proptest::collection::vec(0u16..900, 0..2000)) {
            let (mut one_by_one, mut groups) = (Interner::default(), Interner::with_capacity(500));
            let expected: Vec<_> = values.iter().map(|v| one_by_one.intern(*v).unwrap()).collect();
            let mut numbers = Vec::new();
            for values in values.chunks(700) {
                groups.intern_all(values, &mut numbers).unwrap();
            }
            prop_assert_eq!(&numbers, &expected);
            prop_assert_eq!(groups.into_values(), one_by_one.into_values());
            let (mut pairs, mut firsts, mut seconds) = (Interner::default(), Vec::new(), Vec::new());
            let (values, expected) = (values.as_chunks().0, expected.as_chunks().0);
            pairs.intern_pairs(values.iter().copied(), [&mut firsts, &mut seconds]).unwrap();
            let found: Vec<_> = firsts.into_iter().zip(seconds).map(<[u32; 2]>::from).collect();
            prop_assert_eq!(&found, expected);
        }

        #[test]
        fn values_with_equal_hashes_have_their_own_numbers(
            values in proptest::collection::vec(0u16..300, 0..600),
        ) {
            let (mut one_by_one, mut groups) = (Interner::default(), Interner::default());
            let mut map = HashMap::new();
            let values: Vec<_> = values.into_iter().map(Colliding).collect();
            let mut expected = Vec::new();
            for value in &values {
                let next = u32::try_from(map.len()).unwrap();
                prop_assert_eq!(one_by_one.get(value), map.get(&value.0).copied());
                expected.push(*map.entry(value.0).or_insert(next));
                prop_assert_eq!(one_by_one.intern(*value).unwrap(), *expected.last().unwrap());
            }
            let mut numbers = Vec::new();
            groups.intern_all(&values, &mut numbers).unwrap();
            prop_assert_eq!(numbers, expected);
        }
    }
}
