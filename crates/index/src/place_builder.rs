//! Transactions by address, while a segment is built.

use crate::{
    error::{Error, Result},
    layout::Part,
    part_writer::Writer,
};
use alloy_primitives::Address;
use std::io::{Seek, Write};
use txgraph_base::Interner;
use txgraph_transfers::{Csr, Participation, Roles};

/// The number of participations that are appended together.
const GROUP: usize = 32;

/// The number of participations at which a segment ends.
const PLACES_MAX: usize = 1 << 31;

/// The number of transactions at which a segment ends. Twice as many have numbers that fit into 32
/// bits with the roles.
const TRANSACTIONS_MAX: u32 = 1 << (31 - Roles::BITS);

/// Transactions by address, in the order of the chain.
#[derive(Debug, Default)]
pub(crate) struct PlaceBuilder {
    /// By block: the number of its first transaction.
    starts: Vec<u32>,
    /// The number of all transactions.
    transactions: u32,
    /// The number of the address.
    address: Vec<u32>,
    /// The number of the transaction, and the bits of the roles.
    place: Vec<u32>,
}

impl PlaceBuilder {
    /// Appends a block with this number of transactions.
    pub(crate) fn block(&mut self, block: u64, transactions: u32) -> Result<()> {
        self.starts.push(self.transactions);
        let all = self.transactions.checked_add(transactions);
        let all = all.filter(|all| *all <= 2 * TRANSACTIONS_MAX);
        let what = "transactions for one segment";
        self.transactions = all.ok_or(Error::TooMany { block, what })?;
        Ok(())
    }

    /// Appends settled participations in blocks that were appended, the first of which is `first`.
    pub(crate) fn push(
        &mut self,
        first: u64,
        participations: &[Participation],
        interner: &mut Interner<Address>,
    ) -> Result<()> {
        for some in participations.chunks(GROUP) {
            let block = some.first().map_or(first, |it| it.block);
            let too_many = |what| Error::TooMany { block, what };
            let mut addresses = [Address::ZERO; GROUP];
            for (address, it) in addresses.iter_mut().zip(some) {
                *address = it.address;
            }
            let interned = interner.intern_all(&addresses[..some.len()], &mut self.address);
            interned.map_err(|_| too_many("addresses for one segment"))?;
            for it in some {
                let number = self.number(first, it).ok_or_else(|| {
                    let block = it.block;
                    Error::Options(format!(
                        "block {block} cannot be indexed: more transactions than counted"
                    ))
                })?;
                self.place
                    .push(number << Roles::BITS | u32::from(it.roles.bits()));
            }
            if u32::try_from(self.place.len()).is_err() {
                return Err(too_many("participants for one segment"));
            }
        }
        Ok(())
    }

    /// The number of a transaction; `None` if its block does not have it.
    fn number(&self, first: u64, it: &Participation) -> Option<u32> {
        let offset = usize::try_from(it.block.checked_sub(first)?).ok()?;
        let start = *self.starts.get(offset)?;
        let end = self.starts.get(offset + 1).unwrap_or(&self.transactions);
        let number = start.checked_add(it.transaction)?;
        (number < *end).then_some(number)
    }

    /// The number of participations.
    pub(crate) const fn len(&self) -> usize {
        self.place.len()
    }

    /// Whether the segment must not become much larger.
    pub(crate) const fn is_full(&self) -> bool {
        self.place.len() > PLACES_MAX || self.transactions > TRANSACTIONS_MAX
    }

    /// The numbers of the addresses, to be replaced.
    pub(crate) fn addresses_mut(&mut self) -> &mut [u32] {
        &mut self.address
    }

    /// Writes the parts, with the final numbers of this many addresses.
    pub(crate) fn write<W: Write + Seek>(
        self,
        out: &mut Writer<'_, W>,
        addresses: usize,
    ) -> Result<()> {
        let starts = self.starts.into_iter().chain([self.transactions]);
        let starts = starts.map(u64::from);
        out.column(Part::BlockTransactions, starts, self.transactions.into())?;
        let by_address = self.address.iter().copied();
        let pairs = by_address.clone().zip(self.place.iter().copied());
        let (starts, grouped) = Csr::group_counted(addresses, by_address, pairs).into_parts();
        let starts = starts.into_iter().map(u64::from);
        out.column(Part::PlaceStarts, starts, grouped.len() as u64)?;
        out.numbers(Part::Places, &grouped)
    }
}
