//! Sets of the values that a word was computed from.

use alloy_primitives::{
    Address, U256,
    map::{Entry, HashMap},
};

/// A value that enters the computation of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Origin {
    /// The word at an offset of the calldata of the transaction.
    Input(usize),
    /// The wei that a frame (by number) received.
    Value(usize),
    /// A storage slot.
    Slot(Address, U256),
}

/// A set of origins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Set(u32);

impl Set {
    /// No origin is known.
    pub(super) const EMPTY: Self = Self(0);
}

/// The most origins of a set. A word computed from more is not attributed to any.
const ORIGINS_MAX: usize = 64;

/// All sets. Each is stored once, so that sets are compared and joined by number.
#[derive(Debug)]
pub(super) struct Origins {
    numbers: HashMap<Origin, u32>,
    sets: Vec<Box<[u32]>>,
    set_numbers: HashMap<Box<[u32]>, Set>,
    unions: HashMap<(Set, Set), Set>,
}

impl Default for Origins {
    fn default() -> Self {
        Self {
            numbers: HashMap::default(),
            sets: vec![Box::default()],
            set_numbers: HashMap::from_iter([(Box::default(), Set::EMPTY)]),
            unions: HashMap::default(),
        }
    }
}

impl Origins {
    /// The set with one origin.
    pub(super) fn one(&mut self, origin: Origin) -> Set {
        let next = u32::try_from(self.numbers.len()).unwrap_or(u32::MAX);
        let number = *self.numbers.entry(origin).or_insert(next);
        self.intern(Box::new([number]))
    }

    fn intern(&mut self, set: Box<[u32]>) -> Set {
        match self.set_numbers.entry(set) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                let number = Set(u32::try_from(self.sets.len()).unwrap_or_default());
                self.sets.push(new.key().clone());
                *new.insert(number)
            }
        }
    }

    fn members(&self, set: Set) -> &[u32] {
        let at = usize::try_from(set.0).ok();
        at.and_then(|at| self.sets.get(at))
            .map_or(&[], |set| &**set)
    }

    /// The union of two sets.
    pub(super) fn union(&mut self, a: Set, b: Set) -> Set {
        if a == b || b == Set::EMPTY {
            return a;
        }
        if a == Set::EMPTY {
            return b;
        }
        let pair = if a.0 < b.0 { (a, b) } else { (b, a) };
        if let Some(known) = self.unions.get(&pair) {
            return *known;
        }
        let mut all = [self.members(a), self.members(b)].concat();
        all.sort_unstable();
        all.dedup();
        let union = match all.len() <= ORIGINS_MAX {
            true => self.intern(all.into()),
            false => Set::EMPTY,
        };
        self.unions.insert(pair, union);
        union
    }

    /// Whether two sets have an origin in common.
    pub(super) fn meet(&self, a: Set, b: Set) -> bool {
        let (mut a, mut b) = (self.members(a), self.members(b));
        while let ([first, rest @ ..], [other, others @ ..]) = (a, b) {
            match first.cmp(other) {
                std::cmp::Ordering::Equal => return true,
                std::cmp::Ordering::Less => a = rest,
                std::cmp::Ordering::Greater => b = others,
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_joined_and_compared() {
        let mut origins = Origins::default();
        let [a, b, c] = [0, 32, 64].map(|at| origins.one(Origin::Input(at)));
        assert_eq!(origins.one(Origin::Input(0)), a);
        let ab = origins.union(a, b);
        assert_eq!(origins.union(b, a), ab);
        assert_eq!(origins.union(ab, b), ab);
        assert!(origins.meet(ab, b) && !origins.meet(ab, c));
        assert!(!origins.meet(ab, Set::EMPTY));
    }

    #[test]
    fn a_word_of_too_many_values_has_no_origin() {
        let mut origins = Origins::default();
        let mut all = Set::EMPTY;
        for at in 0..ORIGINS_MAX {
            let one = origins.one(Origin::Input(at));
            all = origins.union(all, one);
            assert_ne!(all, Set::EMPTY);
        }
        let one = origins.one(Origin::Value(0));
        assert_eq!(origins.union(all, one), Set::EMPTY);
    }
}
