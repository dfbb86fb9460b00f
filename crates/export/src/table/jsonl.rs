//! One JSON object per line. Hand-written for speed: no allocation per row. Tests
//! compare it with `serde_json`.

use super::{RowEncoder, TransferEncoder, TransferRows};
use crate::{
    Column, Metadata, Result, Schema, TransferTableOptions, Value, Written,
    output::Output,
    row_buffer::{RowBuffer, Word},
    schema::{
        FROM_ADDRESS, HOP, TO_ADDRESS, TOKEN_ADDRESS, TOKEN_ID, TOKEN_STANDARD, TRANSACTION_HASH,
        VALUE,
    },
    text_output::TextOutput,
    value::push_object,
};
use txgraph_transfers::{Kind, TokenStandard, Transfer};

/// Encodes rows of typed values.
pub(crate) struct Rows {
    columns: Vec<Column>,
    text: TextOutput,
}

impl Rows {
    pub(crate) fn new(columns: Vec<Column>, output: Output) -> Self {
        let text = TextOutput::new(output);
        Self { columns, text }
    }
}

impl RowEncoder for Rows {
    fn push(&mut self, row: &[Value<'_>]) -> Result<()> {
        push_object(&mut self.text.buffer, &self.columns, row)?;
        self.text.buffer.push(b'\n');
        self.text.end_row()
    }

    fn finish(self: Box<Self>, metadata: Option<&Metadata>) -> Result<Written> {
        self.text.finish(metadata)
    }
}

/// Encodes transfers.
pub(crate) struct Transfers {
    text: TextOutput,
    keys: Keys,
}

impl Transfers {
    pub(crate) fn new(schema: Schema, options: &TransferTableOptions, output: Output) -> Self {
        Self {
            text: TextOutput::with_threads(output, &options.threads),
            keys: Keys::new(schema, options.chain_id),
        }
    }
}

impl TransferEncoder for Transfers {
    fn write(&mut self, rows: TransferRows<'_>) -> Result<()> {
        let keys = &self.keys;
        self.text.write_rows(rows.len(), &|numbers, out| {
            let mut line = RowBuffer::new();
            for (transfer, hop) in numbers.map(|number| rows.get(number)) {
                keys.push(&mut line, transfer, hop);
                line.byte(b'\n');
                out.extend_from_slice(line.as_bytes());
            }
            Ok(())
        })
    }

    fn finish(self: Box<Self>, metadata: Option<&Metadata>) -> Result<Written> {
        self.text.finish(metadata)
    }
}

/// Formats a transfer as an object: the text around its values. Numbers of 256 bits are
/// strings, as most readers hold 53 bits.
pub(crate) struct Keys {
    /// The text before each value up to the token id. It has the last quote of the value
    /// before and the first of this one, if they always have quotes.
    before: [Word<40>; TOKEN_STANDARD],
    /// The end of an object, by standard and kind.
    tails: [[Word<128>; Kind::ALL.len()]; TokenStandard::ALL.len()],
    hop: Word<8>,
}

impl Keys {
    pub(crate) fn new(schema: Schema, chain_id: u64) -> Self {
        let names = schema.text_columns();
        let before = std::array::from_fn(|i| {
            let open = match i {
                0 => "{",
                TO_ADDRESS | VALUE | TOKEN_ID => "\",",
                _ => ",",
            };
            let quote = match i {
                FROM_ADDRESS | TO_ADDRESS => "\"0x",
                VALUE => "\"",
                _ => "",
            };
            Word::new(&format!("{open}\"{}\":{quote}", names[i]))
        });
        let mut tails = [[Word::new(""); Kind::ALL.len()]; TokenStandard::ALL.len()];
        let [standard_key, kind_key, chain_key] = &names[TOKEN_STANDARD..] else {
            unreachable!("three columns follow the token id")
        };
        for &standard in TokenStandard::ALL {
            for &kind in Kind::ALL {
                tails[standard as usize][kind as usize] = Word::new(&format!(
                    ",\"{standard_key}\":\"{standard}\",\"{kind_key}\":\"{kind}\",\"{chain_key}\":{chain_id}"
                ));
            }
        }
        Self {
            before,
            tails,
            hop: Word::new(&format!(",\"{HOP}\":")),
        }
    }

    /// Replaces `line` by the object of a transfer, without a line end. It must be new or an
    /// object of these keys.
    #[inline]
    pub(crate) fn push(&self, line: &mut RowBuffer, transfer: &Transfer, hop: Option<u32>) {
        // Destructured, so that a new field cannot be forgotten.
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
        line.begin((*block_number, *block_timestamp), |line| {
            line.word(&self.before[0]);
            line.integer(*block_number);
            line.word(&self.before[1]);
            match block_timestamp {
                Some(time) => line.integer(time.seconds()),
                None => line.text(b"null"),
            }
            line.word(&self.before[2]);
        });
        line.integer(*transaction_index);
        line.word(&self.before[3]);
        match log_index {
            Some(log_index) => line.integer(*log_index),
            None => line.text(b"null"),
        }
        line.word(&self.before[4]);
        line.integer(*sub_index);
        line.word(&self.before[TRANSACTION_HASH]);
        match transaction_hash {
            Some(hash) => {
                line.text(b"\"0x");
                line.hex(hash);
                line.byte(b'"');
            }
            None => line.text(b"null"),
        }
        line.word(&self.before[TOKEN_ADDRESS]);
        match token_address {
            Some(token_address) => {
                line.text(b"\"0x");
                line.hex(token_address);
                line.byte(b'"');
            }
            None => line.text(b"null"),
        }
        line.word(&self.before[FROM_ADDRESS]);
        line.hex(from_address);
        line.word(&self.before[TO_ADDRESS]);
        line.hex(to_address);
        line.word(&self.before[VALUE]);
        line.decimal(value.as_limbs());
        line.word(&self.before[TOKEN_ID]);
        match token_id {
            Some(token_id) => {
                line.byte(b'"');
                line.decimal(token_id.as_limbs());
                line.byte(b'"');
            }
            None => line.text(b"null"),
        }
        line.word(&self.tails[*token_standard as usize][*kind as usize]);
        if let Some(hop) = hop {
            line.word(&self.hop);
            line.integer(hop);
        }
        line.byte(b'}');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{any_transfer, longest_transfer, text_fields};
    use proptest::prelude::*;
    use serde_json::{Map, Value};

    proptest! {
        #[test]
        fn rows_agree_with_serde_json(
            one in any_transfer(),
            chain_id: u64,
            hop in prop::option::of(any::<u32>()),
        ) {
            let mut ours = RowBuffer::new();
            Keys::new(Schema::Txgraph, chain_id).push(&mut ours, &one, hop);

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
            prop_assert_eq!(str::from_utf8(ours.as_bytes()).unwrap(), Value::Object(naive).to_string());
        }
    }

    #[test]
    fn longest_row_fits_the_line() {
        for &schema in Schema::ALL {
            let mut line = RowBuffer::new();
            Keys::new(schema, u64::MAX).push(&mut line, &longest_transfer(), Some(u32::MAX));
            assert!(line.as_bytes().len() < 800);
        }
    }
}
