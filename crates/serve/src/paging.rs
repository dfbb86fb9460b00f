//! Pages of a list, from either end.

use crate::fault::Answer;
use std::ops::ControlFlow;
use txgraph::{FirstTransfers, Order, PreparedTransfers, ScanReport, Transfer};

/// The rows of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    /// Rows before them.
    pub(crate) skip: usize,
    /// Their number at most.
    pub(crate) rows: usize,
    pub(crate) order: Order,
}

/// The transfers of a page.
pub(crate) struct PageTransfers {
    /// In the order of the page.
    pub(crate) transfers: Vec<Transfer>,
    /// Whether there are transfers after the page.
    pub(crate) more: bool,
    pub(crate) scan: ScanReport,
}

impl Page {
    /// The number of rows up to the end of the page.
    pub(crate) const fn end(self) -> usize {
        self.skip.saturating_add(self.rows)
    }

    /// Reads the wanted transfers, from the end of the blocks where the page begins. Hashes and times are
    /// read only of those on the page, so `wanted` gets none.
    pub(crate) fn read(
        self,
        transfers: &PreparedTransfers<'_>,
        wanted: impl Fn(&Transfer) -> bool,
    ) -> Answer<PageTransfers> {
        let numbers = transfers.clone().numbers_only();
        let mut page = match self.order {
            Order::OldestFirst => self.oldest(&numbers, wanted)?,
            Order::NewestFirst => {
                let FirstTransfers {
                    transfers,
                    has_more,
                    scan,
                } = numbers.newest(self.end(), wanted)?;
                PageTransfers {
                    transfers: transfers.into_iter().skip(self.skip).collect(),
                    more: has_more,
                    scan,
                }
            }
        };
        if transfers.request().with_hashes {
            transfers.fill_hashes(&mut page.transfers, &page.scan)?;
        }
        Ok(page)
    }

    /// Reads from the first block on. Not more than the page is kept.
    fn oldest(
        self,
        transfers: &PreparedTransfers<'_>,
        wanted: impl Fn(&Transfer) -> bool,
    ) -> Answer<PageTransfers> {
        let mut kept = Vec::new();
        let (mut seen, mut more) = (0_usize, false);
        let scan = transfers.for_each(|batch| {
            for transfer in batch.transfers.into_iter().filter(&wanted) {
                seen += 1;
                more = seen > self.end();
                if more {
                    return Ok(ControlFlow::Break(()));
                }
                if seen > self.skip {
                    kept.push(transfer);
                }
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(PageTransfers {
            transfers: kept,
            more,
            scan,
        })
    }
}
