//! The trait that each kind of source implements.

use super::run_control::RunControl;
use crate::{Capabilities, Capability, MeasureSettings, Measured, ProtectedPaths, Result};
use std::{any::Any, fmt};
use txgraph_transfers::{BlockRange, ChainInfo, ScanRequest, TransferFilter, TransferSource};

/// A function that gets the source that a lake is built from.
#[cfg(feature = "lake")]
pub type BuildSourceFn<'a> = dyn FnMut(txgraph_stored::BuildSource<'_>) -> Result<()> + 'a;

/// An open source of one kind. [`Source`](crate::Source) adds the queries.
pub trait Backend: Any + fmt::Debug + Send + Sync {
    /// The capabilities of this source. The other methods are called only for these. Default: transfers
    /// with their hashes.
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
            .with(Capability::Transfers)
            .with(Capability::Hashes)
    }

    /// The chain.
    fn chain(&self) -> Result<&ChainInfo>;

    /// Another handle on the same open source, whose work `control` observes and stops. `None`, the
    /// default: the source has one control for all work.
    fn share(&self, control: &RunControl) -> Option<Box<dyn Backend>> {
        let _ = control;
        None
    }

    /// The highest block that can be read at present.
    fn tip(&self) -> Result<u64>;

    /// The blocks of a query that names none; default: all up to the tip.
    ///
    /// Files that begin in the middle of a chain begin with their first block. Blocks that are
    /// missing between the first and the last one are still an error.
    fn default_range(&self) -> Result<BlockRange> {
        let last = self.tip()?;
        Ok(BlockRange::up_to(last))
    }

    /// The time of a block, in seconds since 1970. `None` if the source does not contain it: dates
    /// then find no block. The default knows no times.
    ///
    /// # Errors
    ///
    /// If it cannot be read. A block that does not exist may be an error of the kind
    /// [`Unavailable`](crate::ErrorKind::Unavailable).
    fn block_time(&self, block: u64) -> Result<Option<u64>> {
        let _ = block;
        Ok(None)
    }

    /// The blocks between the first and the last that have a time. The default is all.
    fn timed_range(&self) -> Result<BlockRange> {
        self.default_range()
    }

    /// The first block with a time that is not before this one, in seconds since 1970. Only of a
    /// backend in which some blocks have none, such as tables of transfers.
    fn first_timed_at(&self, seconds: u64) -> Result<Option<u64>> {
        let _ = seconds;
        Ok(None)
    }

    /// The first block at or after a time, in seconds since 1970, if the backend finds it in
    /// another way than by the times of single blocks. The default is `None`.
    fn block_at(&self, seconds: u64) -> Option<Result<u64>> {
        let _ = seconds;
        None
    }

    /// Returns what answers queries with this filter.
    fn transfers(&self, filter: &TransferFilter) -> Result<Box<dyn TransferSource + Sync + '_>>;

    /// Measures all transfers of a request where they are stored. The default is `None`: they are
    /// read and measured here.
    fn measure(
        &self,
        request: &ScanRequest,
        settings: &MeasureSettings,
    ) -> Option<Result<Measured>> {
        let _ = (request, settings);
        None
    }

    /// Whether it has transfers inside of transactions without a replay.
    fn has_internal(&self) -> bool {
        false
    }

    /// Why the source has no transfers inside of transactions and what would add them, if it is more
    /// than that it cannot replay.
    fn why_no_internal(&self) -> Option<String> {
        None
    }

    /// Calls `work` once with what a lake is made from, and with transfers inside of transactions
    /// if `internal`. Only sources with [`Capability::Lake`](crate::Capability::Lake) implement it.
    #[cfg(feature = "lake")]
    fn with_build_source(&self, internal: bool, work: &mut BuildSourceFn<'_>) -> Result<()> {
        let _ = (internal, work);
        Ok(())
    }

    /// Directories and files into which nothing is written. Default: none.
    fn protected_paths(&self) -> ProtectedPaths {
        ProtectedPaths::default()
    }
}
