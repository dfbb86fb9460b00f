//! Patterns as tables.

use super::finding::Patterns;
use crate::{ColumnType, MeasureResult, Table, table::transaction_name};
use txgraph_base::number;
use txgraph_graph::widen;

impl MeasureResult for Patterns {
    fn tables(&self) -> Vec<Table> {
        vec![self.findings(), self.evidence(), self.rules()]
    }
}

impl Patterns {
    fn findings(&self) -> Table {
        use ColumnType::{Address, Amount, Text, U64};
        let found: u64 = self.rules.iter().filter_map(|rule| rule.found).sum();
        let listed = self.findings.len() as u64;
        let mut title = match listed == found {
            true => format!("Patterns: {found} found"),
            false => format!("Patterns: {found} found, {listed} of them listed"),
        };
        title += ", hints by fixed rules";
        if self.hubs > 0 {
            title += &format!("; not passed: {}", number(self.hubs, "hub", "hubs"));
        }
        for rule in self.rules.iter().filter(|rule| rule.found.is_none()) {
            let why = rule.not_asked.as_deref().unwrap_or("not asked");
            title += &format!("; {} not looked for: {why}", rule.pattern);
        }
        Table::of(
            "patterns",
            title,
            &self.findings,
            &[
                ("pattern", Text, |it| it.pattern.as_str().into()),
                ("number", U64, |it| it.number.into()),
                ("address", Address, |it| it.address.into()),
                ("other_address", Address, |it| it.other_address.into()),
                ("token_address", Address, |it| it.token_address.into()),
                ("token_standard", Text, |it| it.token_standard.into()),
                ("amount", Amount, |it| it.amount.into()),
                ("transfers", U64, |it| it.evidence.len().into()),
                ("note", Text, |it| it.note.clone().into()),
                ("addresses", U64, |it| it.addresses.into()),
                ("first_block", U64, |it| it.first_block.into()),
                ("last_block", U64, |it| it.last_block.into()),
            ],
        )
    }

    fn evidence(&self) -> Table {
        use ColumnType::{Address, Amount, Hash, Text, U32, U64};
        let rows = self.findings.iter();
        let rows = rows.flat_map(|finding| {
            let all = finding.approvals.iter().chain(&finding.evidence);
            all.map(move |it| (finding, it))
        });
        Table::of(
            "evidence",
            "Transfers and approvals of the patterns",
            rows,
            &[
                ("pattern", Text, |(of, _)| of.pattern.as_str().into()),
                ("number", U64, |(of, _)| of.number.into()),
                ("role", Text, |(_, it)| it.role.into()),
                ("transaction", Text, |(_, it)| {
                    let transfer = &it.transfer;
                    transaction_name(transfer.block_number, transfer.transaction_index).into()
                }),
                ("from_address", Address, |(_, it)| {
                    it.transfer.from_address.into()
                }),
                ("to_address", Address, |(_, it)| {
                    it.transfer.to_address.into()
                }),
                ("value", Amount, |(_, it)| widen(it.transfer.value).into()),
                ("token_address", Address, |(_, it)| {
                    it.transfer.token_address.into()
                }),
                ("token_standard", Text, |(_, it)| {
                    it.transfer.token_standard.into()
                }),
                ("log_index", U32, |(_, it)| it.transfer.log_index.into()),
                ("sub_index", U32, |(_, it)| it.transfer.sub_index.into()),
                ("block_timestamp", U64, |(_, it)| {
                    let time = it.transfer.block_timestamp;
                    time.map(|time| time.seconds()).into()
                }),
                ("transaction_hash", Hash, |(_, it)| {
                    it.transfer.transaction_hash.into()
                }),
            ],
        )
    }

    fn rules(&self) -> Table {
        use ColumnType::{Text, U64};
        Table::of(
            "rules",
            "Rules of the patterns",
            &self.rules,
            &[
                ("pattern", Text, |it| it.pattern.as_str().into()),
                ("found", U64, |it| it.found.into()),
                ("rule", Text, |it| it.rule.clone().into()),
                ("not_asked", Text, |it| it.not_asked.clone().into()),
            ],
        )
    }
}
