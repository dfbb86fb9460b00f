//! Numbers for addresses while blocks are stored.

use alloy_primitives::Address;
use std::hash::{BuildHasher, RandomState};

/// The number of an empty slot.
const NONE: u32 = u32::MAX;

/// The number of addresses whose slots are loaded together.
const GROUP: usize = 32;

/// The minimum number of slots.
const SLOTS_MIN: usize = 1 << 10;

/// Addresses numbered in the order in which they were first seen.
///
/// An open-addressing table with the address next to its number. A lookup takes one cache
/// miss, which is nearly all of its time. The keys of the hash are random, because anyone can
/// grind addresses that collide under known keys. Numbers do not depend on the keys.
///
/// Time of a lookup among 3,000, 60,000 and a million addresses, half of the lookups to a few
/// busy ones, on a shared machine: 16, 22 and 64 ns. With foldhash instead of the hash of this
/// module 18, 19 and 74 ns. With `hashbrown::HashTable` of addresses and numbers 11, 32 and
/// 91 ns; of numbers next to a list of addresses, as in `graph`, 20, 20 and 138 ns with
/// prefetching and 42, 112 and 447 ns without.
#[derive(Debug)]
pub struct Interner {
    /// Each address at its hash or at the next free slot. The length is a power of two.
    slots: Vec<(Address, u32)>,
    len: usize,
    keys: [u64; 2],
}

impl Default for Interner {
    fn default() -> Self {
        Self::with_capacity(0)
    }
}

impl Interner {
    /// Creates an interner with capacity for this many addresses.
    pub fn with_capacity(addresses: usize) -> Self {
        let slots = (addresses * 4 / 3 + 1).next_power_of_two().max(SLOTS_MIN);
        let random = RandomState::new();
        Self {
            slots: vec![(Address::ZERO, NONE); slots],
            len: 0,
            keys: [random.hash_one(1), random.hash_one(2)],
        }
    }

    /// Returns the number of `address`, a new one if it was never seen. Returns `None` when
    /// there are no more numbers.
    #[inline]
    pub fn intern(&mut self, address: Address) -> Option<u32> {
        self.intern_hashed(address, self.hash(&address))
    }

    /// Writes the number of each address to `numbers`, as [`intern`](Self::intern) would return
    /// it. Much faster for many addresses, because their slots are loaded together.
    ///
    /// # Panics
    ///
    /// Panics if `numbers` and `addresses` differ in length.
    #[inline]
    pub fn intern_each(&mut self, addresses: &[Address], numbers: &mut [u32]) -> Option<()> {
        assert_eq!(
            addresses.len(),
            numbers.len(),
            "one number for each address"
        );
        let mut hashes = [0; GROUP];
        for (addresses, numbers) in addresses.chunks(GROUP).zip(numbers.chunks_mut(GROUP)) {
            let hashes = &mut hashes[..addresses.len()];
            for (hash, address) in hashes.iter_mut().zip(addresses) {
                *hash = self.hash(address);
            }
            self.touch(hashes);
            for ((number, address), hash) in numbers.iter_mut().zip(addresses).zip(hashes) {
                *number = self.intern_hashed(*address, *hash)?;
            }
        }
        Some(())
    }

    #[inline]
    fn intern_hashed(&mut self, address: Address, hash: usize) -> Option<u32> {
        let at = self.slot(&address, hash);
        let slot = &mut self.slots[at];
        if slot.1 != NONE {
            return Some(slot.1);
        }
        let number = u32::try_from(self.len)
            .ok()
            .filter(|number| *number < NONE)?;
        *slot = (address, number);
        self.len += 1;
        if self.len * 4 > self.slots.len() * 3 {
            self.grow();
        }
        Some(number)
    }

    /// Loads the first slots of these hashes into the cache. These loads wait for memory
    /// together; the loads of lookups wait one after another.
    #[inline]
    fn touch(&self, hashes: &[usize]) {
        let mask = self.slots.len() - 1;
        let first = |hash: &usize| self.slots[hash & mask].1;
        std::hint::black_box(hashes.iter().map(first).fold(0, u32::wrapping_add));
    }

    /// Returns the number of an address that was seen.
    #[inline]
    pub fn find(&self, address: &Address) -> Option<u32> {
        let (_, number) = self.slots[self.slot(address, self.hash(address))];
        (number != NONE).then_some(number)
    }

    /// Returns the number of addresses.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no addresses.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the memory in use, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.slots[..])
    }

    /// Returns the addresses in ascending order, each with its number.
    pub fn sorted(self) -> Vec<(Address, u32)> {
        let mut all = self.slots;
        all.retain(|(_, number)| *number != NONE);
        all.sort_unstable_by_key(|(address, _)| *address);
        all
    }

    /// Returns the slot of `address`, or the slot where it would be inserted.
    #[inline]
    fn slot(&self, address: &Address, hash: usize) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = hash & mask;
        loop {
            let (there, number) = &self.slots[at];
            if *number == NONE || there == address {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    /// Hashes with two multiplications, each folding the high half of the product onto the
    /// low half.
    #[inline]
    fn hash(&self, address: &Address) -> usize {
        let fold = |a: u64, b: u64| {
            let wide = u128::from(a).wrapping_mul(u128::from(b));
            #[expect(clippy::cast_possible_truncation, reason = "the two halves")]
            let folded = (wide as u64) ^ ((wide >> 64) as u64);
            folded
        };
        let bytes = &address.0.0;
        let word = |at: usize| {
            bytes[at..]
                .first_chunk::<8>()
                .map_or(0, |bytes| u64::from_le_bytes(*bytes))
        };
        // The last word overlaps the second by four bytes.
        let first = fold(word(0) ^ self.keys[0], word(8) ^ self.keys[1]);
        let all = fold(first ^ word(12), self.keys[0] | 1);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "masked to the table anyway"
        )]
        let hash = all as usize;
        hash
    }

    #[cold]
    fn grow(&mut self) {
        let slots = vec![(Address::ZERO, NONE); self.slots.len() * 2];
        for slot in std::mem::replace(&mut self.slots, slots) {
            if slot.1 != NONE {
                let at = self.slot(&slot.0, self.hash(&slot.0));
                self.slots[at] = slot;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng, rngs::SmallRng};
    use std::collections::BTreeMap;

    #[test]
    fn numbers_equal_those_of_a_map() {
        let mut chance = SmallRng::seed_from_u64(3);
        let mut interner = Interner::default();
        let mut map = BTreeMap::new();
        for _ in 0..2_000 {
            // Some differ in one byte only, at any position.
            let addresses: Vec<Address> = (0..chance.random_range(0..40))
                .map(|_| {
                    let mut address = Address::ZERO;
                    address[chance.random_range(0..20)] = chance.random();
                    address[chance.random_range(0..20)] = chance.random();
                    address
                })
                .collect();
            for address in &addresses {
                assert_eq!(interner.find(address), map.get(address).copied());
            }
            let expected: Vec<u32> = (addresses.iter())
                .map(|address| {
                    let next = u32::try_from(map.len()).unwrap();
                    *map.entry(*address).or_insert(next)
                })
                .collect();
            let numbers: Vec<u32> = if chance.random() {
                let mut numbers = vec![0; addresses.len()];
                interner.intern_each(&addresses, &mut numbers).unwrap();
                numbers
            } else {
                let one_by_one = addresses.iter().map(|it| interner.intern(*it).unwrap());
                one_by_one.collect()
            };
            assert_eq!(numbers, expected);
        }
        assert_eq!(interner.len(), map.len());
        assert!(interner.sorted().into_iter().eq(map));
    }
}
