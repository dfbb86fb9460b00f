//! Transfers as text: lines of CSV and JSON objects, which differ only in the text around the values.
//! Hand-written for speed: no allocation per row. Tests compare it with the `csv` crate and `serde_json`.

use super::{TransferEncoder, TransferRows, csv::push_header};
use crate::{
    Metadata, Result, Schema, TransferTableOptions, Written,
    output::Output,
    row_buffer::{RowBuffer, Word},
    schema::{
        FROM_ADDRESS, HOP, TO_ADDRESS, TOKEN_ADDRESS, TOKEN_ID, TOKEN_STANDARD, TRANSACTION_HASH,
        VALUE,
    },
    text_output::TextOutput,
};
use alloy_primitives::FixedBytes;
use txgraph_transfers::{Kind, TokenStandard, Transfer};

pub(crate) struct Transfers<const KEY: usize, const TAIL: usize> {
    text: TextOutput,
    format: TransferText<KEY, TAIL>,
}

impl Transfers<4, 48> {
    pub(crate) fn csv(
        schema: Schema,
        options: &TransferTableOptions,
        with_hop: bool,
        output: Output,
    ) -> Self {
        let mut text = TextOutput::with_threads(output, &options.threads);
        let hop = with_hop.then_some(HOP);
        let names = schema.text_columns().into_iter().chain(hop);
        push_header(&mut text.buffer, names);
        let format = TransferText::csv(options.chain_id);
        Self { text, format }
    }
}

impl Transfers<40, 128> {
    pub(crate) fn jsonl(schema: Schema, options: &TransferTableOptions, output: Output) -> Self {
        Self {
            text: TextOutput::with_threads(output, &options.threads),
            format: TransferText::json(schema, options.chain_id, "}\n"),
        }
    }
}

impl<const KEY: usize, const TAIL: usize> TransferEncoder for Transfers<KEY, TAIL> {
    fn write(&mut self, rows: TransferRows<'_>) -> Result<()> {
        let format = &self.format;
        self.text.write_rows(rows.len(), &|numbers, out| {
            let mut line = RowBuffer::new();
            for (transfer, hop) in numbers.map(|number| rows.get(number)) {
                format.push(&mut line, transfer, hop);
                out.extend_from_slice(line.as_bytes());
            }
            Ok(())
        })
    }

    fn finish(self: Box<Self>, metadata: Option<&Metadata>) -> Result<Written> {
        self.text.finish(metadata)
    }
}

/// The text around the values of a transfer. No value needs escapes.
pub(crate) struct TransferText<const KEY: usize, const TAIL: usize> {
    /// The text before each value up to the token id. It has the last quote of the value
    /// before and the first of this one, if they always have quotes.
    before: [Word<KEY>; TOKEN_STANDARD],
    /// The text of an absent value.
    absent: Word<4>,
    /// The quote of a value that can be absent and is no number.
    quote: Word<1>,
    /// The text after the token id, by standard and kind.
    tails: [[Word<TAIL>; Kind::ALL.len()]; TokenStandard::ALL.len()],
    /// The text before the hop.
    hop: Word<8>,
    end: Word<2>,
}

impl TransferText<4, 48> {
    fn csv(chain_id: u64) -> Self {
        Self {
            before: std::array::from_fn(|at| match at {
                0 => Word::new(""),
                FROM_ADDRESS | TO_ADDRESS => Word::new(",0x"),
                _ => Word::new(","),
            }),
            absent: Word::new(""),
            quote: Word::new(""),
            tails: tails(|standard, kind| format!(",{standard},{kind},{chain_id}")),
            hop: Word::new(","),
            end: Word::new("\n"),
        }
    }
}

impl TransferText<40, 128> {
    /// Numbers of 256 bits are strings, as most readers hold 53 bits.
    pub(crate) fn json(schema: Schema, chain_id: u64, end: &str) -> Self {
        let names = schema.text_columns();
        let [standard_key, kind_key, chain_key] = &names[TOKEN_STANDARD..] else {
            unreachable!("three columns follow the token id")
        };
        Self {
            before: std::array::from_fn(|at| {
                let open = match at {
                    0 => "{",
                    TO_ADDRESS | VALUE | TOKEN_ID => "\",",
                    _ => ",",
                };
                let quote = match at {
                    FROM_ADDRESS | TO_ADDRESS => "\"0x",
                    VALUE => "\"",
                    _ => "",
                };
                Word::new(&format!("{open}\"{}\":{quote}", names[at]))
            }),
            absent: Word::new("null"),
            quote: Word::new("\""),
            tails: tails(|standard, kind| {
                format!(
                    ",\"{standard_key}\":\"{standard}\",\"{kind_key}\":\"{kind}\",\"{chain_key}\":{chain_id}"
                )
            }),
            hop: Word::new(&format!(",\"{HOP}\":")),
            end: Word::new(end),
        }
    }
}

fn tails<const N: usize>(
    text: impl Fn(TokenStandard, Kind) -> String,
) -> [[Word<N>; Kind::ALL.len()]; TokenStandard::ALL.len()] {
    let mut tails = [[Word::new(""); Kind::ALL.len()]; TokenStandard::ALL.len()];
    for &standard in TokenStandard::ALL {
        for &kind in Kind::ALL {
            tails[standard as usize][kind as usize] = Word::new(&text(standard, kind));
        }
    }
    tails
}

impl<const KEY: usize, const TAIL: usize> TransferText<KEY, TAIL> {
    /// Replaces `line` by the text of a transfer. It must be new or a text of this formatter.
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
                None => line.word(&self.absent),
            }
            line.word(&self.before[2]);
        });
        line.integer(*transaction_index);
        line.word(&self.before[3]);
        match log_index {
            Some(log_index) => line.integer(*log_index),
            None => line.word(&self.absent),
        }
        line.word(&self.before[4]);
        line.integer(*sub_index);
        line.word(&self.before[TRANSACTION_HASH]);
        self.hex(line, transaction_hash.as_ref());
        line.word(&self.before[TOKEN_ADDRESS]);
        self.hex(line, token_address.as_deref());
        line.word(&self.before[FROM_ADDRESS]);
        line.hex(from_address);
        line.word(&self.before[TO_ADDRESS]);
        line.hex(to_address);
        line.word(&self.before[VALUE]);
        line.decimal(value.as_limbs());
        line.word(&self.before[TOKEN_ID]);
        match token_id {
            Some(token_id) => {
                line.word(&self.quote);
                line.decimal(token_id.as_limbs());
                line.word(&self.quote);
            }
            None => line.word(&self.absent),
        }
        line.word(&self.tails[*token_standard as usize][*kind as usize]);
        if let Some(hop) = hop {
            line.word(&self.hop);
            line.integer(hop);
        }
        line.word(&self.end);
    }

    /// Appends bytes that can be absent.
    #[inline(always)]
    fn hex<const N: usize>(&self, line: &mut RowBuffer, bytes: Option<&FixedBytes<N>>) {
        match bytes {
            Some(bytes) => {
                line.word(&self.quote);
                line.text(b"0x");
                line.hex(bytes);
                line.word(&self.quote);
            }
            None => line.word(&self.absent),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{any_transfer, longest_transfer, text_fields};
    use proptest::prelude::*;
    use serde_json::{Map, Value};
    use txgraph_transfers::BlockTime;

    proptest! {
        #[test]
        fn rows_agree_with_the_csv_crate(
            transfers in prop::collection::vec((any_transfer(), prop::option::of(any::<u32>())), 0..20),
            chain_id: u64,
        ) {
            let mut ours = RowBuffer::new();
            for (mut one, hop) in transfers {
                if hop.is_some() {
                    // Few blocks, so that rows share the text of their block.
                    one.block_number %= 2;
                    let time = one.block_timestamp.map(|time| time.seconds() % 2);
                    one.block_timestamp = time.and_then(BlockTime::new);
                }
                TransferText::csv(chain_id).push(&mut ours, &one, hop);
                let mut naive = ::csv::Writer::from_writer(Vec::new());
                let fields = text_fields(&one, chain_id).into_iter().map(Option::unwrap_or_default);
                naive.write_record(fields.chain(hop.map(|hop| hop.to_string()))).unwrap();
                prop_assert_eq!(ours.as_bytes(), naive.into_inner().unwrap());
            }
        }

        #[test]
        fn rows_agree_with_serde_json(
            one in any_transfer(),
            chain_id: u64,
            hop in prop::option::of(any::<u32>()),
        ) {
            let mut ours = RowBuffer::new();
            TransferText::json(Schema::Txgraph, chain_id, "}").push(&mut ours, &one, hop);

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
        let mut line = RowBuffer::new();
        TransferText::csv(u64::MAX).push(&mut line, &longest_transfer(), Some(u32::MAX));
        assert!(line.as_bytes().len() < 600);
        for &schema in Schema::ALL {
            let mut line = RowBuffer::new();
            let text = TransferText::json(schema, u64::MAX, "}\n");
            text.push(&mut line, &longest_transfer(), Some(u32::MAX));
            assert!(line.as_bytes().len() < 800);
        }
    }

    #[test]
    fn header_has_the_names_of_the_schema() {
        let mut out = Vec::new();
        push_header(
            &mut out,
            Schema::Cryo.text_columns().into_iter().chain([HOP]),
        );
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "block_number,timestamp,transaction_index,log_index,sub_index,transaction_hash,erc20,\
             from_address,to_address,value_string,token_id_string,token_standard,kind,chain_id,hop\n"
        );
    }
}
