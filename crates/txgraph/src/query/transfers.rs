//! The transfers of a block range, streamed.

mod to_file;

pub use to_file::{TransfersOutput, TransfersResult};

use super::{initiated::Initiated, query_metadata::Description, retry::retry_on_reorg};
use crate::{
    Error, Result, Selection, Source,
    options::{addresses, given},
    select::{Resolved, selection_methods},
};
use alloy_primitives::Address;
use serde_json::json;
use std::{collections::BTreeSet, ops::ControlFlow};
use txgraph_transfers::{
    AddressFilter, Batch, BlockRange, BlockRanges, Direction, Kind, ScanReport, ScanRequest,
    Transfer,
};

/// Asks for the transfers of a block range. See [`Source::transfers`].
#[derive(Clone, Debug)]
#[must_use = "a query is run by `for_each`, `collect` or `write`"]
pub struct Transfers<'s> {
    source: &'s Source,
    pub(crate) selection: Selection,
    pub(crate) touching: Option<AddressFilter>,
    /// Blocks and indices; empty: all.
    pub(crate) transactions: BTreeSet<(u64, u32)>,
    initiated: Initiated,
}

impl Source {
    /// Asks for the transfers of a block range.
    pub fn transfers(&self) -> Transfers<'_> {
        Transfers::new(self)
    }
}

impl<'s> Transfers<'s> {
    pub(crate) fn new(source: &'s Source) -> Self {
        Self {
            source,
            selection: Selection::default(),
            touching: None,
            transactions: BTreeSet::new(),
            initiated: Initiated::default(),
        }
    }

    selection_methods!(selection);

    /// Only transfers that this address sends or receives. Call again for more addresses.
    pub fn address(mut self, address: Address) -> Self {
        let touching = self
            .touching
            .get_or_insert_with(|| AddressFilter::new([], Direction::Both));
        touching.addresses.insert(address);
        self
    }

    /// Only transfers that the addresses send (`Out`) or receive (`In`).
    pub fn direction(mut self, direction: Direction) -> Self {
        let touching = self
            .touching
            .get_or_insert_with(|| AddressFilter::new([], direction));
        touching.direction = direction;
        self
    }

    /// Only transfers of this transaction. Call again for more transactions. The query reads
    /// their blocks, and must not name blocks itself.
    pub fn transaction(mut self, block: u64, index: u32) -> Self {
        self.transactions.insert((block, index));
        self
    }

    /// Only transfers in transactions that this account signed. Call again for more accounts. The
    /// source must be a node; it reads the signers of all transfers that meet the other conditions.
    pub fn initiated_by(mut self, account: Address) -> Self {
        self.initiated.by.insert(account);
        self
    }

    /// Only transfers in transactions that another account signed than the one that gives the
    /// tokens: a spender with an approval, a forger of events, or the caller of a contract.
    pub const fn not_by_owner(mut self) -> Self {
        self.initiated.not_by_owner = true;
        self
    }

    /// The query for the metadata of a result.
    fn description(&self) -> Result<Description> {
        let mut options = given(&self.selection)?;
        if let Some(touching) = &self.touching {
            options.insert("address".into(), addresses(&touching.addresses));
            if touching.direction != Direction::Both {
                options.insert("direction".into(), json!(touching.direction));
            }
        }
        if !self.transactions.is_empty() {
            let places = self.transactions.iter();
            let places = places.map(|(block, index)| format!("{block}:{index}"));
            options.insert("tx".into(), places.collect());
        }
        if !self.initiated.by.is_empty() {
            options.insert("initiated-by".into(), addresses(&self.initiated.by));
        }
        if self.initiated.not_by_owner {
            options.insert("not-by-owner".into(), json!(true));
        }
        Ok(Description::new("transfers", options))
    }

    /// Finds the blocks and checks the conditions, but reads no transfers yet.
    ///
    /// # Errors
    ///
    /// If the query is wrong, or the source cannot answer it.
    pub fn prepare(self) -> Result<PreparedTransfers<'s>> {
        let description = self.description()?;
        let mut filter = self.selection.filter_for(self.source)?;
        filter.touching = self.touching;
        let is_empty = |touching: &AddressFilter| touching.addresses.is_empty();
        if filter.touching.as_ref().is_some_and(is_empty) {
            return Err(Error::usage("a direction needs an address"));
        }
        let Resolved { blocks, cut } = match self.transactions.is_empty() {
            true => self.selection.resolve(self.source)?,
            false if self.selection.blocks.is_empty() => {
                let blocks = self.transactions.iter().map(|(block, _)| *block);
                Resolved {
                    blocks: blocks.map(BlockRange::one).collect(),
                    cut: None,
                }
            }
            false => {
                return Err(Error::usage(
                    "transactions are in their own blocks: name either blocks or transactions",
                ));
            }
        };
        Ok(PreparedTransfers {
            source: self.source,
            transactions: self.transactions,
            initiated: self.initiated,
            request: ScanRequest {
                blocks,
                filter,
                wrapped_native: self.selection.wrapped_native,
                with_times: true,
                with_hashes: true,
                allow_partial: self.selection.allow_partial,
            },
            cut,
            description,
        })
    }

    /// Calls `each` for every batch of transfers, in total order. `each` can break to end
    /// the scan early; the report then covers the blocks that were read.
    ///
    /// Batches that `each` received cannot be taken back, so a reorganization in the meantime is
    /// an error ([`ErrorKind::Reorged`](crate::ErrorKind::Reorged)). [`Self::collect`] starts
    /// again.
    ///
    /// # Errors
    ///
    /// As [`Self::prepare`], and if reading or `each` fails.
    pub fn for_each(
        self,
        each: impl FnMut(Batch) -> Result<ControlFlow<()>>,
    ) -> Result<ScanReport> {
        self.prepare()?.for_each(each)
    }

    /// Returns all transfers, in total order. Starts again when the chain is reorganized in the
    /// meantime.
    ///
    /// # Errors
    ///
    /// As [`Self::for_each`].
    pub fn collect(self) -> Result<Vec<Transfer>> {
        Ok(self.prepare()?.first(usize::MAX)?.transfers)
    }

    /// Writes all transfers to a new file, whose extension chooses the format.
    ///
    /// # Errors
    ///
    /// As [`Self::for_each`], and if the file exists or cannot be written.
    pub fn write(self, path: impl Into<std::path::PathBuf>) -> Result<TransfersResult> {
        let output = TransfersOutput::to(path)?;
        self.source.check_outputs([&output])?;
        self.prepare()?.write(&output)
    }
}

/// A query for transfers whose blocks are known.
#[derive(Clone, Debug)]
#[must_use = "nothing is read yet"]
pub struct PreparedTransfers<'s> {
    source: &'s Source,
    request: ScanRequest,
    /// Empty: all.
    transactions: BTreeSet<(u64, u32)>,
    initiated: Initiated,
    /// See [`Resolved::cut`].
    cut: Option<String>,
    description: Description,
}

impl<'s> PreparedTransfers<'s> {
    /// The source that is asked.
    pub(super) const fn source(&self) -> &'s Source {
        self.source
    }

    /// The same query for other blocks.
    pub(super) fn at(&self, blocks: BlockRange) -> Self {
        let mut query = self.clone();
        query.request.blocks = blocks.into();
        query.cut = None;
        query
    }

    /// Leaves out the hashes of transactions and the times of blocks. To find them takes most of the
    /// time of a query to an index. [`Transfer::transaction`] still has its number.
    pub fn numbers_only(mut self) -> Self {
        self.request.with_times = false;
        // Who signed a transaction is asked by its hash.
        self.request.with_hashes = !self.initiated.is_any();
        self
    }

    /// The blocks.
    pub const fn blocks(&self) -> &BlockRanges {
        &self.request.blocks
    }

    /// The request to the source.
    pub const fn request(&self) -> &ScanRequest {
        &self.request
    }

    /// See [`Resolved::cut`].
    pub(super) fn cut(&self) -> Option<&str> {
        self.cut.as_deref()
    }

    /// See [`Transfers::for_each`].
    ///
    /// # Errors
    ///
    /// If reading or `each` fails.
    pub fn for_each(
        &self,
        mut each: impl FnMut(Batch) -> Result<ControlFlow<()>>,
    ) -> Result<ScanReport> {
        let mut kept = 0;
        let mut report = scan(self.source, &self.request, |mut batch| {
            if !self.transactions.is_empty() {
                batch.transfers.retain(|it| {
                    // Withdrawals are in no transaction.
                    it.kind != Kind::Withdrawal && self.transactions.contains(&it.transaction())
                });
            }
            if !self.initiated.is_any() {
                self.initiated.keep(self.source, &mut batch.transfers)?;
            }
            kept += batch.transfers.len() as u64;
            each(batch)
        })?;
        report.counts.transfers = kept;
        report.caveats.extend(self.cut.clone());
        Ok(report)
    }

    /// Returns the first transfers, at most `transfers_max` of them, and ends the scan after
    /// them. Starts again when the chain is reorganized in the meantime.
    ///
    /// # Errors
    ///
    /// If reading fails.
    pub fn first(&self, transfers_max: usize) -> Result<FirstTransfers> {
        let is_part = transfers_max != usize::MAX;
        let mut query = self.clone();
        if is_part {
            // A batch has many more transfers than a short list.
            query = query.numbers_only();
        }
        retry_on_reorg(self.source, || {
            let mut transfers = Vec::new();
            let scan = query.for_each(|mut batch| {
                transfers.append(&mut batch.transfers);
                Ok(if transfers.len() > transfers_max {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                })
            })?;
            let has_more = transfers.len() > transfers_max;
            transfers.truncate(transfers_max);
            if is_part && self.request.with_hashes {
                self.fill_hashes(&mut transfers, &scan)?;
            }
            Ok(FirstTransfers {
                transfers,
                has_more,
                scan,
            })
        })
    }
}

/// The first transfers of a block range, or the last ones.
#[derive(Clone, Debug)]
pub struct FirstTransfers {
    /// The transfers, in total order; of [`PreparedTransfers::newest`] in the opposite order.
    pub transfers: Vec<Transfer>,
    /// Whether the result has more.
    pub has_more: bool,
    /// The report of the scan, which ends soon after the last of these transfers if the result has more.
    pub scan: ScanReport,
}

pub(crate) fn scan(
    source: &Source,
    request: &ScanRequest,
    mut each: impl FnMut(Batch) -> Result<ControlFlow<()>>,
) -> Result<ScanReport> {
    let mut failed = None;
    let from = source.transfer_source(&request.filter)?;
    let report = from.scan(request, &mut |batch| match each(batch) {
        Ok(flow) => flow,
        Err(error) => {
            failed = Some(error);
            ControlFlow::Break(())
        }
    });
    match failed {
        Some(error) => Err(error),
        None => Ok(report?),
    }
}
