//! Fields of a transfer, for JSON.

use crate::{BlockTime, Transfer};
use serde::{
    Serialize, Serializer,
    ser::{Error, SerializeMap},
};

/// Some fields of a transfer, in this order, by the names of the schema. Amounts and ids are text:
/// readers of JSON keep 53 bits of a number.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a>(pub &'a Transfer, pub &'a [&'static str]);

const PLACED: [&str; 13] = [
    "log_index",
    "sub_index",
    "token_address",
    "from_address",
    "to_address",
    "value",
    "token_id",
    "token_standard",
    "kind",
    "block_number",
    "block_timestamp",
    "transaction_index",
    "transaction_hash",
];

impl<'a> Fields<'a> {
    /// All fields: what moved, and then its place in the chain.
    pub const fn placed(transfer: &'a Transfer) -> Self {
        Self(transfer, &PLACED)
    }

    /// The fields of the movement, without the position of the transaction in the chain.
    pub const fn moved(transfer: &'a Transfer) -> Self {
        Self(transfer, PLACED.split_at(9).0)
    }
}

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(it, names) = self;
        let mut map = serializer.serialize_map(Some(names.len()))?;
        for name in *names {
            match *name {
                "block_number" => map.serialize_entry(name, &it.block_number),
                "block_timestamp" => {
                    map.serialize_entry(name, &it.block_timestamp.map(BlockTime::seconds))
                }
                "transaction_index" => map.serialize_entry(name, &it.transaction_index),
                "log_index" => map.serialize_entry(name, &it.log_index),
                "sub_index" => map.serialize_entry(name, &it.sub_index),
                "transaction_hash" => map.serialize_entry(name, &it.transaction_hash),
                "token_address" => map.serialize_entry(name, &it.token_address),
                "from_address" => map.serialize_entry(name, &it.from_address),
                "to_address" => map.serialize_entry(name, &it.to_address),
                "value" => map.serialize_entry(name, &it.value.to_string()),
                "token_id" => map.serialize_entry(name, &it.token_id.map(|id| id.to_string())),
                "token_standard" => map.serialize_entry(name, &it.token_standard),
                "kind" => map.serialize_entry(name, &it.kind),
                other => Err(S::Error::custom(format!("a transfer has no `{other}`"))),
            }?;
        }
        map.end()
    }
}
