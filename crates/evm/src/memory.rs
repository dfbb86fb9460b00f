//! The memories of all frames, in one buffer.
//!
//! The memory of a frame begins where its caller's ends. Only the part by which it grows is zeroed.
//! The buffer keeps its size between executions.
//!
//! Return data has one buffer as well: a frame that calls loses its return data, so only the
//! running frame has any.

use crate::{gas, outcome::Halt};

/// The maximum memory of all frames together, in bytes. A frame that would exceed it is out of gas.
/// The gas of a block does not pay for more: 2^30 gas in one frame pay for 24 MB.
pub(crate) const MEMORY_MAX: usize = 1 << 30;

/// The memory of all frames, and the return data.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    bytes: Vec<u8>,
    /// The return data of the running frame.
    pub(crate) returned: Vec<u8>,
    /// The maximum of a limited run in bytes; `None`: [`MEMORY_MAX`].
    limit: Option<usize>,
}

impl Memory {
    /// Sets the limit for the next execution.
    pub(crate) fn set_limit(&mut self, limit: Option<usize>) {
        self.limit = limit;
    }

    /// Adds `start..end` to the memory of a frame and zeroes it. The buffer may move.
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
            // Parts of the buffer without a frame are zeroed before they are used.
            let len = end.next_power_of_two().max(1 << 16);
            let len = self.limit.map_or(len, |limit| len.min(limit.max(end)));
            self.bytes.resize(len, 0);
        }
        self.bytes[start..end].fill(0);
        Ok(())
    }

    /// The start of the buffer.
    #[inline(always)]
    pub(crate) fn base(&mut self) -> *mut u8 {
        self.bytes.as_mut_ptr()
    }
}

/// The gas for growing a memory from `len` to `end` bytes, both multiples of 32.
#[inline(always)]
pub(crate) const fn growth_cost(len: usize, end: usize) -> i64 {
    gas::memory((end / 32) as i64) - gas::memory((len / 32) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grown_memory_is_zero() {
        let mut memory = Memory::default();
        assert_eq!(memory.grow(0, 64), Ok(()));
        memory.bytes[..64].fill(7);
        // The first frame has ended, and another one uses the same bytes.
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
