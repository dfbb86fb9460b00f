//! The transactions of an address, and the participants of blocks.

use super::{
    Segment,
    dictionary::{Adjacency, address_at},
};
use crate::{
    checksummed_file::{Fault, Span},
    column::{Column, partition_point},
    layout::{Format, Part},
};
use alloy_primitives::Address;
use std::ops::{ControlFlow, Range};
use txgraph_transfers::{BlockRange, Participation, Roles};

/// The columns of transactions by address.
pub(crate) struct Places<'a> {
    segment: &'a Segment,
    /// By block: the number of its first transaction.
    pub(super) block_transactions: Column<'a>,
    /// Places by address.
    pub(super) places: Adjacency<'a>,
    addresses: Span<'a>,
}

impl Segment {
    /// Returns its transactions by address; `None` if its format has none.
    pub(crate) fn places(&self) -> Result<Option<Places<'_>>, Fault<'_>> {
        if self.head.format != Format::Transactions {
            return Ok(None);
        }
        let starts = self.column(Part::PlaceStarts, self.addresses.saturating_add(1))?;
        let count = starts.index(self.addresses)?;
        Ok(Some(Places {
            segment: self,
            block_transactions: self
                .column(Part::BlockTransactions, self.block_count.saturating_add(1))?,
            places: Adjacency {
                rows: self.column(Part::Places, count)?,
                starts,
            },
            addresses: self.address_bytes()?,
        }))
    }

    /// Passes the transactions of an address in these blocks to `take`, ascending, or descending
    /// if `newest_first`, until it breaks. There are none if the format has none.
    pub(crate) fn each_place(
        &self,
        address: Address,
        blocks: BlockRange,
        newest_first: bool,
        take: &mut dyn FnMut(Participation) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, Fault<'_>> {
        // First the address: most segments do not have it, and nothing else is read then.
        let Some(number) = self.dictionary()?.find(&address)? else {
            return Ok(ControlFlow::Continue(()));
        };
        let Some(places) = self.places()? else {
            return Ok(ControlFlow::Continue(()));
        };
        let run = places.within(places.places.of(number)?, blocks)?;
        let mut visit = |at| Ok(take(places.participation(at, address, blocks)?));
        let broken = match newest_first {
            false => run.map(&mut visit).find(is_end),
            true => run.rev().map(&mut visit).find(is_end),
        };
        broken.unwrap_or(Ok(ControlFlow::Continue(())))
    }

    /// Returns a reader of all who take part in transactions, in the order of the chain.
    pub(crate) fn participations(&self) -> Result<Participants<'_>, Fault<'_>> {
        let places = self.places()?;
        let next = match &places {
            Some(places) => (0..self.addresses)
                .map(|number| Ok(places.places.of(number)?.start))
                .collect::<Result<_, _>>()?,
            None => Vec::new(),
        };
        Ok(Participants { places, next })
    }
}

fn is_end(flow: &Result<ControlFlow<()>, Fault<'_>>) -> bool {
    !matches!(flow, Ok(ControlFlow::Continue(())))
}

impl<'a> Places<'a> {
    /// Returns the number of a transaction at a place, and the roles there.
    pub(super) fn decode(&self, at: usize) -> Result<(usize, Roles), Fault<'a>> {
        let column = &self.places.rows;
        let place = column.get(at)?;
        let bits = u8::try_from(place & ((1 << Roles::BITS) - 1)).unwrap_or(0);
        let roles = Roles::from_bits(bits).ok_or_else(|| column.invalid())?;
        let number = usize::try_from(place >> Roles::BITS).map_err(|_| column.invalid())?;
        Ok((number, roles))
    }

    /// Returns the numbers of the transactions of blocks.
    fn transactions(&self, blocks: BlockRange) -> Result<Range<usize>, Fault<'a>> {
        let column = &self.block_transactions;
        let offsets = self.segment.offsets(blocks);
        let offsets = offsets.ok_or_else(|| column.invalid())?;
        Ok(column.index(offsets.start)?..column.index(offsets.end)?)
    }

    /// Returns the part of a run that is in these blocks.
    fn within(&self, run: Range<usize>, blocks: BlockRange) -> Result<Range<usize>, Fault<'a>> {
        let wanted = self.transactions(blocks)?;
        let below = |limit: usize| move |at| Ok::<_, Fault<'a>>(self.decode(at)?.0 < limit);
        let start = partition_point(run.clone(), below(wanted.start))?;
        let end = partition_point(start..run.end, below(wanted.end))?;
        Ok(start..end)
    }

    /// Returns what an address does at a place, which is in one of these blocks.
    fn participation(
        &self,
        at: usize,
        address: Address,
        blocks: BlockRange,
    ) -> Result<Participation, Fault<'a>> {
        let column = &self.block_transactions;
        let (number, roles) = self.decode(at)?;
        let offsets = self.segment.offsets(blocks);
        let offsets = offsets.ok_or_else(|| column.invalid())?;
        // The last block that does not start behind it.
        let started = |offset| Ok::<_, Fault<'a>>(column.index(offset)? <= number);
        let after = partition_point(offsets.clone(), started)?;
        let offset = after.checked_sub(1).filter(|it| offsets.contains(it));
        let offset = offset.ok_or_else(|| self.places.rows.invalid())?;
        let (first, end) = column.bounds(offset)?;
        let index = number.checked_sub(first).filter(|_| number < end);
        let index = index.and_then(|index| u32::try_from(index).ok());
        Ok(Participation {
            // Cannot overflow: the block is one of those.
            block: self.segment.head.blocks.first + offset as u64,
            transaction: index.ok_or_else(|| self.places.rows.invalid())?,
            address,
            roles,
        })
    }
}

/// Reads who takes part in transactions, block by block.
pub(crate) struct Participants<'a> {
    /// `None` if the format has none.
    places: Option<Places<'a>>,
    /// By address: its first place that was not read.
    next: Vec<usize>,
}

impl<'a> Participants<'a> {
    /// Returns who takes part in transactions of these blocks, which are above those that were
    /// read before.
    pub(crate) fn read(&mut self, blocks: BlockRange) -> Result<Vec<Participation>, Fault<'a>> {
        let mut found = Vec::new();
        let Some(places) = &self.places else {
            return Ok(found);
        };
        let end = places.transactions(blocks)?.end;
        for (number, next) in self.next.iter_mut().enumerate() {
            let run_end = places.places.of(number)?.end;
            if *next >= run_end || places.decode(*next)?.0 >= end {
                continue;
            }
            let address = address_at(places.addresses, number)?;
            let unread = places.within(*next..run_end, blocks)?;
            for at in unread.clone() {
                found.push(places.participation(at, address, blocks)?);
            }
            *next = unread.end;
        }
        Participation::settle(&mut found);
        Ok(found)
    }
}
