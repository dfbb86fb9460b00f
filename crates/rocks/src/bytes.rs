//! Reads the integers and strings of RocksDB's formats (`util/coding.h`).

/// The rest of an input. Every method takes from its front; `None` if it is too short or not
/// well-formed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input<'a>(pub(crate) &'a [u8]);

impl<'a> Input<'a> {
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[inline]
    pub(crate) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (front, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(front)
    }

    pub(crate) fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }

    /// An integer in little-endian order.
    pub(crate) fn fixed32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    /// An integer in little-endian order.
    pub(crate) fn fixed64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    /// An integer of seven bits per byte, the lowest first.
    #[inline]
    pub(crate) fn varint64(&mut self) -> Option<u64> {
        // Nearly all lengths have one byte.
        let (first, rest) = self.0.split_first()?;
        if *first < 0x80 {
            self.0 = rest;
            return Some(u64::from(*first));
        }
        self.long_varint()
    }

    fn long_varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return None;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    #[inline]
    pub(crate) fn varint32(&mut self) -> Option<u32> {
        u32::try_from(self.varint64()?).ok()
    }

    /// A length or an offset in memory.
    #[inline]
    pub(crate) fn length(&mut self) -> Option<usize> {
        self.varint32()?.try_into().ok()
    }

    /// Signed, in zigzag order.
    pub(crate) fn signed64(&mut self) -> Option<i64> {
        let value = self.varint64()?;
        Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    /// A string after its length.
    pub(crate) fn prefixed(&mut self) -> Option<&'a [u8]> {
        let len = self.length()?;
        self.take(len)
    }
}

/// The user's key of an internal key, its sequence number and type in one number.
#[inline]
pub(crate) fn split_internal(key: &[u8]) -> Option<(&[u8], u64)> {
    let (user, packed) = key.split_last_chunk::<8>()?;
    Some((user, u64::from_le_bytes(*packed)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_integers_and_strings() {
        let mut input = Input(&[0xac, 0x02, 3, b'a', b'b', b'c', 1, 2, 0, 0, 0, 9]);
        assert_eq!(input.varint32(), Some(300));
        assert_eq!(input.prefixed(), Some(&b"abc"[..]));
        assert_eq!(input.signed64(), Some(-1));
        assert_eq!(input.fixed32(), Some(2));
        assert_eq!(input.fixed32(), None);
        assert_eq!(input.prefixed(), None);
        // Ten bytes hold 64 bits, and no more.
        let mut longest = [0xff; 10];
        longest[9] = 1;
        assert_eq!(Input(&longest).varint64(), Some(u64::MAX));
        longest[9] = 2;
        assert_eq!(Input(&longest).varint64(), None);
        assert_eq!(Input(&longest[..9]).varint64(), None);
        assert_eq!(Input(&[0xff, 0xff, 0xff, 0xff, 0x1f]).varint32(), None);
    }
}
