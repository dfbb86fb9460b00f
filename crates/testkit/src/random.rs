//! Numbers for damage and random requests.

/// A generator of numbers, the same in every run: xorshift (Marsaglia, "Xorshift RNGs", 2003). The seed must
/// not be 0.
#[derive(Clone, Debug)]
pub struct Xorshift(pub u64);

impl Xorshift {
    /// The next number, below `limit`.
    pub const fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}
