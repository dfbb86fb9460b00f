//! A statement as tables, and in files.

use super::{AccountStatement, AssetBalance, Statement, StatementRow, accounting};
use crate::{
    AnalysisOutput, Error, Result,
    query::analyze::{Document, rows_as_json, write_document},
};
use alloy_primitives::{Address, U256};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use txgraph_analysis::{ColumnType, Table};
use txgraph_export::{Metadata, Written};
use txgraph_graph::{AmountSum, widen};
use txgraph_transfers::BlockRange;

/// The ids of the tables, the main one first.
pub(super) const TABLES: [&str; 2] = ["movements", "balances"];

/// The field of JSON with the proofs.
pub(super) const PROOFS: &str = "proofs";

/// The tables of a statement.
pub(super) fn tables(
    address: Address,
    blocks: BlockRange,
    rows: &[StatementRow],
    balances: &[AssetBalance],
) -> Vec<Table> {
    vec![
        movements(address, blocks, rows),
        self::balances(address, blocks, balances),
    ]
}

fn id(id: Option<U256>) -> Option<String> {
    id.map(|id| id.to_string())
}

/// The table of the rows.
pub(super) fn movements(address: Address, blocks: BlockRange, rows: &[StatementRow]) -> Table {
    use ColumnType::{Address, Amount, Hash, Text, U64};
    Table::of(
        TABLES[0],
        format!("Movements of {address} in blocks {blocks}"),
        rows,
        &[
            ("timestamp", U64, |row| row.timestamp.into()),
            ("block_number", U64, |row| row.block.into()),
            ("transaction_index", U64, |row| {
                row.transaction.map(|(index, _)| index).into()
            }),
            ("kind", Text, |row: &StatementRow| row.entry.as_str().into()),
            ("counterparty", Address, |row| row.counterparty.into()),
            ("received", Amount, |row| row.received.into()),
            ("sent", Amount, |row| row.sent.into()),
            ("balance", Amount, |row| row.balance.into()),
            ("token_address", Address, |row| {
                row.asset.token_address.into()
            }),
            ("token_standard", Text, |row| {
                row.asset.token_standard.into()
            }),
            ("token_id", Text, |row| id(row.token_id).into()),
            ("log_index", U64, |row| row.log_index.into()),
            ("transaction_hash", Hash, |row| {
                row.transaction.and_then(|(_, hash)| hash).into()
            }),
        ],
    )
}

/// The table of the sums.
fn balances(address: Address, blocks: BlockRange, balances: &[AssetBalance]) -> Table {
    use ColumnType::{Address, Amount, Text};
    type Balance<'a> = &'a AssetBalance;
    fn unless_zero(amount: AmountSum) -> Option<AmountSum> {
        Some(amount).filter(|amount| !amount.is_zero())
    }
    Table::of(
        TABLES[1],
        format!("Balances of {address} before and after blocks {blocks}"),
        balances,
        &[
            ("token_address", Address, |it: Balance<'_>| {
                it.asset.token_address.into()
            }),
            ("token_standard", Text, |it| it.asset.token_standard.into()),
            ("token_id", Text, |it| id(it.token_id).into()),
            ("opening", Amount, |it| it.opening.map(widen).into()),
            ("received", Amount, |it| it.received.into()),
            ("sent", Amount, |it| it.sent.into()),
            ("unexplained_received", Amount, |it| {
                unless_zero(it.unexplained_received).into()
            }),
            ("unexplained_sent", Amount, |it| {
                unless_zero(it.unexplained_sent).into()
            }),
            ("closing", Amount, |it| it.closing.map(widen).into()),
        ],
    )
}

impl Statement<'_> {
    /// Refuses outputs that cannot be written, before anything is read.
    ///
    /// # Errors
    ///
    /// If a file exists or cannot be written, or there is no such table.
    pub fn check(&self, outputs: &[AnalysisOutput]) -> Result<()> {
        let mut tables = outputs.iter().filter_map(|output| output.table.as_deref());
        let is_known = |name: &str| TABLES.contains(&name) || accounting::TABLES.contains(&name);
        if let Some(unknown) = tables.find(|name| !is_known(name)) {
            return Err(no_table(unknown));
        }
        self.source.check_outputs(outputs)
    }
}

fn no_table(name: &str) -> Error {
    let known = [TABLES, accounting::TABLES].concat().join(", ");
    Error::usage(format!("a statement has no table `{name}`; one of {known}"))
}

impl AccountStatement<'_> {
    /// Writes the statement to each output, except as human-readable tables: those the caller draws.
    /// Returns the files in order of the outputs.
    ///
    /// # Errors
    ///
    /// If an output cannot be written, or there is no such table.
    pub fn write(&self, outputs: &[AnalysisOutput]) -> Result<Vec<Written>> {
        let about = self.metadata()?;
        let document = Document {
            metadata: &about,
            fields: &|| self.fields(),
            table: &|name| self.table(name).map(Cow::Borrowed),
        };
        write_document(self.source, outputs, &document)
    }

    /// The query, the chain, and what was read.
    ///
    /// # Errors
    ///
    /// If the chain of the source cannot be read.
    pub fn metadata(&self) -> Result<Metadata> {
        let chain = self.source.chain()?;
        Ok((self.description).metadata(chain, &self.blocks.into(), &self.scan))
    }

    /// A table by its id; without one, the movements.
    ///
    /// # Errors
    ///
    /// If there is no such table.
    pub fn table(&self, name: Option<&str>) -> Result<&Table> {
        let name = name.unwrap_or(TABLES[0]);
        let found = self.tables.iter().find(|table| table.id == name);
        found.ok_or_else(|| no_table(name))
    }

    /// The statement for JSON: the rows of each table by name.
    pub(super) fn fields(&self) -> Map<String, Value> {
        let mut fields = Map::new();
        fields.insert("address".into(), json!(self.address));
        fields.insert("notes".into(), json!(self.notes));
        for table in self
            .tables
            .iter()
            .filter(|table| TABLES.contains(&table.id))
            .rev()
        {
            fields.insert(table.id.into(), rows_as_json(table));
        }
        fields.extend(self.proofs.iter().map(|it| (PROOFS.into(), json!(it))));
        fields
    }
}
