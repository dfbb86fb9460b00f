//! A request to one segment: which of its rows are wanted.

use crate::{
    error::Error,
    segment::{Segment, Wanted},
};
use alloy_primitives::{Address, U256, map::HashSet};
use std::ops::{ControlFlow, Range};
use txgraph_transfers::{BlockRange, Direction, ScanRequest, SourceError, Transfer};

/// The maximum number of rows in a batch, except that a block is never split.
pub(crate) const BATCH_ROWS: usize = 1 << 14;

/// The maximum number of rows in a list that waits until its piece is delivered: 4 MiB.
const WAITING_ROWS: usize = 1 << 20;

/// The result for one piece.
pub(crate) enum PieceResult {
    /// At most a batch of transfers.
    Transfers(Vec<Transfer>),
    /// More than a batch: rows to be decoded when the piece is delivered.
    Rows(SelectedRows),
    /// Too many rows to keep while other pieces wait.
    TooMany,
}

/// Rows of a segment that include all that are wanted.
pub(crate) struct SelectedRows {
    wanted: Wanted,
    rows: RowList,
}

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
    pub(crate) fn select(
        &self,
        segment: &Segment,
        blocks: BlockRange,
    ) -> Result<SelectedRows, Error> {
        let filter = &self.request.filter;
        if filter.touching.is_none() {
            let wanted = segment.wanted(filter)?;
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
            wanted = segment.wanted(filter)?;
            if wanted.any() {
                let within = segment.rows_of(blocks)?;
                segment.rows_touching(&numbers, self.direction, &wanted, within, &mut rows)?;
            }
        }
        let rows = RowList::Some(rows);
        Ok(SelectedRows { wanted, rows })
    }

    /// Looks up a piece, and decodes the transfers if there are few.
    pub(crate) fn find(
        &self,
        segment: &Segment,
        blocks: BlockRange,
    ) -> Result<PieceResult, SourceError> {
        let selected = self.select(segment, blocks)?;
        match &selected.rows {
            rows if rows.len() <= BATCH_ROWS => {}
            RowList::Some(rows) if rows.len() > WAITING_ROWS => return Ok(PieceResult::TooMany),
            _ => return Ok(PieceResult::Rows(selected)),
        }
        let mut transfers = Vec::new();
        self.each(segment, blocks, &selected, &mut |transfer| {
            transfers.push(transfer);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(PieceResult::Transfers(transfers))
    }

    /// Passes every wanted transfer among the selected rows to `take`.
    pub(crate) fn each(
        &self,
        segment: &Segment,
        blocks: BlockRange,
        selected: &SelectedRows,
        take: &mut dyn FnMut(Transfer) -> Result<ControlFlow<()>, SourceError>,
    ) -> Result<(), SourceError> {
        if selected.rows.len() == 0 {
            return Ok(());
        }
        let rows = segment.rows()?;
        let mut one = |row: usize| -> Result<ControlFlow<()>, SourceError> {
            if selected.wanted.get(rows.class(row)?) != Some(true) {
                return Ok(ControlFlow::Continue(()));
            }
            let transfer = rows.transfer(row)?;
            if !self.matches_amount(&transfer) {
                return Ok(ControlFlow::Continue(()));
            }
            if !blocks.contains(transfer.block_number) {
                return Err(segment
                    .damaged(format!("row {row} belongs to another block"))
                    .into());
            }
            take(transfer)
        };
        match &selected.rows {
            RowList::All(rows) => try_each(rows.clone(), &mut one),
            RowList::Some(rows) => try_each(rows.iter().map(|row| *row as usize), &mut one),
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
            self.each(segment, blocks, &selected, &mut |_| {
                count += 1;
                Ok(ControlFlow::Continue(()))
            })?;
            return Ok(count);
        }
        let wanted = segment.wanted(&self.request.filter)?;
        if min_value == U256::ZERO && blocks == segment.blocks() {
            if wanted.all() {
                return Ok(segment.row_count() as u64);
            }
            let classes = segment.classes()?.iter().enumerate();
            let classes = classes.filter(|(number, _)| wanted.get(*number) == Some(true));
            return Ok(classes.map(|(_, class)| class.rows).sum());
        }
        let within = segment.rows_of(blocks)?;
        if min_value == U256::ZERO && wanted.all() {
            return Ok(within.len() as u64);
        }
        let rows = segment.rows()?;
        let mut count = 0;
        for row in within {
            if wanted.get(rows.class(row)?) == Some(true)
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
        pieces: &[(&Segment, BlockRange, Wanted)],
        degree_max: u32,
    ) -> Result<bool, Error> {
        let mut touching = Vec::new();
        let select = |segment: &Segment, blocks, wanted: &Wanted, touching: &mut Vec<u32>| {
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
            let rows = segment.rows()?;
            select(segment, *blocks, wanted, &mut touching)?;
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

/// Passes rows to `take` until it fails or breaks.
fn try_each(
    rows: impl Iterator<Item = usize>,
    take: &mut dyn FnMut(usize) -> Result<ControlFlow<()>, SourceError>,
) -> Result<(), SourceError> {
    for row in rows {
        if take(row)?.is_break() {
            break;
        }
    }
    Ok(())
}
