//! A cursor over the bytes of one stored value in reth's `Compact` encoding
//! (`reth-core: crates/codecs`). Every read is checked: a short or malformed value gives
//! [`Malformed`], never a panic.

use alloy_primitives::{Address, B256, U256};

/// Why a stored value cannot be decoded. Callers add file, row and block.
pub(crate) type Malformed = &'static str;

/// The unread bytes of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Returns the unread bytes.
    pub(crate) const fn rest(self) -> &'a [u8] {
        self.rest
    }

    /// Refuses bytes after the end of a value.
    pub(crate) const fn finish(self) -> Result<(), Malformed> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err("bytes follow the end of the value")
        }
    }

    #[inline]
    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        let (head, rest) = self
            .rest
            .split_at_checked(len)
            .ok_or("the value is too short")?;
        self.rest = rest;
        Ok(head)
    }

    #[inline]
    pub(crate) fn array<const N: usize>(&mut self) -> Result<&'a [u8; N], Malformed> {
        let (head, rest) = self
            .rest
            .split_first_chunk::<N>()
            .ok_or("the value is too short")?;
        self.rest = rest;
        Ok(head)
    }

    #[inline]
    pub(crate) fn byte(&mut self) -> Result<u8, Malformed> {
        self.array::<1>().map(|[byte]| *byte)
    }

    pub(crate) fn b256(&mut self) -> Result<B256, Malformed> {
        self.array::<32>().map(B256::from)
    }

    #[inline]
    pub(crate) fn address(&mut self) -> Result<Address, Malformed> {
        self.array::<20>().map(Address::from)
    }

    /// Reads a LEB128 number, low group first. Most have one byte, lengths of logs have two.
    // A call of its own for each log costs a scan one percent.
    #[inline(always)]
    pub(crate) fn varuint(&mut self) -> Result<usize, Malformed> {
        match *self.rest {
            [first @ ..0x80, ref rest @ ..] => {
                self.rest = rest;
                Ok(usize::from(first))
            }
            [low, high @ ..0x80, ref rest @ ..] => {
                self.rest = rest;
                Ok(usize::from(low & 0x7f) | usize::from(high) << 7)
            }
            _ => self.long_varuint(),
        }
    }

    #[inline(never)]
    fn long_varuint(&mut self) -> Result<usize, Malformed> {
        let mut value = 0;
        for shift in (0..63).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return usize::try_from(value).map_err(|_| "a length does not fit");
            }
        }
        Err("a length is too long")
    }

    /// Reads `len` big-endian bytes without leading zeros, at most 8.
    #[inline]
    pub(crate) fn u64(&mut self, len: usize) -> Result<u64, Malformed> {
        let bytes = self.trimmed(len, 8)?;
        Ok(bytes
            .iter()
            .fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    pub(crate) fn u128(&mut self, len: usize) -> Result<u128, Malformed> {
        let bytes = self.trimmed(len, 16)?;
        Ok(bytes
            .iter()
            .fold(0, |value, byte| value << 8 | u128::from(*byte)))
    }

    pub(crate) fn u256(&mut self, len: usize) -> Result<U256, Malformed> {
        Ok(U256::from_be_slice(self.trimmed(len, 32)?))
    }

    /// Reads the bytes of an integer without leading zeros, at most `len_max`.
    #[inline]
    pub(crate) fn trimmed(&mut self, len: usize, len_max: usize) -> Result<&'a [u8], Malformed> {
        if len > len_max {
            return Err("an integer is too wide");
        }
        let bytes = self.take(len)?;
        // The writer stores no leading zeros: a free check for damage.
        if bytes.first() == Some(&0) {
            return Err("an integer has a leading zero");
        }
        Ok(bytes)
    }

    /// Reads an `Option<u64>` after its presence bit: its length, then the integer.
    pub(crate) fn optional_u64(&mut self, present: bool) -> Result<Option<u64>, Malformed> {
        if !present {
            return Ok(None);
        }
        let len = self.varuint()?;
        self.u64(len).map(Some)
    }

    pub(crate) fn optional_b256(&mut self, present: bool) -> Result<Option<B256>, Malformed> {
        present.then(|| self.b256()).transpose()
    }

    /// Reads a length, and returns a reader of that many bytes.
    #[inline]
    pub(crate) fn nested(&mut self) -> Result<Self, Malformed> {
        let len = self.varuint()?;
        self.take(len).map(Self::new)
    }
}

/// The bit field before a `Compact` struct, lowest bits first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flags {
    bits: u64,
}

impl Flags {
    /// Reads `len` little-endian bytes of flags, at most 8.
    pub(crate) fn read(reader: &mut Reader<'_>, len: usize) -> Result<Self, Malformed> {
        let mut bytes = [0; 8];
        bytes[..len].copy_from_slice(reader.take(len)?);
        Ok(Self {
            bits: u64::from_le_bytes(bytes),
        })
    }

    /// Returns the next field of `width` bits.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "fields are at most 6 bits wide"
    )]
    #[inline]
    pub(crate) const fn next(&mut self, width: u32) -> usize {
        let field = self.bits & ((1 << width) - 1);
        self.bits >>= width;
        field as usize
    }

    pub(crate) const fn flag(&mut self) -> bool {
        self.next(1) == 1
    }

    /// Refuses unknown flags, which a later encoding may use.
    pub(crate) const fn finish(self) -> Result<(), Malformed> {
        if self.bits == 0 {
            Ok(())
        } else {
            Err("unused flag bits are set")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_integers() {
        let mut reader = Reader::new(&[0x01, 0x02, 0xff]);
        assert_eq!(reader.u64(2), Ok(0x0102));
        assert_eq!(reader.u64(0), Ok(0));
        assert_eq!(reader.u128(1), Ok(0xff));
        assert!(reader.u64(1).is_err());
        assert!(Reader::new(&[0, 1]).u64(2).is_err(), "leading zero");
        assert!(Reader::new(&[1; 9]).u64(9).is_err(), "too wide");
        assert_eq!(
            Reader::new(&[1; 32]).u256(32),
            Ok(U256::from_be_bytes([1; 32]))
        );
    }

    #[test]
    fn reads_lengths() {
        assert_eq!(Reader::new(&[0x7f]).varuint(), Ok(127));
        assert_eq!(Reader::new(&[0x80, 0x01]).varuint(), Ok(128));
        assert_eq!(Reader::new(&[0xac, 0x02]).varuint(), Ok(300));
        assert!(Reader::new(&[0x80]).varuint().is_err());
        assert!(Reader::new(&[0xff; 20]).varuint().is_err());
        assert!(Reader::new(&[5, 1, 2]).nested().is_err());
    }
}
