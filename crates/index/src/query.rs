//! A request to one segment: which of its rows are wanted.

use crate::{
    error::Error,
    segment::{Segment, Wanted},
};
use alloy_primitives::{Address, U256, map::HashSet};
use std::ops::Range;
use txgraph_transfers::{BlockRange, Direction, ScanRequest, SourceError, TokenFilter, Transfer};

/// The maximum number of rows in a batch, except that a block is never split.
pub(crate) const BATCH_ROWS: usize = 1 << 14;

/// The maximum number of rows in a list that waits until its piece is delivered: 4 MiB.
const WAITING_ROWS: usize = 1 << 20;

pub(crate) enum PieceResult<'a> {
    /// At most a batch of transfers.
    Transfers(Vec<Transfer>),
    /// More than a batch: rows to be decoded when the piece is delivered.
    Rows(SelectedRows<'a>),
    /// Too many rows to keep while other pieces wait.
    TooMany,
}

/// Rows of a segment that include all that are wanted.
pub(crate) struct SelectedRows<'a> {
    wanted: Wanted<'a>,
    rows: RowList,
}

/// Blocks, and the places of their rows in a list.
pub(crate) type RowPart = (BlockRange, Range<usize>);

/// Row numbers, ascending.
enum RowList {
    All(Range<usize>),
    Some(Vec<u32>),
}

impl RowList {
    fn len(&self) -> usize {
        match self {
            Self::All(rows) => rows.len(),
            Self::Some(rows) => rows.len(),
        }
    }

    /// The row at a place.
    fn get(&self, at: usize) -> Option<usize> {
        match self {
            Self::All(rows) => rows.clone().nth(at),
            Self::Some(rows) => rows.get(at).map(|row| *row as usize),
        }
    }

    /// The place of the first row that is not below a limit.
    fn below(&self, limit: usize) -> usize {
        match self {
            Self::All(rows) => limit.saturating_sub(rows.start).min(rows.len()),
            Self::Some(rows) => rows.partition_point(|row| (*row as usize) < limit),
        }
    }
}

impl SelectedRows<'_> {
    /// Divides the rows of these blocks into parts of about a batch, each with whole blocks.
    pub(crate) fn divide(
        &self,
        segment: &Segment,
        blocks: BlockRange,
    ) -> Result<Vec<RowPart>, Error> {
        let list = &self.rows;
        let rows = segment.rows(0)?;
        let mut parts = Vec::new();
        let (mut rest, mut start) = (blocks, 0_usize);
        while let Some(row) = list.get(start.saturating_add(BATCH_ROWS - 1)) {
            let last = rows.block(row)?;
            if last >= rest.last {
                break;
            }
            let part = BlockRange::new(rest.first, last);
            let part =
                part.ok_or_else(|| segment.damaged("rows are not in the order of blocks"))?;
            let end = list.below(segment.rows_of(BlockRange::one(last))?.end);
            parts.push((part, start..end.max(start)));
            rest.first = last + 1;
            start = end.max(start);
        }
        parts.push((rest, start..list.len()));
        Ok(parts)
    }
}

/// A request in the form that segments need.
pub(crate) struct Query<'a> {
    pub(crate) request: &'a ScanRequest,
    /// The requested addresses, ascending, so that a dictionary is read forward.
    pub(crate) addresses: Vec<Address>,
    pub(crate) direction: Direction,
}

impl<'a> Query<'a> {
    pub(crate) fn new(request: &'a ScanRequest) -> Self {
        let touching = request.filter.touching.as_ref();
        let mut addresses: Vec<Address> = touching
            .map(|touching| touching.addresses.iter().copied().collect())
            .unwrap_or_default();
        addresses.sort_unstable();
        Self {
            request,
            addresses,
            direction: touching.map_or(Direction::Both, |touching| touching.direction),
        }
    }

    /// Returns rows of these blocks that include all that are wanted.
    pub(crate) fn select<'s>(
        &'s self,
        segment: &'s Segment,
        blocks: BlockRange,
    ) -> Result<SelectedRows<'s>, Error> {
        let filter = &self.request.filter;
        if filter.touching.is_none() {
            let wanted = segment.wanted(filter, usize::MAX)?;
            let rows = match wanted.any() {
                true => segment.rows_of(blocks)?,
                false => 0..0,
            };
            let rows = RowList::All(rows);
            return Ok(SelectedRows { wanted, rows });
        }
        // First the addresses: most segments have none of a few, and nothing else is read then.
        let numbers = segment.numbers_of(&self.addresses)?;
        let mut rows = Vec::new();
        let mut wanted = Wanted::All(0);
        if !numbers.is_empty() {
            wanted = segment.wanted(filter, numbers.len())?;
            if wanted.any() {
                let within = segment.rows_of(blocks)?;
                segment.rows_touching(&numbers, self.direction, &wanted, within, &mut rows)?;
            }
        }
        let rows = RowList::Some(rows);
        Ok(SelectedRows { wanted, rows })
    }

    /// Looks up a piece, and decodes the transfers if there are few.
    pub(crate) fn find<'s>(
        &'s self,
        segment: &'s Segment,
        blocks: BlockRange,
    ) -> Result<PieceResult<'s>, SourceError> {
        let selected = self.select(segment, blocks)?;
        match &selected.rows {
            rows if rows.len() <= BATCH_ROWS => {}
            RowList::Some(rows) if rows.len() > WAITING_ROWS => return Ok(PieceResult::TooMany),
            _ => return Ok(PieceResult::Rows(selected)),
        }
        let part = (blocks, 0..selected.rows.len());
        let transfers = self.transfers(segment, &selected, part)?;
        Ok(PieceResult::Transfers(transfers))
    }

    /// Returns the wanted transfers among the selected rows of a part.
    pub(crate) fn transfers(
        &self,
        segment: &Segment,
        selected: &SelectedRows<'_>,
        part: RowPart,
    ) -> Result<Vec<Transfer>, SourceError> {
        let mut transfers = Vec::new();
        self.each(segment, selected, part, |transfer| transfers.push(transfer))?;
        Ok(transfers)
    }

    /// Passes every wanted transfer among the selected rows of a part to `take`.
    fn each(
        &self,
        segment: &Segment,
        selected: &SelectedRows<'_>,
        (blocks, places): RowPart,
        mut take: impl FnMut(Transfer),
    ) -> Result<(), SourceError> {
        if places.is_empty() {
            return Ok(());
        }
        let rows = segment.rows(places.len())?;
        // The class of the row before, and whether it is wanted.
        let mut known = None;
        let mut one = |row: usize| -> Result<(), SourceError> {
            let class = rows.class(row)?;
            let is_wanted = match known {
                Some((of, is_wanted)) if of == class => is_wanted,
                _ => selected.wanted.get(class)? == Some(true),
            };
            known = Some((class, is_wanted));
            if !is_wanted {
                return Ok(());
            }
            let transfer = rows.transfer(row)?;
            if !self.matches_amount(&transfer) {
                return Ok(());
            }
            if !blocks.contains(transfer.block_number) {
                return Err(segment
                    .damaged(format!("row {row} belongs to another block"))
                    .into());
            }
            take(transfer);
            Ok(())
        };
        match &selected.rows {
            RowList::All(rows) => {
                (rows.clone().skip(places.start).take(places.len())).try_for_each(one)
            }
            RowList::Some(rows) => rows[places].iter().try_for_each(|row| one(*row as usize)),
        }
    }

    fn matches_amount(&self, transfer: &Transfer) -> bool {
        self.request.filter.matches_amount(
            transfer.token_address.as_ref(),
            &transfer.value,
            transfer.token_id.as_ref(),
        )
    }

    /// Counts the wanted transfers in these blocks.
    pub(crate) fn count(&self, segment: &Segment, blocks: BlockRange) -> Result<u64, Error> {
        let filter = &self.request.filter;
        let min_value = filter.min_value;
        // Reads whole transfers if amounts or ids are limited by token.
        if filter.touching.is_some() || !filter.amounts.is_empty() {
            let mut count = 0;
            let selected = self.select(segment, blocks)?;
            let part = (blocks, 0..selected.rows.len());
            self.each(segment, &selected, part, |_| count += 1)?;
            return Ok(count);
        }
        let by_class = min_value == U256::ZERO && blocks == segment.blocks();
        // The classes of a token are next to each other.
        let uses = match filter.tokens {
            TokenFilter::Only { .. } if by_class => 0,
            _ => usize::MAX,
        };
        let wanted = segment.wanted(filter, uses)?;
        if by_class {
            return Ok(match wanted.all() {
                true => segment.row_count() as u64,
                false => wanted.rows(segment)?,
            });
        }
        let within = segment.rows_of(blocks)?;
        if min_value == U256::ZERO && wanted.all() {
            return Ok(within.len() as u64);
        }
        let rows = segment.rows(within.len())?;
        let mut count = 0;
        for row in within {
            if wanted.get(rows.class(row)?)? == Some(true)
                && (min_value == U256::ZERO || rows.value(row)? >= min_value)
            {
                count += 1;
            }
        }
        Ok(count)
    }

    /// Whether an address has more than `degree_max` counterparties. Each piece comes with
    /// its wanted classes, so that they are determined once for all addresses.
    pub(crate) fn has_more_counterparties(
        &self,
        address: Address,
        pieces: &[(&Segment, BlockRange, Wanted<'_>)],
        degree_max: u32,
    ) -> Result<bool, Error> {
        let mut touching = Vec::new();
        let select = |segment: &Segment, blocks, wanted: &Wanted<'_>, touching: &mut Vec<u32>| {
            let numbers = segment.numbers_of(&[address])?;
            let within = segment.rows_of(blocks)?;
            segment.rows_touching(&numbers, self.direction, wanted, within, touching)?;
            Ok::<_, Error>(())
        };
        // There are no more counterparties than rows, and nearly always few rows.
        let mut count = 0;
        for (segment, blocks, wanted) in pieces {
            select(segment, *blocks, wanted, &mut touching)?;
            count += touching.len() as u64;
            if count > u64::from(degree_max) {
                break;
            }
        }
        if count <= u64::from(degree_max) {
            return Ok(false);
        }
        let mut counterparties = HashSet::<Address>::default();
        let min_value = self.request.filter.min_value;
        let has_amounts = !self.request.filter.amounts.is_empty();
        for (segment, blocks, wanted) in pieces {
            select(segment, *blocks, wanted, &mut touching)?;
            let rows = segment.rows(touching.len())?;
            // Most rows of a hub lead to a counterparty that was seen before.
            let mut seen = HashSet::<(usize, usize)>::default();
            for row in &touching {
                let row = *row as usize;
                if min_value > U256::ZERO && rows.value(row)? < min_value {
                    continue;
                }
                if has_amounts && !self.matches_amount(&rows.transfer(row)?) {
                    continue;
                }
                let (from, to) = rows.ends(row)?;
                if seen.insert((from, to)) {
                    let (from, to) = rows.addresses_of(from, to)?;
                    let other = if from == address { to } else { from };
                    if other != address
                        && counterparties.insert(other)
                        && counterparties.len() as u64 > u64::from(degree_max)
                    {
                        return Ok(true);
                    }
                }
            }
        }
        Ok(false)
    }
}
