//! Transfers in JSON.

use serde::{Serialize, Serializer};
use txgraph_transfers::{Fields, Transfer};

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
pub(crate) struct TransferJson<'a>(pub(crate) &'a Transfer);

impl Serialize for TransferJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let has_id = self.0.token_id.is_some();
        let names = FIELDS.into_iter();
        let names: Vec<_> = names.filter(|name| has_id || *name != "token_id").collect();
        Fields(self.0, &names).serialize(serializer)
    }
}

/// Serializes a field that is a transfer.
pub(crate) fn transfer<S: Serializer>(it: &Transfer, serializer: S) -> Result<S::Ok, S::Error> {
    TransferJson(it).serialize(serializer)
}
