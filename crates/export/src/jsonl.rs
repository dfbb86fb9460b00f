//! One JSON object per line. Hand-written for speed: no allocation per row;
//! tests hold it to `serde_json`.

use crate::{
    Result, Schema,
    csv::{push_hex, push_integer},
    decimal::push_decimal,
    schema::{HOP, WIDTH},
};
use txgraph_transfers::Transfer;

/// What stands before each value of a transfer: `,"name":`.
pub(crate) struct Keys([String; WIDTH]);

impl Keys {
    pub(crate) fn new(schema: Schema) -> Self {
        let mut first = true;
        Self(schema.text_columns().map(|name| {
            let before = if std::mem::take(&mut first) { '{' } else { ',' };
            format!("{before}\"{name}\":")
        }))
    }

    /// Appends one transfer as an object, without an end of line. Numbers of
    /// 256 bits are strings: most readers hold 53 bits.
    pub(crate) fn transfer(
        &self,
        out: &mut Vec<u8>,
        transfer: &Transfer,
        chain_id: &str,
        hop: Option<u32>,
    ) {
        // Taken apart, so that a new field cannot be forgotten.
        let Transfer {
            block_number,
            block_timestamp,
            transaction_index,
            log_index,
            sub_index,
            transaction_hash,
            token_address,
            from_address,
            to_address,
            value,
            token_id,
            token_standard,
            kind,
        } = transfer;
        let key = |out: &mut Vec<u8>, i: usize| out.extend_from_slice(self.0[i].as_bytes());
        key(out, 0);
        push_integer(out, *block_number);
        key(out, 1);
        push_integer(out, *block_timestamp);
        key(out, 2);
        push_integer(out, *transaction_index);
        key(out, 3);
        match log_index {
            Some(log_index) => push_integer(out, *log_index),
            None => out.extend_from_slice(b"null"),
        }
        key(out, 4);
        push_integer(out, *sub_index);
        key(out, 5);
        quoted(out, |out| push_hex(out, transaction_hash.as_slice()));
        key(out, 6);
        match token_address {
            Some(token_address) => quoted(out, |out| push_hex(out, token_address.as_slice())),
            None => out.extend_from_slice(b"null"),
        }
        key(out, 7);
        quoted(out, |out| push_hex(out, from_address.as_slice()));
        key(out, 8);
        quoted(out, |out| push_hex(out, to_address.as_slice()));
        key(out, 9);
        quoted(out, |out| push_decimal(out, value.as_limbs()));
        key(out, 10);
        match token_id {
            Some(token_id) => quoted(out, |out| push_decimal(out, token_id.as_limbs())),
            None => out.extend_from_slice(b"null"),
        }
        key(out, 11);
        quoted(out, |out| {
            out.extend_from_slice(token_standard.as_str().as_bytes())
        });
        key(out, 12);
        quoted(out, |out| out.extend_from_slice(kind.as_str().as_bytes()));
        key(out, 13);
        out.extend_from_slice(chain_id.as_bytes());
        if let Some(hop) = hop {
            out.push(b',');
            push_key(out, HOP);
            push_integer(out, hop);
        }
        out.push(b'}');
    }
}

/// Appends what needs no escapes, between quotes.
pub(crate) fn quoted(out: &mut Vec<u8>, content: impl FnOnce(&mut Vec<u8>)) {
    out.push(b'"');
    content(out);
    out.push(b'"');
}

/// Appends a key that needs no escapes.
pub(crate) fn push_key(out: &mut Vec<u8>, key: &str) {
    quoted(out, |out| out.extend_from_slice(key.as_bytes()));
    out.push(b':');
}

/// Appends any text.
pub(crate) fn push_text(out: &mut Vec<u8>, text: &str) -> Result<()> {
    Ok(serde_json::to_writer(out, text)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{any_transfer, text_fields};
    use proptest::prelude::*;
    use serde_json::{Map, Value};

    proptest! {
        #[test]
        fn rows_are_those_of_serde_json(
            one in any_transfer(),
            chain_id: u64,
            hop in prop::option::of(any::<u32>()),
        ) {
            let mut ours = Vec::new();
            Keys::new(Schema::Txgraph).transfer(&mut ours, &one, &chain_id.to_string(), hop);

            let numbers = ["block_number", "block_timestamp", "transaction_index", "log_index", "sub_index", "chain_id"];
            let mut naive = Map::new();
            for (name, field) in Schema::Txgraph.text_columns().into_iter().zip(text_fields(&one, chain_id)) {
                let value = match field {
                    None => Value::Null,
                    Some(text) if numbers.contains(&name) => Value::from(text.parse::<u64>().unwrap()),
                    Some(text) => Value::from(text),
                };
                naive.insert(name.to_owned(), value);
            }
            naive.extend(hop.map(|hop| (HOP.to_owned(), Value::from(hop))));
            prop_assert_eq!(String::from_utf8(ours).unwrap(), Value::Object(naive).to_string());
        }
    }
}
