//! Column names of transfers. `docs/schemas.md` has the sources of the names of other tools,
//! and where their meaning differs.

use crate::{
    Column, ColumnType, ColumnWord, Schema,
    fields::{COUNT, FIELDS},
};
use txgraph_base::string_enum;
use txgraph_transfers::TokenStandard;

/// The number of columns of a transfer: its fields, and the chain.
pub(crate) const WIDTH: usize = COUNT + 1;

/// The last column of transfers that are edges of a graph.
pub(crate) const HOP: &str = "hop";

// The positions of columns.
pub(crate) const BLOCK_NUMBER: usize = 0;
pub(crate) const TIMESTAMP: usize = 1;
pub(crate) const TRANSACTION_INDEX: usize = 2;
pub(crate) const LOG_INDEX: usize = 3;
pub(crate) const TRANSACTION_HASH: usize = 5;
pub(crate) const TOKEN_ADDRESS: usize = 6;
pub(crate) const FROM_ADDRESS: usize = 7;
pub(crate) const TO_ADDRESS: usize = 8;
pub(crate) const VALUE: usize = 9;
pub(crate) const TOKEN_ID: usize = 10;
pub(crate) const TOKEN_STANDARD: usize = 11;
pub(crate) const KIND: usize = 12;
pub(crate) const CHAIN_ID: usize = 13;

const TXGRAPH: [&str; WIDTH] = {
    let mut names = ["chain_id"; WIDTH];
    let mut at = 0;
    while at < COUNT {
        names[at] = FIELDS[at].name;
        at += 1;
    }
    names
};

/// The names in cryo's datasets `erc20_transfers`, `erc721_transfers` and `native_transfers`
/// (their contract column is `erc20`), and `timestamp` of its `blocks`.
const CRYO: [&str; WIDTH] = {
    let mut names = TXGRAPH;
    names[TIMESTAMP] = "timestamp";
    names[TOKEN_ADDRESS] = "erc20";
    names
};

string_enum! {
    /// A column of vertices that is written on request. JSON, GraphML and GEXF have all of them; the
    /// columns of labels only if there are files of labels.
    pub(crate) enum VertexField: "column of vertices" {
        IsContract = "is_contract",
        EndReason = "end_reason",
        Category = "category",
        LabelSource = "label_source",
    }
}

/// Columns that are written on request only, and names of cryo.
const ON_REQUEST: [(&str, Field); 12] = [
    ("amount", Field::Amount),
    ("amount_f64", Field::RoundedAmount),
    ("symbol", Field::Symbol),
    ("decimals", Field::Decimals),
    ("from_label", Field::FromLabel),
    ("to_label", Field::ToLabel),
    ("transaction_from", Field::TransactionFrom),
    ("transaction_to", Field::TransactionTo),
    ("status", Field::Status),
    ("method", Field::Method),
    ("timestamp", Field::Schema(TIMESTAMP)),
    ("erc20", Field::Schema(TOKEN_ADDRESS)),
];

/// The names of all columns of transfers that can be chosen.
pub fn column_names() -> impl Iterator<Item = &'static str> {
    Field::names()
}

/// The content of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    /// The field of the schema at this position.
    Schema(usize),
    /// The value, or the id of an ERC-721 token, in decimal.
    ValueOrId,
    Hop,
    Amount,
    /// The amount as the nearest double.
    RoundedAmount,
    Symbol,
    Decimals,
    FromLabel,
    ToLabel,
    TransactionFrom,
    TransactionTo,
    /// 1 or 0, as in receipts (EIP-658).
    Status,
    Method,
}

impl Field {
    /// All columns that can be chosen, with their names.
    fn all() -> impl Iterator<Item = (&'static str, Self)> {
        let schema = Schema::Txgraph.base().into_iter().enumerate();
        let schema = schema.map(|(at, name)| (name, Self::Schema(at)));
        schema.chain([(HOP, Self::Hop)]).chain(ON_REQUEST)
    }

    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        Self::all().map(|(name, _)| name)
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::all().find_map(|(known, field)| (known == name).then_some(field))
    }

    /// The type of its values. A number of 256 bits is an amount, which has columns of other types.
    pub(crate) const fn column_type(self) -> ColumnType {
        match self {
            Self::Schema(CHAIN_ID) => ColumnType::U64,
            Self::Schema(at) => FIELDS[at].get.column_type(),
            Self::Hop | Self::Decimals | Self::Status => ColumnType::U32,
            Self::RoundedAmount => ColumnType::F64,
            Self::TransactionFrom | Self::TransactionTo => ColumnType::Address,
            _ => ColumnType::Text,
        }
    }
}

impl Schema {
    /// The names without the suffixes for types of 256-bit numbers.
    pub(crate) const fn base(self) -> [&'static str; WIDTH] {
        match self {
            // The same as in ethereum-etl's `token_transfers` and `transactions`.
            Self::Txgraph | Self::Etl => TXGRAPH,
            Self::Cryo => CRYO,
        }
    }

    /// Returns the columns of a transfer in CSV and JSONL, in order. Numbers of 256 bits are
    /// decimal; cryo calls such columns `…_string`.
    pub(crate) const fn text_columns(self) -> [&'static str; WIDTH] {
        let mut names = self.base();
        if let Self::Cryo = self {
            names[VALUE] = "value_string";
            names[TOKEN_ID] = "token_id_string";
        }
        names
    }

    /// The columns of the table of the schema's tool for transfers of these standards, by position
    /// and in its own order, if it has such a table. cryo has one for each standard. ethereum-etl
    /// has one for ERC-20 and ERC-721, whose `value` is the id of an ERC-721 token.
    ///
    /// Sources: cryo 0.3.2, `crates/freeze/src/datasets/erc20_transfers.rs` and
    /// `erc721_transfers.rs`; ethereum-etl 2.4,
    /// `ethereumetl/jobs/exporters/token_transfers_item_exporter.py`.
    pub(crate) fn exact_table(self, standards: &[TokenStandard]) -> Option<&'static [usize]> {
        use TokenStandard::{Erc20, Erc721};
        const fn cryo(number: usize) -> [usize; 9] {
            [
                BLOCK_NUMBER,
                TRANSACTION_INDEX,
                LOG_INDEX,
                TRANSACTION_HASH,
                TOKEN_ADDRESS,
                FROM_ADDRESS,
                TO_ADDRESS,
                number,
                CHAIN_ID,
            ]
        }
        match (self, standards) {
            (Self::Cryo, [Erc20]) => Some(&const { cryo(VALUE) }),
            (Self::Cryo, [Erc721]) => Some(&const { cryo(TOKEN_ID) }),
            (Self::Etl, [_, ..]) if standards.iter().all(|it| matches!(it, Erc20 | Erc721)) => {
                Some(&[
                    TOKEN_ADDRESS,
                    FROM_ADDRESS,
                    TO_ADDRESS,
                    VALUE,
                    TRANSACTION_HASH,
                    LOG_INDEX,
                    BLOCK_NUMBER,
                ])
            }
            _ => None,
        }
    }

    /// The columns for values of a type: one, but 256-bit numbers have one for each of the words
    /// for them in `types`, else in `usual`. cryo's names of these always end with the word. So do
    /// the others, unless there is one; ethereum-etl's plain name has the decimal text.
    pub(crate) fn columns(
        self,
        Column { name, column_type }: Column,
        types: &[ColumnWord],
        usual: &[ColumnWord],
    ) -> Vec<Column> {
        match column_type {
            ColumnType::Amount => {}
            ColumnType::Address | ColumnType::Hash if types.contains(&ColumnWord::Hex) => {
                return vec![Column::new(name, ColumnType::Text)];
            }
            _ => return vec![Column::new(name, column_type)],
        }
        let is_named = types.iter().any(|word| word.number().is_some());
        let words = if is_named { types } else { usual };
        let numbers = words
            .iter()
            .filter_map(|word| Some((*word, word.number()?)));
        let is_one = numbers.clone().count() == 1;
        let columns = numbers.map(|(word, column_type)| {
            let is_plain = match self {
                Self::Txgraph => is_one,
                Self::Cryo => false,
                Self::Etl => word == ColumnWord::String,
            };
            match is_plain {
                true => Column::new(&*name, column_type),
                false => Column::new(format!("{name}_{word}"), column_type),
            }
        });
        columns.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TableFormat, TransferTableOptions};

    #[test]
    fn each_schema_has_its_names() {
        for (position, name) in [
            (TIMESTAMP, "block_timestamp"),
            (TRANSACTION_HASH, "transaction_hash"),
            (TOKEN_ADDRESS, "token_address"),
            (FROM_ADDRESS, "from_address"),
            (TO_ADDRESS, "to_address"),
            (VALUE, "value"),
            (TOKEN_ID, "token_id"),
            (TOKEN_STANDARD, "token_standard"),
        ] {
            assert_eq!(TXGRAPH[position], name);
        }
        let names = |list: &str| {
            let mut options = TransferTableOptions::new(1);
            options.columns = list
                .split_terminator(',')
                .map(|it| it.parse().unwrap())
                .collect();
            options.names(TableFormat::Parquet).unwrap()
        };
        assert_eq!(
            names("").join(","),
            "block_number,block_timestamp,transaction_index,log_index,sub_index,\
             transaction_hash,token_address,from_address,to_address,value_binary,value_string,\
             value_f64,token_id_binary,token_id_string,token_id_f64,token_standard,kind,chain_id"
        );
        assert_eq!(names("all:string"), TXGRAPH);
        assert_eq!(names("etl:string"), TXGRAPH);
        let columns = names("etl:f64+string");
        assert_eq!(columns[VALUE..VALUE + 2], ["value_f64", "value"]);
        assert_eq!(names("cryo:string"), Schema::Cryo.text_columns());
        assert_eq!(Schema::Cryo.text_columns()[6], "erc20");
    }

    #[test]
    fn an_exact_table_depends_on_the_standards() {
        use TokenStandard::{Erc20, Erc721, Erc1155, Native};
        // The column of a number, and the first column.
        let (cryo, etl) = (
            |number| Some((7, number, BLOCK_NUMBER)),
            Some((3, VALUE, TOKEN_ADDRESS)),
        );
        for (schema, standards, table) in [
            (Schema::Cryo, &[Erc20][..], cryo(VALUE)),
            (Schema::Cryo, &[Erc721], cryo(TOKEN_ID)),
            (Schema::Cryo, &[Erc20, Erc721], None),
            (Schema::Cryo, &[Native], None),
            (Schema::Cryo, &[], None),
            (Schema::Etl, &[Erc721, Erc20], etl),
            (Schema::Etl, &[Erc20, Erc1155], None),
            (Schema::Etl, &[], None),
            (Schema::Txgraph, &[Erc20], None),
        ] {
            let found = schema.exact_table(standards).map(|columns| {
                let mut places = columns.iter();
                let number = places
                    .position(|at| matches!(*at, VALUE | TOKEN_ID))
                    .unwrap();
                (number, columns[number], columns[0])
            });
            assert_eq!(found, table, "{schema:?} {standards:?}");
        }
    }
}
