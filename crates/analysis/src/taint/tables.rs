//! Taint as tables, and as JSON.

use super::{Taint, TaintMethod, TaintRow};
use crate::{ColumnType, MeasureResult, Table, Value, ratio::share};
use serde::{Serialize, Serializer, ser::SerializeStruct};
use txgraph_graph::{AmountSum, widen};
use txgraph_transfers::{Fields, Transfer};

/// `block:transaction`, which commands accept.
fn transaction(transfer: &Transfer) -> String {
    format!("{}:{}", transfer.block_number, transfer.transaction_index)
}

fn hash(transfer: &Transfer) -> Value<'static> {
    let hash = transfer.transaction_hash.map(|hash| hash.to_string());
    hash.into()
}

impl Taint {
    /// Where the tokens are, with the share of each address.
    fn ends(&self) -> Table {
        use ColumnType::{Address, Amount, F64, Text, U64};
        let mut table = Table::new(
            "ends",
            self.title(),
            &[
                ("address", Address),
                ("token_address", Address),
                ("token_standard", Text),
                ("token_id", Text),
                ("amount", Amount),
                ("share", F64),
                ("end", Text),
                ("hop", U64),
                ("transfers", U64),
                ("first_block", U64),
                ("last_block", U64),
            ],
        );
        for of in self.ends.chunk_by(|a, b| {
            (a.token_address, a.token_standard) == (b.token_address, b.token_standard)
        }) {
            let total: AmountSum = of.iter().map(|end| end.amount).sum();
            for end in of {
                table.push(vec![
                    end.address.into(),
                    end.token_address.into(),
                    end.token_standard.as_str().into(),
                    end.token_id.map(|id| id.to_string()).into(),
                    end.amount.into(),
                    share(end.amount, total).into(),
                    end.end.as_str().into(),
                    end.hop.into(),
                    end.transfers.into(),
                    end.first_block.into(),
                    end.last_block.into(),
                ]);
            }
        }
        table
    }

    /// The meaning of the amounts, and the unknown parts.
    fn title(&self) -> String {
        let mut title = match self.method {
            TaintMethod::Poison => {
                "Where tokens can have gone (poison: upper bounds, which overlap)".to_owned()
            }
            method => format!("Where the tokens are ({})", method.as_str()),
        };
        for (count, what) in [
            (self.unknown_balances, "balances that are not known"),
            (
                self.unexplained,
                "transfers of more than is known to have been there",
            ),
        ] {
            if count > 0 {
                title += &format!("; {what}: {count}");
            }
        }
        title
    }

    /// The transfers of the roots.
    fn sources(&self) -> Table {
        use ColumnType::{Address, Amount, Text, U64};
        let mut table = Table::new(
            "sources",
            "Transfers of the roots",
            &[
                ("source", U64),
                ("transaction", Text),
                ("token_address", Address),
                ("token_standard", Text),
                ("from_address", Address),
                ("to_address", Address),
                ("amount", Amount),
                ("transaction_hash", Text),
            ],
        );
        for (number, transfer) in (1u64..).zip(&self.sources) {
            table.push(vec![
                number.into(),
                transaction(transfer).into(),
                transfer.token_address.into(),
                transfer.token_standard.as_str().into(),
                transfer.from_address.into(),
                transfer.to_address.into(),
                widen(transfer.value).into(),
                hash(transfer),
            ]);
        }
        table
    }

    /// Every tainted part of every transfer.
    fn ledger(&self) -> Table {
        use ColumnType::{Address, Amount, Text, U64};
        let mut table = Table::new(
            "ledger",
            "Tainted parts of transfers",
            &[
                ("block_number", U64),
                ("block_timestamp", U64),
                ("transaction_index", U64),
                ("log_index", U64),
                ("sub_index", U64),
                ("transaction_hash", Text),
                ("token_address", Address),
                ("token_standard", Text),
                ("token_id", Text),
                ("from_address", Address),
                ("to_address", Address),
                ("value", Amount),
                ("source", U64),
                ("amount", Amount),
                ("hop", U64),
            ],
        );
        for row in &self.rows {
            let transfer = &row.transfer;
            table.push(vec![
                transfer.block_number.into(),
                transfer.block_timestamp.map(|time| time.seconds()).into(),
                transfer.transaction_index.into(),
                transfer.log_index.into(),
                transfer.sub_index.into(),
                hash(transfer),
                transfer.token_address.into(),
                transfer.token_standard.as_str().into(),
                transfer.token_id.map(|id| id.to_string()).into(),
                transfer.from_address.into(),
                transfer.to_address.into(),
                widen(transfer.value).into(),
                (row.source + 1).into(),
                widen(row.amount).into(),
                row.hop.into(),
            ]);
        }
        table
    }
}

impl MeasureResult for Taint {
    fn tables(&self) -> Vec<Table> {
        vec![self.ends(), self.sources(), self.ledger()]
    }
}

/// The fields of a transfer in JSON.
const FIELDS: [&str; 12] = [
    "block_number",
    "block_timestamp",
    "transaction_index",
    "log_index",
    "sub_index",
    "transaction_hash",
    "token_address",
    "token_standard",
    "token_id",
    "from_address",
    "to_address",
    "value",
];

/// A transfer in JSON. Those without an id do not have the field.
struct TransferJson<'a>(&'a Transfer);

impl Serialize for TransferJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let has_id = self.0.token_id.is_some();
        let names = FIELDS.into_iter();
        let names: Vec<_> = names.filter(|name| has_id || *name != "token_id").collect();
        Fields(self.0, &names).serialize(serializer)
    }
}

/// A row of the ledger in JSON.
#[derive(Serialize)]
struct RowJson<'a> {
    #[serde(flatten)]
    transfer: TransferJson<'a>,
    source: usize,
    amount: String,
    hop: u32,
}

impl<'a> From<&'a TaintRow> for RowJson<'a> {
    fn from(row: &'a TaintRow) -> Self {
        Self {
            transfer: TransferJson(&row.transfer),
            source: row.source + 1,
            amount: row.amount.to_string(),
            hop: row.hop,
        }
    }
}

impl Serialize for Taint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let sources: Vec<_> = self.sources.iter().map(TransferJson).collect();
        let ledger: Vec<RowJson<'_>> = self.rows.iter().map(Into::into).collect();
        let mut json = serializer.serialize_struct("Taint", 6)?;
        json.serialize_field("method", &self.method)?;
        json.serialize_field("unexplained", &self.unexplained)?;
        json.serialize_field("unknown_balances", &self.unknown_balances)?;
        json.serialize_field("ends", &self.ends)?;
        json.serialize_field("sources", &sources)?;
        json.serialize_field("ledger", &ledger)?;
        json.end()
    }
}
