//! The history of a slot as a table, and in files.

use super::{SlotChange, SlotChanges, SlotHistory};
use crate::{
    AnalysisOutput, Result,
    query::{analyze::write_table, query_metadata::Description},
};
use alloy_primitives::{Address, B256, U256};
use serde_json::json;
use txgraph_analysis::{ColumnType, Table};
use txgraph_export::Written;
use txgraph_transfers::BlockRange;

/// The table of changes.
pub(super) fn table(
    address: Address,
    slot: U256,
    blocks: BlockRange,
    changes: &[SlotChange],
) -> Table {
    use ColumnType::{Bool, Hash, U64};
    Table::of(
        "changes",
        format!("Changes of slot {slot:#x} of {address} in blocks {blocks}"),
        changes,
        &[
            ("block_number", U64, |it: &SlotChange| it.block.into()),
            ("timestamp", U64, |it| it.timestamp.into()),
            ("value_before", Hash, |it| B256::from(it.before).into()),
            ("value_after", Hash, |it| B256::from(it.after).into()),
            ("unsure", Bool, |it| {
                it.caveat.is_some().then_some(true).into()
            }),
        ],
    )
}

/// The query for the metadata of the result.
pub(super) fn description(address: Address, slot: U256, blocks: BlockRange) -> Description {
    let description = Description::of_account("storage", address, blocks, Some("history"));
    description.with("slot", json!(B256::from(slot)))
}

impl SlotHistory<'_> {
    /// Refuses outputs that cannot be written, before anything is read.
    ///
    /// # Errors
    ///
    /// If a file exists or cannot be written.
    pub fn check(&self, outputs: &[AnalysisOutput]) -> Result<()> {
        self.source.check_outputs(outputs)
    }
}

impl SlotChanges<'_> {
    /// Writes the changes to each output, except as human-readable tables: those the caller draws.
    /// Returns the files in order of the outputs.
    ///
    /// # Errors
    ///
    /// If an output cannot be written.
    pub fn write(&self, outputs: &[AnalysisOutput]) -> Result<Vec<Written>> {
        let about = (self.description).metadata_of_state(self.source, self.blocks)?;
        let fields = [
            ("address", json!(self.address)),
            ("slot", json!(B256::from(self.slot))),
            ("value_before", json!(B256::from(self.opening.value))),
            ("notes", json!(self.notes)),
        ];
        write_table(self.source, outputs, &about, &fields, &self.table)
    }
}
