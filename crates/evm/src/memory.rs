//! The memories of all frames, in one buffer.
//!
//! A frame's memory begins where its caller's ends, and only what it grows by is
//! zeroed. The buffer keeps its size between executions.
//!
//! What the last call gave back is one buffer, too: a frame that calls loses what it had,
//! so none but the running one has any.

use crate::{gas, outcome::Halt};

/// Bytes that all frames' memories may have together. No block's gas pays for more:
/// 2^30 gas in one frame buys 24 MB. Beyond it a frame is out of gas.
pub(crate) const MEMORY_MAX: usize = 1 << 30;

/// One buffer for all frames.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    bytes: Vec<u8>,
    /// By the last call of the frame that runs.
    pub(crate) returned: Vec<u8>,
    /// Bytes that a limited run may use; `None`: [`MEMORY_MAX`].
    limit: Option<usize>,
}

impl Memory {
    /// Sets the limit for the next execution.
    pub(crate) fn set_limit(&mut self, limit: Option<usize>) {
        self.limit = limit;
    }

    /// Makes `start..end` part of a memory and zeroes it. The buffer may move.
    #[cold]
    #[inline(never)]
    pub(crate) fn grow(&mut self, start: usize, end: usize) -> Result<(), Halt> {
        if end > MEMORY_MAX {
            return Err(Halt::OutOfGas);
        }
        if self.limit.is_some_and(|limit| end > limit) {
            return Err(Halt::MemoryLimit);
        }
        if end > self.bytes.len() {
            // What is there but belongs to no frame is overwritten before it is seen.
            let len = end.next_power_of_two().max(1 << 16);
            let len = self.limit.map_or(len, |limit| len.min(limit.max(end)));
            self.bytes.resize(len, 0);
        }
        self.bytes[start..end].fill(0);
        Ok(())
    }

    /// Where the buffer begins.
    #[inline(always)]
    pub(crate) fn base(&mut self) -> *mut u8 {
        self.bytes.as_mut_ptr()
    }
}

/// Gas for growing a memory of `len` bytes to `end`, both multiples of 32.
#[inline(always)]
pub(crate) const fn growth_cost(len: usize, end: usize) -> i64 {
    gas::memory((end / 32) as i64) - gas::memory((len / 32) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grows_is_zero() {
        let mut memory = Memory::default();
        assert_eq!(memory.grow(0, 64), Ok(()));
        memory.bytes[..64].fill(7);
        // The first frame ended; another one takes its place.
        assert_eq!(memory.grow(0, 32), Ok(()));
        assert_eq!(memory.bytes[..33], [[0; 32].as_slice(), &[7]].concat());
        assert_eq!(memory.grow(0, MEMORY_MAX + 32), Err(Halt::OutOfGas));
        memory.set_limit(Some(64));
        assert_eq!(memory.grow(0, 64), Ok(()));
        assert_eq!(memory.grow(32, 96), Err(Halt::MemoryLimit));
    }

    #[test]
    fn growth_costs_the_difference() {
        assert_eq!(growth_cost(0, 32), 3);
        assert_eq!(growth_cost(32, 64), 3);
        assert_eq!(growth_cost(0, 1 << 20), 3 * 32768 + (1 << 30) / 512);
    }
}
