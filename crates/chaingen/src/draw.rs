//! Random choices with integers only, so that a seed gives the same chain on every
//! machine. Each block has an independent stream, so blocks can be generated in any
//! order.

use alloy_primitives::{Address, B256, U256, keccak256};
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{RngCore, SeedableRng},
};

/// Hashes `seed`, a word for the purpose, and numbers.
pub(super) fn hash(seed: u64, what: &str, numbers: &[u64]) -> B256 {
    let mut bytes = Vec::with_capacity(8 + what.len() + 8 * numbers.len());
    bytes.extend_from_slice(&seed.to_be_bytes());
    bytes.extend_from_slice(what.as_bytes());
    for number in numbers {
        bytes.extend_from_slice(&number.to_be_bytes());
    }
    keccak256(bytes)
}

/// Returns an address without a known key.
pub(super) fn address(seed: u64, what: &str, numbers: &[u64]) -> Address {
    Address::from_word(hash(seed, what, numbers))
}

/// A stream of random choices.
#[derive(Debug)]
pub struct Draw(ChaCha8Rng);

impl Draw {
    /// Creates the stream for `what` and `numbers`.
    pub fn new(seed: u64, what: &str, numbers: &[u64]) -> Self {
        Self(ChaCha8Rng::from_seed(hash(seed, what, numbers).0))
    }

    /// Returns 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a uniform number in `0..n`. `n` must not be zero.
    pub fn below(&mut self, n: u64) -> u64 {
        let wide = u128::from(self.bits()) * u128::from(n);
        u64::try_from(wide >> 64).expect("the high half fits")
    }

    /// Returns a uniform number in `low..=high`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// Returns true with a probability of `n` per 1000.
    pub fn permille(&mut self, n: u64) -> bool {
        self.below(1000) < n
    }

    /// Returns one of `choices`.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.index(choices.len())]
    }

    /// Returns a uniform index in `0..n`.
    pub fn index(&mut self, n: usize) -> usize {
        usize::try_from(self.below(n as u64)).expect("less than a usize")
    }

    /// Returns an index in `0..weights.len()` with probability proportional to its
    /// weight.
    pub fn weighted(&mut self, weights: &[u64]) -> usize {
        let mut rest = self.below(weights.iter().sum());
        for (index, &weight) in weights.iter().enumerate() {
            if rest < weight {
                return index;
            }
            rest -= weight;
        }
        unreachable!("`rest` is below the sum of the weights")
    }

    /// Returns a rank in `0..n` with a probability of about 1/(rank+1): Zipf's law with
    /// exponent 1, in integers. Every doubling of the rank is equally likely.
    pub fn rank(&mut self, n: u64) -> u64 {
        // The number of bits of n, which is the highest rank + 1.
        let bits = u64::from(64 - n.leading_zeros());
        loop {
            let octave = self.below(bits);
            let rank = (1 << octave) + self.below(1 << octave);
            if rank <= n {
                return rank - 1;
            }
        }
    }

    /// Returns about -log2 of a uniform number, times 2^16, which is exponentially
    /// distributed. The logarithm is approximated as linear between powers of two, so the
    /// mean is 1.5 * 2^16.
    fn exponential(&mut self) -> u64 {
        let bits = self.bits() | 1;
        let zeros = bits.leading_zeros();
        let below_one = if zeros == 63 {
            0
        } else {
            (bits << (zeros + 1)) >> 48
        };
        u64::from(zeros) * 65_536 + (65_536 - below_one)
    }

    /// Returns a count with the given mean and a long tail, at most four times the mean.
    /// The sum of two exponential numbers is close to a negative binomial distribution.
    pub(super) fn count(&mut self, mean: u64) -> u64 {
        let sum = self.exponential() + self.exponential();
        ((sum * mean + 98_304) / 196_608).min(4 * mean)
    }

    /// Returns an amount around 2^`log2_mean`, roughly log-normal over 24 doublings.
    pub fn amount(&mut self, log2_mean: u64) -> U256 {
        let spread: u64 = (0..4).map(|_| self.below(7)).sum();
        let exponent = (log2_mean + spread).saturating_sub(12);
        let mantissa = U256::from((1 << 32) | (self.bits() >> 32));
        let exponent = usize::try_from(exponent).expect("small");
        let amount: U256 = (mantissa << exponent) >> 32;
        amount.max(U256::ONE)
    }

    /// Returns 32 random bytes.
    pub fn word(&mut self) -> B256 {
        let mut word = B256::ZERO;
        self.0.fill_bytes(word.as_mut_slice());
        word
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_the_given_mean_and_spread() {
        let mut draw = Draw::new(1, "test", &[]);
        let counts: Vec<u64> = (0..40_000).map(|_| draw.count(100)).collect();
        let mean = counts.iter().sum::<u64>() / 40_000;
        assert!((95..=105).contains(&mean), "mean {mean}");
        assert!(counts.iter().any(|&count| count < 5));
        assert!(counts.iter().any(|&count| count > 300));
    }

    #[test]
    fn ranks_follow_zipf() {
        let mut draw = Draw::new(1, "test", &[]);
        let mut seen = vec![0u64; 1000];
        for _ in 0..100_000 {
            seen[usize::try_from(draw.rank(1000)).unwrap()] += 1;
        }
        // Ranks 1 to 3 are one of ten octaves, ranks 99 to 299 about 1.6.
        let octave: u64 = seen[1..3].iter().sum();
        assert!((9_000..11_500).contains(&octave), "{octave}");
        assert!(seen[0] > 9_000 && seen[999] < 100);
        assert_eq!((0..50).map(|_| draw.rank(1)).max(), Some(0));
    }

    #[test]
    fn choices_stay_in_bounds() {
        let mut draw = Draw::new(2, "test", &[7]);
        for n in 1..200 {
            assert!(draw.below(n) < n);
            assert!(draw.rank(n) < n);
            assert!((n..=n + 3).contains(&draw.between(n, n + 3)));
            assert!(!draw.amount(n % 100).is_zero());
        }
        assert_eq!(draw.weighted(&[0, 5, 0]), 1);
        assert_ne!(Draw::new(2, "a", &[]).bits(), Draw::new(2, "b", &[]).bits());
    }
}
