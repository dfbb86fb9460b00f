//! What `verify` looks at inside of a segment.

use super::Segment;
use crate::{error::Result, layout::Part};
use txgraph_transfers::DecodeCounts;

impl Segment {
    /// What a checksum cannot show, as somebody could have computed it over nonsense:
    /// that addresses ascend, and that the rows of the two groupings are those of the
    /// rows' own ends.
    pub(crate) fn check_structure(&self) -> Result<()> {
        let dictionary = self.dictionary()?;
        let rows = self.rows()?;
        let mut before = None;
        for number in 0..self.addresses {
            let address = dictionary.address(number);
            if address <= before || address.map(|it| dictionary.find(&it)) != Some(Some(number)) {
                return Err(self.corrupt(format!("address {number} is not in its place")));
            }
            before = address;
        }
        for (starts, order, ends) in [
            (Part::OutStarts, Part::OutRows, &rows.from),
            (Part::InStarts, Part::InRows, &rows.to),
        ] {
            let adjacency = self.adjacency(starts, order)?;
            let mut seen = 0;
            for number in 0..self.addresses {
                let run = adjacency.of(number).filter(|run| run.start == seen);
                let run = run.ok_or_else(|| self.corrupt("the rows of an address overlap"))?;
                seen = run.end;
                let mut before = None;
                for at in run {
                    let row = adjacency.rows.index(at);
                    let own = row.is_some_and(|row| ends.index(row) == Some(number));
                    let row = row.and_then(|row| Some((rows.class.index(row)?, row)));
                    if row <= before || !own {
                        return Err(self.corrupt(format!("{order:?} holds a wrong row at {at}")));
                    }
                    before = row;
                }
            }
            if seen != self.rows {
                return Err(self.corrupt(format!("{order:?} does not hold every row")));
            }
        }
        let mut class_rows = vec![0; self.classes.len()];
        for row in 0..self.rows {
            class_rows[rows.class(row)?] += 1;
        }
        let stored: Vec<_> = self.classes.iter().map(|class| class.rows).collect();
        if class_rows != stored || !self.classes.is_sorted_by(|a, b| a < b) {
            return Err(self.corrupt("its list of tokens miscounts"));
        }
        let whole = self.rows_of(self.head.blocks)?;
        let odd: Vec<_> = self.odd(self.head.blocks).collect();
        if !odd.is_sorted_by_key(|odd| (odd.block, odd.emitter)) {
            return Err(self.corrupt("its odd logs are not in order"));
        }
        let mut sum = DecodeCounts::default();
        for block in self.head.blocks.first..=self.head.blocks.last {
            let (_, counts) = self.block(block)?;
            if counts.transactions.max(counts.logs) > u64::from(u32::MAX) {
                return Err(self.corrupt(format!("the account of block {block} makes no sense")));
            }
            sum += counts;
        }
        if whole != (0..self.rows) || sum != self.head.counts {
            return Err(self.corrupt("its accounts of blocks do not add up"));
        }
        Ok(())
    }
}
