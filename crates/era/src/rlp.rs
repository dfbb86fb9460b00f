//! RLP items by position, so that decoded blocks can be kept in buffers without borrows.

use crate::error::Malformed;
use alloy_primitives::{Address, B256, U256};
use alloy_rlp::Header;
use std::ops::Range;

/// An item of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) is_list: bool,
    /// Position of its first byte.
    pub(crate) start: usize,
    pub(crate) payload: Range<usize>,
}

impl Item {
    /// The position of all its bytes.
    pub(crate) const fn whole(&self) -> Range<usize> {
        self.start..self.payload.end
    }
}

/// Reads items one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Items<'a> {
    bytes: &'a [u8],
    at: usize,
    end: usize,
}

impl<'a> Items<'a> {
    /// The items at a position.
    pub(crate) const fn of(bytes: &'a [u8], range: Range<usize>) -> Self {
        Self {
            bytes,
            at: range.start,
            end: range.end,
        }
    }

    /// The items of the list that `bytes` consist of.
    pub(crate) fn of_list(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut whole = Self::of(bytes, 0..bytes.len());
        let items = whole.list()?;
        whole.finish()?;
        Ok(items)
    }

    /// The next item; `None` after the last.
    #[inline]
    pub(crate) fn next_item(&mut self) -> Result<Option<Item>, Malformed> {
        if self.at >= self.end {
            return Ok(None);
        }
        let start = self.at;
        let mut rest = &self.bytes[start..self.end];
        let before = rest.len();
        let header = Header::decode(&mut rest).map_err(|_| "malformed RLP")?;
        let begin = start + (before - rest.len());
        let end = begin
            .checked_add(header.payload_length)
            .filter(|end| *end <= self.end)
            .ok_or("an RLP item is longer than its list")?;
        self.at = end;
        Ok(Some(Item {
            is_list: header.list,
            start,
            payload: begin..end,
        }))
    }

    #[inline]
    pub(crate) fn item(&mut self) -> Result<Item, Malformed> {
        self.next_item()?.ok_or("an RLP list has too few items")
    }

    /// The items of the next item, a list.
    #[inline]
    pub(crate) fn list(&mut self) -> Result<Self, Malformed> {
        let item = self.item()?;
        match item.is_list {
            true => Ok(Self::of(self.bytes, item.payload)),
            false => Err("an RLP string where a list is expected"),
        }
    }

    /// The next item, a string.
    #[inline]
    pub(crate) fn string(&mut self) -> Result<&'a [u8], Malformed> {
        let item = self.item()?;
        match item.is_list {
            false => Ok(&self.bytes[item.payload]),
            true => Err("an RLP list where a string is expected"),
        }
    }

    /// The next item, a string of fixed length.
    #[inline]
    pub(crate) fn fixed<const N: usize>(&mut self) -> Result<&'a [u8; N], Malformed> {
        let bytes = self.string()?;
        bytes
            .try_into()
            .map_err(|_| "an RLP string of wrong length")
    }

    pub(crate) fn hash(&mut self) -> Result<B256, Malformed> {
        self.fixed::<32>().map(B256::from)
    }

    /// The next item, a number.
    pub(crate) fn number(&mut self) -> Result<u64, Malformed> {
        let number = self.wide_number()?;
        u64::try_from(number).map_err(|_| "an RLP number above 2^64")
    }

    pub(crate) fn wide_number(&mut self) -> Result<U256, Malformed> {
        let bytes = self.string()?;
        if bytes.first() == Some(&0) {
            return Err("an RLP number with leading zeros");
        }
        U256::try_from_be_slice(bytes).ok_or("an RLP number above 2^256")
    }

    /// The next item, an address or an empty string.
    pub(crate) fn recipient(&mut self) -> Result<Option<Address>, Malformed> {
        match self.string()? {
            [] => Ok(None),
            bytes => Address::try_from(bytes)
                .map(Some)
                .map_err(|_| "an address that is not 20 bytes long"),
        }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.at >= self.end
    }

    /// Checks that nothing follows.
    pub(crate) fn finish(&self) -> Result<(), Malformed> {
        match self.is_empty() {
            true => Ok(()),
            false => Err("bytes follow the last RLP item"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_have_their_positions() {
        // [1, "dog", [2]]
        let bytes = [0xc7, 0x01, 0x83, b'd', b'o', b'g', 0xc1, 0x02];
        let mut items = Items::of_list(&bytes).unwrap();
        assert_eq!(items.item().unwrap().whole(), 1..2);
        assert_eq!(items.clone().item().unwrap().whole(), 2..6);
        assert_eq!(items.string().unwrap(), b"dog");
        assert_eq!(items.list().unwrap().number().unwrap(), 2);
        items.finish().unwrap();
        assert_eq!(items.next_item(), Ok(None));
        assert!(items.item().is_err());
    }

    #[test]
    fn rejects_wrong_lengths_and_forms() {
        assert!(Items::of_list(&[0xc1]).is_err());
        assert!(Items::of_list(&[0xc0, 0]).is_err());
        assert!(Items::of_list(&[0x80]).is_err());
        // The inner string is longer than the list.
        let mut items = Items::of(&[0xc2, 0x82, 0x01, 0x01], 0..4).list().unwrap();
        assert!(items.string().is_err());
        assert!(Items::of(&[0x82, 0, 1], 0..3).number().is_err());
        // Not the shortest form.
        assert!(Items::of(&[0x81, 0x01], 0..2).string().is_err());
    }
}
