//! Approvals as a table, and in files.

use super::{Approval, Approvals, OpenApprovals};
use crate::{AnalysisOutput, Result, query::analyze::write_table};
use serde_json::json;
use txgraph_analysis::{ColumnType, Table};
use txgraph_export::Written;
use txgraph_graph::widen;

/// The table of approvals.
pub(super) fn table(query: &Approvals<'_>, block: u64, approvals: &[Approval]) -> Table {
    use ColumnType::{Address, Amount, Bool, Hash, Text, U64};
    Table::of(
        "approvals",
        format!(
            "{} of {} that are open at the end of block {block}",
            match query.only_unlimited {
                true => "Unlimited approvals",
                false => "Approvals",
            },
            query.address
        ),
        approvals,
        &[
            ("kind", Text, |it: &Approval| it.kind.as_str().into()),
            ("owner", Address, |it| it.owner.into()),
            ("spender", Address, |it| it.spender.into()),
            ("token_address", Address, |it| it.token.into()),
            ("token_id", Text, |it| {
                it.token_id.map(|id| id.to_string()).into()
            }),
            ("unlimited", Bool, |it| it.is_unlimited().into()),
            ("amount", Amount, |it| {
                let amount = it.amount.filter(|_| !it.is_unlimited());
                amount.map(widen).into()
            }),
            ("at_risk", Amount, |it| it.at_risk().map(widen).into()),
            ("expires_timestamp", U64, |it| it.expires.into()),
            ("last_timestamp", U64, |it| it.last.1.into()),
            ("last_block", U64, |it| it.last.0.into()),
            ("transaction_hash", Hash, |it| it.last.2.into()),
        ],
    )
}

impl Approvals<'_> {
    /// Refuses outputs that cannot be written, before anything is read.
    ///
    /// # Errors
    ///
    /// If a file exists or cannot be written.
    pub fn check(&self, outputs: &[AnalysisOutput]) -> Result<()> {
        self.source.check_outputs(outputs)
    }
}

impl OpenApprovals<'_> {
    /// Writes the approvals to each output, except as human-readable tables: those the caller draws.
    /// Returns the files in order of the outputs.
    ///
    /// # Errors
    ///
    /// If an output cannot be written.
    pub fn write(&self, outputs: &[AnalysisOutput]) -> Result<Vec<Written>> {
        let about = (self.description).metadata_of_state(self.source, self.blocks)?;
        let fields = [
            ("address", self.description.options["address"].clone()),
            ("notes", json!(self.notes)),
        ];
        write_table(self.source, outputs, &about, &fields, &self.table)
    }
}
