//! A question, put to one segment: which of its rows are wanted.

use crate::{error::Error, segment::Segment};
use alloy_primitives::{Address, U256, map::HashSet};
use std::ops::{ControlFlow, Range};
use txgraph_transfers::{BlockRange, Direction, ScanRequest, SourceError, Transfer};

/// Rows of a batch at most, except that a block is never cut.
pub(crate) const BATCH_ROWS: usize = 1 << 14;

/// Rows of a list that may wait until its piece is handed out: 4 MiB.
const WAITING_ROWS: usize = 1 << 20;

/// What a piece has.
pub(crate) enum Found {
    /// Little: here it is.
    Transfers(Vec<Transfer>),
    /// More than a batch: these rows are to be looked at one by one.
    Rows(Selected),
    /// More rows than are kept while other pieces wait.
    Many,
}

/// Rows of a segment, among which are all that are wanted.
pub(crate) struct Selected {
    /// By number of a class.
    wanted: Vec<bool>,
    rows: RowList,
}

/// Rows, ascending.
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

/// A request, prepared for segments.
pub(crate) struct Question<'a> {
    pub(crate) request: &'a ScanRequest,
    /// Addresses asked for, ascending: their places in a dictionary then are, too.
    pub(crate) addresses: Vec<Address>,
    pub(crate) direction: Direction,
}

impl<'a> Question<'a> {
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

    /// Rows of a segment's blocks, among which are all that are wanted.
    pub(crate) fn select(&self, segment: &Segment, blocks: BlockRange) -> Result<Selected, Error> {
        let wanted = segment.wanted(&self.request.filter);
        let rows = if !wanted.contains(&true) {
            RowList::All(0..0)
        } else if self.request.filter.touching.is_none() {
            RowList::All(segment.rows_of(blocks)?)
        } else {
            let within = segment.rows_of(blocks)?;
            let mut rows = Vec::new();
            let addresses = &self.addresses;
            segment.rows_touching(addresses, self.direction, &wanted, within, &mut rows)?;
            RowList::Some(rows)
        };
        Ok(Selected { wanted, rows })
    }

    /// What a piece has; the transfers themselves where they are few.
    pub(crate) fn find(&self, segment: &Segment, blocks: BlockRange) -> Result<Found, SourceError> {
        let selected = self.select(segment, blocks)?;
        match &selected.rows {
            rows if rows.len() <= BATCH_ROWS => {}
            RowList::Some(rows) if rows.len() > WAITING_ROWS => return Ok(Found::Many),
            _ => return Ok(Found::Rows(selected)),
        }
        let mut transfers = Vec::new();
        self.each(segment, blocks, &selected, &mut |transfer| {
            transfers.push(transfer);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(Found::Transfers(transfers))
    }

    /// Hands every wanted transfer among some rows of a segment's blocks to `take`.
    pub(crate) fn each(
        &self,
        segment: &Segment,
        blocks: BlockRange,
        selected: &Selected,
        take: &mut dyn FnMut(Transfer) -> Result<ControlFlow<()>, SourceError>,
    ) -> Result<(), SourceError> {
        if selected.rows.len() == 0 {
            return Ok(());
        }
        let rows = segment.rows()?;
        let mut one = |row: usize| -> Result<ControlFlow<()>, SourceError> {
            if !selected.wanted[rows.class(row)?] {
                return Ok(ControlFlow::Continue(()));
            }
            let transfer = rows.transfer(row)?;
            if transfer.value < self.request.filter.min_value {
                return Ok(ControlFlow::Continue(()));
            }
            if !blocks.contains(transfer.block_number) {
                return Err(segment
                    .damaged(format!("row {row} is of another block"))
                    .into());
            }
            take(transfer)
        };
        match &selected.rows {
            RowList::All(rows) => try_each(rows.clone(), &mut one),
            RowList::Some(rows) => try_each(rows.iter().map(|row| *row as usize), &mut one),
        }
    }

    /// How many transfers of a segment's blocks are wanted.
    pub(crate) fn count(&self, segment: &Segment, blocks: BlockRange) -> Result<u64, Error> {
        let min_value = self.request.filter.min_value;
        if self.request.filter.touching.is_some() {
            let mut count = 0;
            let selected = self.select(segment, blocks)?;
            self.each(segment, blocks, &selected, &mut |_| {
                count += 1;
                Ok(ControlFlow::Continue(()))
            })?;
            return Ok(count);
        }
        let wanted = segment.wanted(&self.request.filter);
        if min_value == U256::ZERO && blocks == segment.blocks() {
            let classes = segment.classes().iter().zip(&wanted);
            return Ok(classes
                .filter(|(_, wanted)| **wanted)
                .map(|(class, _)| class.rows)
                .sum());
        }
        let within = segment.rows_of(blocks)?;
        if min_value == U256::ZERO && !wanted.contains(&false) {
            return Ok(within.len() as u64);
        }
        let rows = segment.rows()?;
        let mut count = 0;
        for row in within {
            if wanted[rows.class(row)?]
                && (min_value == U256::ZERO || rows.value(row)? >= min_value)
            {
                count += 1;
            }
        }
        Ok(count)
    }

    /// Whether an address has more than so many counterparties. Of each piece it is told
    /// which classes are wanted: there may be many addresses, and many classes.
    pub(crate) fn has_more_counterparties(
        &self,
        address: Address,
        pieces: &[(&Segment, BlockRange, Vec<bool>)],
        degree_max: u32,
    ) -> Result<bool, Error> {
        let mut touching = Vec::new();
        let select = |segment: &Segment, blocks, wanted: &[bool], touching: &mut Vec<u32>| {
            let within = segment.rows_of(blocks)?;
            segment.rows_touching(&[address], self.direction, wanted, within, touching)?;
            Ok::<_, Error>(())
        };
        // No more counterparties than rows, and nearly always there are few of these.
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
        for (segment, blocks, wanted) in pieces {
            let rows = segment.rows()?;
            select(segment, *blocks, wanted, &mut touching)?;
            // Most rows of a hub lead where an earlier one has led.
            let mut seen = HashSet::<(usize, usize)>::default();
            for row in &touching {
                let row = *row as usize;
                if min_value > U256::ZERO && rows.value(row)? < min_value {
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

/// Hands rows over until there is an error or a break.
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
