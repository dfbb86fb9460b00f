//! Streams transfers to a file.

use crate::{Metadata, Result, TableFormat, Target, TransferTableOptions, Written};
use txgraph_transfers::Transfer;

/// Writes transfers as they come, with bounded memory. Dropped without
/// [`Self::finish`], it leaves no file.
pub struct TransferWriter {}

impl TransferWriter {
    /// Opens the target. Fails at once if it could not be finished: an existing
    /// file without `overwrite`, a missing folder.
    pub fn new(
        _format: TableFormat,
        _options: &TransferTableOptions,
        _target: &Target,
        _overwrite: bool,
    ) -> Result<Self> {
        todo!()
    }

    /// Appends transfers.
    pub fn write(&mut self, _transfers: &[Transfer]) -> Result<()> {
        todo!()
    }

    /// Writes what remains, and gives the file its name.
    pub fn finish(self, _metadata: &Metadata) -> Result<Written> {
        todo!()
    }
}
