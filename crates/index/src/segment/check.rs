//! The structure of a segment, as `verify` checks it.

use super::Segment;
use crate::{error::Result, layout::Part};
use txgraph_transfers::DecodeCounts;

impl Segment {
    /// Checks what checksums cannot show, because they may have been computed over invalid
    /// content: that addresses ascend, that the rows of both groupings are those with the
    /// address on that side, and that the counts add up.
    pub(crate) fn check_structure(&self) -> Result<()> {
        let dictionary = self.dictionary()?;
        let rows = self.rows(self.rows)?;
        let mut before = None;
        for number in 0..self.addresses {
            let address = dictionary.address(number)?;
            if Some(address) <= before || dictionary.find(&address)? != Some(number) {
                return Err(self.damaged(format!("address {number} is out of order")));
            }
            before = Some(address);
        }
        for (starts, order, ends) in [
            (Part::OutStarts, Part::OutRows, &rows.from),
            (Part::InStarts, Part::InRows, &rows.to),
        ] {
            let adjacency = self.adjacency(starts, order)?;
            let mut seen = 0;
            for number in 0..self.addresses {
                let run = adjacency.of(number)?;
                if run.start != seen {
                    return Err(self.damaged("the rows of two addresses overlap"));
                }
                seen = run.end;
                let mut before = None;
                for at in run {
                    let row = adjacency.rows.index(at)?;
                    let place = Some((rows.class.index(row)?, row));
                    if place <= before || ends.index(row)? != number {
                        return Err(self.damaged(format!("{order:?} has a wrong row at {at}")));
                    }
                    before = place;
                }
            }
            if seen != self.rows {
                return Err(self.damaged(format!("{order:?} does not have every row")));
            }
        }
        self.check_places()?;
        let classes = self.classes()?;
        let mut class_rows = vec![0; classes.len()];
        for row in 0..self.rows {
            class_rows[rows.class(row)?] += 1;
        }
        let stored: Vec<_> = classes.iter().map(|class| class.rows).collect();
        if class_rows != stored || !classes.is_sorted_by(|a, b| a < b) {
            return Err(self.damaged("the row counts of its classes are wrong"));
        }
        let whole = self.rows_of(self.head.blocks)?;
        let anomalies = self.anomalies(self.head.blocks)?;
        if !anomalies.is_sorted_by_key(|logs| (logs.block, logs.emitter)) {
            return Err(self.damaged("its anomalous logs are out of order"));
        }
        let mut sum = DecodeCounts::default();
        for block in self.head.blocks.first..=self.head.blocks.last {
            let (_, counts) = self.block(block)?;
            if counts.transactions.max(counts.logs) > u64::from(u32::MAX) {
                return Err(self.damaged(format!("the counts of block {block} are invalid")));
            }
            sum += counts;
        }
        if whole != (0..self.rows) || sum != self.head.counts {
            return Err(self.damaged("the counts of its blocks do not add up"));
        }
        Ok(())
    }

    /// Checks that the transactions of each address ascend and exist, and that their numbers agree
    /// with the counts of the blocks.
    fn check_places(&self) -> Result<()> {
        let Some(places) = self.places()? else {
            return Ok(());
        };
        let mut transactions = 0;
        let counts = self.column(Part::Transactions, self.block_count)?;
        for offset in 0..self.block_count {
            let (first, end) = places.block_transactions.bounds(offset)?;
            if first != transactions || end - first != counts.index(offset)? {
                return Err(self.damaged("the numbers of its transactions do not add up"));
            }
            transactions = end;
        }
        let mut seen = 0;
        for number in 0..self.addresses {
            let run = places.places.of(number)?;
            if run.start != seen {
                return Err(self.damaged("the transactions of two addresses overlap"));
            }
            seen = run.end;
            let mut before = None;
            for at in run {
                let (transaction, _) = places.decode(at)?;
                if Some(transaction) <= before || transaction >= transactions {
                    return Err(self.damaged(format!("Places has a wrong transaction at {at}")));
                }
                before = Some(transaction);
            }
        }
        Ok(())
    }
}
