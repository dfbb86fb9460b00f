//! Rows as transfers.

use super::{
    Segment,
    classes::{Class, Classes},
    dictionary::address_at,
};
use crate::{
    checksummed_file::{Fault, Span},
    column::Column,
    layout::STEP,
};
use alloy_primitives::{Address, U256};
use txgraph_transfers::{BlockTime, Transfer};

/// The columns of the rows, looked up once for many rows.
#[derive(Debug)]
pub(crate) struct Rows<'a> {
    pub(super) segment: &'a Segment,
    pub(super) classes: Classes<'a>,
    pub(super) block: Column<'a>,
    pub(super) transaction: Column<'a>,
    pub(super) log: Column<'a>,
    pub(super) sub: Column<'a>,
    pub(super) class: Column<'a>,
    pub(super) from: Column<'a>,
    pub(super) to: Column<'a>,
    pub(super) times: Column<'a>,
    pub(super) addresses: Span<'a>,
    pub(super) lengths: Span<'a>,
    pub(super) anchors: Column<'a>,
    pub(super) amounts: Span<'a>,
}

impl<'a> Rows<'a> {
    /// Returns the number of a row's class.
    #[inline]
    pub(crate) fn class(&self, row: usize) -> Result<usize, Fault<'a>> {
        let class = self.class.index(row)?;
        match class < self.classes.count {
            true => Ok(class),
            false => Err(self.class.invalid()),
        }
    }

    pub(crate) fn block(&self, row: usize) -> Result<u64, Fault<'a>> {
        let blocks = &self.segment.head.blocks;
        let block = blocks.first.checked_add(self.block.get(row)?);
        block
            .filter(|block| *block <= blocks.last)
            .ok_or_else(|| self.block.invalid())
    }

    /// Returns the numbers of sender and receiver.
    #[inline]
    pub(crate) fn ends(&self, row: usize) -> Result<(usize, usize), Fault<'a>> {
        Ok((self.from.index(row)?, self.to.index(row)?))
    }

    /// Returns the addresses with these numbers.
    pub(crate) fn addresses_of(
        &self,
        from: usize,
        to: usize,
    ) -> Result<(Address, Address), Fault<'a>> {
        Ok((
            address_at(self.addresses, from)?,
            address_at(self.addresses, to)?,
        ))
    }

    /// Returns only the amount of a row.
    pub(crate) fn value(&self, row: usize) -> Result<U256, Fault<'a>> {
        let class = self.classes.get(self.class(row)?)?;
        Ok(self.amounts(row, class)?.0)
    }

    /// Returns a row as a transfer without its transaction hash.
    pub(crate) fn transfer(&self, row: usize) -> Result<Transfer, Fault<'a>> {
        let class = self.classes.get(self.class(row)?)?;
        let offset = self.block.index(row)?;
        let (value, token_id) = self.amounts(row, class)?;
        let head = &self.segment.head;
        let number = head.blocks.first.checked_add(offset as u64);
        let time = head.min_timestamp.checked_add(self.times.get(offset)?);
        let time = time.and_then(BlockTime::new);
        Ok(Transfer {
            block_number: number.ok_or_else(|| self.block.invalid())?,
            block_timestamp: Some(time.ok_or_else(|| self.times.invalid())?),
            transaction_index: self.transaction.small(row)?,
            log_index: self.log.small(row)?.checked_sub(1),
            sub_index: self.sub.small(row)?,
            transaction_hash: None,
            token_address: class.token,
            from_address: address_at(self.addresses, self.from.index(row)?)?,
            to_address: address_at(self.addresses, self.to.index(row)?)?,
            value,
            token_id,
            token_standard: class.standard,
            kind: class.kind,
        })
    }

    /// Returns amount and token id.
    fn amounts(&self, row: usize, class: Class) -> Result<(U256, Option<U256>), Fault<'a>> {
        let anchor = row / STEP;
        // The lengths of the rows since the anchor, this row the last.
        let lengths = self.lengths.read(anchor * STEP, row % STEP + 1)?;
        let (length, before) = lengths.split_last().ok_or_else(|| self.lengths.beyond())?;
        let before: usize = before.iter().map(|length| usize::from(*length)).sum();
        let start = self.anchors.index(anchor)?.checked_add(before);
        let start = start.ok_or_else(|| self.anchors.invalid())?;
        let bytes = self.amounts.read(start, usize::from(*length))?;
        decode(bytes, class.has_id).ok_or_else(|| self.amounts.invalid())
    }
}

/// Decodes the amounts of one row: the amount and, if there is one, the token id.
#[inline]
fn decode(bytes: &[u8], has_id: bool) -> Option<(U256, Option<U256>)> {
    if !has_id {
        return Some((number(bytes)?, None));
    }
    let (length, bytes) = bytes.split_first()?;
    let (value, id) = bytes.split_at_checked(usize::from(*length))?;
    Some((number(value)?, Some(number(id)?)))
}

/// A number of at most 32 bytes, little-endian.
#[inline]
fn number(bytes: &[u8]) -> Option<U256> {
    U256::try_from_le_slice(bytes)
}
