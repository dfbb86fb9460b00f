//! The rows of one block.

use crate::rows::{Direct, Header, Log, Place, Receipt, Rows, Trace, Transaction};
use txgraph_transfers::BlockTime;

/// The rows of one block.
pub(crate) struct Block<'r> {
    pub(crate) number: u64,
    pub(crate) rows: &'r Rows,
    pub(crate) logs: &'r [Log],
    pub(crate) traces: &'r [Trace],
    pub(crate) transactions: &'r [Transaction],
    pub(crate) receipts: &'r [Receipt],
    pub(crate) headers: &'r [Header],
    pub(crate) direct: &'r [Direct],
}

/// The rows of the next block that has any.
pub(crate) fn next_block<'r>(rows: &'r Rows, cursors: &mut [usize; 6]) -> Option<Block<'r>> {
    let at = |places: [Option<&Place>; 6]| places.into_iter().flatten().map(|it| it.block).min();
    let number = at([
        rows.logs.get(cursors[0]).map(|it| &it.place),
        rows.traces.get(cursors[1]).map(|it| &it.place),
        rows.transactions.get(cursors[2]).map(|it| &it.place),
        rows.headers.get(cursors[3]).map(|it| &it.place),
        rows.direct.get(cursors[4]).map(|it| &it.place),
        rows.receipts.get(cursors[5]).map(|it| &it.place),
    ])?;
    let [logs, traces, transactions, headers, direct, receipts] = cursors;
    Some(Block {
        number,
        rows,
        logs: take(&rows.logs, logs, |it| it.place.block == number),
        traces: take(&rows.traces, traces, |it| it.place.block == number),
        transactions: take(&rows.transactions, transactions, |it| {
            it.place.block == number
        }),
        headers: take(&rows.headers, headers, |it| it.place.block == number),
        direct: take(&rows.direct, direct, |it| it.place.block == number),
        receipts: take(&rows.receipts, receipts, |it| it.place.block == number),
    })
}

fn take<'r, T>(rows: &'r [T], cursor: &mut usize, is_here: impl Fn(&T) -> bool) -> &'r [T] {
    let rest = &rows[*cursor..];
    let here = &rest[..rest
        .iter()
        .position(|row| !is_here(row))
        .unwrap_or(rest.len())];
    *cursor += here.len();
    here
}

impl<'r> Block<'r> {
    /// The transaction fields of rows, in the order of appearance: call frames are
    /// the most complete, then logs.
    pub(crate) fn places(&self) -> impl Iterator<Item = &'r Place> + Clone {
        let traces = self.traces.iter().map(|it| &it.place);
        let logs = self.logs.iter().map(|it| &it.place);
        let transactions = self.transactions.iter().map(|it| &it.place);
        let receipts = self.receipts.iter().map(|it| &it.place);
        traces
            .chain(logs)
            .chain(transactions)
            .chain(receipts)
            .chain(self.direct.iter().map(|it| &it.place))
    }

    /// The time of the block, and the row that has it: the header, else the first row with a time.
    pub(crate) fn time(&self) -> Option<(BlockTime, Place)> {
        let header = self.headers.first().map(|header| &header.place);
        let mut places = header.into_iter().chain(self.places());
        places.find_map(|place| Some((place.time?, *place)))
    }
}
