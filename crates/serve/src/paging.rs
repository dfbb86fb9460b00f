//! Pages of a list, from either end.

use crate::fault::Answer;
use std::{collections::VecDeque, ops::ControlFlow};
use txgraph::{Order, PreparedTransfers, ScanReport, Transfer};

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

    /// Reads the wanted transfers. Not more than the page and those before it are kept.
    pub(crate) fn read(
        self,
        transfers: &PreparedTransfers<'_>,
        wanted: impl Fn(&Transfer) -> bool,
    ) -> Answer<PageTransfers> {
        let mut kept = VecDeque::new();
        let (mut seen, mut more) = (0_usize, false);
        let scan = transfers.for_each(|batch| {
            for transfer in batch.transfers.into_iter().filter(&wanted) {
                seen += 1;
                more = seen > self.end();
                match self.order {
                    Order::OldestFirst if more => return Ok(ControlFlow::Break(())),
                    Order::OldestFirst if seen <= self.skip => {}
                    Order::OldestFirst | Order::NewestFirst => kept.push_back(transfer),
                }
                if self.order == Order::NewestFirst && more {
                    kept.pop_front();
                }
            }
            Ok(ControlFlow::Continue(()))
        })?;
        let transfers = match self.order {
            Order::OldestFirst => kept.into(),
            Order::NewestFirst => kept.into_iter().rev().skip(self.skip).collect(),
        };
        Ok(PageTransfers {
            transfers,
            more,
            scan,
        })
    }
}
