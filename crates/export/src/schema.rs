//! Column names of transfers. `docs/schemas.md` has the sources of the names of other tools,
//! and where their meaning differs.

use crate::{
    ColumnType, Schema, TransferTableOptions, U256Type,
    fields::{COUNT, FIELDS},
};

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

/// Those of cryo's datasets `erc20_transfers`, `erc721_transfers` and `native_transfers`
/// (their contract column is `erc20`), and `timestamp` of its `blocks`.
const CRYO: [&str; WIDTH] = {
    let mut names = TXGRAPH;
    names[TIMESTAMP] = "timestamp";
    names[TOKEN_ADDRESS] = "erc20";
    names
};

/// The type of the column of a 256-bit number with this type.
pub(crate) const fn number_type(kind: U256Type) -> ColumnType {
    match kind {
        // 32 bytes.
        U256Type::Binary => ColumnType::Hash,
        U256Type::String => ColumnType::Text,
        U256Type::F64 => ColumnType::F64,
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
    pub const fn text_columns(self) -> [&'static str; WIDTH] {
        let mut names = self.base();
        if let Self::Cryo = self {
            names[VALUE] = "value_string";
            names[TOKEN_ID] = "token_id_string";
        }
        names
    }
}

impl TransferTableOptions {
    /// Returns the columns of a transfer in Parquet and Arrow IPC, in order. A 256-bit number
    /// has one for each type of [`Self::u256`].
    pub fn binary_columns(&self) -> Vec<String> {
        let mut names = Vec::with_capacity(WIDTH + 2 * self.u256.len());
        for (i, name) in self.schema.base().into_iter().enumerate() {
            if matches!(i, VALUE | TOKEN_ID) {
                names.extend(self.u256_columns(name).map(|(name, _)| name));
            } else {
                names.push(name.to_owned());
            }
        }
        names
    }

    /// Returns the columns of one 256-bit number.
    pub(crate) fn u256_columns(&self, name: &str) -> impl Iterator<Item = (String, U256Type)> {
        let plain = |u256_type: U256Type| match self.schema {
            Schema::Txgraph => self.u256.len() == 1,
            Schema::Cryo => false,
            Schema::Etl => u256_type == U256Type::String,
        };
        self.u256.iter().map(move |&u256_type| {
            let name = if plain(u256_type) {
                name.to_owned()
            } else {
                format!("{name}_{u256_type}")
            };
            (name, u256_type)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let mut options = TransferTableOptions::new(1);
        assert_eq!(
            options.binary_columns().join(","),
            "block_number,block_timestamp,transaction_index,log_index,sub_index,\
             transaction_hash,token_address,from_address,to_address,value_binary,value_string,\
             value_f64,token_id_binary,token_id_string,token_id_f64,token_standard,kind,chain_id"
        );
        options.u256 = vec![U256Type::String];
        assert_eq!(options.binary_columns(), TXGRAPH);
        options.schema = Schema::Etl;
        assert_eq!(options.binary_columns(), TXGRAPH);
        options.u256 = vec![U256Type::F64, U256Type::String];
        let columns = options.u256_columns("value").map(|(name, _)| name);
        assert_eq!(columns.collect::<Vec<_>>(), ["value_f64", "value"]);
        options.schema = Schema::Cryo;
        options.u256 = vec![U256Type::String];
        assert_eq!(options.binary_columns(), Schema::Cryo.text_columns());
        assert_eq!(Schema::Cryo.text_columns()[6], "erc20");
    }
}
