//! The fields of a transfer: the one list from which tables get names, order, types and values.
//!
//! CSV and JSONL of the plain table format the fields themselves, for speed; tests compare.

use crate::{ColumnType, Value};
use alloy_primitives::{Address, B256, U256};
use txgraph_transfers::{BlockTime, Transfer};

/// Reads a field; `None` if it is absent.
#[derive(Clone, Copy)]
pub(crate) enum Get {
    U32(fn(&Transfer) -> Option<u32>),
    U64(fn(&Transfer) -> Option<u64>),
    /// Seconds since 1970.
    Time(fn(&Transfer) -> Option<u64>),
    Address(fn(&Transfer) -> Option<&Address>),
    Hash(fn(&Transfer) -> Option<&B256>),
    Amount(fn(&Transfer) -> Option<&U256>),
    /// One of a few words.
    Word(fn(&Transfer) -> &'static str),
}

impl Get {
    pub(crate) const fn column_type(self) -> ColumnType {
        match self {
            Self::U32(_) => ColumnType::U32,
            Self::U64(_) | Self::Time(_) => ColumnType::U64,
            Self::Address(_) => ColumnType::Address,
            Self::Hash(_) => ColumnType::Hash,
            Self::Amount(_) => ColumnType::Amount,
            Self::Word(_) => ColumnType::Text,
        }
    }

    pub(crate) fn value(self, transfer: &Transfer) -> Value<'static> {
        match self {
            Self::U32(get) => get(transfer).into(),
            Self::U64(get) | Self::Time(get) => get(transfer).into(),
            Self::Address(get) => get(transfer).copied().into(),
            Self::Hash(get) => get(transfer).copied().into(),
            Self::Amount(get) => get(transfer).copied().into(),
            Self::Word(get) => get(transfer).into(),
        }
    }
}

pub(crate) struct TransferField {
    pub(crate) name: &'static str,
    /// Whether a transfer may lack it.
    pub(crate) is_optional: bool,
    pub(crate) get: Get,
}

const fn always(name: &'static str, get: Get) -> TransferField {
    TransferField {
        name,
        is_optional: false,
        get,
    }
}

const fn optional(name: &'static str, get: Get) -> TransferField {
    TransferField {
        name,
        is_optional: true,
        get,
    }
}

/// The number of fields.
pub(crate) const COUNT: usize = 13;

/// The fields, in the order of the schema.
pub(crate) const FIELDS: [TransferField; COUNT] = [
    always("block_number", Get::U64(|it| Some(it.block_number))),
    optional(
        "block_timestamp",
        Get::Time(|it| it.block_timestamp.map(BlockTime::seconds)),
    ),
    always(
        "transaction_index",
        Get::U32(|it| Some(it.transaction_index)),
    ),
    optional("log_index", Get::U32(|it| it.log_index)),
    always("sub_index", Get::U32(|it| Some(it.sub_index))),
    optional(
        "transaction_hash",
        Get::Hash(|it| it.transaction_hash.as_ref()),
    ),
    optional(
        "token_address",
        Get::Address(|it| it.token_address.as_ref()),
    ),
    always("from_address", Get::Address(|it| Some(&it.from_address))),
    always("to_address", Get::Address(|it| Some(&it.to_address))),
    always("value", Get::Amount(|it| Some(&it.value))),
    optional("token_id", Get::Amount(|it| it.token_id.as_ref())),
    always("token_standard", Get::Word(|it| it.token_standard.as_str())),
    always("kind", Get::Word(|it| it.kind.as_str())),
];
