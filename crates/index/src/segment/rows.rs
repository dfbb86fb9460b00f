//! Rows as transfers.

use super::{Class, Segment, dictionary::address_at};
use crate::{
    column::Column,
    error::{Error, Result},
    layout::STEP,
};
use alloy_primitives::{Address, B256, U256};
use txgraph_transfers::Transfer;

/// The columns of the rows, looked up once for many rows.
#[derive(Debug)]
pub(crate) struct Rows<'a> {
    pub(super) segment: &'a Segment,
    pub(super) block: Column<'a>,
    pub(super) transaction: Column<'a>,
    pub(super) log: Column<'a>,
    pub(super) sub: Column<'a>,
    pub(super) class: Column<'a>,
    pub(super) from: Column<'a>,
    pub(super) to: Column<'a>,
    pub(super) times: Column<'a>,
    pub(super) addresses: &'a [u8],
    pub(super) lengths: &'a [u8],
    pub(super) anchors: Column<'a>,
    pub(super) amounts: &'a [u8],
}

impl Rows<'_> {
    /// The number of a row's class.
    #[inline]
    pub(crate) fn class(&self, row: usize) -> Result<usize> {
        self.class
            .index(row)
            .filter(|class| *class < self.segment.classes.len())
            .ok_or_else(|| self.bad(row))
    }

    /// The block of a row.
    pub(crate) fn block(&self, row: usize) -> Result<u64> {
        let block = self.block.get(row);
        block
            .and_then(|offset| self.segment.head.blocks.first.checked_add(offset))
            .filter(|block| *block <= self.segment.head.blocks.last)
            .ok_or_else(|| self.bad(row))
    }

    /// The numbers of sender and receiver.
    #[inline]
    pub(crate) fn ends(&self, row: usize) -> Result<(usize, usize)> {
        match (self.from.index(row), self.to.index(row)) {
            (Some(from), Some(to)) => Ok((from, to)),
            _ => Err(self.bad(row)),
        }
    }

    /// The addresses with these numbers.
    pub(crate) fn addresses_of(&self, from: usize, to: usize) -> Result<(Address, Address)> {
        match (
            address_at(self.addresses, from),
            address_at(self.addresses, to),
        ) {
            (Some(from), Some(to)) => Ok((from, to)),
            _ => Err(self
                .segment
                .corrupt("a row names an address that is not there")),
        }
    }

    /// The amount of a row alone.
    pub(crate) fn value(&self, row: usize) -> Result<U256> {
        let class = self.segment.classes[self.class(row)?];
        Ok(self.amounts(row, class).ok_or_else(|| self.bad(row))?.0)
    }

    /// The transfer, its hash left zero.
    pub(crate) fn transfer(&self, row: usize) -> Result<Transfer> {
        let class = self.segment.classes[self.class(row)?];
        self.decode(row, class).ok_or_else(|| self.bad(row))
    }

    fn decode(&self, row: usize, class: Class) -> Option<Transfer> {
        let offset = self.block.index(row)?;
        let small = |column: &Column<'_>| u32::try_from(column.get(row)?).ok();
        let (value, token_id) = self.amounts(row, class)?;
        Some(Transfer {
            block_number: self.segment.head.blocks.first.checked_add(offset as u64)?,
            block_timestamp: self
                .segment
                .head
                .min_timestamp
                .checked_add(self.times.get(offset)?)?,
            transaction_index: small(&self.transaction)?,
            log_index: match self.log.get(row)? {
                0 => None,
                log => Some(u32::try_from(log - 1).ok()?),
            },
            sub_index: small(&self.sub)?,
            transaction_hash: B256::ZERO,
            token_address: class.token,
            from_address: address_at(self.addresses, self.from.index(row)?)?,
            to_address: address_at(self.addresses, self.to.index(row)?)?,
            value,
            token_id,
            token_standard: class.standard,
            kind: class.kind,
        })
    }

    /// Amount and token id.
    fn amounts(&self, row: usize, class: Class) -> Option<(U256, Option<U256>)> {
        let anchor = row / STEP;
        let before = self.lengths.get(anchor * STEP..row)?;
        let before: usize = before.iter().map(|length| usize::from(*length)).sum();
        let start = self.anchors.index(anchor)?.checked_add(before)?;
        let end = start.checked_add(usize::from(*self.lengths.get(row)?))?;
        let bytes = self.amounts.get(start..end)?;
        if !class.has_id {
            return Some((number(bytes)?, None));
        }
        let (length, bytes) = bytes.split_first()?;
        let (value, id) = bytes.split_at_checked(usize::from(*length))?;
        Some((number(value)?, Some(number(id)?)))
    }

    #[cold]
    fn bad(&self, row: usize) -> Error {
        self.segment.corrupt(format!("row {row} makes no sense"))
    }
}

/// A number of at most 32 bytes, little-endian.
#[inline]
fn number(bytes: &[u8]) -> Option<U256> {
    U256::try_from_le_slice(bytes)
}
